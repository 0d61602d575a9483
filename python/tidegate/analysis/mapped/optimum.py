"""A scenario as a problem of sharing: capacities, and who shares them by which utility.

A user's own limit (access link, a constant rate) is a link of its group, so that it
bounds that group's rate and no other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.optimum import Flow, Optimum, allocate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.utility import Fairness

_BY_TURNS = {"drr": True, "fq-codel": False, "cake": True}
"""Schedulers that serve in turn; whether they take turns by customer, or by flow."""


class Sharing(NamedTuple):
    """How a network is to be shared."""

    fairness: Fairness
    per_user: bool
    """Whether a user or a flow has a utility."""
    weights: list[float]
    """Of a user or a flow of each bundle."""
    by: str
    """Where the weights come from, in words."""


def sharing(mapped: Mapped) -> Sharing:
    """By what the scenario says: who serves in turn, what users pay, what they are assigned."""
    kinds = [mapped.link(i)["scheduler"]["kind"] for i in mapped.full_links]
    turns = [kind for kind in kinds if kind in _BY_TURNS]
    ones = [1.0] * len(mapped.bundles)
    if turns:
        by = f"{turns[0]} serves {'customers' if _BY_TURNS[turns[0]] else 'flows'} in turn"
        return Sharing("max-min", _BY_TURNS[turns[0]], ones, by)
    pays = [_willingness(bundle) for bundle in mapped.bundles]
    if all(pay is not None for pay in pays):
        weights = [float(pay or 0) for pay in pays]
        senders = {(b.tcp or {})["congestion_control"]["kind"] for b in mapped.bundles}
        fairness: Fairness = "sbrm-steps" if senders == {"sbrm"} else "proportional"
        return Sharing(fairness, False, weights, "flows weigh what they are willing to pay")
    assigned = [bundle.reference_rate_bps for bundle in mapped.bundles]
    if all(assigned):
        weights = [float(rate or 0) for rate in assigned]
        return Sharing("proportional", True, weights, "users weigh their reference rate")
    return Sharing("proportional", True, ones, "every user weighs the same")


def _willingness(bundle: Bundle) -> float | None:
    pays = (bundle.tcp or {}).get("congestion_control", {}).get("willingness_to_pay")
    return pays * bundle.packet_bits if pays else None


def solved(mapped: Mapped, how: Sharing) -> Optimum:
    """Rates of a user of each bundle (bit/s), and prices of the network's links."""
    capacities = {mapped.link(i)["name"]: float(mapped.link(i)["rate_bps"]) for i in mapped.links}
    flows = []
    for number, (bundle, weight) in enumerate(zip(mapped.bundles, how.weights, strict=True)):
        count = bundle.users if how.per_user else bundle.flows
        way = [mapped.link(i)["name"] for i in bundle.links]
        bound = bound_bps(bundle)
        if math.isfinite(bound):
            own = f"of {number}: {bundle.group}"
            capacities[own] = bundle.users * bound
            way.append(own)
        flows.append(Flow(links=tuple(way), count=count, weight=weight))
    found = allocate(capacities, flows, how.fairness)
    per_user = (1.0 if how.per_user else bundle.flows_per_user for bundle in mapped.bundles)
    rates = tuple(rate * times for rate, times in zip(found.rates, per_user, strict=True))
    names = {mapped.link(i)["name"] for i in mapped.links}
    return Optimum(rates, {name: p for name, p in found.prices.items() if name in names})


def bound_bps(bundle: Bundle) -> float:
    """Largest rate of a user: of its own links and its application, packets/s."""
    rates = [bundle.cap_bps]
    if bundle.traffic["kind"] == "cbr":
        rates.append(bundle.traffic["rate_bps"] * bundle.flows_per_user)
    elif bundle.traffic["kind"] != "greedy":
        raise NoModelError(
            f"{bundle.key}.traffic",
            f"what traffic that comes and goes ({bundle.traffic['kind']}) wants is no rate",
            'the nearest are flows without end ("greedy") and constant rates ("cbr")',
        )
    return min(rates)


def max_min_loads_bps(mapped: Mapped) -> dict[int, float]:
    """Load of each link under max-min shares."""
    ones = [1.0] * len(mapped.bundles)
    rates = solved(mapped, Sharing("max-min", True, ones, "")).rates
    return {i: sum(_on(mapped.bundles, rates, i)) for i in mapped.links}


def _on(bundles: list[Bundle], rates: tuple[float, ...], index: int) -> Iterable[float]:
    for bundle, rate in zip(bundles, rates, strict=True):
        if index in bundle.links:
            yield bundle.users * rate
