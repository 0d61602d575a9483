"""Short runs go to the engine many at a time: one call without the interpreter's lock for all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from tidegate import _native
from tidegate.errors import RunError
from tidegate.results.batch import Batch
from tidegate.runs.progress import listening

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from tidegate._native import Scenario

Task = TypeVar("Task")

BATCH_S = 0.1
"""How long a batch lasts: long beside a call, and short enough to interrupt."""


def batches(tasks: Iterable[Task], alike: Callable[[Task], object]) -> Generator[list[Task]]:
    """Split tasks into batches of those that are `alike`, which grow until they last long enough.

    How long one lasts is the processor's time of this thread until it asks for the next.
    """
    size, batch = 1, list[Task]()
    kind: object = None
    for task in tasks:
        own = alike(task)
        if batch and own != kind:
            yield batch
            batch = []
        batch.append(task)
        kind = own
        if len(batch) >= size:
            started = time.thread_time()
            yield batch
            fitting = BATCH_S * len(batch) / max(time.thread_time() - started, 1e-9)
            size, batch = max(1, min(int(fitting), 4 * size)), []
    if batch:
        yield batch


def run_batch(runs: Sequence[tuple[Scenario, int]]) -> tuple[Batch, dict[int, Exception]]:
    """Do runs of scenarios that have the same groups, each with its seed.

    Gives the tables of those that ended, and by its number why each other one failed.
    """
    board = listening()
    if board is None:
        found = _native.run_batch(runs)
    else:
        with board.run() as report:
            found = _native.run_batch(runs, report)
    columns, rows, reasons = found
    failed: dict[int, Exception] = {
        number: RunError(runs[number][1], reason) for number, reason in reasons
    }
    ended = [scenario for number, (scenario, _) in enumerate(runs) if number not in failed]
    return Batch.of_columns(columns, rows, ended), failed
