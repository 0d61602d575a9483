"""AICP over TCP: customers with buckets that bend what they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.aicp_tcp import Aicp, AicpA, AicpB, AicpOverTcp
from tidegate.analysis.mapped.customers import tcp_users
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.red import Red

if TYPE_CHECKING:
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.signals import Signal
    from tidegate.scenarios.plans import Choice

AICP = ("aicp-a", "aicp-b")


def aicp_over_tcp(mapped: Mapped) -> AicpOverTcp:
    """The full link with its customers, each of whom sends by Padhye's formula."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    how = link["differentiation"]
    if how["charge"] != "aqm":
        raise NoModelError(
            f"{key}.differentiation.charge",
            f"there is no model here of AICP that charges by {how['charge']}, where a customer is "
            "charged with a probability of its own",
            'with "aqm" there is one',
        )
    signal = signal_of(link, key, mapped.packet_bits)
    return AicpOverTcp(
        capacity_pps=mapped.capacity_pps,
        signal=signal,
        customers=tuple(tcp_users(mapped, bundle) for bundle in mapped.through),
        policing=_policing(how, signal, key),
        fill_pps=how["fill_rate_bps"] / mapped.packet_bits,
        depth_packets=how["depth_bytes"] * 8 / mapped.packet_bits,
    )


def _policing(how: Choice, signal: Signal, key: str) -> Aicp:
    if how["kind"] == "aicp-b":
        return AicpB(start=how["start"], max_probability=how["max_probability"])
    if not isinstance(signal, Red):
        raise NoModelError(f"{key}.aqm", "AICP-a stretches RED's thresholds", "red would do")
    return AicpA(
        min_threshold=float(signal.min_threshold_packets),  # type: ignore[arg-type]
        max_threshold=float(signal.max_threshold_packets),  # type: ignore[arg-type]
        max_probability=float(signal.max_probability),  # type: ignore[arg-type]
    )
