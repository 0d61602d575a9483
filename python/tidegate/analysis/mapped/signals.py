"""Which law an AQM of a scenario follows; a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.pie import Pi2, Pie
from tidegate.analysis.piecewise import PiecewiseLinear
from tidegate.analysis.prices import Pc1, Pc2, Pc3
from tidegate.analysis.red import AdaptiveRed, Red
from tidegate.analysis.signals import SbrmQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.analysis.signals import Signal
    from tidegate.scenarios.plans import Choice, Link

_BITS_PER_BYTE = 8
# By Floyd et al. 2001: half the target delay is min_th, and no less than this many packets.
_LEAST_THRESHOLD_PACKETS = 5.0


def signal_of(link: Link, key: str, packet_bits: int, price_base: float = math.e) -> Signal:
    """The law of a link's AQM, or of DualPI2's; `key` is the link's own in the scenario file.

    Prices become marks with the base `price_base`.
    """
    if link["scheduler"]["kind"] == "dualpi2":
        return controller_of(link, packet_bits)
    aqm = {**link["aqm"], "price_base": price_base}
    law = AQMS.get(aqm["kind"])
    if law is None:
        reason = WITHOUT_LAW.get(aqm["kind"], "has no law here")
        raise NoModelError(
            f"{key}.aqm",
            f"{aqm['kind']} {reason}",
            f"the nearest that has one is red (there are {', '.join(AQMS)})",
        )
    return law(link, aqm, packet_bits)


def _red(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - as the others
    return Red(
        min_threshold_packets=_packets(aqm, "min_threshold", packet_bits),
        max_threshold_packets=_packets(aqm, "max_threshold", packet_bits),
        max_probability=aqm["max_probability"],
        weight=aqm["weight"],
        gentle=aqm["gentle"],
        spacing=aqm["spacing"],
    )


def _adaptive_red(link: Link, aqm: Choice, packet_bits: int) -> Signal:
    capacity_pps = link["rate_bps"] / packet_bits
    automatic = max(_LEAST_THRESHOLD_PACKETS, capacity_pps * aqm["target_delay_s"] / 2)
    low = _packets(aqm, "min_threshold", packet_bits) or automatic
    weight = aqm["weight"]
    return AdaptiveRed(
        min_threshold_packets=low,
        max_threshold_packets=_packets(aqm, "max_threshold", packet_bits) or 3 * low,
        max_probability=aqm["max_probability"],
        weight=-math.expm1(-1 / capacity_pps) if weight is None else weight,
        spacing=aqm["spacing"],
    )


def _piecewise(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - the same
    points = aqm["points"] or _named(aqm["function"])
    # Laws are of packets that wait; its function may be of those and the one in transmission.
    less = 1.0 if aqm["count_transmission"] else 0.0
    return PiecewiseLinear(points=tuple((max(float(q) - less, 0.0), float(p)) for q, p in points))


def _named(function: str) -> list[tuple[float, float]]:
    """pf-Q0-Q1-Q2-p1, which the scenario's check has read already."""
    first, second, third, probability = map(float, function.removeprefix("pf-").split("-", 3))
    return [(first, 0.0), (second, probability), (third, 1.0)]


def _packets(aqm: Choice, name: str, packet_bits: int) -> float:
    """A threshold in packets, 0 if it is not set."""
    in_packets = aqm[f"{name}_packets"]
    if in_packets is not None:
        return float(in_packets)
    return float((aqm[f"{name}_bytes"] or 0) * _BITS_PER_BYTE / packet_bits)


def _pie(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - as the others
    return Pie(
        target_s=aqm["target_s"],
        update_interval_s=aqm["update_interval_s"],
        alpha_hz=aqm["alpha"],
        beta_hz=aqm["beta"],
    )


def controller_of(link: Link, packet_bits: int) -> Pi2:
    """Of DualPI2, as if all waited in one queue.

    It measures for how long the packet at the head has waited, which goes on to wait for what is
    left of a transmission, in the mean half of one.
    """
    scheduler = link["scheduler"]
    return Pi2.for_rtt(
        target_s=scheduler["target_s"] + packet_bits / link["rate_bps"] / 2,
        max_rtt_s=scheduler["max_rtt_s"],
        coupling=scheduler["coupling"],
    )


def _pc1(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - as the others
    return Pc1(gamma_per_packet=aqm["gamma"], base=aqm["price_base"])


def _pc2(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - as the others
    return Pc2(
        gamma_per_packet=aqm["gamma"],
        target_packets=_packets(aqm, "target", packet_bits),
        base=aqm["price_base"],
    )


def _pc3(link: Link, aqm: Choice, packet_bits: int) -> Signal:  # noqa: ARG001 - as the others
    return Pc3(
        gamma_per_packet=aqm["gamma"],
        alpha=aqm["alpha"],
        target_packets=_packets(aqm, "target", packet_bits),
        interval_s=aqm["interval_s"],
        base=aqm["price_base"],
    )


def _sbrm(link: Link, aqm: Choice, packet_bits: int) -> Signal:
    """SBRM marks with base e, whatever that of others is."""
    if aqm["price"] in ("pc1", "pc3"):
        return AQMS[aqm["price"]](link, {**aqm, "price_base": math.e}, packet_bits)
    target = _packets(aqm, "target", packet_bits)
    return SbrmQueue(steepness_per_packet=aqm["gamma"], target_packets=target)


AQMS: dict[str, Callable[[Link, Choice, int], Signal]] = {
    "red": _red,
    "adaptive-red": _adaptive_red,
    "piecewise-linear": _piecewise,
    "pie": _pie,
    "pc1": _pc1,
    "pc2": _pc2,
    "pc3": _pc3,
    "sbrm-queue": _sbrm,
}

WITHOUT_LAW = {
    "drop-tail": "signals by a full buffer alone, which is no probability of the queue",
    "codel": "goes by time above its target, and has no transfer function",
    "virtual-queue": "marks by a queue that is not there: there is no model here of VQM",
    "csfq": "judges each flow by its own rate, and has no law here",
}
