"""The view `stability`: whether the queue settles, by what margin, and what tips it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tidegate.analysis.abc_loop import abc_stability
from tidegate.analysis.aicp_tcp import aicp_stability
from tidegate.analysis.eigenloci import critical_network_delay, network_stability
from tidegate.analysis.mapped.abc import abc_over_tcp
from tidegate.analysis.mapped.aicp import AICP, aicp_over_tcp
from tidegate.analysis.mapped.customers import doubts_about_cubic
from tidegate.analysis.mapped.policers import check_not_policed
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.prices import VegasCp
from tidegate.analysis.sources import Cubic
from tidegate.analysis.stability import stability
from tidegate.analysis.tipping import critical_capacity, critical_count, critical_delay
from tidegate.analysis.views.answer import Answer, Rows, Value, number
from tidegate.analysis.views.common import (
    FLUID_ASSUMPTIONS,
    mapped_bottleneck,
    mapped_network,
    strained,
    strained_network,
)
from tidegate.analysis.views.sharing import (
    ABC_ASSUMPTIONS,
    AICP_ASSUMPTIONS,
    mapped_abc,
    mapped_aicp,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.analysis.bottleneck import Bottleneck, Equilibrium
    from tidegate.analysis.loci import LociMargin
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.network import NetworkEquilibrium
    from tidegate.analysis.sources import Source


def answer(mapped: Mapped) -> Answer:
    """Verdict, margins, and the round trip, number of flows and rate at which it tips."""
    if len(mapped.full_links) > 1:
        return _of_a_network(mapped)
    kind = mapped.link(mapped.full_link)["differentiation"]["kind"]
    if kind == "abc":
        return _of_abc(mapped)
    if kind in AICP:
        return _of_aicp(mapped)
    bottleneck = mapped.bottleneck
    check_has_loop(mapped, bottleneck)
    at = stability(bottleneck)
    flows = sum(bundle.flows for bundle in mapped.through)
    base_rtt_s = sum(b.flows * b.base_rtt_s for b in mapped.through) / flows
    by_delay, by_count = critical_delay(bottleneck), critical_count(bottleneck)
    by_capacity = critical_capacity(bottleneck)
    groups: Rows = [
        {
            "group": bundle.group,
            "base_rtt_s": bundle.base_rtt_s,
            "critical_base_rtt_s": number(by_delay.factor * bundle.base_rtt_s),
        }
        for bundle in mapped.through
    ]
    return Answer(
        model="linear loop of one bottleneck, (6.5.1) to (6.5.22), delays exact",
        mapped=mapped_bottleneck(mapped, bottleneck),
        assumptions=(*FLUID_ASSUMPTIONS, "a swing is small; all base round trips grow together"),
        warnings=strained(mapped, bottleneck),
        values={
            "stable": bool(at.stable),
            "gain_margin": number(at.gain_margin),
            "phase_margin_deg": number(at.phase_margin_deg),
            "critical_frequency_hz": number(at.critical_frequency_hz),
            "critical_base_rtt_s": number(by_delay.factor * base_rtt_s),
            "critical_flows": number(by_count.factor * flows),
            "critical_rate_bps": number(
                by_capacity.factor * mapped.capacity_pps * mapped.packet_bits
            ),
        },
        tables={"groups": groups},
        drawn=bottleneck,
    )


def _of_a_network(mapped: Mapped) -> Answer:
    network = mapped.network
    at = network.equilibrium
    sources = [route.source for route in network.routes]
    check_laws(mapped.bundles, sources, at)
    found = network_stability(network)
    factor = critical_network_delay(network)
    groups: Rows = [
        {
            "group": bundle.group,
            "base_rtt_s": bundle.base_rtt_s,
            "critical_base_rtt_s": number(factor * bundle.base_rtt_s),
        }
        for bundle in mapped.bundles
    ]
    flows = sum(bundle.flows for bundle in mapped.bundles)
    base_rtt_s = sum(b.flows * b.base_rtt_s for b in mapped.bundles) / flows
    return Answer(
        model="eigenloci of several bottlenecks, (6.5.1) to (6.5.22) for each link, delays exact",
        mapped=mapped_network(mapped, network),
        assumptions=(
            *FLUID_ASSUMPTIONS,
            "each link is half a round trip from the source, and does not smooth what goes on",
        ),
        warnings=strained_network(mapped, network, at),
        values={
            "stable": bool(found.stable),
            "gain_margin": number(found.gain_margin),
            "phase_margin_deg": number(found.phase_margin_deg),
            "critical_frequency_hz": number(found.critical_frequency_hz),
            "critical_base_rtt_s": number(factor * base_rtt_s),
        },
        tables={"groups": groups},
        drawn=network,
    )


def _of_abc(mapped: Mapped) -> Answer:
    """Of the queue with all groups, and of users in a group against each other."""
    model = abc_over_tcp(mapped)
    found = abc_stability(model)
    return Answer(
        model="loop of ABC over TCP: the meter's pole ln 2/I, the mean activity, the AQM",
        mapped=mapped_abc(mapped, model),
        assumptions=(*ABC_ASSUMPTIONS, "a swing is small"),
        drawn=model,
        **_of_modes(mapped, found.joint, found.own),
    )


def _of_aicp(mapped: Mapped) -> Answer:
    """The same, where buckets fill and empty slowly."""
    model = aicp_over_tcp(mapped)
    joint, own = aicp_stability(model)
    return Answer(
        model="loop of AICP over TCP: the buckets as slow states, the AQM",
        mapped=mapped_aicp(mapped, model),
        assumptions=(*AICP_ASSUMPTIONS, "a swing is small"),
        drawn=model,
        **_of_modes(mapped, joint, own),
    )


class _Modes(TypedDict):
    warnings: tuple[str, ...]
    values: dict[str, Value]
    tables: dict[str, Rows]


def _of_modes(mapped: Mapped, joint: LociMargin, own: tuple[LociMargin | None, ...]) -> _Modes:
    """Margins of the queue with all groups, and of users in a group against each other."""
    worst = min(
        [joint, *(one for one in own if one is not None)], key=lambda margin: margin.gain_margin
    )
    groups: Rows = [
        {"group": bundle.group, "own_gain_margin": None if one is None else number(one.gain_margin)}
        for bundle, one in zip(mapped.through, own, strict=True)
    ]
    values: dict[str, Value] = {
        "stable": worst.stable,
        "gain_margin": number(worst.gain_margin),
        "critical_frequency_hz": number(worst.frequency_hz),
        "queue_gain_margin": number(joint.gain_margin),
    }
    return {"warnings": doubts_about_cubic(mapped), "values": values, "tables": {"groups": groups}}


def check_has_loop(mapped: Mapped, bottleneck: Bottleneck) -> None:
    """CUBIC's cubic law has none, and who only sends at a constant rate closes none."""
    check_not_policed(mapped)
    check_laws(mapped.through, bottleneck.sources, bottleneck.equilibrium)


def check_laws(
    bundles: Sequence[Bundle], sources: Sequence[Source], at: Equilibrium | NetworkEquilibrium
) -> None:
    """Whether what senders do at the equilibrium has a loop."""
    groups = zip(bundles, sources, at.met_probability, at.rtt_s, strict=True)
    for bundle, source, p, rtt in groups:
        if isinstance(source, Cubic) and not np.all(
            source.friendly(np.asarray(p), np.asarray(rtt))
        ):
            raise NoModelError(
                f"{bundle.key}.tcp.congestion_control",
                "CUBIC is beyond its Reno-friendly region here, where its window goes by the time "
                "since the last loss and has no loop",
                "its equilibrium is computed; reno, more flows or a shorter round trip have a loop",
            )
        if isinstance(source, VegasCp):
            raise NoModelError(
                f"{bundle.key}.tcp.congestion_control",
                "Vegas/CP moves by a segment however far it is off, and has no loop",
                "its equilibrium is computed; direct-window has a loop",
            )
    if not any(source.clocked for source in sources):
        raise NoModelError(
            f"{bundles[0].key}.traffic",
            "nobody answers to the queue, so that there is no loop",
            "give a group traffic without end over TCP",
        )
