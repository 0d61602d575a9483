"""Checks that compare named levels with each other: order, same, ratio, spread_order, gap.

A level is a name in the claim's list. With `factor`, it is a level of that factor, and everything
is compared where all other factors are equal.
"""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.judging import Verdict, of_truth
from tidegate.studies.papers.data import Datum, Group, curves, points_of
from tidegate.studies.papers.derivations import mean, spread
from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.findings import Finding, below, listed, named, near, one

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
            verdict = below(a.value, b.value, rules)
            text = f"{a.value} {'≤' if rules.get('ties_ok') else '<'} {b.value}"
            findings.append(Finding(verdict, a.value, text, a.points + b.points))
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
        verdict = of_truth(near(other.value.mean, expected.value.mean, tolerance))
        text = f"{other.value} for {expected.value}"
        findings.append(Finding(verdict, other.value, text, other.points))
    return findings


def _all_alike(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    middle = statistics.fmean(datum.value.mean for datum in group.all)
    return [
        Finding(of_truth(near(d.value.mean, middle, rules)), d.value, str(d.value), d.points)
        for d in group.all
    ]


def ratio(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """The quotient of two levels is as expected."""
    top, bottom = one(group, rules["numerator"]), one(group, rules["denominator"])
    quotient = top.value.over(bottom.value)
    verdict = of_truth(near(quotient.mean, rules["expect"], rules))
    return [Finding(verdict, quotient, str(quotient), top.points + bottom.points)]


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
    found = curves(data, {factor}).values()
    if any(len(curve) < 2 for curve in found):
        raise ReproductionError(f"a spread over {factor!r} of a single value")
    return Datum({}, mean([spread(curve) for curve in found]), points_of(data))


def gap(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """The difference a - b hardly varies over a factor: its deviation is small against its mean."""
    if "max_variation" not in rules:
        raise ReproductionError("a gap check needs max_variation: deviation over mean, at most")
    factor = rules["over"]
    a, b = ({datum.levels[factor]: datum for datum in named(group, [rules[name]])} for name in "ab")
    if a.keys() != b.keys() or len(a) < 2:
        raise ReproductionError(f"a gap over {factor!r} between {sorted(a)} and {sorted(b)}")
    gaps = [a[level].value.less(b[level].value).mean for level in a]
    middle, deviation = statistics.fmean(gaps), statistics.stdev(gaps)
    verdict = of_truth(deviation <= rules["max_variation"] * abs(middle))
    text = f"{middle:.3g}, deviation {deviation:.3g}"
    points = points_of([*a.values(), *b.values()])
    return [Finding(verdict, Estimate(middle, deviation, len(gaps)), text, points)]
