"""DualPI2: which of its queues a scenario's senders fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.bottleneck import Bottleneck
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import controller_of
from tidegate.analysis.piecewise import PiecewiseLinear
from tidegate.analysis.two_queues import DualQueues

if TYPE_CHECKING:
    from tidegate.analysis.sources import Source
    from tidegate.scenarios.plans import Link


def dual_queues(link: Link, key: str, sources: tuple[Source, ...], packet_bits: int) -> Bottleneck:
    """Both queues; the Classic one alone with its controller, the Scalable one with its ramp."""
    how = link["scheduler"]
    capacity_pps = link["rate_bps"] / packet_bits
    # Without ecn there is no queue for scalable senders.
    scalable = [source.scalable and link["ecn"] for source in sources]
    if not any(scalable):
        return Bottleneck(
            capacity_pps=capacity_pps, signal=controller_of(link, packet_bits), sources=sources
        )
    if all(scalable):
        begins = how["ramp_start_s"]
        if not how["ramp_range_s"]:
            raise NoModelError(
                f"{key}.scheduler.ramp_range",
                "scalable flows alone meet a step, which has no slope",
                'the default, "0.4 ms", has a loop',
            )
        ends = begins + how["ramp_range_s"]
        ramp = PiecewiseLinear(points=((begins * capacity_pps, 0.0), (ends * capacity_pps, 1.0)))
        return Bottleneck(capacity_pps=capacity_pps, signal=ramp, sources=sources)
    return DualQueues(
        capacity_pps=capacity_pps,
        signal=controller_of(link, packet_bits),
        sources=sources,
        classic_share=how["classic_share"],
        ramp_start_s=how["ramp_start_s"],
        ramp_range_s=how["ramp_range_s"],
    )
