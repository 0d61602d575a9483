"""Tasks of a study: a scenario, a seed, and what is read from the run.

Only what a *measure* reads from a run's tables stays in memory. Runs go wherever an executor puts
them.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from tidegate.runs.execution import Executor, Progress

Columns: TypeAlias = "Mapping[str, Mapping[str, Any]]"
"""The engine's tables by name, each a mapping of columns."""

Value = TypeVar("Value")


class Runnable(Protocol):
    """A checked scenario, or what stands for one in a test."""

    def run(self, seed: int) -> Columns:
        """Run it once."""
        ...


Ran = TypeVar("Ran", bound=Runnable)


@dataclass(frozen=True)
class Task(Generic[Ran, Value]):
    """One run, and what is read from it."""

    scenario: Ran
    seed: int
    keep: Callable[[Ran, Columns], Value]

    def do(self) -> Value:
        """Run it."""
        return self.keep(self.scenario, self.scenario.run(self.seed))


def each_done(
    tasks: Sequence[Task[Ran, Value]], executor: Executor, tell: Progress
) -> Generator[tuple[int, Value]]:
    """Yield the number of each task with what was read, as it ends, in any order.

    The first failure ends all of them.
    """
    tell(0, len(tasks))
    with closing(executor.work(list(enumerate(tasks)), _do)) as outcomes:
        for done, ((number, _), outcome) in enumerate(outcomes, 1):
            if isinstance(outcome, Exception):
                raise outcome
            yield number, outcome
            tell(done, len(tasks))


def _do(numbered: tuple[int, Task[Any, Value]]) -> Value:
    return numbered[1].do()
