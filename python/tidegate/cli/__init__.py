"""The command `tidegate`: the package's functions under the same names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tidegate.cli.endings import hear_interruptions, output

if TYPE_CHECKING:
    from tidegate.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command."""
    hear_interruptions()
    if sys.stderr is None:
        # Else the next file that is opened would be taken for it.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    # Names and signs such as ± must not stop a program in a terminal without UTF-8.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    # Runs are what is done side by side: OpenBLAS would have all cores wait for matrices that are
    # far too small to be shared out, which takes a spectrum forty times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with output():
        from tidegate.cli.commands import app

        app()


def __getattr__(name: str) -> object:
    """Import the commands, which takes a while; an interruption ends it."""
    if name == "app":
        from tidegate.cli.commands import app

        return app
    raise AttributeError(f"module 'tidegate.cli' has no attribute {name!r}")
