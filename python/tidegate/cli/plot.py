"""`tidegate plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import command


@command
def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT_DIR", help="A result folder.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to; default: the result folder.")
    ] = None,
) -> None:
    """Draw a result: who got what, each user group and each queue over time.

    **Example**

    tidegate plot results/evening-peak-1a2b3c4d --out figures
    """
    from tidegate.store import load

    for path in load(result).plot(out or result):
        typer.echo(path)
