"""Equilibria where users are told apart, or cannot adapt: who gets what."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.mapped.policers import customers, declared_pps
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.policers import policed_shares
from tidegate.analysis.shares import CbrUser, cbr_shares
from tidegate.analysis.views.answer import Answer, Rows, Value
from tidegate.errors import NoEquilibriumError

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
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
            "packets of a user are lost by themselves, with the probability of his activity",
            "nobody answers to losses",
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


def of_policed(mapped: Mapped) -> Answer:
    """Customers charged with the queue's probability: who is policed gets r/p."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    who = customers(mapped)
    signal = signal_of(link, key, mapped.packet_bits)
    try:
        found = policed_shares(who, capacity_pps=mapped.capacity_pps, signal=signal)
    except NoEquilibriumError as error:
        raise NoModelError(f"{key}.aqm", error.reason, error.nearest) from None
    groups: Rows = []
    for bundle, rate, causes, policed in zip(
        mapped.through, found.rate_pps, found.causes_pps, found.policed, strict=True
    ):
        row: dict[str, Value] = {"group": bundle.group, "users": bundle.users}
        row |= {"rate_bps": rate * mapped.packet_bits, "p": found.probability}
        groups.append({**row, "policed": policed, "would_cause_pps": causes})
    queue = {"queue_packets": found.queue_packets, "p": found.probability}
    fill_pps = who[0].fill_pps
    return Answer(
        model="customers policed by the queue's probability, Σ min(X(p), r/p) = c",
        mapped={
            "link": link["name"],
            "capacity_pps": mapped.capacity_pps,
            "differentiation": link["differentiation"]["kind"],
            "fill_pps": fill_pps,
        },
        assumptions=(
            "buckets are deep: the rate of filling decides, not the depth",
            "who is policed goes on to fill what he may cause, whatever his flows",
        ),
        tables={"groups": groups, "links": [{"link": link["name"], **queue}]},
    )


def of_declared(mapped: Mapped, without: Answer) -> Answer:
    """What users declare without policers, since nobody is policed."""
    groups: Rows = [
        {**row, "declares_pps": declares, "policed": False}
        for row, declares in zip(without.tables["groups"], declared_pps(mapped), strict=True)
    ]
    return replace(
        without,
        model=f"{without.model}; nobody is policed",
        tables={**without.tables, "groups": groups},
    )
