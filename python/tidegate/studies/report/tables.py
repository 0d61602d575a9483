"""Tables of what was measured, for pages where a figure's axis does not tell numbers.

An experiment's `[[table]]` has a row for each level of a factor, and a column for each level of
another or for each of several metrics::

    [[table]]
    caption = "Calls blocked, in per cent."
    series = ["calls", "erlang"]
    row = { load = "Erlang" }
    column = "control"                  # of one metric; or metrics = { used = "utilisation", .. }
    metric = "blocked"
    scale = 100
    digits = 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.studies.page import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.results.statistics import Estimate
    from tidegate.studies.factors import Level
    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Point, Points


def tables_of(experiment: Experiment, measured: Points) -> list[str]:
    """Each table of an experiment below its caption, in Markdown."""
    return [
        f"{one['caption']}\n\n{_table(one, _points(experiment, one, measured))}"
        for one in experiment.tables
    ]


def _points(experiment: Experiment, spec: Mapping[str, Any], measured: Points) -> list[Point]:
    return [point for name in spec["series"] for point in measured.series((experiment.name, name))]


def _table(spec: Mapping[str, Any], points: list[Point]) -> str:
    ((factor, name),) = spec["row"].items()
    rows: dict[Level, dict[str, Estimate]] = {}
    for point in points:
        rows.setdefault(point.levels[factor], {}).update(_values(spec, point))
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    scale, digits = float(spec.get("scale", 1)), int(spec["digits"])

    def written(row: Mapping[str, Estimate], column: str) -> str:
        if column not in row:
            return ""
        value = row[column].scaled(scale)
        return value.written(digits) if value.runs else f"{value.mean:.{digits}f}"

    body = [
        [str(level), *(written(row, column) for column in columns)]
        for level, row in sorted(rows.items(), key=_place)
    ]
    return table([name, *columns], body)


def _place(row: tuple[Level, object]) -> tuple[bool, Any]:
    """Numbers by their size, then words."""
    return isinstance(row[0], str), row[0]


def _values(spec: Mapping[str, Any], point: Point) -> Iterable[tuple[str, Estimate]]:
    if "metrics" not in spec:
        return [(str(point.levels[spec["column"]]), point.metrics[spec["metric"]])]
    told: Mapping[str, str] = spec["metrics"]
    return [(told[one], point.metrics[one]) for one in told if one in point.metrics]
