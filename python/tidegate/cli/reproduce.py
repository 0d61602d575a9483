"""`tidegate reproduce`."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli.common import Format, Jobs, Quiet, Shape, command, print_csv, print_json
from tidegate.errors import UsageError

CHECK_MISSED = 5


@command
def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[/EXPERIMENT]]", help="Such as abc or abc/table2; default: everything."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Every cell and claim, with fewer runs.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="End with 5 where something deviates without explanation."),
    ] = False,
    jobs: Jobs = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:
    """Reproduce published results, cell by cell.

    **Examples**

    tidegate reproduce abc

    tidegate reproduce abc/table2 --check --format json
    """
    from tidegate.reproduction import paper_names, run

    paper = (target or "").partition("/")[0]
    if paper and paper not in paper_names():
        raise UsageError(f"there is no paper {paper!r}; there are {', '.join(paper_names())}")
    outcomes = run(target, quick, jobs, not quiet)
    if shape is Format.json:
        print_json(outcomes)
    elif shape is Format.csv:
        columns = list(dict.fromkeys(key for outcome in outcomes for key in outcome))
        print_csv(columns, [[_cell(o.get(key)) for key in columns] for o in outcomes])
    else:
        _print_table(outcomes)
    if check and any(outcome.get("ok") is False for outcome in outcomes):
        raise typer.Exit(CHECK_MISSED)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def _print_table(outcomes: list[dict[str, object]]) -> None:
    from tidegate.cli.common import print_tables
    from tidegate.show import Grid, rich_table

    grid = Grid(
        "Reproduced",
        ["experiment", "cells within", "claims held", "explained", "verdict"],
        text_columns=1,
    )
    for outcome in outcomes:
        explained = outcome.get("explained", [])
        grid.cells.append([
            str(outcome.get("experiment", "")),
            f"{outcome.get('cells_within', 0)} of {outcome.get('cells', 0)}",
            f"{outcome.get('claims_held', 0)} of {outcome.get('claims', 0)}",
            str(len(explained) if isinstance(explained, list) else explained),
            "missed" if outcome.get("ok") is False else "ok",
        ])  # fmt: skip
    print_tables([rich_table(grid)])
