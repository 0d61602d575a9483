"""Simulate a scenario, or a few variants of it, on all cores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, TypeAlias

from tidegate.errors import UsageError
from tidegate.runs.execution import MAX_REPLICATIONS, Threads
from tidegate.scenarios.reading import load_scenario, overrides_of, toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate._native import Scenario
    from tidegate.results.batch import Batch
    from tidegate.results.result import Comparison, Result
    from tidegate.runs.execution import Executor, Progress
    from tidegate.runs.precision import Until
    from tidegate.scenarios.reading import Settings, Source

Showing: TypeAlias = "bool | str | Progress"
"""Whether to draw a progress bar on a terminal, ``lines`` for lines, or what to call instead."""


def simulate(
    scenario: Source,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    until: str | Sequence[str] | None = None,
    at_most: int | None = None,
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
    until
        More of them until the half-width of the 95 % interval of a quantity is this small for every
        group or bottleneck: a share of the mean (``"throughput_bps 2 %"``) or an amount
        (``"p95_sojourn_s 1 ms"``); or several of these. ``replications`` is then the first batch,
        by default at least 10. See `tidegate.runs.precision` for the rule.
    at_most
        Replications after which there is an end in any case; default: 1000.
    jobs
        Threads; default: one per core. The results do not depend on it.
    progress
        True for a progress bar on a terminal, ``"lines"`` for lines on stderr where that is none,
        or a function of (done, all) runs.
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
        {"": parsed}, seed=seed, replications=replications, until=until, at_most=at_most, jobs=jobs,
        progress=progress, executor=executor,
    )  # fmt: skip
    return results[""]


def compare(
    scenario: Source,
    *,
    against: Mapping[str, object] | Sequence[tuple[str, object]] = (),
    mechanisms: Sequence[str] = (),
    only: Sequence[str] = (),
    set: Settings | None = None,  # noqa: A002
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    until: str | Sequence[str] | None = None,
    at_most: int | None = None,
    jobs: int | None = None,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Comparison:
    """Simulate a scenario and its variants.

    Variants are those of the file (``[variants.NAME]``), one for each key in `against`, and one for
    each of `mechanisms`, named as the league compares them. All run with the same seeds, as many as
    the one that needs most of them for `until`.

    Parameters
    ----------
    against
        ``{"bottleneck.differentiation.kind": "none"}`` shows what the differentiation does; a list
        of pairs can have several values of one key.
    mechanisms
        Such as ``["fq-codel", "abc-red"]``, in place of the queue that the scenario has.
    only
        Names of the variants to run; default: all.
    scenario, set, add, seed, replications, until, at_most, jobs, progress, executor
        As in `simulate`.

    """
    from tidegate.results.result import Comparison
    from tidegate.scenarios.variants import variants_of

    pairs = list(against.items() if isinstance(against, Mapping) else against)
    named = variants_of(
        scenario, overrides_of(set, add),
        against=[(key, toml_value(value)) for key, value in pairs],
        mechanisms=mechanisms, only=only,
    )  # fmt: skip
    if "" in named and not only:
        raise UsageError("against, mechanisms or [variants]: name something to compare with")
    results = simulate_all(
        named, seed=seed, replications=replications, until=until, at_most=at_most, jobs=jobs,
        progress=progress, executor=executor,
    )  # fmt: skip
    return Comparison(results)


def simulate_all(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int | None = None,
    replications: int | None = None,
    until: str | Sequence[str] | None = None,
    at_most: int | None = None,
    jobs: int | None = None,
    progress: Showing = False,
    executor: Executor | None = None,
) -> dict[str, Result]:
    """Run named scenarios side by side; the first failure ends it."""
    from tidegate.runs.precision import until_of
    from tidegate.runs.progress import shown

    for scenario in scenarios.values():
        scenario.check_simulator()
    started = time.monotonic()
    default_first = max(scenario.replications for scenario in scenarios.values())
    enough = until_of(until, replications, default_first, at_most)
    count = enough.first if enough else replications
    where = executor or Threads(jobs)
    done: dict[str, list[Batch]] = {name: [] for name in scenarios}
    with shown(progress) as tell:
        while True:
            seeds = {name: seeds_of(one, seed, count) for name, one in scenarios.items()}
            _run_missing(scenarios, seeds, done, where, tell)
            results = {name: _result(one, done[name], started) for name, one in scenarios.items()}
            more = _count(results, enough)
            if more == count or enough is None:
                return results
            count = more


def _count(results: Mapping[str, Result], enough: Until | None) -> int | None:
    """How many runs there shall be of each variant: as many as one of them needs."""
    from tidegate.results.summary import rows

    if enough is None:
        return None
    found = {name: list(rows(result.tables)) for name, result in results.items()}
    enough.check({row.metric for every in found.values() for row in every if row.runs})
    return max(
        enough.next_count(found[name], result.replications) for name, result in results.items()
    )


def _run_missing(
    scenarios: Mapping[str, Scenario],
    seeds: Mapping[str, Iterable[int]],
    done: dict[str, list[Batch]],
    executor: Executor,
    tell: Progress,
) -> None:
    known = {(name, run) for name, every in done.items() for one in every for run in one.seeds}
    wanted = [(name, run_seed) for name, every in seeds.items() for run_seed in every]
    tasks = [(*run, scenarios[run[0]]) for run in wanted if run not in known]
    count = len(known)
    tell(count, len(wanted))
    with closing(executor.work_in_groups(tasks, _run_tasks)) as work:
        for group, outcome in work:
            if isinstance(outcome, Exception):
                raise outcome
            for name, batch in outcome:
                done[name].append(batch)
            for _ in group:
                count += 1
                tell(count, len(wanted))


def _run_tasks(tasks: Iterable[tuple[str, int, Scenario]]) -> list[tuple[str, Batch]]:
    """Runs of variants: the name of each with some of its runs."""
    from tidegate.runs.batches import batches, run_batch

    found = []
    for together in batches(tasks, alike=lambda task: task[0]):
        batch, failed = run_batch([(scenario, seed) for _, seed, scenario in together])
        if failed:
            raise next(iter(failed.values()))
        found.append((together[0][0], batch))
    return found


def _result(scenario: Scenario, runs: Sequence[Batch], started: float) -> Result:
    from tidegate.results.batch import by_seed, derived, numbered
    from tidegate.results.result import Result

    wall_s = time.monotonic() - started
    return Result(scenario=scenario, wall_s=wall_s, **numbered(derived(by_seed(runs))))


def seeds_of(scenario: Scenario, seed: int | None, replications: int | None) -> range:
    """Seed of each replication."""
    first = scenario.seed if seed is None else seed
    count = scenario.replications if replications is None else replications
    if not 1 <= count <= MAX_REPLICATIONS:
        raise UsageError(f"replications: {count} is not from 1 to {MAX_REPLICATIONS}")
    if not 0 <= first < 2**63:
        raise UsageError(f"seed: {first} is not between 0 and 2^63")
    return range(first, first + count)
