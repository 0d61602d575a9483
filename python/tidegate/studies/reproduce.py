"""Reproduce published results: run a paper's experiments and judge every cell and claim.

What is run and what it is judged by are data in the paper's folder. Reports go to `results/`; only
`report=True` writes the pages beside the data, which belong to the source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
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
from tidegate.studies.explained import StudyExplanation, weigh
from tidegate.studies.explanations import read_explanations
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
    from tidegate.studies.explained import Support
    from tidegate.studies.model import Cell, Claim, Experiment, Series, Study
    from tidegate.studies.points import SeriesKey
    from tidegate.studies.report import Effort

__all__ = ["Reproduced", "ReproductionError", "reproduce", "study_names"]


@dataclass(frozen=True)
class Reproduced:
    """A paper, or one experiment of it."""

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
    """Whether a target is all of a page: everything, a paper, or the experiments of one page."""
    names, experiment = _parse(target)
    experiments = load_study(names[0]).experiments.values()
    return experiment is None or any(one.page == experiment for one in experiments)


def runs_folder(out: str | os.PathLike[str] | None) -> Path:
    """Where runs are kept that need not be done again."""
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
    """Reproduce a paper (`abc`), an experiment or a part of it (`abc/table2`), or all (`None`).

    Gives one object per paper, with one for each experiment: how many cells lie within their
    tolerance and how many claims hold, what the runs leave undecided, what deviates but is
    explained, and what is not (`ok` is then false). Each cell and claim stands in one place.

    `replications` is how many runs a point has at most; `quick` takes a few. With `only`, levels by
    factor, nothing is judged: points with other levels of these factors are left out.

    Writes a report with figures to a folder of its own below `out` (default: `results`), such as
    `reproduce-abc-table2-quick`; with `report` to the paper's own folder instead, where experiments
    with a `page` have one of their own (`abc/PAGE` reproduces that alone). What was read of
    each run is kept in `reproduce-runs` beside those folders as soon as the run has ended: what is
    there of the same scenario, seed, engine and readings is not run again unless `resume` is false.
    """
    names, experiment = _parse(target)
    papers = [only_levels(load_study(name, quick=quick), only or {}) for name in names]
    if report and (quick or out or only or not is_whole_page(target)):
        raise ReproductionError(
            "the papers' own pages are about all their experiments in full: report goes without "
            "quick, without out and without an experiment that is no whole page"
        )
    folders = [
        _folder(paper, experiment, only or {}, quick=quick, report=report, out=out)
        if write
        else None
        for paper in papers
    ]
    keeps = write and engine is native_engine
    kept = runs_folder(out) if keeps else None
    for folder in [*folders, kept]:
        if folder is not None:
            check_writable(folder)
    books = [RunStore(kept / one.name, one.measures, resume) if kept else None for one in papers]
    for book in filter(None, books):
        book.clear_away()
    return [
        _reproduce(
            paper,
            experiment,
            quick=quick,
            replications=replications,
            progress=progress,
            folder=folder,
            kept=book,
            own_pages=report,
            engine=engine,
            executor=executor or Threads(),
        )
        for paper, folder, book in zip(papers, folders, books, strict=True)
    ]


def measure(
    target: str, side: str, *, jobs: int | None = None, progress: Showing = False
) -> list[Path]:
    """Measure anew on a side that is not the simulator, and write the tables of these series.

    `lab` is this machine's Linux (root, in real time), `ns2` is ns-2. `jobs` is how many runs go at
    the same time, by default 3.
    """
    (name, *_), experiment = _parse(target)
    study = load_study(name)
    chosen = _chosen(study, experiment)
    return measure_again(study, chosen, side, jobs=jobs or 3, progress=progress)


def _parse(target: str | None) -> tuple[list[str], str | None]:
    if target is None:
        return study_names(), None
    name, _, experiment = target.partition("/")
    return [name], experiment or None


def _reproduce(
    paper: Study,
    only: str | None,
    *,
    quick: bool,
    replications: int | None,
    progress: Showing,
    folder: Path | None,
    kept: RunStore | None,
    own_pages: bool,
    engine: Engine,
    executor: Executor,
) -> Reproduced:
    chosen = _chosen(paper, only)
    explanations = read_explanations(paper.folder / "explanations.toml", StudyExplanation)
    if only is not None:
        explanations = relevant(explanations, chosen)
    explanations = measurable(explanations, paper.without)
    studied = chosen
    if only is None and paper.sensitivity and paper.sensitivity.name not in paper.without:
        studied = [*chosen, paper.sensitivity]
    measured = Points()
    if replications is None and quick:
        replications = paper.quick_replications
    started_cpu_s = cpu_seconds()
    with shown(progress, f"reproducing {paper.name}") as on_progress:
        runner = Runner(engine, paper.measures, executor, on_progress, paper.quick_overrides, kept)
        wanted = wanted_series(paper, studied, explanations)
        fill(measured, wanted, runner, replications)
        measured = _with_derived(measured, paper, wanted)
        # At the paper's own counts.
        judge = (
            judge_claim
            if replications
            else partial(_decided, paper=paper, wanted=wanted, runner=runner)
        )
        claims = {one.id: judge(one, measured) for each in chosen for one in each.claims}
        few = _with_few_runs(paper, chosen, wanted, runner, replications)
        bare = stand_ins(paper, wanted, measured, runner, replications)
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
        if experiment is not paper.sensitivity
    ]
    summaries = [outcome.summary(paper.name) for outcome in outcomes]
    from tidegate.studies.report import Effort, page_file, write_report
    from tidegate.studies.report.tables import grids_of

    asked = f"{paper.name}/{only}" if only else paper.name
    asked += " --quick" if quick else f" --replications {replications}" if replications else ""
    effort = Effort(
        asked,
        runner.run_count,
        runner.kept_count,
        runner.packets,
        cpu_seconds() - started_cpu_s,
        replications,
    )
    pages = _by_page(outcomes) if own_pages else {"": outcomes}
    if folder is not None:
        for page, on_it in pages.items():
            write_report(
                folder,
                paper=paper,
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


def _with_derived(measured: Points, paper: Study, wanted: Mapping[SeriesKey, Series]) -> Points:
    """Give the same with what is made of the measured points: rankings, and points over others."""
    return with_relatives(with_rankings(measured, wanted), paper.relatives)


def _decided(
    claim: Claim,
    measured: Points,
    *,
    paper: Study,
    wanted: Mapping[SeriesKey, Series],
    runner: Runner,
) -> ClaimVerdict:
    """Judge, where that leaves it undecided with more runs of what it compares."""
    first = judge_claim(claim, measured)
    if not first.undecided:
        return first
    points = {id(point): point for point in repeatable(measured, wanted, first.undecided_points)}
    if not points:
        return first
    more = with_more_runs(measured, wanted, runner, points.values(), MORE_RUNS)
    more = _with_derived(more, paper, wanted)
    return replace(judge_claim(claim, more), repeated=len(points))


def _with_few_runs(
    paper: Study,
    chosen: Sequence[Experiment],
    wanted: Mapping[SeriesKey, Series],
    runner: Runner,
    replications: int | None,
) -> dict[str, ClaimVerdict]:
    """Judge all claims over the first runs, as many as the paper has; empty where we do no more."""
    own = paper.own_replications
    if own is None or (replications is not None and replications <= own):
        return {}
    few = Points()
    fill(few, wanted, runner, own)
    few = _with_derived(few, paper, wanted)
    return {one.id: judge_claim(one, few) for each in chosen for one in each.claims}


def _chosen(paper: Study, only: str | None) -> list[Experiment]:
    if only is None:
        return list(paper.experiments.values())
    if paper.sensitivity and only == paper.sensitivity.name:
        return [paper.sensitivity]
    part = [one for one in paper.experiments.values() if only in {one.part, one.page}]
    if part:
        return part
    if only not in paper.experiments:
        sets = [name for one in paper.experiments.values() for name in (one.part, one.page)]
        there = list(dict.fromkeys([*filter(None, sets), *paper.experiments]))
        near = get_close_matches(only, there, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"no experiment {only!r} in {paper.name}; there are {', '.join(there)}{hint}"
        )
    return [paper.experiments[only]]


def only_levels(paper: Study, only: Mapping[str, Sequence[str]]) -> Study:
    """Leave out all points with other levels of these factors, and with them what is judged."""
    if not only:
        return paper
    series = [one for each in paper.experiments.values() for one in each.series.values()]
    for factor, wanted in only.items():
        levels = [s.levels[factor] for one in series for s in one.settings if factor in s.levels]
        there = list(dict.fromkeys(map(str, levels)))
        for level in wanted:
            if level not in there:
                near = get_close_matches(level, there, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(
                    f"no level {level!r} of {factor!r} in {paper.name}; there are "
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
        for name, one in paper.experiments.items()
    }
    return replace(paper, experiments=experiments, sensitivity=None)


def _folder(
    paper: Study,
    experiment: str | None,
    only: Mapping[str, Sequence[str]],
    *,
    quick: bool,
    report: bool,
    out: str | os.PathLike[str] | None,
) -> Path:
    """Give each choice a folder of its own, so that no report takes another's place."""
    if report:
        check_source(paper.folder)
        return paper.folder
    parts = ["reproduce", paper.name, *([experiment] if experiment else [])]
    parts += [f"{factor}={'+'.join(levels)}" for factor, levels in only.items()]
    parts += ["quick"] * quick
    return Path(out or "results") / "-".join(parts)
