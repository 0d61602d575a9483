"""Metrics of a point over those of another point of its series.

`[relative]` of a study names them::

    [relative]
    kept = { of = "victims_bps", to = { flood = "none" } }

`kept` is the point's `victims_bps` over that of the point that has `flood = "none"` and is like it
in all other factors. A level may be that of another factor (`"{alike}"`), or a range such as
`{ max = "{flows}" }`; of several points the one with the largest mean is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.studies.factors import filled
from tidegate.studies.matching import matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.points import Point, Points


@dataclass(frozen=True)
class Relative:
    """A metric, and where the point is that it is put over."""

    of: str
    to: Mapping[str, Any]


def read_relatives(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Relative]:
    """Read `[relative]` of a study."""
    return {name: Relative(**entry) for name, entry in table.items()}


def with_relatives(measured: Points, relatives: Mapping[str, Relative]) -> Points:
    """Give the same with these metrics; a point without a reference lacks them."""
    if not relatives:
        return measured
    return replace(
        measured,
        points={
            key: [_with(point, series, relatives) for point in series]
            for key, series in measured.points.items()
        },
    )


def _with(point: Point, series: Sequence[Point], relatives: Mapping[str, Relative]) -> Point:
    more = {}
    for name, one in relatives.items():
        reference = _reference(point, series, one)
        if reference is not None:
            more[name] = point.metrics[one.of].over(reference.metrics[one.of])
    return replace(point, metrics={**point.metrics, **more}) if more else point


def _reference(point: Point, series: Sequence[Point], one: Relative) -> Point | None:
    if one.of not in point.metrics or not one.to.keys() <= point.levels.keys():
        return None
    others = {name: level for name, level in point.levels.items() if name not in one.to}
    where = {**others, **{name: filled(want, "", point.levels) for name, want in one.to.items()}}
    found = [each for each in series if one.of in each.metrics and matches(each.levels, where)]
    return max(found, key=lambda each: each.metrics[one.of].mean, default=None)
