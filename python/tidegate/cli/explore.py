"""`tidegate explore`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import Add, Set, changes, command, overrides, say
from tidegate.errors import UsageError


@command
def explore(
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="Scenario file.")
    ] = None,
    set_: Set = None,
    add: Add = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Show the scenario with this key overridden beside it (repeatable: both at once).",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", envvar="TIDEGATE_OUT", help="Folder of the page.")
    ] = Path("results"),
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open it in a browser.")] = True,
) -> None:
    """Simulate in the browser: write a page with the scenario, and open it. No server runs.

    For example:

    tidegate explore

    tidegate explore scenarios/evening-peak.toml --against bottleneck.differentiation.kind=none

    tidegate explore scenarios/dualpi2.toml --out page --no-open
    """
    from tidegate.exploring import explore as write
    from tidegate.scenarios.reading import parse

    given = changes(set_, add)
    if scenario is None and (given or against):
        raise UsageError("--set, --add and --against go with a scenario")
    parsed = parse(scenario, given) if given and scenario is not None else scenario
    path = write(parsed, against=dict(overrides(against, "--against")), out=out)
    say(path)
    if open_:
        open_page(path)


def open_page(path: Path) -> None:
    """Open a page in a browser, where there is a place for its window."""
    if _has_windows():
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def _has_windows() -> bool:
    """Whether a browser has a place to open; else one for terminals would take this one over."""
    known = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in known)
