"""Simulate a scenario, or a few variants of it, on all cores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from tidegate.errors import UsageError
from tidegate.runs.execution import MAX_REPLICATIONS, Threads
from tidegate.scenarios.reading import load_scenario, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate._native import Scenario
    from tidegate.results.result import Comparison, Result
    from tidegate.results.tables import Tables
    from tidegate.runs.execution import Executor, Progress
    from tidegate.scenarios.reading import Settings, Source

Showing: TypeAlias = "bool | Progress"
"""Whether to draw a progress bar, or what to call instead."""


def simulate(
    scenario: Source,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    scenario
        Path of a scenario file, its text, its content as a dictionary, or a `Scenario`.
    set
        Settings that win over the file, such as ``{"users.heavy.flows": 20}``. They may only name
        groups and links that there are.
    add
        The same for new ones, such as ``{"users.guest.flows": 2}``.
    seed
        Seed of the first replication; default: the scenario's. Replication r runs with seed + r.
    replications
        Independent runs; default: the scenario's.
    jobs
        Threads; default: one per core. The results do not depend on it.
    progress
        True for a progress bar on a terminal, or a function of (done, all) runs.
    executor
        Where to run; default: `Threads`.

    Returns
    -------
    Result
        Tables of all replications.

    Examples
    --------
    >>> result = simulate("scenarios/evening-peak.toml", replications=2)  # doctest: +SKIP
    >>> result.summary().to_pandas()  # doctest: +SKIP

    """
    parsed = load_scenario(scenario, set=set, add=add)
    results = simulate_all(
        {"": parsed}, seed=seed, replications=replications, jobs=jobs, progress=progress,
        executor=executor,
    )  # fmt: skip
    return results[""]


def compare(
    scenario: Source,
    *,
    against: Mapping[str, object] | Sequence[tuple[str, object]],
    set: Settings | None = None,  # noqa: A002
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Comparison:
    """Simulate a scenario and variants of it that differ in one setting each.

    ``against={"bottleneck.differentiation.kind": "none"}`` shows what the differentiation does; a
    list of pairs can have several values of one key. All variants run with the same seeds. Other
    parameters as in `simulate`.
    """
    from tidegate.results.result import Comparison

    base = load_scenario(scenario, set=set, add=add)
    pairs = list(against.items() if isinstance(against, Mapping) else against)
    if not pairs:
        raise UsageError("against: name at least one setting to compare with")
    settings = [(key, {**(set or {}), key: value}) for key, value in pairs]
    variants = [(key, load_scenario(scenario, set=changed, add=add)) for key, changed in settings]
    named = name_variants(base, variants)
    results = simulate_all(
        named, seed=seed, replications=replications, jobs=jobs, progress=progress,
        executor=executor,
    )  # fmt: skip
    return Comparison(results)


def name_variants(base: Scenario, variants: Sequence[tuple[str, Scenario]]) -> dict[str, Scenario]:
    """Name each variant by the value of the key in which it differs."""
    keys = {key for key, _ in variants}
    if len(keys) == 1:
        (key,) = keys
        named = [(f"{_short(key)} = {setting(base, key)}", base)]
    else:
        named = [("as in the file", base)]
    named += [(f"{_short(key)} = {setting(variant, key)}", variant) for key, variant in variants]
    names = dict(named)
    if len(names) < len(named):
        raise UsageError(
            "two variants are the same: " + ", ".join(name for name, _ in named)
            + "; give --against a value that the scenario does not have"
        )  # fmt: skip
    return names


def simulate_all(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Showing = False,
    executor: Executor | None = None,
) -> dict[str, Result]:
    """Run named scenarios side by side; the first failure ends it."""
    from tidegate.results.result import Result
    from tidegate.results.tables import concatenate
    from tidegate.runs.progress import shown

    for scenario in scenarios.values():
        scenario.check_simulator()
    started = time.monotonic()
    seeds = {name: seeds_of(scenario, seed, replications) for name, scenario in scenarios.items()}
    tasks = [(name, run_seed) for name, all_seeds in seeds.items() for run_seed in all_seeds]
    done: dict[tuple[str, int], Tables] = {}

    def run(task: tuple[str, int]) -> Tables:
        return run_once(scenarios[task[0]], task[1])

    with shown(progress) as tell:
        tell(0, len(tasks))
        for task, outcome in (executor or Threads(jobs)).work(tasks, run):
            if isinstance(outcome, Exception):
                raise outcome
            done[task] = outcome
            tell(len(done), len(tasks))
    wall_s = time.monotonic() - started
    return {
        name: Result(
            scenario=scenario,
            wall_s=wall_s,
            **concatenate([done[name, run_seed] for run_seed in seeds[name]], scenario),
        )
        for name, scenario in scenarios.items()
    }


def run_once(scenario: Scenario, seed: int) -> Tables:
    """One run's tables."""
    from tidegate.results.tables import run_tables

    return run_tables(scenario.run(seed), scenario)


def seeds_of(scenario: Scenario, seed: int | None, replications: int | None) -> range:
    """Seed of each replication."""
    first = scenario.seed if seed is None else seed
    count = scenario.replications if replications is None else replications
    if not 1 <= count <= MAX_REPLICATIONS:
        raise UsageError(f"replications: {count} is not from 1 to {MAX_REPLICATIONS}")
    if not 0 <= first < 2**63:
        raise UsageError(f"seed: {first} is not between 0 and 2^63")
    return range(first, first + count)


def _short(key: str) -> str:
    """The last two parts of a dotted key say enough in a legend."""
    return ".".join(key.split(".")[-2:])
