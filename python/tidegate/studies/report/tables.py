"""Tables of what was measured.

An experiment's `[[table]]` has a row for each level of a factor, and a column for each combination
of levels of others, for each of several metrics, or for each `[[table.column]]`::

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

Numbers stand in their order, words as they come. Titles of levels are those of
`[factors.X.titles]`. A column with `texts` has a text for each level of the row's factor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.studies.matching import matches
from tidegate.studies.page import table

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
    texts: Mapping[str, str] = field(default_factory=dict)

    def cell(self, level: Level, row: Sequence[Point]) -> str:
        """What stands there in the row of a level; nothing where nothing was measured."""
        if self.texts:
            return self.texts.get(str(level), "")
        found = [point for point in row if matches(point.levels, self.where)]
        values = [
            next((point.metrics[name] for point in found if name in point.metrics), None)
            for name in self.metric.split()
        ]
        return " / ".join(self._written(value) for value in values if value is not None)

    def _written(self, value: Estimate) -> str:
        scaled = value.scaled(self.scale)
        return scaled.written(self.digits) if value.runs else f"{scaled.mean:.{self.digits}f}"


def tables_of(experiment: Experiment, measured: Points) -> list[str]:
    """Each table of an experiment below its caption, in Markdown."""
    written = [
        (
            one.get("caption", ""),
            _table(one, _points(experiment, one, measured), experiment.factors),
        )
        for one in experiment.tables
    ]
    return [f"{caption}\n\n{rows}" for caption, rows in written]


def _points(experiment: Experiment, spec: Mapping[str, Any], measured: Points) -> list[Point]:
    return [
        point
        for name in spec["series"]
        for point in measured.series((experiment.name, name))
        if matches(point.levels, spec.get("where", {}))
    ]


def _table(spec: Mapping[str, Any], points: Sequence[Point], factors: Mapping[str, Factor]) -> str:
    ((factor, name),) = spec["row"].items()
    rows: dict[Level, list[Point]] = {}
    for point in points:
        rows.setdefault(point.levels[factor], []).append(point)
    columns = list(_columns(spec, points, factors))
    body = [
        [title(factors, factor, level), *(one.cell(level, row) for one in columns)]
        for level, row in sorted(rows.items(), key=_place)
    ]
    return table([name, *(one.name for one in columns)], body, numbers_from=spec.get("numbers"))


def _columns(
    spec: Mapping[str, Any], points: Sequence[Point], factors: Mapping[str, Factor]
) -> Iterator[Column]:
    own: dict[str, Any] = {
        "scale": float(spec.get("scale", 1)),
        "digits": int(spec.get("digits", 2)),
    }
    if "column" in spec:
        yield from (Column(**{**own, **one}) for one in spec["column"])
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


def title(factors: Mapping[str, Factor], factor: str, level: Level) -> str:
    """What pages call a level of a factor."""
    return factors[factor].title(level) if factor in factors else str(level)


def _place(row: tuple[Level, object]) -> tuple[bool, float]:
    """Numbers by their size, then words."""
    level = row[0]
    return (True, 0.0) if isinstance(level, str) else (False, level)
