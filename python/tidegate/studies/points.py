"""All points that were measured or computed, by experiment and series."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.sides.measured import measured as measured_before
from tidegate.studies.sides.model import compute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.studies.curves import Curve
    from tidegate.studies.factors import Level, Setting
    from tidegate.studies.model import Series
    from tidegate.studies.runner import Runner
    from tidegate.studies.traces import Trace

SeriesKey = tuple[str, str]


def place(levels: Mapping[str, Any]) -> tuple[Any, ...]:
    """Levels as a key."""
    return tuple(sorted(levels.items()))


@dataclass(frozen=True)
class Point:
    """One combination of levels with every metric that it has."""

    levels: Mapping[str, Level]
    metrics: Mapping[str, Estimate]
    traces: tuple[Trace, ...] = ()
    """Of each run, where time series are sampled."""
    curves: Mapping[str, Curve] = field(default_factory=dict)
    """Of the first run, where the study names any."""

    @property
    def trace(self) -> Trace | None:
        """That of the first run."""
        return self.traces[0] if self.traces else None


@dataclass
class Points:
    """Points by (experiment, series)."""

    points: dict[SeriesKey, list[Point]] = field(default_factory=dict)

    def series(self, key: SeriesKey) -> list[Point]:
        """Points of a series."""
        if key not in self.points:
            raise ReproductionError(f"no series {key[0]}:{key[1]}")
        return self.points[key]

    def exact(self) -> Points:
        """The same as if each mean were exact, so that few runs are judged by their means alone."""
        return Points({
            key: [
                replace(point, metrics={n: Estimate(one.mean) for n, one in point.metrics.items()})
                for point in points
            ]
            for key, points in self.points.items()
        })  # fmt: skip

    def matching(self, experiment: str, levels: Mapping[str, Level], metric: str) -> Point:
        """Give the one point of an experiment that a published cell speaks of."""
        points = [
            p for (name, _), points in self.points.items() if name == experiment for p in points
        ]
        return the_one_point(points, experiment, levels, metric)


def the_one_point(
    points: list[Point], place: str, levels: Mapping[str, Level], metric: str
) -> Point:
    """Give the one of these points that has the levels and the metric."""
    found = [p for p in points if metric in p.metrics and _agrees(p.levels, levels)]
    if len(found) != 1:
        raise ReproductionError(
            f"{place}: {len(found)} points, not one, for {dict(levels)} {metric}"
        )
    return found[0]


def series_key(reference: str, experiment: str) -> SeriesKey:
    """`table2:tcp`, or `tcp` for a series of the experiment at hand."""
    name, colon, series = reference.rpartition(":")
    return (name, series) if colon else (experiment, series)


def fill(
    measured: Points,
    wanted: Mapping[SeriesKey, Series],
    runner: Runner,
    replications: int | None,
) -> None:
    """Measure these series; `replications` caps the number of runs a point."""
    # All runs of all series go into one queue, so that no core waits for a series to end.
    runner.prepare(
        (setting, capped(series, replications))
        for series in wanted.values()
        if series.simulated
        for setting in series.settings
    )
    for key, series in wanted.items():
        measured.points[key] = [
            _point(series, setting, runner, replications) for setting in series.settings
        ]


def with_more_runs(
    measured: Points,
    wanted: Mapping[SeriesKey, Series],
    runner: Runner,
    points: Iterable[Point],
    times: int,
) -> Points:
    """Return the same with these points measured over a multiple of the runs; others stay."""
    chosen = {id(point) for point in points}
    again = {
        (key, number): series.settings[number]
        for key, series in wanted.items()
        if series.simulated
        for number, point in enumerate(measured.points[key])
        if id(point) in chosen
    }
    runner.prepare(
        (setting, times * wanted[key].replications) for (key, _), setting in again.items()
    )
    points_of = {key: list(points) for key, points in measured.points.items()}
    for (key, number), setting in again.items():
        series = replace(wanted[key], replications=times * wanted[key].replications)
        points_of[key][number] = _point(series, setting, runner, None)
    return Points(points_of)


def repeatable(
    measured: Points, wanted: Mapping[SeriesKey, Series], points: Iterable[Point]
) -> list[Point]:
    """Those of these points that may be run more often."""
    once = {
        id(point)
        for key, series in wanted.items()
        if not series.more_runs
        for point in measured.points[key]
    }
    return [point for point in points if id(point) not in once]


def capped(series: Series, replications: int | None) -> int:
    """Return the number of runs per point, capped but not below `quick_replications`."""
    if replications is None:
        return series.replications
    return min(series.replications, max(replications, series.quick_replications or 0))


def _point(series: Series, setting: Setting, runner: Runner, replications: int | None) -> Point:
    if series.measured is not None:
        return Point(setting.levels, measured_before(series.measured, setting.levels))
    model = series.model or series.beside
    found: dict[str, float | str] = dict(setting.known)
    if model is not None:
        found |= compute(model, setting.levels, lambda more: runner.scenario(setting, more))
    # What a model says in words are levels of the point.
    words = {name: value for name, value in found.items() if isinstance(value, str)}
    computed = {n: Estimate(float(v)) for n, v in found.items() if not isinstance(v, str)}
    levels = {**setting.levels, **words}
    if not series.simulated:
        return Point(levels, computed)
    point = simulated(setting, runner, capped(series, replications))
    return replace(point, levels=levels, metrics={**point.metrics, **computed})


def simulated(setting: Setting, runner: Runner, replications: int) -> Point:
    """Run a setting a number of times and return its point."""
    runs = runner.runs(setting, replications)
    traces = tuple(run.trace for run in runs if run.trace is not None)
    return Point(setting.levels, runner.measures.of(runs), traces, runs[0].curves)


def _agrees(point: Mapping[str, Level], wanted: Mapping[str, Level]) -> bool:
    return all(name in point and point[name] == level for name, level in wanted.items())
