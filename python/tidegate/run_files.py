"""One Parquet file per run: a single row with the run's tables in it as lists of records.

So a run is there completely or not at all, and DuckDB or Polars read thousands with one pattern:

    select seed, unnest(flows, recursive := true) from 'runs/*.parquet'
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ResultError
from tidegate.store import write_parquet
from tidegate.tables import ENGINE_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.tables import Tables


class RunFiles:
    """A folder with the runs of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """File of a run."""
        return self.folder / f"{key}.parquet"

    def has(self, key: str) -> bool:
        """Whether the run has been done. A file under its final name is always complete."""
        return self.path(key).is_file()

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
        try:
            row = pq.read_table(self.path(key), columns=list(names))
        except (OSError, ValueError) as error:
            raise ResultError(f"{self.path(key)} cannot be read: {error}") from error
        return {name: _flat(row[name].combine_chunks()) for name in names}


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
