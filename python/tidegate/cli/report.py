"""`tidegate report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import command, say
from tidegate.cli.explore import open_page


@command
def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT...",
            help="Result folders, with or without variants, or sweeps of at most 12 points.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Folder of report.html; default: the result folder, or results/A--B-HASH.",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open it in a browser.")] = False,
) -> None:
    """Write a report of saved results: one HTML file that needs no network and no server.

    For example:

    tidegate report results/evening-peak-1a2b3c4d --open

    tidegate report results/simulated results/lab --out reports
    """
    from tidegate.reporting import report as write

    path = write(*results, out=out)
    say(path)
    if open_:
        open_page(path)
