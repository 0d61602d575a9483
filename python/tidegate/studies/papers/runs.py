"""A paper's runs, each done once, and the few numbers that its metrics need of one."""

from __future__ import annotations

import hashlib
import resource
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tidegate.errors import ScenarioError
from tidegate.results.quantities import drop_ratio, flow_ratios
from tidegate.runs.execution import Threads
from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.formulas import Formulas
from tidegate.studies.papers.traces import Trace, trace_of
from tidegate.studies.running import Task, work_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tidegate.runs.execution import Executor, Progress
    from tidegate.studies.papers.factors import Override
    from tidegate.studies.running import Columns

BOTTLENECK = "bottleneck"
_WAY_BACK = ".reverse"


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

    def to_toml(self) -> str:
        """Give the scenario with all defaults filled in."""
        ...

    def run(self, seed: int) -> Mapping[str, Mapping[str, Any]]:
        """Tables by name, each a mapping of columns."""
        ...


class Engine(Protocol):
    """Reads a scenario with changes to it."""

    def __call__(self, text: str, overrides: Sequence[Override]) -> Simulation:
        """Raise an error that names every mistake."""
        ...


@dataclass(frozen=True)
class Run:
    """What the papers' metrics need of one run; tuples have an entry per user group."""

    user_throughput_bps: tuple[float, ...]
    user_unmarked_bps: tuple[float, ...]
    """Of it, what the bottleneck did not mark."""
    group_throughput_bps: tuple[float, ...]
    mean_activity: tuple[float, ...]
    utilization: float
    mean_backlog_packets: float
    loss_share: float
    mark_share: float
    timeouts: int
    upload_s: float
    upload_end_s: float
    """Since the end of the warm-up."""
    packets: int
    """Left the bottleneck, warm-up included."""
    completions_s: tuple[float, ...] = ()
    """Of all finished transfers."""
    interval_throughput_bps: tuple[tuple[float, ...], ...] = ()
    """An entry per interval, in it one per user group; empty without intervals."""
    interval_utilization: tuple[tuple[float, ...], ...] = ()
    """An entry per interval, in it one per link (not those of ways back), the bottleneck first."""
    interval_backlog_packets: tuple[tuple[float, ...], ...] = ()
    """As `interval_utilization`."""
    trace: Trace | None = None
    """Only where time series are sampled."""

    @classmethod
    def from_tables(cls, tables: Mapping[str, Mapping[str, Any]], warm_up_s: float) -> Run:
        """Pick them from the engine's tables."""
        flows, links = tables["flows"], tables["links"]
        group = np.asarray(flows["group"])
        rates = np.asarray(flows["throughput_bps"])
        throughput = np.bincount(group, weights=rates)
        unmarked = np.bincount(group, weights=rates * (1 - _marked_share(flows)))
        users = np.array([np.unique(np.asarray(flows["user"])[group == g]).size
                          for g in range(throughput.size)])  # fmt: skip
        row = list(links["name"]).index(BOTTLENECK)
        arrivals = max(1, int(links["arrivals"][row]))
        return cls(
            user_throughput_bps=tuple((throughput / np.maximum(users, 1)).tolist()),
            user_unmarked_bps=tuple((unmarked / np.maximum(users, 1)).tolist()),
            group_throughput_bps=tuple(throughput.tolist()),
            mean_activity=_activities(tables["link_groups"]),
            utilization=float(links["utilization"][row]),
            mean_backlog_packets=float(links["mean_backlog_packets"][row]),
            loss_share=float(np.nan_to_num(drop_ratio(lambda name: links[name][row]))),
            mark_share=int(links["marks"][row]) / arrivals,
            timeouts=int(np.sum(flows["timeouts"])),
            upload_s=_mean(tables["transfers"]["completion_s"]),
            upload_end_s=_upload_end(tables["transfers"], warm_up_s),
            packets=int(links["departures_in_all"][row]),
            completions_s=_finished(tables["transfers"]["completion_s"]),
            **_intervals(tables),
            trace=trace_of(tables, BOTTLENECK),
        )


def _marked_share(flows: Mapping[str, Any]) -> NDArray[np.float64]:
    """Of the packets of each flow that reached its receiver."""
    ratios = flow_ratios(lambda name: np.asarray(flows[name], dtype=float))
    share: NDArray[np.float64] = np.nan_to_num(ratios["mark_ratio"])
    return share


def _upload_end(transfers: Mapping[str, Any], warm_up_s: float) -> float:
    ends = np.asarray(transfers["start_s"], dtype=float) + np.asarray(transfers["completion_s"])
    return _mean(ends) - warm_up_s


def _finished(completion_s: ArrayLike) -> tuple[float, ...]:
    sample = np.asarray(completion_s, dtype=float)
    return tuple(sample[~np.isnan(sample)].tolist())


def _intervals(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Per interval: throughput of groups and utilization of links."""
    if "interval_groups" not in tables:
        return {}

    groups, links = tables["interval_groups"], tables["interval_links"]
    forward = np.array([not str(name).endswith(_WAY_BACK) for name in links["link"]])
    first = next(name for name, kept in zip(links["link"], forward, strict=True) if kept)
    if first != BOTTLENECK:
        raise ReproductionError(f"the first link is {first!r}, not {BOTTLENECK!r}")
    number = np.asarray(links["interval"])[forward]
    return {
        "interval_throughput_bps": _rows(groups["interval"], groups["throughput_bps"]),
        "interval_utilization": _rows(number, np.asarray(links["utilization"])[forward]),
        "interval_backlog_packets": _rows(
            number, np.asarray(links["mean_backlog_packets"])[forward]
        ),
    }


def _rows(interval: ArrayLike, values: ArrayLike) -> tuple[tuple[float, ...], ...]:
    """One row of values per interval."""
    number, column = np.asarray(interval), np.asarray(values, dtype=float)
    return tuple(tuple(column[number == n].tolist()) for n in np.unique(number))


@dataclass
class Runner:
    """Runs scenarios and remembers every run by what it depends on."""

    engine: Engine
    base: str
    executor: Executor | None = None
    """Where they run; default: threads."""
    on_progress: Progress = lambda _done, _total: None
    always: tuple[Override, ...] = ()
    """Changes to every scenario, after its own."""
    _runs: dict[tuple[str, int], Run] = field(default_factory=dict)
    _simulations: dict[tuple[Override, ...], tuple[str, Simulation]] = field(default_factory=dict)

    def prepare(self, wanted: Iterable[tuple[tuple[Override, ...], int]]) -> None:
        """Do all missing runs for these changes of the base scenario and numbers of runs."""
        missing: dict[tuple[str, int], Simulation] = {}
        for overrides, replications in wanted:
            scenario, simulation = self._simulation(overrides)
            for seed in range(simulation.seed, simulation.seed + replications):
                if (scenario, seed) not in self._runs:
                    missing[scenario, seed] = simulation
        tasks = [Task(simulation, seed, keep_run) for (_, seed), simulation in missing.items()]
        done = work_off(tasks, self.executor or Threads(), self.on_progress)
        self._runs |= zip(missing, done, strict=True)

    def runs(self, overrides: tuple[Override, ...], replications: int) -> list[Run]:
        """Give the runs of one changed scenario, done now if `prepare` has not."""
        self.prepare([(overrides, replications)])
        key, simulation = self._simulation(overrides)
        seeds = range(simulation.seed, simulation.seed + replications)
        return [self._runs[key, seed] for seed in seeds]

    def scenario(self, overrides: tuple[Override, ...]) -> Simulation:
        """Give a changed scenario that is not to be run, only asked."""
        return self.engine(self.base, [*overrides, *self.always])

    @property
    def run_count(self) -> int:
        """Runs done so far."""
        return len(self._runs)

    @property
    def packets(self) -> int:
        """Packets that left the bottleneck in all runs."""
        return sum(run.packets for run in self._runs.values())

    def _simulation(self, overrides: tuple[Override, ...]) -> tuple[str, Simulation]:
        known = self._simulations.get(overrides)
        if known is None:
            simulation = self.engine(self.base, [*overrides, *self.always])
            known = (hashlib.sha256(simulation.to_toml().encode()).hexdigest(), simulation)
            self._simulations[overrides] = known
        return known


def keep_run(simulation: Simulation, columns: Columns) -> Run:
    """What is kept of a run."""
    return Run.from_tables(columns, simulation.warm_up_s)


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


def _activities(link_groups: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(
        float(activity)
        for link, activity in zip(link_groups["link"], link_groups["mean_activity"], strict=True)
        if link == BOTTLENECK
    )


def _mean(values: ArrayLike) -> float:
    """Mean; NaN for nothing, and for a transfer that did not finish."""
    sample = np.asarray(values, dtype=float)
    return float(sample.mean()) if sample.size else float("nan")
