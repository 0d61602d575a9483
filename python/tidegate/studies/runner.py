"""The runs of a study, each done once."""

from __future__ import annotations

import hashlib
import resource
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidegate.errors import ScenarioError
from tidegate.runs.execution import Threads
from tidegate.studies.errors import ReproductionError
from tidegate.studies.running import Task, each_done
from tidegate.studies.sides.model.formulas import Formulas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tidegate.runs.execution import Executor, Progress
    from tidegate.studies.factors import Override, Setting
    from tidegate.studies.metrics import Measures, Run
    from tidegate.studies.store import RunStore


class Simulation(Formulas, Protocol):
    """A checked scenario that can be run."""

    @property
    def seed(self) -> int:
        """Seed of the first replication."""
        ...

    @property
    def warm_up_s(self) -> float:
        """Time before the measurement."""
        ...

    @property
    def duration_s(self) -> float:
        """Time that is measured."""
        ...

    @property
    def groups(self) -> list[str]:
        """Names of the groups of users."""
        ...

    def to_toml(self) -> str:
        """Give the scenario with all defaults filled in."""
        ...

    def run(self, seed: int) -> Mapping[str, Mapping[str, Any]]:
        """Tables by name, each a mapping of columns."""
        ...


class Engine(Protocol):
    """Reads a scenario with changes to it."""

    def __call__(self, text: str, overrides: Sequence[Override]) -> Simulation:
        """Raise an error that names every error."""
        ...


_Scenario: TypeAlias = "tuple[str, tuple[Override, ...], str]"
"""A base, what is changed in it, and the names of its set-up."""

RunKey: TypeAlias = "tuple[str, int]"
"""Hash of a scenario, and the seed."""


@dataclass
class Runner:
    """Runs scenarios, and has every run by what it depends on."""

    engine: Engine
    measures: Measures
    """What is read from each run."""
    executor: Executor | None = None
    """Where they run; default: threads."""
    on_progress: Progress = lambda _done, _total: None
    always: tuple[Override, ...] = ()
    """Changes to every scenario, after its own."""
    store: RunStore | None = None
    """The run cache."""
    cached_count: int = 0
    """Number of runs that were taken from the cache."""
    _runs: dict[RunKey, Run] = field(default_factory=dict)
    _simulations: dict[_Scenario, tuple[str, Simulation]] = field(default_factory=dict)

    def prepare(self, wanted: Iterable[tuple[Setting, int]]) -> None:
        """Do all missing runs of these settings, `count` of each."""
        missing: dict[RunKey, tuple[Simulation, Setting]] = {}
        for setting, replications in wanted:
            scenario, simulation = self._simulation(setting)
            seeds = range(simulation.seed, simulation.seed + replications)
            lacking = [seed for seed in seeds if (scenario, seed) not in self._runs]
            there = self.store.of(scenario) if self.store and lacking else {}
            self.cached_count += len(there.keys() & lacking)
            self._runs |= {(scenario, seed): there[seed] for seed in lacking if seed in there}
            missing |= {
                (scenario, seed): (simulation, setting) for seed in lacking if seed not in there
            }
        self._do(missing)

    def _do(self, missing: Mapping[RunKey, tuple[Simulation, Setting]]) -> None:
        keys, keep = list(missing), self.measures.keep
        tasks = [
            Task(simulation, seed, partial(keep, names=setting.names))
            for (_, seed), (simulation, setting) in missing.items()
        ]
        with closing(each_done(tasks, self.executor or Threads(), self.on_progress)) as done:
            for number, run in done:
                if self.store is not None:
                    self.store.add(*keys[number], run)
                self._runs[keys[number]] = run

    def runs(self, setting: Setting, replications: int) -> list[Run]:
        """Give the runs of one setting, done now if `prepare` has not."""
        self.prepare([(setting, replications)])
        key, simulation = self._simulation(setting)
        seeds = range(simulation.seed, simulation.seed + replications)
        return [self._runs[key, seed] for seed in seeds]

    def scenario(self, setting: Setting, more: Sequence[Override]) -> Simulation:
        """Give a changed scenario that is not to be run, only asked."""
        return self.engine(setting.base, [*setting.overrides, *more, *self.always])

    def same(self, one: Setting, other: Setting) -> bool:
        """Whether both come to the same scenario."""
        return self._simulation(one)[0] == self._simulation(other)[0]

    @property
    def run_count(self) -> int:
        """Number of runs so far, cached ones included."""
        return len(self._runs)

    @property
    def packets(self) -> int:
        """Packets that left the bottleneck in all runs."""
        return sum(run.packets for run in self._runs.values())

    def _simulation(self, setting: Setting) -> tuple[str, Simulation]:
        # What is read of a run depends on the names of its set-up, too.
        names = repr(setting.names) if setting.names else ""
        key = (setting.base, setting.overrides, names)
        known = self._simulations.get(key)
        if known is None:
            simulation = self.scenario(setting, ())
            content = simulation.to_toml() + names
            known = (hashlib.sha256(content.encode()).hexdigest(), simulation)
            self._simulations[key] = known
        return known


def native_engine(text: str, overrides: Sequence[Override]) -> Simulation:
    """Give the compiled simulator."""
    from tidegate._native import Scenario

    try:
        simulation: Simulation = Scenario.parse(text, list(overrides))
    except ScenarioError as error:
        raise ReproductionError(f"with {dict(overrides)}: {error}") from error
    return simulation


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
