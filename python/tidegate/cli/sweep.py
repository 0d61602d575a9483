"""`tidegate sweep`."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Add,
    AtMost,
    Engine,
    FigureFont,
    Figures,
    FigureWidth,
    Format,
    Jobs,
    Only,
    Out,
    Place,
    Quiet,
    Replications,
    Scheduler,
    Seed,
    Set,
    Shape,
    ShowProgress,
    Until,
    With,
    changes,
    command,
    executor,
    figure_output,
    print_csv,
    print_json_rows,
    print_tables,
    print_warnings,
    progress_of,
    say,
)
from tidegate.cli.endings import INTERRUPTED, MISSED, eprint, exit_now
from tidegate.cli.outcome import saved
from tidegate.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from tidegate.runs.sweeps import Sweep

SOME_FAILED = 4

MOST_SHOWN = 1_000
"""Maximum number of points in a printed table."""


@command
def sweep(
    scenario: Annotated[Path, typer.Argument(help="Scenario file with a table [sweep].")],
    set_: Set = None,
    add: Add = None,
    with_: With = None,
    only: Only = None,
    seed: Seed = None,
    replications: Replications = None,
    until: Until = None,
    at_most: AtMost = None,
    jobs: Jobs = None,
    engine: Engine = Place.threads,
    scheduler: Scheduler = None,
    out: Out = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print how long it takes at most, and run nothing.")
    ] = False,
    resume: Annotated[bool, typer.Option(help="Skip runs that the folder already has.")] = True,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw figures there.")] = False,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
    shape: Shape = Format.table,
    progress: ShowProgress = False,
    quiet: Quiet = False,
) -> None:
    """Simulate all points of a scenario's [sweep], on all cores or a cluster.

    Each finished run is kept; the same command goes on where an interrupted one stopped.

    For example:

    tidegate sweep sweeps/flows.toml --plot

    tidegate sweep sweeps/flows.toml --format csv > flows.csv

    tidegate sweep sweeps/flows.toml --until "throughput_bps 2 %"

    tidegate sweep sweeps/flows.toml --engine dask --scheduler tcp://10.0.0.1:8786
    """
    from tidegate.runs.sweeping import check_drawable, sweep_points
    from tidegate.runs.sweeps import load_sweep

    given = changes(set_, add)
    output = figure_output(figures, figure_width, figure_font, plot=plot)
    plot = plot or output is not None
    if estimate:
        from tidegate.runs.sweeping import expected

        variants = {"mechanisms": with_ or (), "only": only or ()}
        say(expected(scenario, given, **variants, replications=replications, jobs=jobs))
        return
    if plot:
        check_drawable(scenario, given, bool(with_))
    if engine is Place.threads and (progress or (not quiet and sys.stderr.isatty())):
        _announce(scenario, given, with_ or (), only or (), replications, jobs)
    try:
        with executor(engine, scheduler, jobs) as where:
            done = sweep_points(
                scenario, given, mechanisms=with_ or (), only=only or (), seed=seed,
                replications=replications, until=until, at_most=at_most, out=out,
                resume=resume, progress=progress_of(lines=progress, quiet=quiet), executor=where,
            )  # fmt: skip
    except KeyboardInterrupt:
        eprint("interrupted; the finished runs are kept, and the same command goes on from there")
        exit_now(INTERRUPTED)
    if not quiet:
        print_warnings(scenario, done.scenario)
    # The folder may have more than was asked for, and its figures show all of it.
    whole = load_sweep(done.folder)
    drawable = plot and len(whole.failed) < len(whole.points)
    drawn = whole.plot(done.folder, output) if drawable else []
    _print(done, drawn, shape)
    if not quiet:
        for line in _remarks(done, whole, drawn, shape):
            eprint(line)
    _end(done)


def _announce(
    scenario: Path,
    given: list[tuple[str, str]],
    mechanisms: Sequence[str],
    only: Sequence[str],
    replications: int | None,
    jobs: int | None,
) -> None:
    """Say how long a long sweep takes."""
    from tidegate.runs.estimate import LONG_S
    from tidegate.runs.sweeping import expected

    found = expected(
        scenario, given, mechanisms=mechanisms, only=only, replications=replications, jobs=jobs
    )
    if found.seconds > LONG_S:
        eprint(str(found))


def _print(done: Sweep, figures: list[Path], shape: Format) -> None:
    """Yield the points one by one; all may not fit in memory."""
    if shape is Format.json:
        tail = {"folder": str(done.folder), "figures": list(map(str, figures))}
        print_json_rows({"scenario": {"name": done.scenario.name}}, "points", _points(done), tail)
        return
    if shape is Format.csv:
        parts = done.summary_parts()
        first = next(parts, None)
        if first is not None:
            print_csv(first.column_names, _rows(chain([first], parts)))
        return
    if len(done.points) <= MOST_SHOWN:
        from tidegate.results.show import rich_table
        from tidegate.runs.sweep_grid import sweep_grid

        print_tables([rich_table(sweep_grid(done))])
    else:
        say(f"{len(done.points)} points, too many to show; --format csv prints all")
    say(saved(done.folder, figures))


def _end(done: Sweep) -> None:
    """Report failed points and wide intervals, and end with the exit code."""
    failed, imprecise = done.failed, done.imprecise
    for point in failed:
        for seed, reason in point.failures.items():
            eprint(f"failed: {one_line(point.label)} with seed {seed}: {one_line(reason)}")
    for point, lacking in imprecise:
        for target, row in lacking:
            eprint(
                f"after {len(point.seeds)} runs of {one_line(point.label)}, {target.shortfall(row)}"
            )
    if failed:
        raise typer.Exit(SOME_FAILED)
    if imprecise:
        raise typer.Exit(MISSED)


def _remarks(done: Sweep, whole: Sweep, figures: list[Path], shape: Format) -> list[str]:
    lines = [] if shape is Format.table else [saved(done.folder, figures)]
    asked, there = (sum(len(point.seeds) for point in one.points) for one in (done, whole))
    if asked < there:
        lines.append(f"{done.folder} keeps {there} runs, of which the {asked} asked for are shown")
    return lines


def _points(done: Sweep) -> Iterator[dict[str, object]]:
    for point in done.points:
        yield {
            "settings": point.values,
            "runs": [{"seed": seed, "digest": digest} for seed, digest in point.digests],
            "summary": [row._asdict() for row in point.summary()],
            "failures": {str(seed): reason for seed, reason in point.failures.items()},
        }


def _rows(parts: Iterable[pa.Table]) -> Iterator[list[object]]:
    for part in parts:
        yield from (list(row.values()) for row in part.to_pylist())
