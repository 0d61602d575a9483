"""Parquet files of runs: a row per run, with the run's tables in it as lists of records.

Runs that last less than a second share a file. A file is there completely or not at all, and DuckDB
or Polars read thousands with one pattern:

    select seed, unnest(flows, recursive := true) from 'runs/*.parquet'
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
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
from tidegate.results.atomic import clear_leftovers, replace_file
from tidegate.results.batch import ABSENT
from tidegate.results.checked import (
    Checksum,
    checked_content,
    content_of,
    is_intact,
    parquet_table,
)
from tidegate.results.summary import measures
from tidegate.results.tables import ENGINE_TABLES, INTERVAL_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tidegate.results.batch import Batch
    from tidegate.results.summary import Measures
    from tidegate.results.tables import Tables

TOKEN = ".token"  # noqa: S105 - it is no secret
"""Who reads in it what the client wrote has the same folder before him."""
CACHED_FILES = 64
MAX_BYTES = 2**32
"""No file of runs has more."""

_NAME = re.compile(r"[0-9a-f]{32}\.parquet")
_SCHEMA_DIGEST = b"schema_sha256"
_MEASURES = "measures"


@dataclass(frozen=True)
class RunFile:
    """A file of runs as the catalogue knows it."""

    name: str
    size: int
    sha256: str

    @staticmethod
    def is_name(name: object) -> bool:
        """Whether a file of runs may be called so: one component of a path, of a fixed form."""
        return isinstance(name, str) and _NAME.fullmatch(name) is not None

    @classmethod
    def is_sound(cls, name: object, size: object, sha256: object) -> bool:
        """Whether tidegate could have written this of a file."""
        return cls.is_name(name) and Checksum.read(size, sha256) is not None

    @property
    def checksum(self) -> Checksum:
        """What it is compared with when it is read."""
        return Checksum(self.size, self.sha256)

    @classmethod
    def of(cls, keys: Sequence[str], batches: Sequence[Batch]) -> tuple[RunFile, bytes]:
        """A file of the runs of these batches, which have these keys, and its content."""
        buffer = io.BytesIO()
        pq.write_table(_rows(keys, batches), buffer, compression="zstd", write_page_checksum=True)
        content = buffer.getvalue()
        name = f"{hashlib.sha256(''.join(keys).encode()).hexdigest()[:32]}.parquet"
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
        except OSError as error:
            raise ResultError(f"cannot write to {self.folder}: {error.strerror}") from error
        clear_leftovers(self.folder)
        replace_file(self.folder / TOKEN, lambda path: path.write_text(token, encoding="ascii"))
        return token

    def tidy(self) -> None:
        """Remove what was there for the time of writing only, and what killed workers left."""
        clear_leftovers(self.folder)
        (self.folder / TOKEN).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a file of runs."""
        if not RunFile.is_name(name):
            raise ResultError(f"{name!r} is no name of a file of runs; {self.folder} is left alone")
        (self.folder / name).unlink(missing_ok=True)

    def names(self) -> set[str]:
        """Names of the files of runs that are there; others are none of ours."""
        return {path.name for path in self.folder.glob("*.parquet") if RunFile.is_name(path.name)}

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
        replace_file(self.folder / file.name, lambda path: path.write_bytes(content))

    def intact(self, file: RunFile) -> bool:
        """Whether the file is as it was written; what a disk has damaged is not."""
        return is_intact(self.folder / file.name, file.checksum)

    def found(self, name: str) -> tuple[RunFile, list[tuple[str, int, str]]] | None:
        """A file that the catalogue does not know: its runs' keys, seeds and digests, row by row.

        None for what cannot be read whole.
        """
        try:
            content = content_of(self.folder / name, MAX_BYTES)
            rows = parquet_table(self.folder / name, content)
            runs = pc.list_flatten(rows["run"]).combine_chunks()
            digests = runs.field("digest").to_pylist()
            keys, seeds = rows["key"].to_pylist(), rows["seed"].to_pylist()
        except (ResultError, ValueError, KeyError, AttributeError, pa.ArrowException):
            return None
        if (rows.schema.metadata or {}).get(_SCHEMA_DIGEST) != _digest(rows.schema):
            return None
        file = RunFile(name, *Checksum.of(content))
        return file, list(zip(keys, seeds, digests, strict=True))

    def read(self, file: RunFile, row: int) -> Tables:
        """Read a run's tables."""
        stored = self._rows(file).slice(row, 1)
        lists = (
            (name, stored[name].combine_chunks()) for name in _table_names(stored.column_names)
        )
        return {name: _flat(one) for name, one in lists if one.null_count == 0}

    def _read(self, file: RunFile, columns: tuple[str, ...] | None = None) -> pa.Table:
        path = self.folder / file.name
        try:
            rows = parquet_table(path, checked_content(path, file.checksum), columns)
        except ResultError as error:
            raise ResultError(f"{error}; run the same sweep again to compute it") from error
        lacking = set(columns or ENGINE_TABLES) - set(rows.column_names)
        if lacking:
            raise ResultError(
                f"{path} has no {', '.join(sorted(lacking))}; run the same sweep again"
            )
        return rows

    def _measured(self, file: RunFile) -> Measured:
        """Read the measures of all runs of a file."""
        lists = self._read(file, (_MEASURES,))[_MEASURES].combine_chunks()
        records, ends = lists.flatten(), lists.offsets.to_numpy()
        value = records.field("value").to_numpy(zero_copy_only=False)
        spelled = [records.field(part).dictionary_encode() for part in ("kind", "name", "metric")]
        codes = np.stack([np.asarray(part.indices) for part in spelled], axis=1)
        words = [part.dictionary.to_pylist() for part in spelled]
        known: dict[bytes, tuple[tuple[str, str, str], ...]] = {}
        names, values = [], []
        for start, end in pairwise(ends):
            spelling = codes[start:end]
            labels = known.get(spelling.tobytes())
            if labels is None:
                labels = tuple((words[0][a], words[1][b], words[2][c]) for a, b, c in spelling)
                known[spelling.tobytes()] = labels
            names.append(labels)
            values.append(value[start:end])
        return Measured(names, values)


def _rows(keys: Sequence[str], batches: Sequence[Batch]) -> pa.Table:
    seeds = [seed for batch in batches for seed in batch.seeds]
    columns: dict[str, pa.Array] = {
        "key": pa.array(keys, pa.string()), "seed": pa.array(seeds, pa.uint64()),
    }  # fmt: skip
    for name in _table_names({name for batch in batches for name in batch.tables}):
        columns[name] = _nested(name, batches)
    columns[_MEASURES] = _measures([one for batch in batches for one in measures(batch)])
    table = pa.table(columns)
    return table.replace_schema_metadata({_SCHEMA_DIGEST: _digest(table.schema)})


def _measures(runs: Sequence[Measures]) -> pa.ListArray:
    spelled = {
        key: [pa.array(part, pa.string()) for part in zip(*labels, strict=True)]
        for key, labels in {id(run.labels): run.labels for run in runs}.items()
    }
    of_runs = (spelled[id(run.labels)] for run in runs)
    parts = [pa.concat_arrays(part) for part in zip(*of_runs, strict=True)]
    values = pa.array(np.concatenate([run.values for run in runs]), pa.float64())
    records = pa.StructArray.from_arrays(
        [*parts, values], names=["kind", "name", "metric", "value"]
    )
    return _lists(records, [len(run.values) for run in runs])


def _nested(name: str, batches: Sequence[Batch]) -> pa.ListArray:
    """Each run's table as one list of records; runs without this table have none."""
    known = [batch.tables[name] for batch in batches if name in batch.tables]
    whole = pa.concat_tables(known).unify_dictionaries().combine_chunks()
    records = whole.to_struct_array()
    if isinstance(records, pa.ChunkedArray):
        chunks = records.chunks or [pa.array([], type=records.type)]
        records = pa.concat_arrays(chunks)
    rows = (batch.rows.get(name, [ABSENT] * len(batch)) for batch in batches)
    return _lists(records, [None if n == ABSENT else n for every in rows for n in every])


def _lists(records: pa.Array, lengths: Sequence[int | None]) -> pa.ListArray:
    ends = np.cumsum([0, *(length or 0 for length in lengths)])
    missing = pa.array([length is None for length in lengths], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), records, mask=missing)


def _flat(lists: pa.ListArray) -> pa.Table:
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(lists.flatten())])


def _table_names(there: Iterable[str]) -> list[str]:
    return [name for name in (*ENGINE_TABLES, *INTERVAL_TABLES) if name in set(there)]


def _digest(schema: pa.Schema) -> bytes:
    """Of the columns' names and types: the pages have checksums, what they are called has none."""
    tables = [(field.name, field.type) for field in schema if pa.types.is_list(field.type)]
    columns = [f"{name}.{column.name} {column.type}" for name, rows in tables
               for column in rows.value_type]  # fmt: skip
    return hashlib.sha256("\n".join(columns).encode()).hexdigest().encode()
