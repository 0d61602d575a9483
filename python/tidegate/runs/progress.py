"""Progress on stderr: a bar on a terminal, and lines where they are asked for."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidegate.runs.execution import Progress

    Report = Callable[[float, float, int], None]
    """Called with the simulated time of a run in seconds, its share, and its packet-hops."""

LINES = "lines"
"""Progress as lines, for what is no terminal."""
_LINE_EVERY_S = 5.0
_SHORT_S = 1.0


class Board:
    """Runs that are done, and how far those are that run in threads of this process."""

    def __init__(self, draw: Callable[[Board], None], runs: str = "runs") -> None:
        self.runs = runs
        self.done, self.total = 0, 0
        self.hops = 0
        """Packet-hops of runs that have ended."""
        self.started = time.monotonic()
        self._draw = draw
        self._running: dict[int, tuple[float, float, int]] = {}
        self._lock = threading.RLock()

    def __call__(self, done: int, total: int) -> None:
        """Hear of runs that are done."""
        with self._lock:
            self.done, self.total = done, total
            self._draw(self)

    @contextmanager
    def run(self) -> Iterator[Report]:
        """Give what a run of this thread reports to."""
        key = threading.get_ident()

        def report(simulated_s: float, share: float, hops: int) -> None:
            with self._lock:
                self._running[key] = simulated_s, share, hops
                self._draw(self)

        try:
            yield report
        finally:
            with self._lock:
                *_, hops = self._running.pop(key, (0.0, 0.0, 0))
                self.hops += hops

    @property
    def completed(self) -> float:
        """Runs that are done, with the shares of those under way."""
        return self.done + sum(share for _, share, _ in self._running.values())

    @property
    def left_s(self) -> float | None:
        """Seconds until the end, if all goes on as so far; None where nothing is known yet."""
        waited = time.monotonic() - self.started
        if self.completed <= 0 or waited < _SHORT_S:
            return None
        return waited * (self.total - self.completed) / self.completed

    def text(self) -> str:
        """Simulated time and packets of the runs under way."""
        with self._lock:
            times = [simulated_s for simulated_s, _, _ in self._running.values()]
            hops = self.hops + sum(hops for _, _, hops in self._running.values())
        if not times:
            return ""
        low, high = min(times), max(times)
        span = f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"
        return f"{span} s simulated, {_many(hops)} packet-hops"


_listening: Board | None = None
"""The board of this process; runs in processes of a cluster have none."""


def listening() -> Board | None:
    """Return what runs report to, if anybody looks."""
    return _listening


@contextmanager
def shown(progress: bool | str | Progress, what: str = "runs") -> Iterator[Progress]:
    """Give something to call with (done, all): a bar on a terminal, lines, `progress`, or nothing.

    With a bar or lines, runs in threads of this process also report how far they are.
    """
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty():
        with _bar() as draw, _heard(Board(draw, what)) as board:
            yield board
    elif progress == LINES:
        with _heard(Board(_Lines(), what)) as board:
            yield board
    else:
        yield lambda _done, _all: None


@contextmanager
def _heard(board: Board) -> Iterator[Board]:
    global _listening  # noqa: PLW0603 - threads of a pool do not inherit a context
    before, _listening = _listening, board
    try:
        yield board
    finally:
        _listening = before


class _Lines:
    """A line now and then."""

    def __init__(self) -> None:
        self._next = time.monotonic()

    def __call__(self, board: Board) -> None:
        now = time.monotonic()
        last = board.total and board.done == board.total
        if now < self._next and not last:
            return
        self._next = now + _LINE_EVERY_S
        left = board.left_s
        parts = [
            f"{board.done} of {board.total} {board.runs}", board.text(),
            "" if left is None or last else f"{duration(left)} left",
        ]  # fmt: skip
        sys.stderr.write(", ".join(part for part in parts if part) + "\n")
        sys.stderr.flush()


@contextmanager
def _bar() -> Iterator[Callable[[Board], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[more]}"))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, more="")

        def draw(board: Board) -> None:
            left = board.left_s
            more = [board.text(), "" if left is None else f"{duration(left)} left"]
            bars.update(
                task, completed=board.completed, total=board.total or None,
                description=f"{board.done} of {board.total} {board.runs}",
                more=", ".join(part for part in more if part),
            )  # fmt: skip

        yield draw


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(8.2), duration(340), duration(9000)
    ('8 s', '6 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _many(number: int) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
