"""Run a scenario on real Linux: its hosts are network namespaces, their TCP is the kernel's."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from tidegate.errors import MissingError, ScenarioError, UsageError
from tidegate.runs.simulation import seeds_of
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tidegate._native import Scenario
    from tidegate.laboratory.process import Measured
    from tidegate.results.result import Result
    from tidegate.runs.execution import Progress
    from tidegate.runs.simulation import Showing
    from tidegate.scenarios.reading import Settings, Source

MOST_REPLICATIONS = 5
"""Unless asked for more: a run takes as long as what it shows."""

GENERATORS = ("own", "iperf3")
START_S = 1.0
"""About what a run needs beyond its time: to make the hosts and to end."""


def lab(
    scenario: Source,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int = 1,
    ip: int = 4,
    generator: str = "own",
    progress: Showing = False,
    verbose: bool = False,
    kernel: str | None = None,
) -> Result:
    """Run a scenario with the TCP of a Linux kernel.

    On this machine's kernel it needs root. A stock kernel runs in a guest in virtual time, without.

    Parameters
    ----------
    scenario, set, seed
        As in `simulate`.
    replications
        Independent runs; default: the scenario's, at most 5, for each takes its time.
    jobs
        Runs at the same time. More than one only where processor cores are idle: see ``valid`` in
        the table ``lab``.
    ip
        Version of the Internet Protocol, 4 or 6.
    generator
        ``own``, or ``iperf3`` for its TCP and UDP sources.
    progress
        True for a progress bar on a terminal, or a function of (done, all) seconds of all runs.
    verbose
        Say on standard error how to look into the hosts while it runs.
    kernel
        Series of a stock kernel that ``make kernels`` has fetched, such as ``6.12``, or ``auto``
        for the newest; default: this machine's.

    Returns
    -------
    Result
        The tables of a simulation and the table ``lab``. Runs in which the machine could not keep
        up stand in the tables, but not in `Result.summary` and in no mean that is drawn.

    Raises
    ------
    ScenarioError
        With everything that the scenario asks for and the lab cannot do.
    MissingError
        With everything that is missing here, each with its remedy.

    """
    parsed = load_scenario(scenario, set=set, add=add)
    results = lab_all(
        {"": parsed}, seed=seed, replications=replications, jobs=jobs, ip=ip, generator=generator,
        progress=progress, verbose=verbose, kernel=kernel,
    )  # fmt: skip
    return results[""]


def lab_all(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int = 1,
    ip: int = 4,
    generator: str = "own",
    progress: Showing = False,
    verbose: bool = False,
    kernel: str | None = None,
) -> dict[str, Result]:
    """Run named scenarios; the first failure ends it, and no process is left, whatever happens."""
    results = dict(
        lab_each(
            scenarios, seed=seed, replications=replications, jobs=jobs, ip=ip, generator=generator,
            progress=progress, verbose=verbose, kernel=kernel,
        )
    )  # fmt: skip
    return {name: results[name] for name in scenarios}


def lab_each(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int = 1,
    ip: int = 4,
    generator: str = "own",
    progress: Showing = False,
    verbose: bool = False,
    kernel: str | None = None,
) -> Iterator[tuple[str, Result]]:
    """Run named scenarios, and give the result of each as soon as its last run has ended."""
    from tidegate.laboratory import bpf, control, guest
    from tidegate.laboratory.process import Children, missing
    from tidegate.runs.progress import shown

    check_options(ip, generator)
    check_scenarios(scenarios, ip=ip, generator=generator)
    if kernel is not None and verbose:
        raise UsageError("verbose: the hosts of a guest cannot be entered")
    stock = None if kernel is None else guest.chosen(kernel)
    lacking = missing(generator=generator, kernel=stock)
    if lacking:
        raise MissingError(lacking)
    started = time.monotonic()
    tasks = tasks_of(scenarios, seed, replications)
    if stock is not None:  # In virtual time all days are alike.
        tasks.sort(key=lambda task: [*scenarios].index(task[0]))
    children = Children()
    shared: dict[str, object] = {}
    done: dict[tuple[str, int], Measured] = {}
    pool = ThreadPoolExecutor(max(1, jobs), thread_name_prefix="lab")
    try:
        with bpf.held(() if stock else scenarios.values()), shown(progress, "seconds") as tell:
            if stock is not None:
                shared["control_ratio"] = control.checked(stock, children)
            seconds = _Seconds({task: whole_s(scenarios[task[0]]) for task in tasks}, tell)
            runs = {
                pool.submit(
                    children.run, scenarios[task[0]], task[1], ip=ip, generator=generator,
                    verbose=verbose, tell=seconds.of(task), kernel=stock,
                ): task
                for task in tasks
            }  # fmt: skip
            waiting = set(runs)
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for run in ended:
                    done[runs[run]] = run.result()
                    done[runs[run]].about.update(shared)
                    seconds.end(runs[run])
                for name in dict.fromkeys(runs[run][0] for run in ended):
                    own = [task for task in tasks if task[0] == name]
                    if all(task in done for task in own):
                        wall_s = time.monotonic() - started
                        yield name, _result(scenarios[name], [done[task] for task in own], wall_s)
    finally:
        children.stop()
        pool.shutdown(wait=False, cancel_futures=True)


def check_options(ip: int, generator: str) -> None:
    """Refuse what no lab has."""
    if ip not in (4, 6):
        raise UsageError(f"ip: {ip} is no version of the Internet Protocol; 4 or 6")
    if generator not in GENERATORS:
        raise UsageError(f"generator: {generator!r} is none of {', '.join(GENERATORS)}")


def check_scenarios(
    scenarios: Mapping[str, Scenario], *, ip: int, generator: str
) -> dict[str, list[str]]:
    """Refuse what the lab cannot run, before it starts anything; give what a kernel does its way.

    Where the program is not here that could say so, nothing is refused: it is missing then.
    """
    from tidegate.laboratory.process import examine, find

    if find() is None:
        return {}
    found = {
        name: examine(scenario, ip=ip, generator=generator) for name, scenario in scenarios.items()
    }
    refused = [
        f"{name}: {line}" if name else line
        for name, examined in found.items()
        for line in examined.refused
    ]
    if refused:
        lines = [f"the lab cannot run this: {line}" for line in refused]
        raise ScenarioError([(None, None, "", line, None, line) for line in lines])
    return {name: examined.deviations for name, examined in found.items()}


def tasks_of(
    scenarios: Mapping[str, Scenario], seed: int | None, replications: int | None
) -> list[tuple[str, int]]:
    """Name of scenario and seed of every run; variants take turns, so that they see alike days."""
    seeds = seeds_in_lab(scenarios, seed, replications)
    longest = max(map(len, seeds.values()), default=0)
    return [(name, every[r]) for r in range(longest) for name, every in seeds.items()
            if r < len(every)]  # fmt: skip


def seeds_in_lab(
    scenarios: Mapping[str, Scenario], seed: int | None, replications: int | None
) -> dict[str, range]:
    """Seed of each replication of every scenario."""
    seeds = {}
    for name, scenario in scenarios.items():
        count = min(scenario.replications, MOST_REPLICATIONS)
        seeds[name] = seeds_of(scenario, seed, count if replications is None else replications)
    return seeds


def whole_s(scenario: Scenario) -> float:
    """Length of a run, seconds."""
    return scenario.warm_up_s + scenario.duration_s


def expected_wall_s(
    scenarios: Mapping[str, Scenario], tasks: list[tuple[str, int]], jobs: int
) -> float:
    """About how long it will take."""
    total = sum(whole_s(scenarios[name]) + START_S for name, _ in tasks)
    longest = max((whole_s(scenarios[name]) + START_S for name, _ in tasks), default=0.0)
    return max(total / max(1, jobs), longest)


def _result(scenario: Scenario, runs: list[Measured], wall_s: float) -> Result:
    from tidegate.laboratory.process import lab_table
    from tidegate.results.batch import concatenate
    from tidegate.results.result import Result
    from tidegate.results.tables import run_tables

    tables = concatenate([run_tables(run.columns, scenario) for run in runs], scenario)
    return Result(scenario=scenario, wall_s=wall_s, kind="lab", lab=lab_table(runs), **tables)


class _Seconds:
    """Seconds done of all runs; each run tells of its own."""

    def __init__(self, totals: dict[tuple[str, int], float], tell: Progress) -> None:
        self._totals = totals
        self._done = dict.fromkeys(totals, 0.0)
        self._tell = tell
        self._show()

    def of(self, task: tuple[str, int]) -> Callable[[float, float], None]:
        """What the run of this task shall call with (done, all) seconds."""

        def report(done_s: float, total_s: float) -> None:
            self._totals[task], self._done[task] = total_s, done_s
            self._show()

        return report

    def end(self, task: tuple[str, int]) -> None:
        self._done[task] = self._totals[task]
        self._show()

    def _show(self) -> None:
        self._tell(round(sum(self._done.values())), round(sum(self._totals.values())))
