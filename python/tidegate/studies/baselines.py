"""Verdicts on the same claims and cells without the mechanism that a study is about.

A claim or a cell shows something of a mechanism only if it would not be there without it. So each
is judged a second time, with a plain baseline in place of every point of ours. `[baseline]` of
`study.toml`, or of an experiment for itself, says what that is::

    [baseline]
    name = "no policer"
    set = { "users.{heavy,light}.ingress" = [] }  # what it changes in scenarios; `{r}`: a level
    where = { mechanism = "Re-ECN" }            # only of these points; others are without it
    levels = { mechanism = "RED" }              # or: the study's own point without it
    values = { utilization = 95 }               # metrics for which it is a number
    replications = 3                            # runs a point, if fewer than the series has

`baseline = false` in an experiment's file: nothing there is about a mechanism. A series with
`without_mechanism = false` has no counterpart without it. Scenarios that the
baseline makes equal are run once, so that it takes few runs where many points differ in what the
mechanism is set to. What is computed stays as it is; a claim about nothing else is not asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.factors import Setting, filled, overrides
from tidegate.studies.judge import judge_cell, judge_claim
from tidegate.studies.matching import matches
from tidegate.studies.points import Point, Points, capped, simulated
from tidegate.studies.rankings import with_rankings
from tidegate.studies.selection import needs
from tidegate.studies.verdict import Verdict, of_truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.model import Baseline, Cell, Claim, Series, Study
    from tidegate.studies.points import SeriesKey
    from tidegate.studies.runner import Runner


@dataclass(frozen=True)
class Without:
    """What a cell or a claim would come to without the mechanism."""

    verdict: Verdict | None = None
    """`None`: it cannot be asked."""
    itself: bool = False
    """Whether it is about nothing that has the mechanism."""

    @property
    def asked(self) -> bool:
        """Whether it could be judged."""
        return self.verdict is not None

    @property
    def held(self) -> bool:
        """Whether it would hold or be within as well."""
        return self.verdict is Verdict.HELD

    def __str__(self) -> str:
        """As it stands in a table."""
        if self.verdict is None:
            return "–"
        return f"{self.verdict.value} (itself)" if self.itself else self.verdict.value


@dataclass(frozen=True)
class Bare:
    """The points of a study, each with what its baseline has in its place."""

    points: Points
    computed: frozenset[int]
    """Identities of points that no run is behind."""
    own: frozenset[int]
    """Identities of the measured points that are without the mechanism themselves."""

    def claim(self, claim: Claim) -> Without:
        """Put a claim to the baseline."""
        try:
            verdict = judge_claim(claim, self.points)
        except ReproductionError:  # a series or a metric that the baseline does not have
            return Without()
        except ZeroDivisionError:  # a quotient that is none without the mechanism
            return Without(Verdict.FAILED)
        looked_at = {id(point) for _, finding in verdict.findings for point in finding.points}
        if looked_at and looked_at <= self.computed:
            return Without()
        itself = bool(looked_at) and looked_at <= self.own | self.computed
        return Without(verdict.verdict, itself)

    def cell(self, cell: Cell) -> Without:
        """Put a cell to the baseline."""
        try:
            point = self.points.matching(cell.experiment, cell.levels, cell.metric)
        except ReproductionError:
            return Without()
        if id(point) in self.computed:
            return Without()
        within = judge_cell(cell, self.points).within
        return Without(of_truth(within), id(point) in self.own)


def stand_ins(
    study: Study,
    wanted: Mapping[SeriesKey, Series],
    measured: Points,
    runner: Runner,
    replications: int | None,
) -> Bare:
    """Measure the baseline of each of these series."""
    looked_at = _looked_at(study)
    with_one = {
        key: (series, baseline)
        for key, series in wanted.items()
        if series.without_mechanism
        and key in looked_at
        and key[0] in study.experiments
        and (baseline := study.experiments[key[0]].baseline)
    }
    runner.prepare(
        (without(setting, baseline), _runs(series, baseline, replications))
        for series, baseline in with_one.values()
        if series.simulated and baseline.set
        for setting in series.settings
        if matches(setting.levels, baseline.where)
    )
    points: dict[SeriesKey, list[Point]] = {}
    computed: set[int] = set()
    for key, (series, baseline) in with_one.items():
        own = measured.points[key]
        if not series.simulated:
            points[key] = own
            computed |= {id(point) for point in own} if series.ranking is None else set()
            continue
        found = _changed(series, baseline, own, runner, replications)
        if baseline.levels:
            found = [_own_without(point, key[0], baseline, measured) for point in found]
        points[key] = [_with_values(point, baseline) for point in found]
    ranked = with_rankings(Points(points), {key: series for key, (series, _) in with_one.items()})
    there = {id(point) for series in measured.points.values() for point in series}
    used = {id(point) for series in ranked.points.values() for point in series}
    return Bare(ranked, frozenset(computed), frozenset(there & used))


def _looked_at(study: Study) -> set[SeriesKey]:
    """Series that a claim or a cell is about; others are drawn alone, or explain."""
    found: set[SeriesKey] = set()
    for name, experiment in study.experiments.items():
        parts = [needs(part, name) for claim in experiment.claims for part in claim.parts]
        found |= {key for keys in parts for key, _ in keys}
        if experiment.cells or not all(parts):
            found |= {(name, series) for series in experiment.series}
        found |= {
            key
            for series in experiment.series.values()
            if series.ranking is not None
            for part in series.ranking.of.values()
            for key, _ in needs(part, name)
        }
    return found


def without(setting: Setting, baseline: Baseline) -> Setting:
    """Give a setting with the baseline's changes."""
    changes = {key: filled(value, "", setting.levels) for key, value in baseline.set.items()}
    return replace(setting, overrides=(*setting.overrides, *overrides(changes)))


def _runs(series: Series, baseline: Baseline, replications: int | None) -> int:
    count = capped(series, replications)
    return count if baseline.replications is None else min(count, baseline.replications)


def _changed(
    series: Series,
    baseline: Baseline,
    own: Sequence[Point],
    runner: Runner,
    replications: int | None,
) -> list[Point]:
    """Points with the baseline's changes; a point whose scenario stays the same is our own."""
    found = []
    for setting, point in zip(series.settings, own, strict=True):
        bare = without(setting, baseline)
        applies = baseline.set and matches(setting.levels, baseline.where)
        if not applies or runner.same(bare, setting):
            found.append(point)
            continue
        found.append(simulated(bare, runner, _runs(series, baseline, replications)))
    return found


def _own_without(point: Point, experiment: str, baseline: Baseline, measured: Points) -> Point:
    """Give the experiment's own point without the mechanism, at this one's levels."""
    if matches(point.levels, baseline.levels):
        return point
    there = [
        other
        for (name, _), series in measured.points.items()
        if name == experiment
        for other in series
        if matches(other.levels, baseline.levels)
    ]
    alike = [other for other in there if _alike(other, point, baseline.levels)]
    found = there if len(there) == 1 else alike
    return replace(found[0], levels=point.levels) if len(found) == 1 else Point(point.levels, {})


def _alike(other: Point, point: Point, apart_from: Mapping[str, Any]) -> bool:
    shared = (other.levels.keys() & point.levels.keys()) - apart_from.keys()
    return all(other.levels[name] == point.levels[name] for name in shared)


def _with_values(point: Point, baseline: Baseline) -> Point:
    """Put the baseline's numbers in; where it has nothing else, no other metric is known."""
    if not baseline.values:
        return point
    there = {n: Estimate(value) for n, value in baseline.values.items() if n in point.metrics}
    others = point.metrics if baseline.set or baseline.levels else {}
    return replace(point, metrics={**others, **there})
