"""Tables of what was measured.

An experiment's `[[table]]` has a row for each level of a factor, or of several, and a column for
each combination of levels of others, for each of several metrics, or for each `[[table.column]]`::

    [[table]]
    caption = "Calls blocked, in per cent."
    series = ["calls", "erlang"]
    row = { load = "Erlang" }           # the factor, and its heading
    columns = ["control"]               # or: metrics = { used = "utilisation", .. }
    column_name = "{control}"
    metric = "blocked"                  # several with " / " between them: "kept_during kept_after"
    scale = 100
    digits = 2

    [[table.column]]                    # or: each for itself
    name = "without the flood"
    metric = "victims_bps"
    where = { flood = "none" }
    scale = 1e-6

With `interval = false` means stand without their intervals. Series of other experiments are named
with these: `"equals:mechanisms"`. A column's `derive` makes one value of several points (see
`derivations`), and `place` names the factor whose level at that value stands behind it.

A quotient over 0 is a dash. Numbers stand in their order, words as they come. Titles of levels are
those of `[factors.X.titles]`. A column with `texts` has a text for each level of the row's factor.
A table or a column with `having = { gain_margin = { min = 2 } }` has only points with such metrics,
and a column with `count = { spread = { max = 0.5 } }` says of how many of its points that is so. A
table with `rows` has these rows: names, each with the levels of the row's factor that stand there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.results.show import Grid
from tidegate.studies.data import Datum
from tidegate.studies.derivations import derived
from tidegate.studies.factors import title
from tidegate.studies.matching import matches
from tidegate.studies.page import table
from tidegate.studies.points import series_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.results.statistics import Estimate
    from tidegate.studies.factors import Factor, Level
    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Point, Points


@dataclass(frozen=True)
class Column:
    """What stands in one column."""

    name: str
    metric: str = ""
    """One, or several with blanks between them."""
    where: Mapping[str, Any] = field(default_factory=dict)
    scale: float = 1.0
    digits: int = 2
    interval: bool = True
    """Whether the interval stands behind each mean."""
    texts: Mapping[str, str] = field(default_factory=dict)
    derive: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    having: Mapping[str, Any] = field(default_factory=dict)
    count: Mapping[str, Any] | None = None
    """What is counted, instead of a metric; `{}` for all points."""
    factors: Mapping[str, Factor] = field(default_factory=dict)

    def cell(self, level: Level, row: Sequence[Point]) -> str:
        """What stands there in the row of a level; nothing where nothing was measured."""
        if self.texts:
            return self.texts.get(str(level), "")
        found = [
            point for point in row if matches(point.levels, self.where) and _has(point, self.having)
        ]
        if self.count is not None:
            counted = sum(_has(point, self.count) for point in found)
            return f"{counted} of {len(found)}" if self.count else str(len(found))
        if self.derive:
            return self._derived(found)
        values = [
            next((point.metrics[name] for point in found if name in point.metrics), None)
            for name in self.metric.split()
        ]
        return " / ".join(self._written(value) for value in values if value is not None)

    def _derived(self, found: Sequence[Point]) -> str:
        there = [
            Datum(point.levels, point.metrics[self.metric], (point,))
            for point in found
            if self.metric in point.metrics
        ]
        made = derived(there, self.derive, lambda _other: there) if there else []
        if len(made) != 1:
            return ""
        text = self._written(made[0].value)
        if not self.place:
            return text
        return f"{text} ({title(self.factors, self.place, made[0].points[0].levels[self.place])})"

    def _written(self, value: Estimate) -> str:
        if math.isnan(value.mean):
            return "-"
        scaled = value.scaled(self.scale)
        if value.runs and self.interval:
            return scaled.written(self.digits)
        return f"{scaled.mean:.{self.digits}f}"


def _has(point: Point, want: Mapping[str, Any]) -> bool:
    return matches({name: one.mean for name, one in point.metrics.items()}, want)


def tables_of(experiment: Experiment, measured: Points) -> list[str]:
    """Each table of an experiment below its caption, in Markdown."""
    return [
        f"{one.get('caption', '')}\n\n"
        + table(grid.headings, grid.cells, numbers_from=one.get("numbers"))
        for one, grid in zip(experiment.tables, grids_of(experiment, measured), strict=True)
    ]


def grids_of(experiment: Experiment, measured: Points) -> list[Grid]:
    """The same tables, ready to be printed."""
    return [
        _grid(experiment.title, one, _points(experiment, one, measured), experiment.factors)
        for one in experiment.tables
    ]


def _points(experiment: Experiment, spec: Mapping[str, Any], measured: Points) -> list[Point]:
    return [
        point
        for name in spec["series"]
        for point in measured.series(series_key(name, experiment.name))
        if matches(point.levels, spec.get("where", {})) and _has(point, spec.get("having", {}))
    ]


def _grid(
    head: str, spec: Mapping[str, Any], points: Sequence[Point], factors: Mapping[str, Factor]
) -> Grid:
    named = spec["row"]
    columns = list(_columns(spec, points, factors))
    body = [
        [
            *(title(factors, *one) for one in zip(named, levels, strict=True)),
            *(one.cell(levels[0], row) for one in columns),
        ]
        for levels, row in _rows(spec, points)
    ]
    return Grid(head, [*named.values(), *(one.name for one in columns)], body)


def _rows(
    spec: Mapping[str, Any], points: Sequence[Point]
) -> list[tuple[tuple[Level, ...], list[Point]]]:
    """Points by the levels of the row's factors, in the order of each."""
    if "rows" in spec:
        (factor,) = spec["row"]
        return [
            ((name,), [point for point in points if matches(point.levels, {factor: want})])
            for name, want in spec["rows"].items()
        ]
    rows: dict[tuple[Level, ...], list[Point]] = {}
    for point in points:
        rows.setdefault(tuple(point.levels[factor] for factor in spec["row"]), []).append(point)
    order = [sorted(dict.fromkeys(levels), key=_place) for levels in zip(*rows, strict=True)]
    return sorted(rows.items(), key=lambda row: [*map(list.index, order, row[0])])


def _columns(
    spec: Mapping[str, Any], points: Sequence[Point], factors: Mapping[str, Factor]
) -> Iterator[Column]:
    own: dict[str, Any] = {
        "scale": float(spec.get("scale", 1)),
        "digits": int(spec.get("digits", 2)),
        "interval": spec.get("interval", True),
    }
    if "column" in spec:
        each = [Column(**{**own, "factors": factors, **one}) for one in spec["column"]]
        measured = {name for one in points for name in one.metrics}
        yield from (
            one
            for one in each
            if one.texts or one.count is not None or measured & set(one.metric.split())
        )
        return
    if "metrics" in spec:
        there = [name for name in spec["metrics"] if any(name in one.metrics for one in points)]
        yield from (Column(spec["metrics"][name], name, **own) for name in there)
        return
    names = spec["columns"]
    places = dict.fromkeys(tuple(point.levels[name] for name in names) for point in points)
    for place in places:
        where = dict(zip(names, place, strict=True))
        titles = {name: title(factors, name, level) for name, level in where.items()}
        yield Column(spec["column_name"].format(**titles), spec["metric"], where, **own)


def _place(level: Level) -> tuple[bool, float]:
    """Numbers by their size, then words."""
    return (True, 0.0) if isinstance(level, str) else (False, level)
