"""Equilibria where users are treated differently, or cannot adapt: throughput by user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.abc_loop import margin_without_abc
from tidegate.analysis.accuracy import customers as off
from tidegate.analysis.accuracy.causes import Senders, of_bottleneck, swings
from tidegate.analysis.aicp_tcp import aicp_stability
from tidegate.analysis.bottleneck import Bottleneck
from tidegate.analysis.mapped.abc import abc_over_tcp
from tidegate.analysis.mapped.aicp import aicp_over_tcp
from tidegate.analysis.mapped.customers import cubic_warnings
from tidegate.analysis.mapped.policers import customers, declared_pps, policed_link
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.shares import CbrUser, cbr_shares
from tidegate.analysis.stability import stability
from tidegate.analysis.views.answer import Answer, Rows, Value
from tidegate.analysis.views.common import full_buffer
from tidegate.errors import AnalysisError, NoEquilibriumError

if TYPE_CHECKING:
    from tidegate.analysis.abc_tcp import AbcOverTcp
    from tidegate.analysis.accuracy.causes import Cause
    from tidegate.analysis.aicp_tcp import AicpOverTcp
    from tidegate.analysis.customers import Shared
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.policers import Policed, PolicedLink
    from tidegate.analysis.signals import Signal


def of_constant_rates(mapped: Mapped) -> Answer:
    """ABC's (6) to (11), for users who send at a constant rate; without ABC all lose alike."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    abc = link["differentiation"]["kind"] == "abc"
    users = [(bundle, user) for bundle in mapped.through for user in range(bundle.users)]
    for bundle in mapped.through:
        mapped.check_unpoliced(bundle)
        if abc and bundle.reference_rate_bps is None:
            raise NoModelError(
                f"{bundle.key}.meter", "without a meter there is no activity", "give it one"
            )
    rates = [CbrUser(_sends_bps(b), b.reference_rate_bps or _sends_bps(b)) for b, _ in users]
    gamma = link["differentiation"]["gamma"] if abc else 0.0
    shares = cbr_shares(rates, capacity_bps=link["rate_bps"], gamma=gamma)
    groups: Rows = []
    for number, (bundle, user) in enumerate(users):
        if user:
            continue  # they are alike
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        row |= {"rate_bps": shares.throughput_bps[number], "p": shares.loss_probability[number]}
        groups.append({**row, "activity": shares.activity[number] if abc else None})
    probability = shares.aqm_probability
    return Answer(
        model="users at constant rates, ABC (6) to (11)" if abc else "users at constant rates",
        mapped={"link": link["name"], "capacity_bps": link["rate_bps"], "gamma": gamma},
        assumptions=(
            "packets of a user are lost by themselves, with the probability of its activity",
            "no flow responds to losses",
        ),
        tables={"groups": groups, "links": [_link(mapped, key, probability)]},
    )


def _sends_bps(bundle: Bundle) -> float:
    return float(bundle.traffic["rate_bps"] * bundle.flows_per_user)


def _link(mapped: Mapped, key: str, probability: float) -> dict[str, Value]:
    """The queue at which the AQM says so, where it goes by the queue (11)."""
    link = mapped.link(mapped.full_link)
    row: dict[str, Value] = {"link": link["name"], "p": probability, "queue_packets": None}
    try:
        signal: Signal = signal_of(link, key, mapped.packet_bits)
    except NoModelError:
        return row  # who gets what does not depend on it
    p = np.asarray(probability)
    if probability > 0 and np.all(signal.reaches(p)):
        row["queue_packets"] = float(signal.queue_packets(p, np.asarray(mapped.capacity_pps)))
    return row


def of_abc(mapped: Mapped) -> Answer:
    """ABC over TCP, in no paper."""
    model = abc_over_tcp(mapped)
    at = _settled(mapped, model)
    windows, rtts = _windows(mapped, model, at)
    groups: Rows = []
    for bundle, rate, window, loss, activity in zip(
        mapped.through, at.throughput_pps, windows, at.loss, at.state, strict=True
    ):
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        row |= {"rate_bps": rate * mapped.packet_bits, "window_packets": window}
        groups.append({**row, "p": loss, "activity": activity})
    link: dict[str, Value] = {"link": mapped.link(mapped.full_link)["name"]}
    link |= {"queue_packets": at.queue_packets, "p": at.probability}
    causes = _all(
        full_buffer(mapped, mapped.full_link, at.queue_packets),
        off.of_abc(
            mapped.key(mapped.full_link),
            mapped.through,
            windows,
            rtts,
            inertia_s=model.inertia_s,
        ),
        _swings(mapped, margin_without_abc(model)),
    )
    return Answer(
        model="ABC over TCP, Menth and Zeitler 2015, (5), (7), (11) with Padhye's formula",
        mapped=mapped_abc(mapped, model),
        assumptions=ABC_ASSUMPTIONS,
        warnings=(*cubic_warnings(mapped), *map(str, causes)),
        causes=causes,
        tables={"groups": groups, "links": [{**link, "mean_activity": at.mean_state}]},
        drawn=model,
    )


ABC_ASSUMPTIONS = (
    "flows without end, whose rates go by Padhye's formula of the loss of their user",
    "activities are at their stationary values",
)


def of_aicp(mapped: Mapped) -> Answer:
    """AICP over TCP: each meets the queue's probability as the fill of its bucket bends it."""
    model = aicp_over_tcp(mapped)
    at = _settled(mapped, model)
    windows, _ = _windows(mapped, model, at)
    groups: Rows = []
    for bundle, rate, window, loss, fill in zip(
        mapped.through, at.throughput_pps, windows, at.loss, at.state, strict=True
    ):
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        row |= {"rate_bps": rate * mapped.packet_bits, "window_packets": window}
        groups.append({**row, "p": loss, "fill": fill, "policed": fill < 1})
    kind = mapped.link(mapped.full_link)["differentiation"]["kind"]
    joint, own = aicp_stability(model)
    worst = min(margin.gain_margin for margin in (joint, *own) if margin is not None)
    link: dict[str, Value] = {"link": mapped.link(mapped.full_link)["name"]}
    link |= {"queue_packets": at.queue_packets, "p": at.probability}
    causes = _all(
        full_buffer(mapped, mapped.full_link, at.queue_packets),
        off.of_aicp(kind, mapped.key(mapped.full_link)),
        off.small_windows(mapped.through, windows),
        _slow_buckets(mapped, model.depth_packets / model.fill_pps),
        _swings(mapped, worst),
    )
    return Answer(
        model="AICP over TCP, Wagner 2014, section IV-C, with Padhye's formula",
        mapped=mapped_aicp(mapped, model),
        assumptions=AICP_ASSUMPTIONS,
        warnings=(*cubic_warnings(mapped), *map(str, causes)),
        causes=causes,
        tables={"groups": groups, "links": [link]},
        drawn=model,
    )


AICP_ASSUMPTIONS = (
    "flows without end, whose rates go by Padhye's formula of the loss of their customer",
    "buckets are where they stay: full, or as full as what their customer causes",
)


def _windows(
    mapped: Mapped, model: AbcOverTcp | AicpOverTcp, at: Shared
) -> tuple[list[float], list[float]]:
    """Of one flow of each group, in packets, and round trips in seconds."""
    rtts = [each.rtt_s(at.queue_packets, model.capacity_pps) for each in model.customers]
    windows = [
        offered / bundle.flows_per_user * rtt_s
        for offered, bundle, rtt_s in zip(at.offered_pps, mapped.through, rtts, strict=True)
    ]
    return windows, rtts


def _all(*causes: list[Cause]) -> tuple[Cause, ...]:
    return tuple(cause for some in causes for cause in some)


def _swings(mapped: Mapped, gain_margin: float) -> list[Cause]:
    return [swings(mapped.key(mapped.full_link), gain_margin)] if gain_margin < 1 else []


def _slow_buckets(mapped: Mapped, depth_s: float) -> list[Cause]:
    key, warm_up_s = mapped.key(mapped.full_link), mapped.plan["warm_up_s"]
    return off.slow_buckets(key, depth_s=depth_s, warm_up_s=warm_up_s)


def mapped_aicp(mapped: Mapped, model: AicpOverTcp) -> dict[str, Value]:
    """Capacity, signal and buckets in the model's own units."""
    return {
        "link": mapped.link(mapped.full_link)["name"],
        "capacity_pps": mapped.capacity_pps,
        "signal": str(model.signal),
        "policing": str(model.policing),
        "fill_pps": model.fill_pps,
        "depth_packets": model.depth_packets,
    }


def mapped_abc(mapped: Mapped, model: AbcOverTcp) -> dict[str, Value]:
    """Capacity, signal and users in the model's own units."""
    mapping: dict[str, Value] = {
        "link": mapped.link(mapped.full_link)["name"],
        "capacity_pps": mapped.capacity_pps,
        "gamma": model.gamma,
        "signal": str(model.signal),
    }
    for bundle, users in zip(mapped.through, model.customers, strict=True):
        mapping[f"group {bundle.group}"] = (
            f"{bundle.users} users × {bundle.flows_per_user:g} flows, base round trip "
            f"{1e3 * bundle.base_rtt_s:.4g} ms, reference rate {users.reference_pps:.4g} packets/s"
        )
    return mapping


def _settled(mapped: Mapped, model: AbcOverTcp | AicpOverTcp) -> Shared:
    try:
        return model.equilibrium
    except AnalysisError as error:
        raise NoModelError(
            mapped.key(mapped.full_link) + ".aqm", str(error), "other numbers of flows would do"
        ) from None


def of_policed(mapped: Mapped) -> Answer:
    """Customers charged with the queue's probability: who is policed gets r/p."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    model = policed_link(mapped)
    try:
        found = model.equilibrium
    except NoEquilibriumError as error:
        raise NoModelError(f"{key}.aqm", error.reason, error.nearest) from None
    groups: Rows = []
    for bundle, rate, would_cause, policed in zip(
        mapped.through, found.rate_pps, found.causes_pps, found.policed, strict=True
    ):
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        row |= {"rate_bps": rate * mapped.packet_bits, "p": found.probability}
        groups.append({**row, "policed": policed, "would_cause_pps": would_cause})
    queue = {"queue_packets": found.queue_packets, "p": found.probability}
    kind = link["differentiation"]["kind"]
    causes = _all(
        full_buffer(mapped, mapped.full_link, found.queue_packets),
        off.of_policed(kind, key, found.policed),
        _slow_buckets(mapped, model.depth_packets / model.customers[0].fill_pps),
        _without_policers(mapped, model, found),
    )
    return Answer(
        model="customers policed by the queue's probability, Σ min(X(p), r/p) = c",
        mapped=mapped_policed(mapped),
        warnings=tuple(map(str, causes)),
        causes=causes,
        assumptions=(
            "buckets are deep: the rate of filling decides, not the depth",
            "a policed user uses up its allowance, whatever its number of flows",
        ),
        tables={"groups": groups, "links": [{"link": link["name"], **queue}]},
    )


def _without_policers(mapped: Mapped, model: PolicedLink, found: Policed) -> list[Cause]:
    """What holds of any link, where no user is policed; else windows below which timers rule."""
    delay_s = found.queue_packets / model.capacity_pps
    sources = [
        replace(each.source, count=bundle.flows)
        for each, bundle in zip(model.customers, mapped.through, strict=True)
    ]
    rtts = [float(source.base_rtt_s) + delay_s for source in sources]  # type: ignore[arg-type]
    rates = [
        rate / bundle.flows_per_user
        for rate, bundle in zip(found.rate_pps, mapped.through, strict=True)
    ]
    windows = [rate * rtt_s for rate, rtt_s in zip(rates, rtts, strict=True)]
    if any(found.policed):
        return off.small_windows(mapped.through, windows)
    link = Bottleneck(capacity_pps=model.capacity_pps, signal=model.signal, sources=tuple(sources))
    return of_bottleneck(
        mapped.key(mapped.full_link),
        link,
        Senders.of(mapped, mapped.through, sources, link.equilibrium),
        gain_margin=float(stability(link).gain_margin),
        warm_up_s=mapped.plan["warm_up_s"],
    )


def mapped_policed(mapped: Mapped) -> dict[str, Value]:
    """Link and buckets."""
    link = mapped.link(mapped.full_link)
    return {
        "link": link["name"],
        "capacity_pps": mapped.capacity_pps,
        "differentiation": link["differentiation"]["kind"],
        "fill_pps": customers(mapped)[0].fill_pps,
    }


def of_declared(mapped: Mapped, without: Answer) -> Answer:
    """What users declare without policers, since no user is policed."""
    groups: Rows = [
        {**row, "declares_pps": declares, "policed": False}
        for row, declares in zip(without.tables["groups"], declared_pps(mapped), strict=True)
    ]
    return replace(
        without,
        model=f"{without.model}; no user is policed",
        tables={**without.tables, "groups": groups},
    )
