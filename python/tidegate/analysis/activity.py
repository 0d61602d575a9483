"""The activity meter under constant-bit-rate traffic.

M. Menth and N. Zeitler, "Activity-Based Congestion Management (ABC)", section 4.1, in its letters:
a token bucket of size B, filled with the reference rate R_r, whose fill F may go negative::

    F ← min(B, F + R_r (t_now − t_last))     (1)
    A = 0 if F ≥ 0 else −F / (R_r I)         (2)
    F ← F − L 2^(−A)                         (3)

The closed forms that follow from them stand beside the recursion, so that each checks the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS_PER_BYTE = 8
FULL_PACKET_BYTES = 1500


@dataclass(frozen=True, kw_only=True)
class Meter:
    """Parameters of an activity meter."""

    reference_rate_bps: float
    inertia_s: float
    burst_allowance_bytes: float = 0.0
    granularity: float | None = None

    def activity(self, fill_bits: float) -> float:
        """Equation (2), rounded up to the granularity if there is one."""
        exact = max(0.0, -fill_bits / (self.reference_rate_bps * self.inertia_s))
        if self.granularity is None:
            return exact
        return math.ceil(exact / self.granularity) * self.granularity


@dataclass(frozen=True)
class Trace:
    """What a meter saw of one sender: a row per packet, and its state after the last one."""

    meter: Meter
    time_s: NDArray[np.float64]
    activity: NDArray[np.float64]
    last_fill_bits: float

    @property
    def onset_s(self) -> float:
        """When the first packet carried a positive activity; NaN if none did."""
        positive = np.flatnonzero(self.activity > 0)
        return float(self.time_s[positive[0]]) if positive.size else math.nan

    def time_to_reach_s(self, activity: float) -> float:
        """From the onset to the first packet with at least this activity; NaN if there is none."""
        reached = np.flatnonzero(self.activity >= activity)
        return float(self.time_s[reached[0]]) - self.onset_s if reached.size else math.nan

    def decay_s(self, stop_s: float) -> float:
        """How long after `stop_s` the activity needs to fall to zero when nothing more is sent."""
        filled_s = -self.last_fill_bits / self.meter.reference_rate_bps
        return float(self.time_s[-1]) + max(0.0, filled_s) - stop_s

    def activity_after(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Activity that a packet would carry after the last one, at these times."""
        rate = self.meter.reference_rate_bps
        fill = self.last_fill_bits + rate * (time_s - self.time_s[-1])
        return np.asarray(np.maximum(0.0, -fill / (rate * self.meter.inertia_s)))


def cbr_trace(
    meter: Meter,
    *,
    rate_bps: float,
    stop_s: float,
    len_bytes: int = FULL_PACKET_BYTES,
    burst_packets: int = 0,
) -> Trace:
    """Meters a sender that transmits at a constant rate from 0 until `stop_s`.

    With `burst_packets`, that number of packets follow at once in place of the packet due next.

    >>> meter = Meter(reference_rate_bps=1e6, inertia_s=0.1)
    >>> round(float(cbr_trace(meter, rate_bps=8e6, stop_s=5.0).activity[-1]), 3)
    3.0
    """
    len_bits = len_bytes * BITS_PER_BYTE
    interval_s = len_bits / rate_bps
    count = math.ceil(stop_s / interval_s - 1e-9)
    times = np.concatenate([np.arange(count), np.full(burst_packets, count)]) * interval_s
    full_bits = meter.burst_allowance_bytes * BITS_PER_BYTE
    fill, last_s = full_bits, 0.0
    activities = np.empty(times.size)
    for n, now_s in enumerate(times.tolist()):
        fill = min(full_bits, fill + meter.reference_rate_bps * (now_s - last_s))
        last_s = now_s
        activities[n] = activity = meter.activity(fill)
        fill -= len_bits * 2.0**-activity
    return Trace(meter, times, activities, fill)


def onset_s(*, rate_bps: float, reference_rate_bps: float, burst_allowance_bytes: float) -> float:
    """Time t_A⁺ = B / (R_t − R_r) at which the activity of a CBR sender turns positive."""
    if rate_bps <= reference_rate_bps:
        return math.inf
    return burst_allowance_bytes * BITS_PER_BYTE / (rate_bps - reference_rate_bps)


def stationary_activity(*, rate_bps: float, reference_rate_bps: float) -> float:
    """Equation (7): A_s = log2(R_t / R_r), and 0 for a sender within its reference rate.

    >>> stationary_activity(rate_bps=2e6, reference_rate_bps=1e6)
    1.0
    """
    return max(0.0, math.log2(rate_bps / reference_rate_bps))


def decay_s(*, inertia_s: float, activity: float) -> float:
    """Time I·A in which an activity falls to zero once the sender is silent."""
    return inertia_s * activity


def burst_bytes_for_one_more(
    *, rate_bps: float, reference_rate_bps: float, inertia_s: float
) -> float:
    """Burst that lifts a stationary activity by one, for packets short against it.

    The paper bounds it by R_t·I ≤ V < 2·R_t·I. Integrating dF = −2^(−A) dV from A_s to A_s + 1
    gives R_r·I·2^(A_s) / ln 2, which is R_t·I / ln 2: independent of the reference rate.
    """
    activity = stationary_activity(rate_bps=rate_bps, reference_rate_bps=reference_rate_bps)
    return float(reference_rate_bps * inertia_s * 2.0**activity / math.log(2.0) / BITS_PER_BYTE)


def smallest_smooth_inertia_s(
    *, reference_rate_bps: float, len_bytes: int = FULL_PACKET_BYTES
) -> float:
    """Equation (8): with R_r·I ≥ L no single packet lifts the activity by more than one."""
    return len_bytes * BITS_PER_BYTE / reference_rate_bps
