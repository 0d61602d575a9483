"""Which measurements a claim is put to, as its `[[claim]]` says.

=========  =====================================================================================
series     one or several, `table2:tcp` or `tcp` for the experiment's own; default: all its own
metric     name of the metric
where      levels to keep: a level, a list of levels, or { min = .., max = .. }
each       factors to judge separately
levels     for claims that compare named groups: name → further `where` (or series, metric)
derive     a value made of several points: { max = factors }, { min = factors },
           { over = expression }, { ratio = { of = where, to = where } },
           { crossing = { of = factor, level = number } } or, for a level relative to the value
           at one place, { crossing = { of = factor, rise = 0.1, from = level } }
=========  =====================================================================================
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.expressions import evaluate
from tidegate.studies.papers.points import SeriesKey, series_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.papers.factors import Level
    from tidegate.studies.papers.points import Point, Points

Place = tuple[tuple[str, Any], ...]
"""Levels as something to look up by."""


@dataclass(frozen=True)
class Datum:
    """One value that a check looks at, and where it was measured."""

    levels: Mapping[str, Level]
    value: Estimate
    points: tuple[Point, ...] = ()
    """What it was made of."""


@dataclass(frozen=True)
class Group:
    """What one verdict of a check is about: data by level name; `""` holds all data."""

    label: str
    data: Mapping[str, list[Datum]]

    @property
    def all(self) -> list[Datum]:
        """Every datum, whatever its level."""
        return [datum for data in self.data.values() for datum in data]


def groups(part: Mapping[str, Any], experiment: str, measured: Points) -> list[Group]:
    """Give the groups of a part of a claim; a level that selects nothing is an error."""
    each = part.get("each", [])
    named = part.get("levels") or {"": {}}
    grouped: dict[tuple[Level, ...], dict[str, list[Datum]]] = defaultdict(dict)
    for name, narrower in named.items():
        for datum in data(_narrowed(part, narrower), experiment, measured):
            key = tuple(datum.levels[factor] for factor in each)
            grouped[key].setdefault(name, []).append(datum)
    for key, by_name in grouped.items():
        missing = named.keys() - by_name.keys()
        if missing:
            raise ReproductionError(f"{part['metric']}: nothing for {sorted(missing)} at {key}")
    return [
        Group(" ".join(f"{f}={level}" for f, level in zip(each, key, strict=True)), by_name)
        for key, by_name in grouped.items()
    ]


def data(part: Mapping[str, Any], experiment: str, measured: Points) -> list[Datum]:
    """Give the data of a part, derived values made; nothing at all is an error."""
    series = part.get("series") or [name for (at, name) in measured.points if at == experiment]
    references = [series] if isinstance(series, str) else series
    metric, where = part["metric"], part.get("where", {})
    found = [
        Datum(point.levels, point.metrics[metric], (point,))
        for reference in references
        for point in measured.series(series_key(reference, experiment))
        if metric in point.metrics and matches(point.levels, where)
    ]
    if not found:
        raise ReproductionError(f"{experiment}: no {metric} where {dict(where)} in {references}")
    for kind, argument in part.get("derive", {}).items():
        if kind not in _DERIVATIONS:
            raise ReproductionError(f"no derivation {kind!r}; there are {sorted(_DERIVATIONS)}")
        found = _DERIVATIONS[kind](found, argument)
    return found


def needs(part: Mapping[str, Any], experiment: str) -> list[tuple[SeriesKey, Mapping[str, Any]]]:
    """Give the series that a part names, each with the levels that it looks at."""
    named = part.get("levels") or {"": {}}
    found = []
    for narrower in named.values():
        whole = _narrowed(part, narrower)
        series = whole.get("series", [])
        references = [series] if isinstance(series, str) else series
        found += [(series_key(name, experiment), whole["where"]) for name in references]
    return found


def _narrowed(part: Mapping[str, Any], narrower: Mapping[str, Any]) -> dict[str, Any]:
    keys = {key: narrower[key] for key in ("series", "metric") if key in narrower}
    where = {k: v for k, v in narrower.items() if k not in ("series", "metric")}
    return {**part, **keys, "where": {**part.get("where", {}), **where}}


def matches(levels: Mapping[str, Level], where: Mapping[str, Any]) -> bool:
    """Whether a point has the levels that a `where` asks for."""
    return all(name in levels and _allowed(levels[name], want) for name, want in where.items())


def _allowed(level: Level, want: object) -> bool:
    match want:
        case list():
            return level in want
        case dict():
            number = float(level)
            low, high = want.get("min", -math.inf), want.get("max", math.inf)
            return bool(low <= number <= high)
    return bool(level == want)


def _apart_from(factors: set[str], datum: Datum) -> Place:
    return tuple(sorted((k, v) for k, v in datum.levels.items() if k not in factors))


def _curves(found: list[Datum], factors: set[str]) -> dict[Place, list[Datum]]:
    """Put data that differ in these factors alone together."""
    curves: dict[Place, list[Datum]] = defaultdict(list)
    for datum in found:
        curves[_apart_from(factors, datum)].append(datum)
    return curves


def _folded(
    found: list[Datum], factors: str | list[str], choose: Callable[..., Datum]
) -> list[Datum]:
    names = {factors} if isinstance(factors, str) else set(factors)
    chosen = {
        rest: choose(curve, key=lambda datum: datum.value.mean)
        for rest, curve in _curves(found, names).items()
    }
    return [Datum(dict(rest), datum.value, datum.points) for rest, datum in chosen.items()]


def _ratio(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    """Values `of` one choice over those `to` another, paired by the levels that neither names."""
    of, to = argument["of"], argument["to"]
    named = {*of, *to}
    below = {_apart_from(named, d): d for d in found if matches(d.levels, to)}
    above = [(_apart_from(named, d), d) for d in found if matches(d.levels, of)]
    return [
        Datum(dict(rest), top.value.over(below[rest].value), top.points + below[rest].points)
        for rest, top in above
        if rest in below
    ]


def _crossing(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    """Level of a factor up to which the values stay below a limit; between points by its log."""
    factor = argument["of"]
    return [
        Datum(dict(rest), Estimate(_first_above(curve, factor, _limit(curve, argument))))
        for rest, curve in _curves(found, {factor}).items()
    ]


def _limit(curve: list[Datum], argument: Mapping[str, Any]) -> float:
    if "level" in argument:
        return float(argument["level"])
    start = next(datum for datum in curve if datum.levels[argument["of"]] == argument["from"])
    return start.value.mean * (1.0 + float(argument["rise"]))


def _first_above(curve: list[Datum], factor: str, limit: float) -> float:
    points = sorted((float(datum.levels[factor]), datum.value.mean) for datum in curve)
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if y0 <= limit < y1:
            share = (limit - y0) / (y1 - y0)
            return math.exp(math.log(x0) + share * (math.log(x1) - math.log(x0)))
    return math.nan


_DERIVATIONS: Mapping[str, Callable[[list[Datum], Any], list[Datum]]] = {
    "max": lambda found, factors: _folded(found, factors, max),
    "min": lambda found, factors: _folded(found, factors, min),
    "over": lambda found, expression: [
        Datum(
            datum.levels,
            datum.value.scaled(1.0 / evaluate(expression, datum.levels)),
            datum.points,
        )
        for datum in found
    ],
    "ratio": _ratio,
    "crossing": _crossing,
}
