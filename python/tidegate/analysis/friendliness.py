"""What a sender may claim at a given loss or marking probability.

Pricing dissertation, (2.4.1) and section 5.6.1: conventional TCP sends at most
``1.5 √(2/3) B/(R √p)`` bytes a second, with segments of B bytes and a round trip R; single-bit
resource marking sends ``w B/p``.
"""

from __future__ import annotations

import math

BITS_PER_BYTE = 8
_TCP = 1.5 * math.sqrt(2 / 3)


def tcp_rate_bps(probability: float, *, rtt_s: float, segment_bytes: float = 1500.0) -> float:
    """Most that a conventional TCP sends."""
    return _TCP * segment_bytes * BITS_PER_BYTE / (rtt_s * math.sqrt(probability))


def tcp_probability(rate_bps: float, *, rtt_s: float, segment_bytes: float = 1500.0) -> float:
    """Largest loss or marking probability at which a conventional TCP sends that much."""
    return (_TCP * segment_bytes * BITS_PER_BYTE / (rtt_s * rate_bps)) ** 2


def compatible_rate_bps(
    probability: float,
    *,
    rtt_s: float,
    segment_bytes: float = 1500.0,
    constant: float = math.sqrt(3 / 2),
) -> float:
    """What a TCP-compatible flow sends, ``k s/(T √p)``, as re-ECN's paper has it; k is √(3/2)."""
    return constant * segment_bytes * BITS_PER_BYTE / (rtt_s * math.sqrt(probability))


def sbrm_rate_bps(
    probability: float, *, willingness_pps: float, segment_bytes: float = 1500.0
) -> float:
    """Rate of one who pays for `willingness_pps` marked packets a second."""
    return willingness_pps * segment_bytes * BITS_PER_BYTE / probability


def sbrm_probability(
    rate_bps: float, *, willingness_pps: float, segment_bytes: float = 1500.0
) -> float:
    """Marking probability at which the flow sends that much."""
    return willingness_pps * segment_bytes * BITS_PER_BYTE / rate_bps
