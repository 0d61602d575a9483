"""Progress on stderr, only where it is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.runs.execution import Progress


@contextmanager
def shown(progress: bool | Progress, what: str = "runs") -> Iterator[Progress]:
    """Give something to call with (done, all): a bar on a terminal, `progress`, or nothing."""
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty():
        with _bar(what) as tell:
            yield tell
    else:
        yield lambda _done, _all: None


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
