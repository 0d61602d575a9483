"""Whether measurements satisfy a claim: one function for each `check.kind`.

Orderings and monotonic claims fail only where two means contradict them by more than the 95 %
interval of their difference. All other kinds look at the means alone: their tolerance is in the
claim. A NaN satisfies nothing.
"""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.papers.errors import ReproductionError
from tidegate.papers.estimates import joint_half_width
from tidegate.papers.events import EVENTS
from tidegate.papers.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.papers.estimates import Estimate
    from tidegate.papers.selection import Datum, Group

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Finding:
    """A value that was looked at, whether it satisfies the claim, and how it reads."""

    held: bool
    value: Estimate
    text: str


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
    tolerance = max(rules.get("rel_tol", 0.0) * abs(expected), rules.get("abs_tol", 0.0))
    return bool(abs(value - expected) <= tolerance)


def _each(group: Group, held: Callable[[Datum], bool]) -> list[Finding]:
    return [Finding(held(datum), datum.value, str(datum.value)) for datum in group.all]


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
            held = _not_above(a.value, b.value, rules)
            findings.append(Finding(held, a.value, f"{a.value} < {b.value}"))
    return findings


def _not_above(a: Estimate, b: Estimate, rules: Mapping[str, Any]) -> bool:
    """Whether a < b holds or cannot be told from the runs at hand."""
    if "min_rel_gap" in rules:  # a stated effect has to be seen beyond the interval
        gap = b.mean - a.mean
        return gap >= rules["min_rel_gap"] * abs(a.mean) and gap > joint_half_width(a, b)
    exact = a.half_width == b.half_width == 0.0
    if exact and not rules.get("ties_ok"):
        return a.mean < b.mean
    return a.mean - b.mean <= joint_half_width(a, b)


def _monotonic(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Every step in the right direction, and (unless ties are fine) the ends really apart."""
    over, rising = rules["over"], rules["direction"] == "increasing"
    data = sorted(group.all, key=lambda datum: evaluate(over, datum.levels))
    findings = [Finding(True, data[0].value, str(data[0].value))]
    for before, after in itertools.pairwise(data):
        low, high = (before, after) if rising else (after, before)
        findings.append(Finding(_not_above(low.value, high.value, rules), after.value,
                                f"{before.value} → {after.value}"))  # fmt: skip
    first, last = data[0].value, data[-1].value
    if not rules.get("ties_ok") and (first.mean < last.mean) != rising:
        findings.append(Finding(False, last, f"{first} … {last}"))
    if "formula" in rules:
        findings += _formula({**rules, "expr": rules["formula"]}, group)
    return findings


def _same(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Compare the levels in `items` with the first of them."""
    reference, *others = rules["items"]
    (expected,) = _one(group, reference)
    findings = [Finding(True, expected.value, str(expected.value))]
    for name in others:
        (other,) = _one(group, name)
        held = near(other.value.mean, expected.value.mean, rules)
        findings.append(Finding(held, other.value, f"{other.value} for {expected.value}"))
    return findings


def _formula(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each value agrees with an expression over its levels."""
    findings = []
    for datum in group.all:
        expected = evaluate(rules["expr"], _names(rules, datum))
        held = near(datum.value.mean, expected, rules)
        findings.append(Finding(held, datum.value, f"{datum.value} for {expected:.4g}"))
    return findings


def _event(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Look for a shape of the curve over one factor, one of `events.EVENTS`."""
    event = rules["event"]
    curve = sorted((evaluate(event["over"], d.levels), d.value.mean) for d in group.all)
    held = EVENTS[event["kind"]](curve, event)
    peak = max(group.all, key=lambda datum: datum.value.mean)
    ends = f"{curve[0][1]:.3g} at {curve[0][0]:g}, {curve[-1][1]:.3g} at {curve[-1][0]:g}"
    at = evaluate(event["over"], peak.levels)
    return [Finding(held, peak.value, f"peak {peak.value} at {at:g}; {ends}")]


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
