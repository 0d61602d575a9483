"""Whether measurements satisfy a claim: one function for each `check.kind`.

Where a claim compares our means with each other (orderings, monotonic curves, shapes of a curve),
it holds if they have the order, is undecided if they have it not but lie within the 95 % interval
of their difference, and fails else. A tie holds where the claim's text allows one (`ties_ok`). All
other kinds look at the means alone: their tolerance is in the claim. A NaN satisfies nothing.
"""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import joint95
from tidegate.studies.judging import Tolerance, Verdict, compared, of_truth
from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.events import EVENTS
from tidegate.studies.papers.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.results.statistics import Estimate
    from tidegate.studies.papers.points import Point
    from tidegate.studies.papers.selection import Datum, Group

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Finding:
    """A value that was looked at, whether it satisfies the claim, and how it reads."""

    verdict: Verdict
    value: Estimate
    text: str
    points: tuple[Point, ...] = ()
    """What was compared: more runs of these may decide."""

    @property
    def held(self) -> bool:
        """Whether it satisfies the claim."""
        return self.verdict is Verdict.HELD


def check(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Judge one group by the rules of a claim's `check`."""
    kind = rules["kind"]
    if kind not in _KINDS:
        raise ReproductionError(f"no check {kind!r}; there are {', '.join(_KINDS)}")
    findings = _KINDS[kind](rules, group)
    if not findings:
        raise ReproductionError(f"a {kind} check that looked at nothing")
    return findings


def near(value: float, expected: float, rules: Mapping[str, Any]) -> bool:
    """Within the larger of the relative and the absolute tolerance."""
    return Tolerance(rules.get("rel_tol", 0.0), rules.get("abs_tol", 0.0)).holds(value, expected)


def _each(group: Group, held: Callable[[Datum], bool]) -> list[Finding]:
    return [
        Finding(of_truth(held(datum)), datum.value, str(datum.value), datum.points)
        for datum in group.all
    ]


def _value(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    return _each(group, lambda datum: near(datum.value.mean, rules["expect"], rules))


def _range(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    def held(datum: Datum) -> bool:
        names = _names(rules, datum)
        low, high = evaluate(rules["min"], names), evaluate(rules["max"], names)
        slack = rules.get("slack", 0.0)
        return bool(low * (1 - slack) <= datum.value.mean <= high * (1 + slack))

    return _each(group, held)


def _threshold(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """All values on one side; `values` adds a published number for each level of `key`."""
    above = rules["op"].startswith(">")
    published = rules.get("values")

    def held(datum: Datum) -> bool:
        limit = evaluate(rules["value"], datum.levels)
        slack = rules.get("abs_tol", 0.0)
        if published is None:
            slack = max(slack, rules.get("rel_tol", 0.0) * abs(limit))
        limit += -slack if above else slack
        if not _OPERATORS[rules["op"]](datum.value.mean, limit):
            return False
        if published is None:
            return True
        return near(datum.value.mean, published[str(datum.levels[rules["key"]])], rules)

    return _each(group, held)


def _order(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each level of the chain below the next; an inner list is a level of several names."""
    chain = [[name] if isinstance(name, str) else name for name in rules["less"]]
    findings = []
    for lower, upper in itertools.pairwise(chain):
        for a, b in itertools.product(_named(group, lower), _named(group, upper)):
            verdict = _below(a.value, b.value, rules)
            text = f"{a.value} {'≤' if rules.get('ties_ok') else '<'} {b.value}"
            findings.append(Finding(verdict, a.value, text, a.points + b.points))
    return findings


def _below(a: Estimate, b: Estimate, rules: Mapping[str, Any]) -> Verdict:
    """Whether a < b, or a ≤ b where ties are fine."""
    if "min_rel_gap" in rules:  # a stated effect has to be seen beyond the interval
        gap = b.mean - a.mean
        seen = gap >= rules["min_rel_gap"] * abs(a.mean) and gap > joint95(a, b)
        return of_truth(seen)
    return compared(a, b, ties_ok=rules.get("ties_ok", False))


def _monotonic(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Every step in the right direction, and the ends as well, if small steps add up."""
    over, rising = rules["over"], rules["direction"] == "increasing"
    data = sorted(group.all, key=lambda datum: evaluate(over, datum.levels))
    findings = [Finding(Verdict.HELD, data[0].value, str(data[0].value), data[0].points)]
    for before, after in itertools.pairwise(data):
        low, high = (before, after) if rising else (after, before)
        verdict = _below(low.value, high.value, rules)
        text = f"{before.value} → {after.value}"
        findings.append(Finding(verdict, after.value, text, before.points + after.points))
    low, high = (data[0], data[-1]) if rising else (data[-1], data[0])
    ends = _below(low.value, high.value, rules)
    if ends is not Verdict.HELD:
        text = f"{data[0].value} … {data[-1].value}"
        findings.append(Finding(ends, data[-1].value, text, low.points + high.points))
    if "formula" in rules:
        findings += _formula({**rules, "expr": rules["formula"]}, group)
    return findings


def _same(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Compare the levels in `items` with the first of them."""
    reference, *others = rules["items"]
    (expected,) = _one(group, reference)
    findings = [Finding(Verdict.HELD, expected.value, str(expected.value), expected.points)]
    for name in others:
        (other,) = _one(group, name)
        verdict = of_truth(near(other.value.mean, expected.value.mean, rules))
        text = f"{other.value} for {expected.value}"
        findings.append(Finding(verdict, other.value, text, other.points))
    return findings


def _formula(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each value agrees with an expression over its levels."""
    findings = []
    for datum in group.all:
        expected = evaluate(rules["expr"], _names(rules, datum))
        verdict = of_truth(near(datum.value.mean, expected, rules))
        text = f"{datum.value} for {expected:.4g}"
        findings.append(Finding(verdict, datum.value, text, datum.points))
    return findings


def _event(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Look for a shape of the curve over one factor, one of `events.EVENTS`."""
    event = rules["event"]
    placed = sorted(
        ((evaluate(event["over"], datum.levels), datum) for datum in group.all),
        key=lambda pair: pair[0],
    )
    curve = [(at, datum.value) for at, datum in placed]
    verdict = EVENTS[event["kind"]](curve, event)
    at, peak = max(curve, key=lambda pair: pair[1].mean)
    (first_at, first), (last_at, last) = curve[0], curve[-1]
    ends = f"{first.mean:.3g} at {first_at:g}, {last.mean:.3g} at {last_at:g}"
    points = tuple(point for _, datum in placed for point in datum.points)
    return [Finding(verdict, peak, f"peak {peak} at {at:g}; {ends}", points)]


def _names(rules: Mapping[str, Any], datum: Datum) -> dict[str, Any]:
    """Give the levels, and what `variables` computes from them (to match an expression's units)."""
    variables = rules.get("variables", {})
    computed = {name: evaluate(text, datum.levels) for name, text in variables.items()}
    return {**datum.levels, **computed}


def _named(group: Group, names: list[str]) -> list[Datum]:
    missing = [name for name in names if name not in group.data]
    if missing:
        raise ReproductionError(f"no level {missing} among {sorted(group.data)}")
    return [datum for name in names for datum in group.data[name]]


def _one(group: Group, name: str) -> list[Datum]:
    data = _named(group, [name])
    if len(data) != 1:
        raise ReproductionError(f"{len(data)} values, not one, for {name!r} in {group.label!r}")
    return data


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Group], list[Finding]]] = {
    "value": _value,
    "range": _range,
    "threshold": _threshold,
    "order": _order,
    "monotonic": _monotonic,
    "same": _same,
    "formula": _formula,
    "event": _event,
}
