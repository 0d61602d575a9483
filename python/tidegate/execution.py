"""Running many simulations at once on the cores of this machine.

A run releases the interpreter's lock, so threads use all cores with nothing to start or pickle.
`Executor` is the seam where a cluster can stand instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeAlias, TypeVar

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of runs done and the number of all runs."""

# More than anybody waits for, and less than fills the memory before the first run has ended.
MAX_REPLICATIONS = 10_000
MAX_RUNS = 1_000_000
MAX_JOBS = 1_000


def local_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Executor(Protocol):
    """Something that works tasks off."""

    def work(
        self, tasks: Sequence[Task], do: Callable[[Task], Outcome]
    ) -> Iterator[tuple[Task, Outcome | Exception]]:
        """Yield each task with its outcome as it finishes, in any order."""
        ...


class Threads:
    """The cores of this machine."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = min(max(1, jobs or local_cores()), MAX_JOBS)

    def work(
        self, tasks: Sequence[Task], do: Callable[[Task], Outcome]
    ) -> Iterator[tuple[Task, Outcome | Exception]]:
        """Yield each task with its outcome as it finishes."""
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="run")
        waiting = iter(tasks)
        running: dict[Future[Outcome], Task] = {}
        try:
            while True:
                # A few ahead of the threads, so that a million tasks are not a million futures.
                for task in waiting:
                    running[pool.submit(do, task)] = task
                    if len(running) > self.jobs:
                        break
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    error = done.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield running.pop(done), error or done.result()
        finally:
            # When interrupted, do not wait for runs that cannot be interrupted.
            pool.shutdown(wait=False, cancel_futures=True)
