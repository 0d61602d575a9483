"""Tables of several runs, one below the other, and what follows from them for users and groups.

Arrow and numpy take longer for a call than for the few numbers that a short run has, so that runs
are looked at together. All sums are over one run's values in their order: what comes of a run does
not depend on those beside it, to the last bit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tidegate.results.arrow import equal, rows_where, texts
from tidegate.results.columns import DELAYS
from tidegate.results.completions import by_group, by_size
from tidegate.results.quantities import flow_ratios, ratio
from tidegate.results.tables import COUNTS, array, named, numbers, run_tables, table, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables

ABSENT = -1
"""Rows of a run that lacks a table."""


class Batch(NamedTuple):
    """Tables of runs of scenarios that have the same groups."""

    tables: Tables
    rows: Mapping[str, Sequence[int]]
    """Of each table: how many rows each run has, `ABSENT` where it lacks the table."""
    scenarios: Sequence[Scenario]
    """Of each run."""

    @classmethod
    def of_columns(
        cls,
        columns: Mapping[str, Mapping[str, object]],
        rows: Mapping[str, Sequence[int]],
        scenarios: Sequence[Scenario],
    ) -> Batch:
        """What the engine gives for several runs."""
        return cls(run_tables(columns, scenarios[0]) if scenarios else {}, rows, scenarios)

    @classmethod
    def of_runs(cls, runs: Sequence[Tables], scenarios: Sequence[Scenario]) -> Batch:
        """Tables of each run; those that the first run lacks are left out."""
        rows = {
            name: [one[name].num_rows if name in one else ABSENT for one in runs]
            for name in runs[0]
        }
        parts = {name: [one[name] for one in runs if name in one] for name in rows}
        return cls({name: _below(every) for name, every in parts.items()}, rows, scenarios)

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Several batches as one."""
        if len(batches) == 1:
            return batches[0]
        names = dict.fromkeys(name for batch in batches for name in batch.tables)
        tables, rows = {}, {}
        for name in names:
            tables[name] = _below([one.tables[name] for one in batches if name in one.tables])
            rows[name] = [
                count for one in batches for count in one.rows.get(name, [ABSENT] * len(one))
            ]
        return cls(tables, rows, [one for batch in batches for one in batch.scenarios])

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.scenarios)

    def ends(self, name: str) -> NDArray[np.int64]:
        """Return where each run begins in a table, and where the last one ends."""
        return _ends(np.maximum(self.rows[name], 0))

    def slice(self, first: int, end: int) -> Batch:
        """Return some of the runs."""
        if (first, end) == (0, len(self)):
            return self
        tables = {}
        for name, one in self.tables.items():
            at = self.ends(name)
            tables[name] = one.slice(at[first], at[end] - at[first])
        rows = {name: every[first:end] for name, every in self.rows.items()}
        return Batch(tables, rows, self.scenarios[first:end])

    @property
    def seeds(self) -> list[int]:
        """Of each run."""
        found: list[int] = self.tables["run"]["seed"].to_pylist()
        return found

    @property
    def digests(self) -> list[str]:
        """Of each run."""
        found: list[str] = self.tables["run"]["digest"].to_pylist()
        return found


def by_seed(batches: Sequence[Batch]) -> Batch:
    """All runs as one batch, in the order of their seeds."""
    pieces = []
    for batch in batches:
        seeds = np.array(batch.seeds, dtype="u8")
        breaks = np.flatnonzero(seeds[1:] != seeds[:-1] + 1) + 1
        for first, end in pairwise([0, *breaks.tolist(), len(seeds)]):
            pieces.append((int(seeds[first]), batch.slice(first, end)))
    return Batch.joined([piece for _, piece in sorted(pieces, key=lambda one: one[0])])


def concatenate(runs: Sequence[Tables], scenario: Scenario) -> Tables:
    """Tables of all replications in one, as `numbered`, with those of users and groups."""
    return numbered(derived(Batch.of_runs(runs, [scenario] * len(runs))))


def numbered(batch: Batch) -> Tables:
    """Tables of all replications, with the replication's number and seed in front."""
    seeds = np.array(batch.seeds, dtype="u8")
    result = {}
    for name, one in batch.tables.items():
        if batch.rows[name][0] == ABSENT:
            continue
        rows = np.maximum(batch.rows[name], 0)
        head = {"replication": np.repeat(np.arange(len(batch), dtype="u4"), rows)}
        if "seed" not in one.column_names:
            head["seed"] = np.repeat(seeds, rows)
        numbered_one = one
        for position, (column, values) in enumerate(head.items()):
            numbered_one = numbered_one.add_column(position, column, array(values))
        result[name] = numbered_one
    return result


def derived(batch: Batch) -> Batch:
    """Add what is known per user, per group, and of completion times by size."""
    people = _People.of(batch)
    users = _users(batch, people)
    groups = _groups(batch, people, users)
    number = np.arange(len(people.group), dtype="u4")
    user = number - np.repeat(people.first_user[:-1], np.diff(people.first_user)).astype("u4")
    names = batch.scenarios[0].groups
    completions, classes = _completions(batch)
    tables = {
        **batch.tables,
        "users": table(whole({"user": user, "group": named(people.local, names), **users})),
        "groups": table(whole(groups)),
        "completions": completions,
    }
    rows = {
        **batch.rows,
        "users": np.diff(people.first_user).tolist(),
        "groups": [len(names)] * len(batch),
        "completions": classes,
    }
    return Batch(tables, rows, batch.scenarios)


def group_table(batch: Batch) -> pa.Table:
    """Only the table of groups."""
    people = _People.of(batch)
    return table(whole(_groups(batch, people, _users(batch, people))))


class _People(NamedTuple):
    """Users and groups of all runs; a user of another run is another user, and so is a group."""

    first_user: NDArray[np.int64]
    """Of each run, and the number of all."""
    local: NDArray[np.int32]
    """Group of each user, as its scenario counts them."""
    group: NDArray[np.int64]
    """Group of each user among those of all runs."""
    groups: int
    """Of each run."""

    @classmethod
    def of(cls, batch: Batch) -> _People:
        known: dict[int, NDArray[np.int32]] = {}
        for one in batch.scenarios:
            if id(one) not in known:
                known[id(one)] = np.asarray(one.user_groups, dtype="i4")
        of_runs = [known[id(one)] for one in batch.scenarios]
        first, groups = _ends([len(one) for one in of_runs]), len(batch.scenarios[0].groups)
        local = np.concatenate(of_runs)
        run = np.repeat(np.arange(len(batch)), np.diff(first))
        return cls(first, local, local + groups * run, groups)


def _users(batch: Batch, people: _People) -> dict[str, NDArray[Any]]:
    """Sum over each user's flows; round-trip times are averaged."""
    flows, users = batch.tables["flows"], len(people.group)
    base = np.repeat(people.first_user[:-1], np.maximum(batch.rows["flows"], 0))
    owner = numbers(flows, "user").astype(int) + base

    def total(column: str) -> NDArray[Any]:
        return np.bincount(owner, numbers(flows, column), minlength=users)

    return {
        "flows": np.bincount(owner, minlength=users),
        "throughput_bps": total("throughput_bps"),
        "goodput_bps": total("goodput_bps"),
        **{name: total(name) for name in COUNTS},
        "mean_srtt_s": _known_mean(numbers(flows, "mean_srtt_s"), owner, users),
    }


def _groups(batch: Batch, people: _People, users: dict[str, NDArray[Any]]) -> dict[str, object]:
    """Mean per user of each group, and its part of the whole."""
    flows, runs, each = batch.tables["flows"], len(batch), people.groups
    groups = runs * each

    def total(column: str) -> NDArray[Any]:
        return np.bincount(people.group, users[column], minlength=groups)

    size = np.bincount(people.group, minlength=groups)
    throughput = total("throughput_bps")
    mean = ratio(throughput, size)
    of_all = [throughput[at : at + each].sum() for at in range(0, groups, each)]
    run = np.repeat(np.arange(runs), np.maximum(batch.rows["flows"], 0))
    owner = numbers(flows, "group").astype(int) + each * run
    return {
        "group": named(np.tile(np.arange(each), runs), batch.scenarios[0].groups),
        "users": size,
        "flows": total("flows").astype("i8"),
        "throughput_bps": mean,
        "goodput_bps": ratio(total("goodput_bps"), size),
        "total_throughput_bps": throughput,
        "share": ratio(throughput, np.repeat(of_all, each)),
        "ratio_to_first": ratio(mean, np.repeat(mean[::each], each)),
        **flow_ratios(total),
        "timeouts": total("timeouts"),
        "mean_srtt_s": _known_mean(numbers(flows, "mean_srtt_s"), owner, groups),
        **_delays(batch.tables["delays"]),
        **_completions_of_groups(batch, each),
    }


def _delays(delays: pa.Table) -> dict[str, NDArray[Any]]:
    """Delays of each group's packets."""
    of_groups = rows_where(delays, equal(delays["level"], "group"))
    return {name: numbers(of_groups, name) for name in DELAYS}


_TRANSFERS = ("flow", "group", "start_s", "size_bytes", "completion_s", "empty_path_s")


def _transfers(batch: Batch) -> dict[str, NDArray[Any]]:
    return {name: numbers(batch.tables["transfers"], name) for name in _TRANSFERS}


def _completions_of_groups(batch: Batch, groups: int) -> dict[str, NDArray[Any]]:
    transfers = _transfers(batch)
    run = np.repeat(np.arange(len(batch)), np.maximum(batch.rows["transfers"], 0))
    return by_group({**transfers, "group": transfers["group"] + groups * run}, groups * len(batch))


def _completions(batch: Batch) -> tuple[pa.Table, list[int]]:
    """Completion times by size, and the rows of each run."""
    transfers, at = _transfers(batch), batch.ends("transfers")
    names = batch.scenarios[0].groups
    none = table(by_size({name: values[:0] for name, values in transfers.items()}, names))
    if not at[-1] and "applications" not in batch.tables:
        return none, [0] * len(batch)
    parts = []
    for (first, end), blocks in zip(pairwise(at), _with_blocks(batch), strict=True):
        mine = {name: values[first:end] for name, values in transfers.items()}
        parts.append(table(by_size(mine, names, blocks)) if end > first or blocks else none)
    return _below(parts), [one.num_rows for one in parts]


def _with_blocks(batch: Batch) -> list[list[int]]:
    """Index of each group whose transfers are blocks, of each run."""
    applications = batch.tables.get("applications")
    if applications is None:
        return [[]] * len(batch)
    is_block = equal(texts(applications["what"]), "blocks").to_numpy()
    group = numbers(applications, "group").astype(int)
    return [
        sorted(set(group[first:end][is_block[first:end]].tolist()))
        for first, end in pairwise(batch.ends("applications"))
    ]


def _known_mean(values: NDArray[Any], index: NDArray[Any], size: int) -> NDArray[Any]:
    known = ~np.isnan(values)
    total = np.bincount(index[known], values[known], minlength=size)
    return ratio(total, np.bincount(index[known], minlength=size))


def _below(parts: Sequence[pa.Table]) -> pa.Table:
    """One below the other, with one dictionary for each column of names."""
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def _ends(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)
