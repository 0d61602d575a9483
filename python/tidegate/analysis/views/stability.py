"""The view `stability`: whether the queue settles, by what margin, and what tips it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tidegate.analysis.abc_loop import abc_stability, margin_without_abc
from tidegate.analysis.aicp_tcp import aicp_stability
from tidegate.analysis.eigenloci import SEARCHED, critical_network_delay, network_stability
from tidegate.analysis.mapped.abc import abc_over_tcp
from tidegate.analysis.mapped.aicp import AICP, aicp_over_tcp
from tidegate.analysis.mapped.customers import cubic_warnings
from tidegate.analysis.mapped.policers import check_not_policed
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.prices import VegasCp
from tidegate.analysis.sources import Cubic, SbrmSource
from tidegate.analysis.stability import stability
from tidegate.analysis.tipping import critical_capacity, critical_count, critical_delay
from tidegate.analysis.views.answer import Answer, Rows, Value, number
from tidegate.analysis.views.common import (
    FLUID_ASSUMPTIONS,
    form_of,
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

    from tidegate.analysis.bottleneck import Bottleneck, Equilibrium, Form
    from tidegate.analysis.loci import LociMargin
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.network import NetworkEquilibrium
    from tidegate.analysis.sources import Source
    from tidegate.analysis.tipping import Tipping


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
    form = form_of(bottleneck)
    at = stability(bottleneck, form=form)
    flows = sum(bundle.flows for bundle in mapped.through)
    stable = bool(at.stable)
    by_delay = critical_delay(bottleneck, form=form)
    by_count = critical_count(bottleneck, form=form)
    by_capacity = critical_capacity(bottleneck, form=form)
    groups: Rows = [
        {
            "group": bundle.group,
            "base_rtt_s": bundle.base_rtt_s,
            "critical_base_rtt_s": number(by_delay.factor * bundle.base_rtt_s),
        }
        for bundle in mapped.through
    ]
    return Answer(
        model=_MODELS[form],
        mapped=mapped_bottleneck(mapped, bottleneck),
        assumptions=(
            *FLUID_ASSUMPTIONS,
            "a swing is small; all base round trips grow together",
            *_of_the_mean(mapped.through),
        ),
        warnings=strained(mapped, bottleneck),
        values={
            "stable": stable,
            "gain_margin": number(at.gain_margin),
            "phase_margin_deg": number(at.phase_margin_deg),
            "critical_frequency_hz": number(at.critical_frequency_hz),
            **_critical_delay(
                mapped.through, number(by_delay.factor), _searched(by_delay), stable=stable
            ),
            **_critical("flows", "", by_count, flows),
            **_critical("rate", "_bps", by_capacity, mapped.capacity_pps * mapped.packet_bits),
        },
        tables={"groups": groups},
        drawn=bottleneck,
    )


_MODELS: dict[Form, str] = {
    "fluid": "linear loop of one bottleneck, (6.5.1) to (6.5.22), delays exact",
    "clocked": "linear loop of one bottleneck with ACKs that clock the senders, Jacobsson et al. "
    "2008, and SBRM's window law (6.4.2), delays exact",
}


def _of_the_mean(bundles: Sequence[Bundle]) -> tuple[str, ...]:
    """What the one number for several round trips is."""
    if len({round(bundle.base_rtt_s, 9) for bundle in bundles}) == 1:
        return ()
    return (
        "the critical mean base round trip is the mean over all flows; the table has each group's",
    )


def _name_of_delay(bundles: Sequence[Bundle]) -> str:
    return "mean_base_rtt" if _of_the_mean(bundles) else "base_rtt"


def _critical_delay(
    bundles: Sequence[Bundle],
    factor: float | None,
    searched: tuple[float, float],
    *,
    stable: bool,
) -> dict[str, Value]:
    """The base round trip at which the verdict changes, or as far as it was looked without one."""
    flows = sum(bundle.flows for bundle in bundles)
    mean_s = sum(b.flows * b.base_rtt_s for b in bundles) / flows
    name = f"critical_{_name_of_delay(bundles)}"
    if factor is not None:
        return {f"{name}_s": factor * mean_s}
    low, high = searched
    end = {f"{name}_beyond_s": high * mean_s} if stable else {f"{name}_below_s": low * mean_s}
    return {f"{name}_s": None, **end}


def _searched(tips: Tipping) -> tuple[float, float]:
    low, high = tips.searched
    return float(low), float(high)


def _without_ack_clock(sources: Sequence[Source]) -> tuple[str, ...]:
    """Of several links there is no loop with it."""
    if not any(isinstance(source, SbrmSource) for source in sources):
        return ()
    warning = (
        "the loop of several links lets windows send W/R whatever comes back; with the ACK clock, "
        "which has a loop for one link alone, SBRM is stable for round trips that are longer by "
        "about 0.6 times"
    )
    return (warning,)


def _critical(name: str, unit: str, tips: Tipping, present: float) -> dict[str, Value]:
    """What a quantity is where the verdict changes, or from where to where it was looked."""
    critical = number(tips.factor * present)
    if critical is not None:
        return {f"critical_{name}{unit}": critical}
    low, high = _searched(tips)
    return {
        f"critical_{name}{unit}": None,
        f"critical_{name}_searched_from{unit}": low * present,
        f"critical_{name}_searched_to{unit}": high * present,
    }


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
    stable = bool(found.stable)
    return Answer(
        model="eigenloci of several bottlenecks, (6.5.1) to (6.5.22) for each link, delays exact",
        mapped=mapped_network(mapped, network),
        assumptions=(
            *FLUID_ASSUMPTIONS,
            "each link is half a round trip from the source, and does not smooth what goes on",
            *_of_the_mean(mapped.bundles),
        ),
        warnings=(*strained_network(mapped, network, at), *_without_ack_clock(sources)),
        values={
            "stable": stable,
            "gain_margin": number(found.gain_margin),
            "phase_margin_deg": number(found.phase_margin_deg),
            "critical_frequency_hz": number(found.critical_frequency_hz),
            **_critical_delay(mapped.bundles, number(factor), SEARCHED, stable=stable),
        },
        tables={"groups": groups},
        drawn=network,
    )


def _of_abc(mapped: Mapped) -> Answer:
    """Of the queue with all groups, and of users in a group against each other."""
    model = abc_over_tcp(mapped)
    found = abc_stability(model)
    without = margin_without_abc(model)
    modes = _of_modes(mapped, found.joint, found.own)
    modes["values"]["queue_gain_margin_without_abc"] = number(without)
    modes["warnings"] = (*modes["warnings"], *_unstable_by_abc(found.stable, without))
    return Answer(
        model="loop of ABC over TCP: the meter's pole ln 2/I, the mean activity, the AQM",
        mapped=mapped_abc(mapped, model),
        assumptions=(*ABC_ASSUMPTIONS, "a swing is small"),
        drawn=model,
        **modes,
    )


def _unstable_by_abc(stable: bool, margin_without: float) -> tuple[str, ...]:
    """What "unstable" means where γ alone makes it so."""
    if stable or margin_without < 1:
        return ()
    warning = (
        "unstable says here that a small swing of activities grows, not that the queue swings: "
        "that it does where the queue's gain margin without ABC is below 1 as well. In packets γ "
        "from 0.5 to 8, at margins from 4.7 to 0.16, left the spread of the queue within 12 % and "
        "its mean within 27 %"
    )
    return (warning,)


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
    return {"warnings": cubic_warnings(mapped), "values": values, "tables": {"groups": groups}}


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
            "no flow responds to the queue, so there is no control loop",
            "give a group traffic without end over TCP",
        )
