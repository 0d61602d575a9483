"""Where tasks are worked off: an interface, and the cores of this machine.

A run releases the interpreter's lock, so threads use all cores with nothing to start or pickle.
`tidegate.runs.cluster` is the same interface over the machines of a Dask cluster.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any, Generic, Self, TypeAlias, TypeVar

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of runs done and the number of all runs."""

# More than anybody waits for, and less than fills the memory before the first run has ended.
MAX_REPLICATIONS = 10_000
MAX_RUNS = 1_000_000
MAX_JOBS = 1_000

GROUP_S = 1.0
"""How long a group of tasks lasts: long beside handing it over, short beside losing it."""
LEAST_GROUP_S = 0.03
"""How long a share of tasks lasts at least: long beside handing it over."""
MAX_GROUP = 500


def local_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Executor(ABC):
    """Something that works tasks off.

    Tasks go out in groups that last about a second each, so that tiny ones cost nothing to hand
    over; how many tasks that is, is learned on the way. What they yield must not depend on it.
    Tasks and functions travel to other processes: a function is one of a module, or a
    `functools.partial` of one.

    Closing an iterator that `work` or `work_in_groups` gave cancels what has not begun.
    """

    def work(
        self, tasks: Iterable[Task], do: Callable[[Task], Outcome]
    ) -> Generator[tuple[Task, Outcome | Exception]]:
        """Yield each task with its outcome, or with why it failed, as it finishes, in any order.

        Tasks are taken from the iterable only a few ahead of the work.
        """
        with closing(self.work_in_groups(tasks, Each(do))) as groups:
            for group, outcomes in groups:
                if isinstance(outcomes, Exception):
                    yield from ((task, outcomes) for task in group)
                else:
                    yield from zip(group, outcomes, strict=True)

    @abstractmethod
    def work_in_groups(
        self, tasks: Iterable[Task], do: Callable[[Iterable[Task]], Outcome]
    ) -> Groups[Task, Outcome]:
        """Yield groups of tasks with what `do` returned of each group, or with why it failed.

        `do` is given an iterator that ends when the group has lasted long enough; the tasks that
        it did not take by then go out again with another group.
        """

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give back what was taken to work with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Groups: TypeAlias = "Generator[tuple[Sequence[Task], Outcome | Exception]]"


class Threads(Executor):
    """The cores of this machine."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = min(max(1, jobs or local_cores()), MAX_JOBS)

    def work_in_groups(
        self, tasks: Iterable[Task], do: Callable[[Iterable[Task]], Outcome]
    ) -> Groups[Task, Outcome]:
        """Yield groups of tasks with their outcome as they finish."""
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="run")
        queue = Queue(tasks, 2 * self.jobs)
        running: dict[Future[Done[Outcome]], Sequence[Task]] = {}
        stopped = Event()
        try:
            while True:
                # A few ahead of the threads, so that a million tasks are not a million futures.
                while len(running) <= self.jobs and (group := queue.next_group()):
                    running[pool.submit(do_in_time, do, group, stopped.is_set)] = group
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    tasks_of = running.pop(future)
                    error = future.exception()
                    if error is None:
                        done = future.result()
                        yield queue.finished(tasks_of, done), done.outcome
                    elif isinstance(error, Exception):
                        yield tasks_of, error
                    else:
                        raise error
        finally:
            # When interrupted, do not wait for runs that cannot be interrupted, and begin no other.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class Each(Generic[Task, Outcome]):
    """Do each task of a group; one that fails does not stop the others."""

    do: Callable[[Task], Outcome]

    def __call__(self, tasks: Iterable[Task]) -> list[Outcome | Exception]:
        """Outcomes in the order of the tasks."""
        return [self._outcome(task) for task in tasks]

    def _outcome(self, task: Task) -> Outcome | Exception:
        try:
            return self.do(task)
        except Exception as error:  # noqa: BLE001 - the caller judges it
            return error


@dataclass(frozen=True)
class Done(Generic[Outcome]):
    """What came of a group, and of how much of it."""

    outcome: Outcome
    count: int
    """Tasks done, from the first."""
    seconds: float


def do_in_time(
    do: Callable[[Iterable[Task]], Outcome],
    group: Sequence[Task],
    stopped: Callable[[], bool] = lambda: False,
) -> Done[Outcome]:
    """Do tasks of a group until it has lasted long enough or is stopped, and at least one."""
    started = time.monotonic()
    taken = 0

    def in_time() -> Iterator[Task]:
        nonlocal taken
        for task in group:
            if taken and (stopped() or time.monotonic() - started > GROUP_S):
                return
            taken += 1
            yield task

    outcome = do(in_time())
    return Done(outcome, taken, time.monotonic() - started)


class Counted(Generic[Task]):
    """Tasks of known number, which may be made when they are taken."""

    def __init__(self, tasks: Iterable[Task], count: int) -> None:
        self._tasks, self.count = tasks, count

    def __iter__(self) -> Iterator[Task]:
        """Make them."""
        return iter(self._tasks)


class Queue(Generic[Task]):
    """Tasks that wait, handed out in groups that last about as long as they should.

    With `shares`, tasks that are `Counted` go out in groups of which each is that share of what is
    left, so that all workers end at about the same time (C. D. Polychronopoulos and D. J. Kuck,
    "Guided self-scheduling", IEEE Trans. Computers C-36(12), 1987), but none much shorter than
    `LEAST_GROUP_S`. A group that lasts too long gives back what it did not begin.
    """

    def __init__(self, tasks: Iterable[Task], shares: int | None = None) -> None:
        self._left = tasks.count if isinstance(tasks, Counted) and shares else None
        self._shares = shares or 1
        self._size = MAX_GROUP if self._left else 1
        self._least = 1
        self._tasks = iter(tasks)
        self._again: deque[Task] = deque()

    def next_group(self) -> list[Task]:
        """The next tasks to do; empty when there are none."""
        size = self._size
        if self._left is not None:
            size = min(size, max(self._least, -(-self._left // self._shares)))
        group = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        group += islice(self._tasks, size - len(group))
        if self._left is not None:
            self._left -= len(group)
        return group

    def finished(self, group: Sequence[Task], done: Done[Any]) -> Sequence[Task]:
        """Learn how long tasks last; gives those that were done and takes the others back."""
        a_second = done.count / max(done.seconds, 1e-9)
        self._size = max(1, min(int(GROUP_S * a_second), 4 * self._size, MAX_GROUP))
        self._least = max(1, int(LEAST_GROUP_S * a_second))
        self._again.extend(group[done.count :])
        if self._left is not None:
            self._left += len(group) - done.count
        return group[: done.count]
