"""`tidegate reproduce`."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Engine,
    Format,
    Jobs,
    Place,
    Quiet,
    Scheduler,
    Shape,
    command,
    executor,
    print_csv,
    print_json,
    print_tables,
    typed,
)
from tidegate.cli.endings import INTERRUPTED, eprint, exit_now
from tidegate.errors import UsageError
from tidegate.extras import MissingLibraryError, is_there
from tidegate.runs.execution import MAX_REPLICATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.studies.reproduce import Reproduced

CHECK_MISSED = 5


@command
def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY[/EXPERIMENT]]",
            help="Study or experiment, such as abc or abc/table2; default: all studies.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All cells and claims, with fewer runs.")
    ] = False,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            "-r",
            min=1,
            max=MAX_REPLICATIONS,
            help="Maximum number of runs per point.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="End with 5 if a deviation has neither an explanation nor another reading.",
        ),
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Write the pages studies/*/RESULTS.md and their figures."),
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="SIDE",
            help="Measure this side's tables again instead: lab (this Linux; root), kernel or ns2.",
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="With --measure: only points that the tables lack."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="FACTOR=LEVEL",
            help="Only points with this level of the factor; repeatable. Nothing is judged.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Skip runs that results or DIR already has.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Parent folder of the reports; default: results.",
        ),
    ] = None,
    jobs: Jobs = None,
    engine: Engine = Place.threads,
    scheduler: Scheduler = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Run a study: reproduce published results cell by cell, and judge claims.

    One experiment is printed with every number of the paper beside ours; of more, the counts.

    For example:

    tidegate reproduce abc/table2 --quick

    tidegate reproduce abc

    tidegate reproduce conex --replications 6

    tidegate reproduce abc/table2 --check --format json
    """
    from tidegate.studies.reproduce import reproduce as run
    from tidegate.studies.reproduce import runs_folder, study_names

    study = (target or "").partition("/")[0]
    if study and study not in study_names():
        near = get_close_matches(study, study_names(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no study {study!r}; there are {', '.join(study_names())}{hint}")
    if measure:
        alone = not (report or check or only)
        _measure(target, measure, jobs, alone=alone, missing=missing, quiet=quiet)
        return
    if missing:
        raise UsageError("--missing requires --measure")
    if check and only:
        raise UsageError("--check judges whole experiments: drop --only")
    _check_report(target, report=report, part=bool(quick or only or typed(out)))
    out = None if report else out
    try:
        with executor(engine, scheduler, jobs) as where:
            done = run(
                target, quick=quick, replications=replications, progress=not quiet, report=report,
                resume=resume, out=out, only=_levels(only or []), executor=where,
            )  # fmt: skip
    except KeyboardInterrupt:
        again = "the same command" if resume else "the same command without --no-resume"
        eprint(
            f"interrupted; the finished runs are kept in {runs_folder(out)}, and {again} goes on"
            " from there"
        )
        exit_now(INTERRUPTED)
    outcomes = [summary for one in done for summary in one.summaries]
    if shape is Format.json:
        print_json(outcomes)
    elif shape is Format.csv:
        columns = list(dict.fromkeys(key for outcome in outcomes for key in outcome))
        print_csv(columns, [[_cell(o.get(key)) for key in columns] for o in outcomes])
    else:
        if "/" in (target or "") or only:
            _print_beside(done)
        if not only:
            _print_table(outcomes)
    if not quiet:
        _say_what_was_done(done)
    if check and any(outcome.get("ok") is False for outcome in outcomes):
        raise typer.Exit(CHECK_MISSED)


def _say_what_was_done(done: Iterable[Reproduced]) -> None:
    drawn = is_there("matplotlib")
    for one in done:
        eprint(
            f"{one.effort.target}: {one.effort.runs:,} runs{_cached(one)}, "
            f"{_packets(one)}{_seconds(one.effort.cpu_s)} CPU seconds"
        )
        eprint(f"wrote {one.folder}/{' and '.join(one.pages)}{' and figures' if drawn else ''}")
    if not drawn:
        eprint(f"no figures: {MissingLibraryError('matplotlib')}")


def _measure(
    target: str | None, side: str, jobs: int | None, *, alone: bool, missing: bool, quiet: bool
) -> None:
    """Measure the tables of another side again."""
    from tidegate.studies.reproduce import measure

    if target is None or not alone:
        raise UsageError("--measure needs a PAPER; drop --report, --check and --only")
    for table in measure(target, side, jobs=jobs, progress=not quiet, missing=missing):
        eprint(f"wrote {table}")


def _check_report(target: str | None, *, report: bool, part: bool) -> None:
    from tidegate.studies.reproduce import is_whole_page

    if report and part:
        raise UsageError("--report is about whole pages in full: drop --quick, --only and --out")
    if report and not is_whole_page(target):
        raise UsageError(f"--report is about whole pages, and EXPERIMENT {target!r} is none")


def _levels(only: list[str]) -> dict[str, list[str]]:
    """Levels by factor."""
    found: dict[str, list[str]] = {}
    for one in only:
        factor, equals, level = one.partition("=")
        if not (factor and equals and level):
            raise UsageError(f"--only {one!r}: expected FACTOR=LEVEL, such as mechanism=red")
        found.setdefault(factor, []).append(level)
    return found


_MANY_S = 10
"""From this many processor seconds on, no fraction is printed."""

_ELSEWHERE = {
    "undecided": "undecided",
    "explained": "explained",
    "by_another_reading": "another reading",
    "unexplained": "not explained",
    "cannot_fail": "cannot fail",
}
"""Counts of cells and claims that are neither within nor held, with their column headings."""


def _count(ids: object) -> str:
    return str(len(ids)) if isinstance(ids, list) else str(ids)


def _cached(done: Reproduced) -> str:
    return f" ({done.effort.cached:,} of them cached)" if done.effort.cached else ""


def _packets(done: Reproduced) -> str:
    """Return the packets that passed the link `bottleneck`; other networks have none."""
    packets = done.effort.packets
    return f"{packets / 1e6:,.0f} million packets, " if packets else ""


def _seconds(spent: float) -> str:
    return f"{spent:,.0f}" if spent >= _MANY_S else f"{spent:.1f}"


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def _print_beside(done: list[Reproduced]) -> None:
    from tidegate.results.show import rich_table
    from tidegate.studies.report.comparison import grids

    found = [grid for one in done for outcome in one.outcomes for grid in grids(outcome)]
    found += [grid for one in done for grid in one.tables if grid.cells]
    print_tables([rich_table(grid) for grid in found])


def _print_table(outcomes: list[dict[str, object]]) -> None:
    from tidegate.results.show import Grid, rich_table

    grid = Grid(
        "Reproduced",
        ["experiment", "cells within", "claims held", *_ELSEWHERE.values(), "verdict"],
        text_columns=1,
    )
    for outcome in outcomes:
        grid.cells.append([
            str(outcome.get("experiment", "")),
            f"{outcome.get('cells_within', 0)} of {outcome.get('cells', 0)}",
            f"{outcome.get('claims_held', 0)} of {outcome.get('claims', 0)}",
            *(_count(outcome.get(kind, [])) for kind in _ELSEWHERE),
            "missed" if outcome.get("ok") is False else "ok",
        ])  # fmt: skip
    print_tables([rich_table(grid)])
