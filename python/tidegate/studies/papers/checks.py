"""Whether measurements satisfy a claim: one function for each `check.kind`.

Where a claim compares our means with each other (orderings, monotonic curves, shapes of a curve,
spreads), it holds if they have the order, is undecided if they have it not but lie within the 95 %
interval of their difference, and fails else. A tie holds where the claim's text allows one
(`ties_ok`). All other kinds look at the means alone: their tolerance is in the claim; but a range
for a difference of two means of ours (`of_ours`) is undecided, too, where only chance may keep it
outside. A NaN satisfies nothing.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.judging import Verdict, of_truth
from tidegate.studies.papers.comparing import gap, order, ratio, same, spread_order
from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.expressions import evaluate
from tidegate.studies.papers.findings import Finding, names_of, near
from tidegate.studies.papers.shapes import event, monotonic, unimodal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.papers.data import Datum, Group

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def check(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Judge one group by the rules of a claim's `check`."""
    kind = rules["kind"]
    if kind not in KINDS:
        raise ReproductionError(f"no check {kind!r}; there are {', '.join(KINDS)}")
    findings = KINDS[kind](rules, group) if group.all else []
    if not findings:
        raise ReproductionError(f"a {kind} check that looked at nothing")
    return findings


def _each(group: Group, held: Callable[[Datum], bool]) -> list[Finding]:
    return [
        Finding(of_truth(held(datum)), datum.value, str(datum.value), datum.points)
        for datum in group.all
    ]


def _value(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    return _each(group, lambda datum: near(datum.value.mean, rules["expect"], rules))


def _range(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    findings = []
    for datum in group.all:
        names = names_of(rules, datum)
        low, high = evaluate(rules["min"], names), evaluate(rules["max"], names)
        slack = rules.get("slack", 0.0)
        low, high = low * (1 - slack), high * (1 + slack)
        value, chance = datum.value, datum.value.ci95 if rules.get("of_ours") else 0.0
        verdict = of_truth(bool(low <= value.mean <= high))
        if verdict is Verdict.FAILED and low - chance <= value.mean <= high + chance:
            verdict = Verdict.UNDECIDED
        findings.append(Finding(verdict, value, str(value), datum.points))
    return findings


def _threshold(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """All values on one side; `values` adds a published number for each level of `key`."""
    above = rules["op"].startswith(">")
    published = rules.get("values")

    def held(datum: Datum) -> bool:
        limit = evaluate(rules["value"], datum.levels)
        slack = rules.get("abs_tol", 0.0)
        if published is None:
            slack = max(slack, rules.get("rel_tol", 0.0) * abs(limit))
        # What the text calls clearly on one side has to stay away from the limit.
        slack -= rules.get("min_rel_margin", 0.0) * abs(limit)
        limit += -slack if above else slack
        if not _OPERATORS[rules["op"]](datum.value.mean, limit):
            return False
        if published is None:
            return True
        return near(datum.value.mean, published[str(datum.levels[rules["key"]])], rules)

    return _each(group, held)


def _monotonic(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    by_formula = _formula({**rules, "expr": rules["formula"]}, group) if "formula" in rules else []
    return [*monotonic(rules, group), *by_formula]


def _formula(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each value agrees with an expression over its levels, and the expression with `points`."""
    findings = []
    for datum in group.all:
        expected = evaluate(rules["expr"], names_of(rules, datum))
        verdict = of_truth(near(datum.value.mean, expected, rules))
        text = f"{datum.value} for {expected:.4g}"
        findings.append(Finding(verdict, datum.value, text, datum.points))
    return [*findings, *_printed(rules, group)]


def _printed(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Points that the claim gives with their values: ours there, or else the expression, agrees."""
    findings = []
    for point in rules.get("points", []):
        levels = {name: level for name, level in point.items() if name != "value"}
        if "value" not in point:
            raise ReproductionError(f"a formula's point without a value: {point}")
        wanted = point["value"]
        there = [datum for datum in group.all if levels.items() <= datum.levels.items()]
        found = [(datum.value, datum.points) for datum in there]
        if not found:
            computed = Estimate(evaluate(rules["expr"], levels))
            found = [] if near(computed.mean, wanted, rules) else [(computed, ())]
        for value, points in found:
            verdict = of_truth(near(value.mean, wanted, rules))
            findings.append(Finding(verdict, value, f"{value} for {wanted:.4g}", points))
    return findings


KINDS: Mapping[str, Callable[[Mapping[str, Any], Group], list[Finding]]] = {
    "value": _value,
    "range": _range,
    "threshold": _threshold,
    "order": order,
    "monotonic": _monotonic,
    "unimodal": unimodal,
    "same": same,
    "ratio": ratio,
    "spread_order": spread_order,
    "gap": gap,
    "formula": _formula,
    "event": event,
}
