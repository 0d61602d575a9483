"""The view `equilibrium`: where it will settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.mapped.aicp import AICP
from tidegate.analysis.mapped.policers import POLICING, check_not_policed, fill_of_stage_pps
from tidegate.analysis.two_queues import DualQueues
from tidegate.analysis.views import pricing, sharing
from tidegate.analysis.views.answer import Answer, Rows, Value
from tidegate.analysis.views.common import (
    FLUID_ASSUMPTIONS,
    inexact,
    inexact_network,
    mapped_bottleneck,
    mapped_network,
    strained,
    strained_network,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.analysis.mapped.network import Mapped


_TOLD_APART: dict[str, Callable[[Mapped], Answer]] = {
    "abc": sharing.of_abc,
    **dict.fromkeys(AICP, sharing.of_aicp),
    **dict.fromkeys(POLICING, sharing.of_policed),
}


def answer(mapped: Mapped) -> Answer:
    """Rate and window of each group, queue and probability of each link."""
    if len(mapped.full_links) > 1:
        return _of_a_network(mapped)
    kind = mapped.link(mapped.full_link)["differentiation"]["kind"]
    constant = all(bundle.traffic["kind"] == "cbr" for bundle in mapped.through)
    if constant and kind in ("none", "abc"):
        return sharing.of_constant_rates(mapped)
    if kind in _TOLD_APART:
        return _TOLD_APART[kind](mapped)
    if any(fill_of_stage_pps(bundle) is not None for bundle in mapped.through):
        check_not_policed(mapped)
        return sharing.of_declared(mapped, _of_one_bottleneck(mapped))
    return _of_one_bottleneck(mapped)


def _of_one_bottleneck(mapped: Mapped) -> Answer:
    bottleneck = mapped.bottleneck
    at = bottleneck.equilibrium
    causes = inexact(mapped, bottleneck)
    groups: Rows = []
    for bundle, rate, window, p, rtt in zip(
        mapped.through, at.rate_pps, at.window_packets, at.met_probability, at.rtt_s, strict=True
    ):
        flow_bps = float(rate) * mapped.packet_bits
        groups.append(
            {
                "group": bundle.group, "users": bundle.users, "flows": bundle.flows,
                "rate_bps": flow_bps * bundle.flows_per_user, "flow_rate_bps": flow_bps,
                "window_packets": float(window), **pricing.of_group(mapped, bundle, float(p)),
                "rtt_s": float(rtt),
            }
        )  # fmt: skip
    link = mapped.link(mapped.full_link)["name"]
    delay_s = float(at.queue_packets) / mapped.capacity_pps
    # Of DualPI2's two it is the Classic queue, which is served with what the other leaves.
    queue = float(
        bottleneck.classic_queue_packets if isinstance(bottleneck, DualQueues) else at.queue_packets
    )
    row: dict[str, Value] = {"link": link, "queue_packets": queue}
    row |= {"delay_s": delay_s, **pricing.of_link(mapped, mapped.full_link, float(at.probability))}
    return Answer(
        model="one bottleneck, table 5.5.1, (5.5.1) to (5.5.8)",
        mapped=mapped_bottleneck(mapped, bottleneck),
        assumptions=FLUID_ASSUMPTIONS,
        warnings=(*strained(mapped, bottleneck), *map(str, causes)),
        causes=causes,
        tables={"groups": groups, "links": [row]},
        drawn=bottleneck,
    )


def _of_a_network(mapped: Mapped) -> Answer:
    network = mapped.network
    at = network.equilibrium
    causes = inexact_network(mapped, network)
    groups: Rows = []
    for bundle, rate, window, p, rtt in zip(
        mapped.bundles, at.rate_pps, at.window_packets, at.met_probability, at.rtt_s, strict=True
    ):
        flow_bps = rate * mapped.packet_bits
        groups.append(
            {
                "group": bundle.group, "users": bundle.users, "flows": bundle.flows,
                "rate_bps": flow_bps * bundle.flows_per_user, "flow_rate_bps": flow_bps,
                "window_packets": window, **pricing.of_group(mapped, bundle, p), "rtt_s": rtt,
            }
        )  # fmt: skip
    numbers = {mapped.link(i)["name"]: i for i in mapped.links}
    links: Rows = [
        {
            "link": name, "full": name in at.full, "queue_packets": at.queue_packets[name],
            "delay_s": at.queue_packets[name] / link.capacity_pps,
            **pricing.of_link(mapped, numbers[name], at.probability[name]),
        }
        for name, link in network.links.items()
    ]  # fmt: skip
    return Answer(
        model="several bottlenecks, (5.5.1) to (5.5.8) with 1 − p = Π (1 − p_l)",
        mapped=mapped_network(mapped, network),
        assumptions=FLUID_ASSUMPTIONS,
        warnings=(*strained_network(mapped, network, at), *map(str, causes)),
        causes=causes,
        tables={"groups": groups, "links": links},
        drawn=network,
    )
