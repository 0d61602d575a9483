"""Whether measurements satisfy a claim: one function for each `check.kind`.

One rule decides all kinds. What a claim asks for has a limit: another of our means (orderings,
monotonic curves, shapes of a curve, spreads), a number (thresholds, ranges), or a tolerance around
a number or another mean (values, formulas, ratios). The claim holds where the whole 95 % interval
lies on the right side of the limit, fails where it lies on the wrong side, and is undecided else.
So a tie is undecided, whichever way the means point. What was computed exactly has no interval and
is decided by its value; one run has no known interval and decides nothing. A NaN satisfies nothing.

A claim holds where it holds everywhere, or, with `share = 0.9`, in so large a share of the places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.checks.comparing import gap, order, ratio, same, spread_order
from tidegate.studies.checks.findings import Finding, found, names_of, near
from tidegate.studies.checks.shapes import event, monotonic, unimodal
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate
from tidegate.studies.verdict import Margin, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.data import Datum, Group

_OPERATORS = ("<", "<=", ">", ">=")


def check(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Judge one group by the rules of a claim's `check`."""
    kind = rules["kind"]
    if kind not in KINDS:
        raise ReproductionError(f"no check {kind!r}; there are {', '.join(KINDS)}")
    findings = KINDS[kind](rules, group) if group.all else []
    if not findings:
        raise ReproductionError(f"a {kind} check that looked at nothing")
    return findings


def _each(group: Group, margin: Callable[[Datum], Margin]) -> list[Finding]:
    return [
        found(margin(datum), datum.value, str(datum.value), datum.points) for datum in group.all
    ]


def _value(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    return _each(group, lambda datum: near(datum.value, rules["expect"], rules))


def _range(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    slack = rules.get("slack", 0.0)

    def margin(datum: Datum) -> Margin:
        names, mean = names_of(rules, datum), datum.value.mean
        low = evaluate(rules["min"], names) * (1 - slack)
        high = evaluate(rules["max"], names) * (1 + slack)
        return Margin(min(mean - low, high - mean), datum.value.ci95, ties_ok=True)

    return _each(group, margin)


def _threshold(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """All values on one side; `values` adds a published number for each level of `key`."""
    if rules["op"] not in _OPERATORS:
        raise ReproductionError(f"no operator {rules['op']!r}; there are {', '.join(_OPERATORS)}")
    above, published = rules["op"].startswith(">"), rules.get("values")

    def margin(datum: Datum) -> Margin:
        limit = evaluate(rules["value"], datum.levels)
        slack = rules.get("abs_tol", 0.0)
        if published is None:
            slack = max(slack, rules.get("rel_tol", 0.0) * abs(limit))
        # What the text calls clearly on one side has to stay away from the limit.
        slack -= rules.get("min_rel_margin", 0.0) * abs(limit)
        mean = datum.value.mean
        distance = mean - (limit - slack) if above else (limit + slack) - mean
        return Margin(distance, datum.value.ci95, ties_ok=rules["op"].endswith("="))

    findings = _each(group, margin)
    if published is None:
        return findings
    return findings + _each(
        group, lambda datum: near(datum.value, published[str(datum.levels[rules["key"]])], rules)
    )


def _monotonic(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    by_formula = _formula({**rules, "expr": rules["formula"]}, group) if "formula" in rules else []
    return [*monotonic(rules, group), *by_formula]


def _formula(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Each value agrees with an expression over its levels, and the expression with `points`."""
    findings = []
    for datum in group.all:
        expected = evaluate(rules["expr"], names_of(rules, datum))
        text = f"{datum.value} for {expected:.4g}"
        findings.append(found(near(datum.value, expected, rules), datum.value, text, datum.points))
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
        ours = [(datum.value, datum.points) for datum in there]
        if not ours:
            computed = Estimate(evaluate(rules["expr"], levels))
            agrees = near(computed, wanted, rules).verdict is Verdict.HELD
            ours = [] if agrees else [(computed, ())]
        for value, points in ours:
            text = f"{value} for {wanted:.4g}"
            findings.append(found(near(value, wanted, rules), value, text, points))
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
