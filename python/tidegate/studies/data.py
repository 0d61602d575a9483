"""Values that checks look at, and the levels at which they were measured."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tidegate.results.statistics import Estimate
    from tidegate.studies.factors import Level
    from tidegate.studies.points import Point

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


def apart_from(factors: Collection[str], levels: Mapping[str, Level]) -> Place:
    """Give the levels of all other factors."""
    return tuple(sorted((k, v) for k, v in levels.items() if k not in factors))


def curves(found: Iterable[Datum], factors: Collection[str]) -> dict[Place, list[Datum]]:
    """Put data that differ in these factors alone together."""
    together: dict[Place, list[Datum]] = defaultdict(list)
    for datum in found:
        together[apart_from(factors, datum.levels)].append(datum)
    return together


def points_of(found: Iterable[Datum]) -> tuple[Point, ...]:
    """Give everything that these were made of."""
    return tuple(point for datum in found for point in datum.points)
