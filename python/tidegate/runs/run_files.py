"""Parquet files of runs: a row per run, with the run's tables in it as lists of records.

Runs that last less than a second share a file. A file is there completely or not at all, and DuckDB
or Polars read thousands with one pattern:

    select seed, unnest(flows, recursive := true) from 'runs/*.parquet'
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.errors import ResultError
from tidegate.results.summary import Measure, measures
from tidegate.results.tables import ENGINE_TABLES, INTERVAL_TABLES, derive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables

TOKEN = ".token"  # noqa: S105 - it is no secret
"""Who reads in it what the client wrote has the same folder before him."""
FORGOTTEN_S = 86_400.0
"""A half-written file of another machine is nobody's after a day."""
CACHED_FILES = 64

_SCHEMA_DIGEST = b"schema_sha256"
_MEASURES = "measures"


class KeptRun(NamedTuple):
    """A finished run on its way into a file."""

    key: str
    seed: int
    tables: Tables
    measures: list[Measure]

    @classmethod
    def of(cls, key: str, tables: Tables, scenario: Scenario) -> KeptRun:
        """The run with what its summary needs."""
        seed = tables["run"]["seed"][0].as_py()
        return cls(key, seed, tables, measures({**tables, **derive(tables, scenario)}))


@dataclass(frozen=True)
class RunFile:
    """A file of runs as the catalogue knows it."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, runs: Sequence[KeptRun]) -> tuple[RunFile, bytes]:
        """A file of these runs, and its content."""
        buffer = io.BytesIO()
        pq.write_table(_rows(runs), buffer, compression="zstd", write_page_checksum=True)
        content = buffer.getvalue()
        keys = hashlib.sha256("".join(run.key for run in runs).encode()).hexdigest()
        name = f"{keys[:32]}.parquet"
        return cls(name, len(content), hashlib.sha256(content).hexdigest()), content


class Measured(NamedTuple):
    """The measures of a file's runs, row by row."""

    names: list[tuple[tuple[str, str, str], ...]]
    """Of each row: kind, name and metric of each value."""
    values: list[NDArray[np.float64]]


class RunFiles:
    """A folder with files of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Neighbours are asked one after the other, so that what was read is kept for a while.
        self._rows = lru_cache(2)(self._read)
        self.measured = lru_cache(CACHED_FILES)(self._measured)

    def __reduce__(self) -> tuple[object, ...]:
        """What was read stays here."""
        return RunFiles, (self.folder,)

    def prepare(self) -> str:
        """Make the folder, clear away what interrupted writers left; gives a token of this use."""
        token = secrets.token_hex(16)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._clear_away()
            (self.folder / TOKEN).write_text(token, encoding="ascii")
        except OSError as error:
            raise ResultError(f"cannot write to {self.folder}: {error.strerror}") from error
        return token

    def tidy(self) -> None:
        """Remove what was there for the time of writing only, and what killed workers left."""
        self._clear_away()
        (self.folder / TOKEN).unlink(missing_ok=True)

    def _clear_away(self) -> None:
        """Remove what interrupted writers have left."""
        for leftover in self.folder.glob(".*.tmp"):
            if not _in_use(leftover):
                leftover.unlink(missing_ok=True)

    def shared(self, token: str) -> bool:
        """Whether this is the folder, and not one of the same name on another machine."""
        try:
            return (self.folder / TOKEN).read_text(encoding="ascii") == token and os.access(
                self.folder, os.W_OK
            )
        except (OSError, ValueError):
            return False

    def write(self, file: RunFile, content: bytes) -> None:
        """Write under another name, force to the disk, rename."""
        path = self.folder / file.name
        host = socket.gethostname().replace(".", "-")
        building = f".{file.name}.{host}.{os.getpid()}.{threading.get_ident()}.tmp"
        building_at = self.folder / building
        try:
            with building_at.open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            building_at.rename(path)
        except OSError as error:
            building_at.unlink(missing_ok=True)
            raise ResultError(f"cannot write {path}: {error.strerror}") from error

    def intact(self, file: RunFile) -> bool:
        """Whether the file is as it was written; what a disk has damaged is not."""
        path = self.folder / file.name
        try:
            if path.stat().st_size != file.size:
                return False
            with path.open("rb") as content:
                return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
        except OSError:
            return False

    def found(self, name: str) -> tuple[RunFile, list[tuple[str, int, str]]] | None:
        """A file that the catalogue does not know: its runs' keys, seeds and digests, row by row.

        None for what cannot be read whole.
        """
        try:
            content = (self.folder / name).read_bytes()
            rows = pq.read_table(io.BytesIO(content), page_checksum_verification=True)
            runs = pc.list_flatten(rows["run"]).combine_chunks()
            digests = runs.field("digest").to_pylist()
            keys, seeds = rows["key"].to_pylist(), rows["seed"].to_pylist()
        except (OSError, ValueError, KeyError, pa.ArrowException):
            return None
        if (rows.schema.metadata or {}).get(_SCHEMA_DIGEST) != _digest(rows.schema):
            return None
        file = RunFile(name, len(content), hashlib.sha256(content).hexdigest())
        return file, list(zip(keys, seeds, digests, strict=True))

    def read(self, name: str, row: int) -> Tables:
        """Read a run's tables."""
        kept = self._rows(name).slice(row, 1)
        lists = ((name, kept[name].combine_chunks()) for name in _table_names(kept.column_names))
        return {name: _flat(one) for name, one in lists if one.null_count == 0}

    def _read(self, name: str, columns: tuple[str, ...] | None = None) -> pa.Table:
        path = self.folder / name
        wanted = None if columns is None else list(columns)
        try:
            rows = pq.read_table(path, columns=wanted, page_checksum_verification=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
        lacking = set(columns or ENGINE_TABLES) - set(rows.column_names)
        if lacking:
            raise _unreadable(path, f"it has no {', '.join(sorted(lacking))}")
        return rows

    def _measured(self, name: str) -> Measured:
        """Read the measures of all runs of a file."""
        lists = self._read(name, (_MEASURES,))[_MEASURES].combine_chunks()
        records, ends = lists.flatten(), lists.offsets.to_numpy()
        value = records.field("value").to_numpy(zero_copy_only=False)
        spelled = [records.field(part).dictionary_encode() for part in ("kind", "name", "metric")]
        codes = np.stack([np.asarray(part.indices) for part in spelled], axis=1)
        words = [part.dictionary.to_pylist() for part in spelled]
        known: dict[bytes, tuple[tuple[str, str, str], ...]] = {}
        names, values = [], []
        for start, end in pairwise(ends):
            spelling = codes[start:end]
            told = known.get(spelling.tobytes())
            if told is None:
                told = tuple((words[0][a], words[1][b], words[2][c]) for a, b, c in spelling)
                known[spelling.tobytes()] = told
            names.append(told)
            values.append(value[start:end])
        return Measured(names, values)


def _rows(runs: Sequence[KeptRun]) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "key": pa.array([run.key for run in runs], pa.string()),
        "seed": pa.array([run.seed for run in runs], pa.uint64()),
    }
    for name in _table_names({name for run in runs for name in run.tables}):
        columns[name] = _nested([run.tables.get(name) for run in runs])
    flat = [measure for run in runs for measure in run.measures]
    records = pa.StructArray.from_arrays(
        [
            *(pa.array([getattr(one, part) for one in flat], pa.string())
              for part in ("kind", "name", "metric")),
            pa.array([one.value for one in flat], pa.float64()),
        ],
        names=["kind", "name", "metric", "value"],
    )  # fmt: skip
    columns[_MEASURES] = _lists(records, [len(run.measures) for run in runs])
    table = pa.table(columns)
    return table.replace_schema_metadata({_SCHEMA_DIGEST: _digest(table.schema)})


def _nested(tables: Sequence[pa.Table | None]) -> pa.ListArray:
    """Each run's table as one list of records; runs without this table have none."""
    known = [table for table in tables if table is not None]
    whole = pa.concat_tables(known).unify_dictionaries().combine_chunks()
    records = whole.to_struct_array()
    if isinstance(records, pa.ChunkedArray):
        chunks = records.chunks or [pa.array([], type=records.type)]
        records = pa.concat_arrays(chunks)
    return _lists(records, [None if table is None else table.num_rows for table in tables])


def _lists(records: pa.Array, lengths: Sequence[int | None]) -> pa.ListArray:
    ends = np.cumsum([0, *(length or 0 for length in lengths)])
    missing = pa.array([length is None for length in lengths], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), records, mask=missing)


def _flat(lists: pa.ListArray) -> pa.Table:
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(lists.flatten())])


def _table_names(there: Iterable[str]) -> list[str]:
    return [name for name in (*ENGINE_TABLES, *INTERVAL_TABLES) if name in set(there)]


def _unreadable(path: Path, reason: object) -> ResultError:
    reason = "it is missing" if isinstance(reason, FileNotFoundError) else reason
    return ResultError(f"{path} cannot be read: {reason}; the same sweep again computes it anew")


def _digest(schema: pa.Schema) -> bytes:
    """Of the columns' names and types: the pages have checksums, what they are called has none."""
    tables = [(field.name, field.type) for field in schema if pa.types.is_list(field.type)]
    columns = [f"{name}.{column.name} {column.type}" for name, rows in tables
               for column in rows.value_type]  # fmt: skip
    return hashlib.sha256("\n".join(columns).encode()).hexdigest().encode()


def _in_use(leftover: Path) -> bool:
    """Whether who writes it may still be at it; another sweep may use the same folder."""
    *_, host, process, _thread, _tmp = leftover.name.split(".")
    if host == socket.gethostname().replace(".", "-"):
        return _is_alive(process)
    try:
        return time.time() - leftover.stat().st_mtime < FORGOTTEN_S
    except OSError:
        return False


def _is_alive(process: str) -> bool:
    """Whether a process of this machine runs; a killed one is listed until it is waited for."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] not in "ZX"
