"""`tidegate league`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Engine,
    Format,
    Jobs,
    Place,
    Quiet,
    Replications,
    Scheduler,
    Shape,
    command,
    executor,
    print_csv,
    print_json,
    print_tables,
    say,
)
from tidegate.cli.endings import INTERRUPTED, leave, remark
from tidegate.errors import UsageError

if TYPE_CHECKING:
    from tidegate.studies.league.findings import Finding
    from tidegate.studies.league.scores import Scores

CHECK_MISSED = 5


@command
def league(
    situation: Annotated[
        list[str] | None,
        typer.Option("--situation", "-s", metavar="NAME", help="Only this situation (repeatable)."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option("--mechanism", "-m", metavar="NAME", help="Only this mechanism (repeatable)."),
    ] = None,
    replications: Replications = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two short runs each.")] = False,
    lab: Annotated[
        bool,
        typer.Option("--lab", help="Also run the situations that need a real kernel; needs root."),
    ] = False,
    lab_jobs: Annotated[
        int, typer.Option(min=1, help="Number of simultaneous runs of the lab.")
    ] = 1,
    cost: Annotated[
        bool, typer.Option("--cost/--no-cost", help="Measure processor time per packet.")
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip runs that DIR already has.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Write studies/league/results and the page docs/league.md."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="End with 5 if a sentence of the page does not hold.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Result folder; default: results/league[-quick][-HASH].",
        ),
    ] = None,
    jobs: Jobs = None,
    engine: Engine = Place.threads,
    scheduler: Scheduler = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Run every mechanism of a bottleneck in every situation, and print one table.

    Mechanisms and situations are data in the folder `league/`; docs/league.md says what came out.

    **Examples**

    tidegate league --quick

    tidegate league -s many-flows -s udp-flood -m red -m abc-red

    tidegate league --report --resume

    sudo .venv/bin/tidegate league --lab -s cubic-and-bbr --report
    """
    from tidegate.studies.league.play import Order, play, results_folder

    if quick and report:
        raise UsageError("--report is about all runs, --quick about few: take one of them")
    order = Order(
        situations=tuple(situation or ()), mechanisms=tuple(mechanism or ()),
        replications=replications, quick=quick, lab=lab, lab_jobs=lab_jobs, cost=cost,
        resume=resume, report=report, out=out,
    )  # fmt: skip
    try:
        with executor(engine, scheduler, jobs) as where:
            played = play(order, show=not quiet, executor=where)
    except KeyboardInterrupt:
        again = "the same command" if resume else "the same command with --resume"
        remark(
            f"interrupted; who was finished is kept in {results_folder(order)}, and {again} goes"
            " on from there"
        )
        leave(INTERRUPTED)
    for path in [] if quiet else played.files:
        remark(f"wrote {path}")
    _print(played.scores, shape)
    if check:
        _check(played.findings, partial=not report)


def _print(scores: Scores, shape: Format) -> None:
    from tidegate.results.show import rich_table
    from tidegate.studies.league.standings import rows
    from tidegate.studies.league.tables import situation_grid, table

    if shape is Format.table:
        grids = [situation_grid(scores, one, list(scores.mechanisms))
                 for one in scores.situations.values()]  # fmt: skip
        grids += [table(scores)] if scores.simulated else []
        print_tables([rich_table(grid) for grid in grids if grid.cells])
        say("mean ± 95 % confidence")
        return
    found = rows(scores.standings)
    if shape is Format.json:
        print_json(found)
    else:
        headings = ["situation", "mechanism", "metric", "unit", "mean", "ci95", "runs"]
        print_csv(headings, [list(row.values()) for row in found])


def _check(findings: list[Finding], *, partial: bool) -> None:
    if partial:
        raise UsageError("--check is about the page's words: it needs --report")
    failed = [one for one in findings if one.failed]
    for one in failed:
        remark(f"does not hold: {'; '.join(one.failed)}: {one.text}")
    if failed:
        raise typer.Exit(CHECK_MISSED)
