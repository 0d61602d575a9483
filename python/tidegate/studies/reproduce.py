"""Run a study's experiments and judge every cell and claim.

What is run and what it is judged by are data in the study's folder. Reports go to `results/`; only
`report=True` writes the pages beside the data, which belong to the source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.data import check_source
from tidegate.errors import UsageError
from tidegate.results.places import check_writable
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.studies.baselines import Bare, Without, stand_ins
from tidegate.studies.beside import all_beside
from tidegate.studies.errors import ReproductionError
from tidegate.studies.explanations import StudyExplanation, read_explanations, weigh
from tidegate.studies.judge import (
    MORE_RUNS,
    CellVerdict,
    ClaimVerdict,
    judge_cell,
    judge_claim,
)
from tidegate.studies.load import load_study, study_names
from tidegate.studies.outcome import Outcome
from tidegate.studies.points import Points, fill, repeatable, with_more_runs
from tidegate.studies.rankings import with_rankings
from tidegate.studies.relative import with_relatives
from tidegate.studies.runner import Engine, Runner, cpu_seconds, native_engine
from tidegate.studies.sides.again import measure_again
from tidegate.studies.store import RunStore
from tidegate.studies.wanted import measurable, relevant, wanted_series

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tidegate.results.show import Grid
    from tidegate.runs.execution import Executor
    from tidegate.runs.simulation import Showing
    from tidegate.studies.explanations import Support
    from tidegate.studies.model import Cell, Claim, Experiment, Series, Study
    from tidegate.studies.points import SeriesKey
    from tidegate.studies.report import Effort

__all__ = ["Reproduced", "ReproductionError", "reproduce", "study_names"]


@dataclass(frozen=True)
class Reproduced:
    """A study, or one experiment of it."""

    summaries: list[dict[str, Any]]
    """An object per experiment."""
    outcomes: list[Outcome]
    effort: Effort
    folder: Path | None
    """Where the report is."""
    pages: tuple[str, ...] = ()
    """Its files."""
    tables: tuple[Grid, ...] = ()
    """Its tables, as they stand on the page."""


def is_whole_page(target: str | None) -> bool:
    """Whether a target is all of a page: everything, a study, or the experiments of one page."""
    names, experiment = _parse(target)
    experiments = load_study(names[0]).experiments.values()
    return experiment is None or any(one.page == experiment for one in experiments)


def runs_folder(out: str | os.PathLike[str] | None) -> Path:
    """Folder of the run cache."""
    return Path(out or "results") / "reproduce-runs"


def reproduce(
    target: str | None = None,
    *,
    quick: bool = False,
    replications: int | None = None,
    progress: Showing = False,
    write: bool = True,
    report: bool = False,
    resume: bool = True,
    out: str | os.PathLike[str] | None = None,
    only: Mapping[str, Sequence[str]] | None = None,
    engine: Engine = native_engine,
    executor: Executor | None = None,
) -> list[Reproduced]:
    """Reproduce a study (`abc`), an experiment or a part of it (`abc/table2`), or all (`None`).

    Returns an object for each study, with one for each experiment: how many cells lie within their
    tolerance and how many claims hold, which claims are undecided, and which deviations are
    explained or not (`ok` is then false). Each cell and claim is counted once.

    `replications` is the maximum number of runs per point; `quick` takes a few. With `only`, levels
    by factor, points with other levels of these factors are left out and nothing is judged.

    Writes a report with figures to a folder of its own below `out` (default: `results`), such as
    `reproduce-abc-table2-quick`; with `report` to the study's own folder instead, where experiments
    with a `page` have one of their own (`abc/PAGE` reproduces that alone). The readings of each run
    are cached in `reproduce-runs` beside those folders as soon as the run ends. A cached run of the
    same scenario, seed, engine and readings is not repeated unless `resume` is false.
    """
    names, experiment = _parse(target)
    studies = [only_levels(load_study(name, quick=quick), only or {}) for name in names]
    if report and (quick or out or only or not is_whole_page(target)):
        raise ReproductionError(
            "the studies' own pages are about all their experiments in full: report goes without "
            "quick, without out and without an experiment that is no whole page"
        )
    folders = [
        _folder(study, experiment, only or {}, quick=quick, report=report, out=out)
        if write
        else None
        for study in studies
    ]
    cache = runs_folder(out) if write and engine is native_engine else None
    for folder in [*folders, cache]:
        if folder is not None:
            check_writable(folder)
    stores = [
        RunStore(cache / one.name, one.measures, resume) if cache else None for one in studies
    ]
    for store in filter(None, stores):
        store.clear_away()
    return [
        _reproduce(
            study,
            experiment,
            quick=quick,
            replications=replications,
            progress=progress,
            folder=folder,
            store=store,
            own_pages=report,
            engine=engine,
            executor=executor or Threads(),
        )
        for study, folder, store in zip(studies, folders, stores, strict=True)
    ]


def measure(
    target: str,
    side: str,
    *,
    jobs: int | None = None,
    progress: Showing = False,
    missing: bool = False,
) -> list[Path]:
    """Measure again on a side that is not the simulator, and write the tables of these series.

    `lab` is this machine's Linux (root, in real time), `kernel` a stock kernel in virtual time,
    `ns2` is ns-2. `jobs` is how many runs go at the same time, by default 3. With `missing`, only
    points that the tables lack are measured.
    """
    (name, *_), experiment = _parse(target)
    study = load_study(name)
    chosen = _chosen(study, experiment)
    return measure_again(study, chosen, side, jobs=jobs or 3, progress=progress, missing=missing)


def _parse(target: str | None) -> tuple[list[str], str | None]:
    if target is None:
        return study_names(), None
    name, _, experiment = target.partition("/")
    return [name], experiment or None


def _reproduce(
    study: Study,
    only: str | None,
    *,
    quick: bool,
    replications: int | None,
    progress: Showing,
    folder: Path | None,
    store: RunStore | None,
    own_pages: bool,
    engine: Engine,
    executor: Executor,
) -> Reproduced:
    chosen = _chosen(study, only)
    explanations = read_explanations(study.folder / "explanations.toml", StudyExplanation)
    if only is not None:
        explanations = relevant(explanations, chosen)
    explanations = measurable(explanations, study.without)
    measured_too = chosen
    if only is None and study.sensitivity and study.sensitivity.name not in study.without:
        measured_too = [*chosen, study.sensitivity]
    if replications is None and quick:
        replications = study.quick_replications
    started_cpu_s = cpu_seconds()
    with shown(progress, f"reproducing {study.name}") as on_progress:
        runner = Runner(engine, study.measures, executor, on_progress, study.quick_overrides, store)
        wanted = wanted_series(study, measured_too, explanations)
        work = _Work(study, wanted, runner)
        measured = work.measured(replications)
        # With the study's own numbers of runs, more may decide.
        judge = judge_claim if replications else work.decided
        claims = {one.id: judge(one, measured) for each in chosen for one in each.claims}
        few = work.with_own_runs(chosen, replications)
        bare = stand_ins(study, wanted, measured, runner, replications)
    supports = weigh(explanations, measured)
    outcomes = [
        Outcome(
            experiment,
            _cells(experiment, measured, bare),
            tuple(claims[claim.id] for claim in experiment.claims),
            supports,
            few,
            _without(experiment, bare),
        )
        for experiment in chosen
        if experiment is not study.sensitivity
    ]
    summaries = [outcome.summary(study.name) for outcome in outcomes]
    from tidegate.studies.report import Effort, page_file, write_report
    from tidegate.studies.report.tables import grids_of

    asked = f"{study.name}/{only}" if only else study.name
    asked += " --quick" if quick else f" --replications {replications}" if replications else ""
    effort = Effort(
        asked,
        runner.run_count,
        runner.cached_count,
        runner.packets,
        cpu_seconds() - started_cpu_s,
        replications,
    )
    pages = _by_page(outcomes) if own_pages else {"": outcomes}
    if folder is not None:
        for page, on_it in pages.items():
            write_report(
                folder,
                study=study,
                outcomes=on_it,
                supports=_on_page(supports, on_it),
                measured=measured,
                effort=effort,
                page=page,
            )
    tables = tuple(one for each in chosen for one in grids_of(each, measured))
    return Reproduced(summaries, outcomes, effort, folder, tuple(map(page_file, pages)), tables)


def _cells(experiment: Experiment, measured: Points, bare: Bare) -> tuple[CellVerdict, ...]:
    if experiment.beside is not None:
        return tuple(all_beside(experiment.beside, experiment.cells, measured))
    return tuple(_judged(cell, experiment, measured, bare) for cell in experiment.cells)


@dataclass(frozen=True)
class _Work:
    """What has to be measured of a study, and what runs it."""

    study: Study
    wanted: Mapping[SeriesKey, Series]
    runner: Runner

    def measured(self, replications: int | None) -> Points:
        """Measure everything, with a limit on the runs of a point."""
        points = Points()
        fill(points, self.wanted, self.runner, replications)
        return self._with_derived(points)

    def _with_derived(self, measured: Points) -> Points:
        """Add what is made of measured points: rankings, and metrics over others."""
        return with_relatives(
            with_rankings(measured, self.wanted), self.study.relatives, self.study.near
        )

    def decided(self, claim: Claim, measured: Points) -> ClaimVerdict:
        """Judge a claim; if that leaves it undecided, with more runs of what it compares."""
        first = judge_claim(claim, measured)
        points = {
            id(point): point for point in repeatable(measured, self.wanted, first.undecided_points)
        }
        if not points:
            return first
        more = with_more_runs(measured, self.wanted, self.runner, points.values(), MORE_RUNS)
        return replace(judge_claim(claim, self._with_derived(more)), repeated=len(points))

    def with_own_runs(
        self, chosen: Sequence[Experiment], replications: int | None
    ) -> dict[str, ClaimVerdict]:
        """Judge all claims over as many runs as the paper has; empty where we do no more."""
        own = self.study.own_replications
        if own is None or (replications is not None and replications <= own):
            return {}
        few = self.measured(own)
        return {one.id: judge_claim(one, few) for each in chosen for one in each.claims}


def _judged(cell: Cell, experiment: Experiment, measured: Points, bare: Bare) -> CellVerdict:
    """Judge a cell, with what the baseline has in its place."""
    if not bare.cell(cell).asked or experiment.baseline is None:
        return judge_cell(cell, measured)
    plain = bare.points.matching(cell.experiment, cell.levels, cell.metric)
    return judge_cell(cell, measured, plain, experiment.baseline.same_as.get(cell.metric, ""))


def _without(experiment: Experiment, bare: Bare) -> dict[str, Without]:
    """Judge everything of an experiment without the mechanism; empty where there is none."""
    if experiment.baseline is None:
        return {}
    cells = {cell.id: bare.cell(cell) for cell in experiment.cells}
    return cells | {claim.id: bare.claim(claim) for claim in experiment.claims}


def _on_page(supports: Sequence[Support], outcomes: Sequence[Outcome]) -> list[Support]:
    """Give the explanations that are listed for anything on a page."""
    listed = relevant(
        [one.explanation for one in supports], [outcome.experiment for outcome in outcomes]
    )
    return [one for one in supports if one.explanation in listed]


def _by_page(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    pages: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        pages.setdefault(outcome.experiment.page, []).append(outcome)
    return pages


def _chosen(study: Study, only: str | None) -> list[Experiment]:
    if only is None:
        return list(study.experiments.values())
    if study.sensitivity and only == study.sensitivity.name:
        return [study.sensitivity]
    part = [one for one in study.experiments.values() if only in {one.part, one.page}]
    if part:
        return part
    if only not in study.experiments:
        sets = [name for one in study.experiments.values() for name in (one.part, one.page)]
        there = list(dict.fromkeys([*filter(None, sets), *study.experiments]))
        near = get_close_matches(only, there, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"no experiment {only!r} in {study.name}; there are {', '.join(there)}{hint}"
        )
    return [study.experiments[only]]


def only_levels(study: Study, only: Mapping[str, Sequence[str]]) -> Study:
    """Leave out all points with other levels of these factors, and with them what is judged."""
    if not only:
        return study
    series = [one for each in study.experiments.values() for one in each.series.values()]
    for factor, wanted in only.items():
        levels = [s.levels[factor] for one in series for s in one.settings if factor in s.levels]
        there = list(dict.fromkeys(map(str, levels)))
        for level in wanted:
            if level not in there:
                near = get_close_matches(level, there, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(
                    f"no level {level!r} of {factor!r} in {study.name}; there are "
                    f"{', '.join(there) or 'none'}{hint}"
                )

    def kept(one: Series) -> Series:
        settings = tuple(
            setting
            for setting in one.settings
            if all(str(setting.levels.get(f, levels[0])) in levels for f, levels in only.items())
        )
        return replace(one, settings=settings)

    experiments = {
        name: replace(
            one,
            series={key: kept(series) for key, series in one.series.items()},
            cells=(),
            claims=(),
            figure=None,
        )
        for name, one in study.experiments.items()
    }
    return replace(study, experiments=experiments, sensitivity=None)


def _folder(
    study: Study,
    experiment: str | None,
    only: Mapping[str, Sequence[str]],
    *,
    quick: bool,
    report: bool,
    out: str | os.PathLike[str] | None,
) -> Path:
    """Give each choice a folder of its own, so that no report takes another's place."""
    if report:
        check_source(study.folder)
        return study.folder
    parts = ["reproduce", study.name, *([experiment] if experiment else [])]
    parts += [f"{factor}={'+'.join(levels)}" for factor, levels in only.items()]
    parts += ["quick"] * quick
    return Path(out or "results") / "-".join(parts)
