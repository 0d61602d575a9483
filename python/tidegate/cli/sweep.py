"""`tidegate sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    INTERRUPTED,
    Add,
    Engine,
    Format,
    Jobs,
    Out,
    Place,
    Quiet,
    Replications,
    Scheduler,
    Seed,
    Set,
    Shape,
    changes,
    command,
    doubts,
    executor,
    leave,
    print_csv,
    print_json,
    print_tables,
    remark,
)
from tidegate.cli.outcome import told

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidegate.runs.sweeping import Sweep

SOME_FAILED = 4


@command
def sweep(
    scenario: Annotated[Path, typer.Argument(help="Scenario file with a [sweep].")],
    set_: Set = None,
    add: Add = None,
    seed: Seed = None,
    replications: Replications = None,
    jobs: Jobs = None,
    engine: Engine = Place.threads,
    scheduler: Scheduler = None,
    out: Out = None,
    resume: Annotated[bool, typer.Option(help="Skip runs whose results are already there.")] = True,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figures there, too.")] = False,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Simulate every point of a scenario's [sweep] on all cores, or on a cluster.

    Each finished run is kept; the same command goes on where an interrupted one stopped.

    **Examples**

    tidegate sweep sweeps/flows.toml --plot

    tidegate sweep sweeps/flows.toml --format csv > flows.csv

    tidegate sweep sweeps/flows.toml --engine dask --scheduler tcp://10.0.0.1:8786
    """
    from tidegate.runs.sweeping import check_drawable, load_sweep, sweep_points

    given = changes(set_, add)
    if plot:
        check_drawable(scenario, given)
    try:
        with executor(engine, scheduler, jobs) as where:
            done = sweep_points(
                scenario, given, seed=seed, replications=replications, out=out, resume=resume,
                progress=not quiet, executor=where,
            )  # fmt: skip
    except KeyboardInterrupt:
        remark("interrupted; the finished runs are kept, and the same command goes on from there")
        leave(INTERRUPTED)
    if not quiet:
        doubts(scenario, done.scenario)
    # The folder may have more than was asked for, and its figures show all of it.
    whole = load_sweep(done.folder)
    figures = whole.plot(done.folder) if plot and len(whole.failed) < len(whole.points) else []
    if shape is Format.json:
        print_json({**_json(done), "figures": list(map(str, figures))})
    elif shape is Format.csv:
        summary = done.summary()
        print_csv(summary.column_names, [list(row.values()) for row in summary.to_pylist()])
    else:
        print_tables([_table(done)])
        typer.echo(told(done.folder, figures))
    if not quiet:
        for line in _remarks(done, whole, figures, shape):
            remark(line)
    for point in done.failed:
        for failed_seed, reason in point.failures.items():
            remark(f"failed: {point.label} with seed {failed_seed}: {reason}")
    if done.failed:
        raise typer.Exit(SOME_FAILED)


def _remarks(done: Sweep, whole: Sweep, figures: list[Path], shape: Format) -> list[str]:
    lines = [] if shape is Format.table else [told(done.folder, figures)]
    asked, there = (sum(len(point.seeds) for point in one.points) for one in (done, whole))
    if asked < there:
        lines.append(f"{done.folder} keeps {there} runs, of which the {asked} asked for are shown")
    return lines


def _json(done: Sweep) -> dict[str, object]:
    summaries = {id(point): result.summary().to_pylist() for point, result in done.results()}
    points = [
        {
            "settings": point.values,
            "runs": [{"seed": seed, "digest": digest} for seed, digest in point.digests],
            "summary": summaries.get(id(point), []),
            "failures": {str(seed): reason for seed, reason in point.failures.items()},
        }
        for point in done.points
    ]
    return {"scenario": {"name": done.scenario.name}, "points": points, "folder": str(done.folder)}


def _table(done: Sweep) -> RenderableType:
    """Throughput per user of each group at each point."""
    from tidegate.results.show import Grid, rate_unit, rich_table, uncertain
    from tidegate.results.statistics import Estimate
    from tidegate.results.summary import rows
    from tidegate.runs.swept_values import words

    groups = done.scenario.groups
    found = [
        (point, {r.name: r for r in rows(result.tables) if r.metric == "throughput_bps"})
        for point, result in done.results()
    ]
    largest = max((row.mean for _, by_group in found for row in by_group.values()), default=0.0)
    unit, scale = rate_unit(largest)
    grid = Grid(f"Throughput per user [{unit}]", [*done.axes, *groups], text_columns=len(done.axes))
    for point, by_group in found:
        estimates = (Estimate(r.mean, r.ci95, r.runs) for r in map(by_group.get, groups) if r)
        cells = [uncertain(value, scale) for value in estimates]
        grid.cells.append([*(words(point.values[key]) for key in done.axes), *cells])
    return rich_table(grid)
