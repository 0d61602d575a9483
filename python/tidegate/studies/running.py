"""Tasks of a study: a scenario, a seed, and what is read from the run.

Only what a *measure* reads from a run's tables stays in memory. Runs go wherever an executor puts
them.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.runs.execution import Executor, Progress

Columns: TypeAlias = "Mapping[str, Mapping[str, Any]]"
"""The engine's tables by name, each a mapping of columns."""

Numbers: TypeAlias = "dict[str, float | list[float] | None]"
"""What a run comes to, by name: a number, one for each interval, or None where there is none."""

Measure: TypeAlias = "Callable[[Scenario, Tables], Numbers]"
"""Reads a run's tables; a function of a module or a partial of one, since it travels."""

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


@dataclass(frozen=True)
class Trial:
    """A scenario of a study: how often it is run, and what is read from each run."""

    scenario: Scenario
    seeds: Sequence[int]
    measure: Measure

    def read(self, scenario: Scenario, columns: Columns) -> Numbers:
        """Numbers of a run that the engine has just done."""
        from tidegate.results.tables import run_tables

        return self.measure(scenario, run_tables(columns, scenario))


def simulate(
    trials: Sequence[Trial], executor: Executor, tell: Progress
) -> list[list[dict[str, Any]]]:
    """Seed and numbers of each run of each trial."""
    found = dict(each_simulated(trials, executor, tell))
    return [found[number] for number in range(len(trials))]


def each_simulated(
    trials: Sequence[Trial], executor: Executor, tell: Progress
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the number of each trial with seed and numbers of its runs as its last one ends."""
    for trial in trials:
        trial.scenario.check_simulator()
    runs = [(number, seed) for number, trial in enumerate(trials) for seed in trial.seeds]
    tasks = [Task(trials[number].scenario, seed, trials[number].read) for number, seed in runs]
    ended: list[dict[int, Numbers]] = [{} for _ in trials]
    for which, numbers in each_done(tasks, executor, tell):
        number, seed = runs[which]
        ended[number][seed] = numbers
        seeds = trials[number].seeds
        if len(ended[number]) == len(seeds):
            yield number, [{"seed": seed, **ended[number][seed]} for seed in seeds]
