"""One Parquet file per run: a single row with the run's tables in it as lists of records.

So a run is there completely or not at all, and DuckDB or Polars read thousands with one pattern:

    select seed, unnest(flows, recursive := true) from 'runs/*.parquet'
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ResultError
from tidegate.results.store import write_parquet
from tidegate.results.tables import ENGINE_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.results.tables import Tables

_SCHEMA_DIGEST = b"schema_sha256"


class RunFiles:
    """A folder with the runs of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """File of a run."""
        return self.folder / f"{key}.parquet"

    def has(self, key: str, seed: int) -> bool:
        """Whether the run has been done and can be read whole; what a disk has damaged cannot."""
        try:
            row = self._row(key, None)
        except ResultError:
            return False
        about = row.schema.metadata or {}
        if "seed" not in row.column_names or about.get(_SCHEMA_DIGEST) != _digest(row.schema):
            return False
        return bool(row["seed"].to_pylist() == [seed])

    def prepare(self) -> None:
        """Make the folder and clear away what interrupted writers left."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for leftover in self.folder.glob(".*.tmp"):
                if not _alive(leftover.name.split(".")[2]):
                    leftover.unlink(missing_ok=True)
        except OSError as error:
            raise ResultError(f"cannot write to {self.folder}: {error.strerror}") from error

    def write(self, key: str, tables: Tables) -> None:
        """Write under another name, force to the disk, rename."""
        row = pa.table(
            {"seed": tables["run"]["seed"], **{n: _nested(t) for n, t in tables.items()}}
        )
        row = row.replace_schema_metadata({_SCHEMA_DIGEST: _digest(row.schema)})
        path = self.path(key)
        building = self.folder / f".{key}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            write_parquet(row, building)
            building.rename(path)
        except OSError as error:
            building.unlink(missing_ok=True)
            raise ResultError(f"cannot write {path}: {error.strerror}") from error

    def read(self, key: str, names: Sequence[str] = ENGINE_TABLES) -> Tables:
        """Read a run's tables, or some of them."""
        row = self._row(key, list(names))
        return {name: _flat(row[name].combine_chunks()) for name in names}

    def _row(self, key: str, names: list[str] | None) -> pa.Table:
        path = self.path(key)
        try:
            row = pq.read_table(path, columns=names, page_checksum_verification=True)
            lacking = set(names or ()) - set(row.column_names)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
        if lacking:
            raise _unreadable(path, f"it has no {', '.join(sorted(lacking))}")
        return row


def _unreadable(path: Path, reason: object) -> ResultError:
    reason = "it is missing" if isinstance(reason, FileNotFoundError) else reason
    return ResultError(f"{path} cannot be read: {reason}; the same sweep again computes it anew")


def _digest(schema: pa.Schema) -> bytes:
    """Of the columns' names and types: the pages have checksums, what they are called has none."""
    tables = [(field.name, field.type) for field in schema if pa.types.is_list(field.type)]
    columns = [f"{name}.{column.name} {column.type}" for name, rows in tables
               for column in rows.value_type]  # fmt: skip
    return hashlib.sha256("\n".join(columns).encode()).hexdigest().encode()


def _alive(process: str) -> bool:
    """Whether a process still runs; another sweep may be writing to the same folder."""
    return process.isdigit() and Path(f"/proc/{process}").exists()


def _nested(table: pa.Table) -> pa.ListArray:
    """A table as one list of records."""
    records = table.combine_chunks().to_struct_array()
    if isinstance(records, pa.ChunkedArray):
        chunks = records.chunks or [pa.array([], type=records.type)]
        records = pa.concat_arrays(chunks)
    return pa.ListArray.from_arrays(pa.array([0, len(records)], pa.int32()), records)


def _flat(lists: pa.ListArray) -> pa.Table:
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(lists.flatten())])
