"""The engine's columns as Arrow tables, and what follows from them: users and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ResultError
from tidegate.results.columns import DELAYS, ENGINE, USERS, field_of
from tidegate.results.completions import by_group, by_size
from tidegate.results.quantities import flow_ratios, ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tidegate._native import Scenario

Tables: TypeAlias = dict[str, pa.Table]
"""Tables by name."""

ENGINE_TABLES = tuple(table.name for table in ENGINE if not table.only)
INTERVAL_TABLES = tuple(table.name for table in ENGINE if table.only)
"""Only of scenarios with intervals."""
DERIVED_TABLES = ("users", "groups", "completions")
COUNTS = tuple(column.name for column in USERS.columns if column.type == pa.uint64())


def table(columns: Mapping[str, object]) -> pa.Table:
    """Columns as a table with units in the fields' metadata; a NaN becomes a missing value."""
    arrays = [_array(values) for values in columns.values()]
    fields = [field_of(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def run_tables(columns: Mapping[str, Mapping[str, object]], scenario: Scenario) -> Tables:
    """One run's columns as tables; groups by name, and flows with their number."""
    tables = {}
    intervals = [name for name in INTERVAL_TABLES if name in columns]
    for name in (*ENGINE_TABLES, *intervals):
        content = dict(columns[name])
        if "group" in content:
            content["group"] = _named(np.asarray(content["group"]), scenario.groups)
        tables[name] = table(content)
    return tables


def concatenate(runs: Sequence[Tables], scenario: Scenario) -> Tables:
    """Tables of all replications in one, with the replication's number and seed in front."""
    derived = [{**run, **derive(run, scenario)} for run in runs]
    seeds = [run["run"]["seed"][0].as_py() for run in runs]
    result = {}
    intervals = [name for name in INTERVAL_TABLES if name in runs[0]]
    for name in (*ENGINE_TABLES, *intervals, *DERIVED_TABLES):
        parts = [_numbered(run[name], r, seeds[r]) for r, run in enumerate(derived)]
        result[name] = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    return result


def with_groups(tables: Tables, groups: Sequence[str]) -> Tables:
    """The tables with a scenario's groups as the names that columns may have, in its order."""
    return {name: _with_groups(one, groups) for name, one in tables.items()}


def derive(run: Tables, scenario: Scenario) -> Tables:
    """Per user and per group what is known per flow."""
    flows = {name: numbers(run["flows"], name) for name in run["flows"].column_names}
    user_group = np.asarray(scenario.user_groups, dtype="i4")
    users = _users(flows, user_group)
    group = {"group": _named(user_group, scenario.groups)}
    user_table = {"user": np.arange(len(user_group), dtype="u4"), **group, **users}
    groups = _groups(flows, users, user_group, len(scenario.groups))
    groups |= _delays(run["delays"])
    names = ("flow", "group", "start_s", "size_bytes", "completion_s", "empty_path_s")
    transfers = {name: numbers(run["transfers"], name) for name in names}
    groups |= by_group(transfers, len(scenario.groups))
    named = _named(np.arange(len(scenario.groups)), scenario.groups)
    return {
        "users": table(_whole(user_table)),
        "groups": table(_whole({"group": named, **groups})),
        "completions": table(by_size(transfers, scenario.groups, _with_blocks(run))),
    }


def _with_blocks(run: Tables) -> list[int]:
    """Index of each group whose transfers are blocks."""
    if (applications := run.get("applications")) is None:
        return []
    is_block = pc.equal(applications["what"].cast(pa.string()), "blocks")
    group = applications["group"].filter(is_block)
    return sorted(set(np.asarray(group.combine_chunks().indices).tolist())) if len(group) else []


def numbers(source: pa.Table, column: str) -> NDArray[Any]:
    """Return a column as floats, NaN where a value is missing; names as their index."""
    chunks = column_of(source, column)
    if chunks is None:
        raise ResultError(
            f"a table of the result has no column {column!r}: another version of tidegate "
            "wrote it, or changed it since; run the scenario again"
        )
    array = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.indices
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=float)


def column_of(source: pa.Table, column: str) -> pa.ChunkedArray | None:
    """Return a column, None if there is none. A list of all names takes longer than the rest."""
    position = source.schema.get_field_index(column)
    return None if position < 0 else source.column(position)


def _users(flows: dict[str, NDArray[Any]], user_group: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Sum over each user's flows; round-trip times are averaged."""
    owner = flows["user"].astype(int)

    def total(column: str) -> NDArray[Any]:
        return np.bincount(owner, flows[column], minlength=len(user_group))

    return {
        "flows": np.bincount(owner, minlength=len(user_group)),
        "throughput_bps": total("throughput_bps"),
        "goodput_bps": total("goodput_bps"),
        **{name: total(name) for name in COUNTS},
        "mean_srtt_s": _known_mean(flows["mean_srtt_s"], owner, len(user_group)),
    }


def _groups(
    flows: dict[str, NDArray[Any]],
    users: dict[str, NDArray[Any]],
    user_group: NDArray[Any],
    groups: int,
) -> dict[str, NDArray[Any]]:
    """Mean per user of each group, and its part of the whole."""

    def total(column: str) -> NDArray[Any]:
        return np.bincount(user_group, users[column], minlength=groups)

    size = np.bincount(user_group, minlength=groups)
    throughput = total("throughput_bps")
    mean = ratio(throughput, size)
    return {
        "users": size,
        "flows": total("flows").astype("i8"),
        "throughput_bps": mean,
        "goodput_bps": ratio(total("goodput_bps"), size),
        "total_throughput_bps": throughput,
        "share": ratio(throughput, np.full(groups, throughput.sum())),
        "ratio_to_first": ratio(mean, np.full(groups, mean[0] if groups else 0.0)),
        **flow_ratios(total),
        "timeouts": total("timeouts"),
        "mean_srtt_s": _known_mean(flows["mean_srtt_s"], flows["group"].astype(int), groups),
    }


def _delays(delays: pa.Table) -> dict[str, NDArray[Any]]:
    """Delays of each group's packets."""
    of_groups = delays.filter(pc.equal(delays["level"], "group"))
    return {name: numbers(of_groups, name) for name in DELAYS}


def _known_mean(values: NDArray[Any], index: NDArray[Any], size: int) -> NDArray[Any]:
    known = ~np.isnan(values)
    total = np.bincount(index[known], values[known], minlength=size)
    return ratio(total, np.bincount(index[known], minlength=size))


def _whole(columns: dict[str, Any]) -> dict[str, Any]:
    """Counts as whole numbers; real Linux cannot tell all of them."""
    return {
        name: _array(values).cast(pa.uint64()) if name in COUNTS else values
        for name, values in columns.items()
    }


def _array(values: object) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    # from_pandas shares the numbers and only adds the mask of those that are missing.
    text = isinstance(values, list)
    return pa.array(values, from_pandas=True, type=pa.string() if text else None)


def _named(index: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(index.astype("i4")), pa.array(names, pa.string())
    )


def _with_groups(source: pa.Table, groups: Sequence[str]) -> pa.Table:
    if "group" not in source.column_names:
        return source
    names = source["group"].cast(pa.string()).combine_chunks()
    index = pc.index_in(names, value_set=pa.array(groups, pa.string()))
    position = source.column_names.index("group")
    column = pa.DictionaryArray.from_arrays(index, pa.array(groups, pa.string()))
    return source.set_column(position, source.schema.field("group"), column)


def _numbered(source: pa.Table, replication: int, seed: int) -> pa.Table:
    rows = source.num_rows
    head = {"replication": np.full(rows, replication, dtype="u4")}
    if "seed" not in source.column_names:
        head["seed"] = np.full(rows, seed, dtype="u8")
    for position, (name, values) in enumerate(head.items()):
        source = source.add_column(position, name, pa.array(values))
    return source
