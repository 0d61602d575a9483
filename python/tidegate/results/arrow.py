"""Compute functions of Arrow, called by name.

``pyarrow.compute`` makes a documented function of each of Arrow's three hundred when it is
imported, which takes a tenth of a short simulation. So do the methods of tables and columns that
filter and cast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyarrow._compute import CastOptions, call_function

if TYPE_CHECKING:
    Column = TypeVar("Column", pa.Array, pa.ChunkedArray)


def rows_where(source: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """Return the rows where a column of truth values holds."""
    return call_function("filter", [source, mask])


def cast(values: Column, to: pa.DataType) -> Column:
    """Return values as another type; an error where one does not fit."""
    return call_function("cast", [values], CastOptions.safe(to))


def texts(values: Column) -> Column:
    """Return names, which may be indices of a dictionary, as texts."""
    return cast(values, pa.string())


def equal(values: Column, value: str) -> Column:
    """Return which values are this one."""
    return call_function("equal", [values, pa.scalar(value)])


def inverted(mask: Column) -> Column:
    """Return the truth values that are not these."""
    return call_function("invert", [mask])


def distinct(values: Column) -> list[str]:
    """Return each of the values once, in their order."""
    found: list[str] = call_function("unique", [values]).to_pylist()
    return found
