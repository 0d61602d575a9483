"""Rankings of what a study compares: the number of rivals that are not better than each.

A series may be made of others, with a part of a claim for each metric of which less is better::

    [series.ranking]
    rivals = "case"
    [series.ranking.of.delay]
    series = "fig18:tcp"
    metric = "queueing_delay_ms"
    where = { heavy_flows = 36 }

A rival has as many stars as there are rivals, itself included, that are not better than it by more
than the 95 % interval of the difference: with four of them the best has four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.points import Point, Points, SeriesKey
from tidegate.studies.selection import data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.factors import Level
    from tidegate.studies.model import Series


@dataclass(frozen=True)
class Ranking:
    """What is ranked, and by what."""

    rivals: str
    """The factor whose levels they are."""
    of: Mapping[str, Mapping[str, Any]]
    """For each metric, what is put beside each other."""


def with_rankings(measured: Points, wanted: Mapping[SeriesKey, Series]) -> Points:
    """Give the same with the series that are made of others."""
    made = {
        key: _points(series.ranking, key[0], measured)
        for key, series in wanted.items()
        if series.ranking is not None
    }
    return Points({**measured.points, **made})


def stars(values: Mapping[Level, Estimate]) -> dict[Level, int]:
    """Count for each how many are not better, itself included.

    >>> fast = {"a": Estimate(1.0, 0.1, 9), "b": Estimate(1.1, 0.1, 9)}
    >>> stars({"slow": Estimate(9.0, 0.1, 9), **fast})
    {'slow': 1, 'a': 3, 'b': 3}
    """
    return {
        rival: sum(not _better(other, own) for other in values.values())
        for rival, own in values.items()
    }


def _better(one: Estimate, other: Estimate) -> bool:
    return one.mean < other.mean and one.differs(other)


def _points(how: Ranking, experiment: str, measured: Points) -> list[Point]:
    awarded: dict[Level, dict[str, Estimate]] = {}
    for metric, part in how.of.items():
        found = data(part, experiment, measured)
        values = {datum.levels[how.rivals]: datum.value for datum in found}
        if len(values) != len(found):
            raise ReproductionError(f"stars for {metric}: several values for one {how.rivals}")
        for rival, count in stars(values).items():
            awarded.setdefault(rival, {})[metric] = Estimate(float(count))
    return [Point({how.rivals: rival}, metrics) for rival, metrics in awarded.items()]
