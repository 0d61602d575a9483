"""Checks of a curve over one factor: monotonic, unimodal, and shapes described in words (event)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tidegate.studies.checks.events import EVENTS
from tidegate.studies.checks.findings import Finding, below, found
from tidegate.studies.data import Datum, points_of
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate
from tidegate.studies.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.data import Group
    from tidegate.studies.verdict import Margin

_EXTREMES = {"argmin": min, "argmax": max}


def monotonic(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Every step in the right direction, and the ends as well, if small steps add up.

    A single value is no curve and satisfies nothing.

    `from` and `to` may be `argmin` or `argmax`; other ends are the business of `where`.
    """
    data = _between(_along(group.all, rules["over"]), rules)
    if len(data) < 2:  # a branch that the curve does not have
        return [
            Finding(Verdict.FAILED, one.value, f"{one.value} alone", one.points) for one in data
        ]
    return steps(data, rules, rising=rules["direction"] == "increasing")


def steps(data: list[Datum], rules: Mapping[str, Any], *, rising: bool) -> list[Finding]:
    """Judge each step, and first against last.

    With `ties_ok` a part of the curve may be level: a step then need not be seen, but no step may
    be seen to go the other way, and from first to last the curve has to be seen to rise or fall.
    """
    findings = [Finding(Verdict.HELD, data[0].value, str(data[0].value), data[0].points)]
    for before, after in itertools.pairwise(data):
        margin = _rises(before, after, rules, rising=rising)
        points, text = before.points + after.points, f"{before.value} → {after.value}"
        if rules.get("ties_ok") and margin.verdict is Verdict.UNDECIDED:
            findings.append(Finding(Verdict.HELD, after.value, text, points))
        else:
            findings.append(found(margin, after.value, text, points))
    if len(data) > 1:
        ends = _rises(data[0], data[-1], rules, rising=rising)
        if ends.verdict is not Verdict.HELD:
            text = f"{data[0].value} … {data[-1].value}"
            points = data[0].points + data[-1].points
            findings.append(found(ends, data[-1].value, text, points))
    return findings


def unimodal(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """One extremum, and that an inner one: beyond both ends, steps lead to it and away from it.

    `interior_min` (or `interior_max`) asks for no more than that the extremum is inside.
    """
    if rules["shape"] not in _SHAPES:
        raise ReproductionError(f"no shape {rules['shape']!r}; there are {', '.join(_SHAPES)}")
    falls_first = _SHAPES[rules["shape"]]
    data = _along(group.all, rules["over"])
    if len(data) < 3:
        raise ReproductionError(f"a shape over {rules['over']!r} of {len(data)} values")
    findings = _inside(data, rules, falls_first=falls_first)
    if not (rules.get("interior_min") or rules.get("interior_max")):
        turn = (min if falls_first else max)(
            range(len(data)), key=lambda number: data[number].value.mean
        )
        findings += steps(data[: turn + 1], rules, rising=not falls_first)
        findings += steps(data[turn:], rules, rising=falls_first)
    return findings


_SHAPES = {"U": True, "inverted-U": False}
"""Whether it falls first."""


def _inside(data: list[Datum], rules: Mapping[str, Any], *, falls_first: bool) -> list[Finding]:
    """Either end lies beyond the best inner value."""
    inner = (min if falls_first else max)(data[1:-1], key=lambda datum: datum.value.mean)
    findings = []
    for end in (data[0], data[-1]):
        margin = _rises(inner, end, rules, rising=falls_first)
        place = f"{evaluate(rules['over'], inner.levels):g}"
        text = f"{inner.value} at {place}, {end.value} at the end"
        findings.append(found(margin, inner.value, text, inner.points + end.points))
    return findings


def event(rules: Mapping[str, Any], group: Group) -> list[Finding]:
    """Look for a shape of the curve over one factor, one of `events.EVENTS`."""
    looked_for = rules["event"]
    data = _along(group.all, looked_for["over"])
    curve = [(evaluate(looked_for["over"], datum.levels), datum.value) for datum in data]
    verdict = EVENTS[looked_for["kind"]](curve, looked_for)
    at, peak = max(curve, key=lambda pair: pair[1].mean)
    (first_at, first), (last_at, last) = curve[0], curve[-1]
    ends = f"{first.mean:.3g} at {first_at:g}, {last.mean:.3g} at {last_at:g}"
    return [Finding(verdict, peak, f"peak {peak} at {at:g}; {ends}", points_of(data))]


def _rises(before: Datum, after: Datum, rules: Mapping[str, Any], *, rising: bool) -> Margin:
    low, high = (before, after) if rising else (after, before)
    return below(low.value, high.value, rules)


def _along(data: list[Datum], over: str) -> list[Datum]:
    """In the order of a factor, or of an expression of factors."""
    return sorted(data, key=lambda datum: evaluate(over, datum.levels))


def _between(data: list[Datum], rules: Mapping[str, Any]) -> list[Datum]:
    """The part of a curve that begins or ends at its own extremum."""
    places = [_place(data, rules.get(end)) for end in ("from", "to")]
    start, stop = places
    return data[start : None if stop is None else stop + 1]


def _place(data: list[Datum], end: object) -> int | None:
    pick = _EXTREMES.get(end) if isinstance(end, str) else None
    return pick and pick(range(len(data)), key=lambda number: data[number].value.mean)
