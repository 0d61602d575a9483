"""The engine's columns as Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.errors import ResultError
from tidegate.results.arrow import cast, texts
from tidegate.results.columns import ENGINE, USERS, field_of

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
    arrays = [array(values) for values in columns.values()]
    fields = [field_of(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def run_tables(columns: Mapping[str, Mapping[str, object]], scenario: Scenario) -> Tables:
    """Columns of a run, or of several with the same groups, as tables; groups by name."""
    tables = {}
    intervals = [name for name in INTERVAL_TABLES if name in columns]
    for name in (*ENGINE_TABLES, *intervals):
        content = dict(columns[name])
        if "group" in content:
            content["group"] = named(np.asarray(content["group"]), scenario.groups)
        tables[name] = table(content)
    return tables


def with_groups(tables: Tables, groups: Sequence[str]) -> Tables:
    """The tables with a scenario's groups as the names that columns may have, in its order."""
    return {name: _with_groups(one, groups) for name, one in tables.items()}


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


def whole(columns: Mapping[str, object]) -> dict[str, object]:
    """Counts as whole numbers; real Linux cannot tell all of them."""
    return {
        name: cast(array(values), pa.uint64()) if name in COUNTS else values
        for name, values in columns.items()
    }


def array(values: object) -> pa.Array:
    """Values as a column: they are shared where they are numbers, and a NaN is a missing value."""
    if isinstance(values, pa.Array):
        return values
    if not isinstance(values, np.ndarray):
        return pa.array(values, type=pa.string() if isinstance(values, list) else None)
    # As `pa.array`, which imports numpy's masked arrays and looks at each value.
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    known = _bits(~missing) if missing is not None and missing.any() else None
    content = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [known, content])


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def named(index: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    """Names by their index, as a column."""
    return pa.DictionaryArray.from_arrays(array(index.astype("i4")), pa.array(names, pa.string()))


def _with_groups(source: pa.Table, groups: Sequence[str]) -> pa.Table:
    if "group" not in source.column_names:
        return source
    names = texts(source["group"]).combine_chunks()
    import pyarrow.compute as pc

    index = pc.index_in(names, value_set=pa.array(groups, pa.string()))
    position = source.column_names.index("group")
    column = pa.DictionaryArray.from_arrays(index, pa.array(groups, pa.string()))
    return source.set_column(position, source.schema.field("group"), column)
