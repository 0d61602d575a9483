"""Checks that compare named levels with each other: order, same, ratio, spread_order, gap.

A level is a name in the claim's list. With `factor`, it is a level of that factor, and everything
is compared where all other factors are equal.
"""

from __future__ import annotations

import itertools
import math
import statistics
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate, difference_ci95
from tidegate.studies.checks.findings import Finding, below, found, listed, named, near, one
from tidegate.studies.data import Datum, Group, curves, points_of
from tidegate.studies.derivations import mean, spread
from tidegate.studies.errors import ReproductionError
from tidegate.studies.verdict import Margin, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_levels(part: Mapping[str, Any], rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make levels of a `factor`'s, each compared at equal others; a part's own come first."""
    if "factor" not in rules or part.get("levels"):
        return part
    chosen = [level for item in rules.get("less") or rules["items"] for level in _levels(item)]
    levels = {level: {rules["factor"]: level} for level in chosen}
    return {"each": "others", **part, "levels": levels}


def _levels(item: object) -> list[Any]:
    return item if isinstance(item, list) else [item]


def order(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each level of the chain below the next; an inner list is a level of several names."""
    findings = []
    for lower, upper in itertools.pairwise(map(listed, rules["less"])):
        for a, b in itertools.product(named(group, lower), named(group, upper)):
            text = f"{a.value} {'≤' if rules.get('ties_ok') else '<'} {b.value}"
            margin = below(a.value, b.value, rules)
            findings.append(found(margin, a.value, text, a.points + b.points))
    return findings


def same(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Compare the levels in `items` with the first of them; without, all values with their mean."""
    if "items" not in rules:
        return _all_alike(rules, group)
    # Steps on a grid are numbers of ours already (the derivation `least_step`).
    steps = rules.get("tol_grid_steps")
    tolerance = rules if steps is None else {"abs_tol": steps}
    reference, *others = rules["items"]
    expected = one(group, reference)
    findings = [Finding(Verdict.HELD, expected.value, str(expected.value), expected.points)]
    for name in others:
        other = one(group, name)
        value = Estimate(
            other.value.mean, difference_ci95(other.value, expected.value), other.value.runs
        )
        margin = near(value, expected.value.mean, tolerance)
        text = f"{other.value} for {expected.value}"
        findings.append(found(margin, other.value, text, expected.points + other.points))
    return findings


def _all_alike(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    middle = statistics.fmean(datum.value.mean for datum in group.all)
    return [found(near(d.value, middle, rules), d.value, str(d.value), d.points) for d in group.all]


def ratio(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """The quotient of two levels is as expected."""
    top, bottom = one(group, rules["numerator"]), one(group, rules["denominator"])
    quotient = top.value.over(bottom.value)
    margin = near(quotient, rules["expect"], rules)
    return [found(margin, quotient, str(quotient), top.points + bottom.points)]


def spread_order(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Relative spreads ascend along the list, each the mean over what else varies.

    `over` is the factor that makes the spread, or one for each name.
    """
    over = rules["over"]
    spreads = {
        name: [_mean_spread(data, over[name] if isinstance(over, dict) else over)]
        for name, data in group.data.items()
    }
    return order(rules, Group(group.label, spreads))


def _mean_spread(data: list[Datum], factor: str) -> Datum:
    each = curves(data, {factor}).values()
    if any(len(curve) < 2 for curve in each):
        raise ReproductionError(f"a spread over {factor!r} of a single value")
    return Datum({}, mean([spread(curve) for curve in each]), points_of(data))


def gap(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """The difference a - b hardly varies over a factor: its deviation is small against its mean."""
    if "max_variation" not in rules:
        raise ReproductionError("a gap check needs max_variation: deviation over mean, at most")
    factor = rules["over"]
    a, b = ({datum.levels[factor]: datum for datum in named(group, [rules[name]])} for name in "ab")
    if a.keys() != b.keys() or len(a) < 2:
        raise ReproductionError(f"a gap over {factor!r} between {sorted(a)} and {sorted(b)}")
    gaps = [a[level].value.less(b[level].value) for level in a]
    middle, deviation = mean(gaps), _deviation(gaps)
    allowed = middle.scaled(rules["max_variation"])
    margin = Margin(
        abs(allowed.mean) - deviation.mean, difference_ci95(allowed, deviation), ties_ok=True
    )
    text = f"{middle.mean:.3g}, deviation {deviation.mean:.3g}"
    value = Estimate(middle.mean, deviation.mean, len(gaps))
    return [found(margin, value, text, points_of([*a.values(), *b.values()]))]


def _deviation(values: list[Estimate]) -> Estimate:
    """Standard deviation of independent estimates; its interval to first order."""
    means = [value.mean for value in values]
    middle, deviation = statistics.fmean(means), statistics.stdev(means)
    pulls = math.hypot(*((value.mean - middle) * value.ci95 for value in values))
    half = pulls / (len(values) - 1) / deviation if deviation else pulls
    return Estimate(deviation, half, min(value.runs for value in values))
