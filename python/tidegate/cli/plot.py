"""`tidegate plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import command, say
from tidegate.errors import ResultError


@command
def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT_DIR", help="Result folder.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Folder of the figures; default: the result folder.",
        ),
    ] = None,
) -> None:
    """Draw a saved result (throughput by group, groups and queues over time) or a sweep.

    **Example**

    tidegate plot results/evening-peak-1a2b3c4d --out figures
    """
    from tidegate.results.manifests import read_manifest
    from tidegate.results.store import load
    from tidegate.runs.sweeps import load_sweep

    sweep = read_manifest(result).get("kind") == "sweep"
    result_read = load_sweep(result) if sweep else load(result)
    files = result_read.plot(out or result)
    if not files:
        raise ResultError(f"{result} has no run that counts, so there is nothing to draw")
    for path in files:
        say(path)
