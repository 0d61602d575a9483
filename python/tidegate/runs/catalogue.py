"""The catalogue of a sweep's runs: which file has which run, in SQLite.

Only the process that the sweep was called from writes it. It can be made anew from the files of
runs, so that what happens between writing a file and entering it loses nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tidegate.errors import ResultError
from tidegate.runs.run_files import RunFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CATALOGUE = "catalogue.sqlite"
WAIT_S = 60.0
"""How long another sweep in the same folder may take to write."""

Settings = tuple[tuple[str, str], ...]
"""What a point sets: dotted keys and TOML values."""

_TABLES = """
create table if not exists about (name text primary key, value text not null);
create table if not exists points (
    number integer primary key,
    settings text not null unique,
    position integer not null
);
create table if not exists files (
    number integer primary key,
    name text not null unique,
    size integer not null,
    sha256 text not null
);
create table if not exists runs (
    point integer not null references points,
    seed integer not null,
    key text not null,
    digest text not null,
    file integer not null references files,
    place integer not null,
    primary key (point, seed)
) without rowid;
create index if not exists runs_by_file on runs (file);
create table if not exists failures (
    point integer not null references points,
    seed integer not null,
    reason text not null,
    primary key (point, seed)
) without rowid;
"""


class Entry(NamedTuple):
    """A finished run."""

    point: int
    seed: int
    key: str
    digest: str
    file: str
    place: int
    """Row of the file."""


class Catalogue:
    """The catalogue of one folder."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        """Open, or make where it may be written; a damaged one is begun anew there."""
        self.path = path
        if writable:
            self._db = self._open()
        else:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

    def _open(self) -> sqlite3.Connection:
        try:
            return _connected(self.path)
        except sqlite3.OperationalError as error:
            raise ResultError(f"cannot write {self.path}: {error}") from error
        except sqlite3.DatabaseError:
            # Not to be trusted; the files of runs tell what there is.
            self.path.unlink()
            return _connected(self.path)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process reads the file."""
        return partial(Catalogue, writable=False), (self.path,)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        try:
            with self._db:
                yield self._db
        except sqlite3.OperationalError as error:
            raise ResultError(f"cannot write {self.path}: {error}") from error

    def about(self, name: str) -> str | None:
        """What was noted under this name."""
        row = self._db.execute("select value from about where name = ?", (name,)).fetchone()
        return row and str(row[0])

    def note(self, name: str, value: str) -> None:
        """Keep a value under a name."""
        with self._writing() as db:
            db.execute("insert or replace into about values (?, ?)", (name, value))

    def points(self) -> Iterator[tuple[int, Settings]]:
        """All points with their numbers, in the order in which the sweep has them."""
        rows = self._db.execute("select number, settings from points order by position, number")
        for number, text in rows:
            yield number, tuple((key, value) for key, value in json.loads(text))

    def enter_points(self, points: Iterable[Settings]) -> list[int]:
        """Numbers of these points, new ones for those that were not there."""
        texts = [json.dumps(settings, ensure_ascii=False) for settings in points]
        with self._writing() as db:
            db.executemany(
                "insert into points (settings, position) values (?, ?) "
                "on conflict (settings) do update set position = excluded.position",
                ((text, position) for position, text in enumerate(texts)),
            )
        known = dict(self._db.execute("select settings, number from points"))
        return [known[text] for text in texts]

    def seeds(self) -> dict[int, list[int]]:
        """Seeds of all runs, finished or failed, by the number of their point."""
        found: dict[int, list[int]] = {}
        rows = self._db.execute(
            "select point, seed from runs union select point, seed from failures order by 1, 2"
        )
        for point, seed in rows:
            found.setdefault(point, []).append(seed)
        return found

    def enter(
        self,
        file: RunFile | None,
        runs: Iterable[tuple[int, int, str, str, int]],
        failures: Iterable[tuple[int, int, str]] = (),
    ) -> None:
        """Enter a file with its runs (point, seed, key, digest, place), and what failed."""
        with self._writing() as db:
            if file is not None:
                number = _entered(db, file)
                rows = [(point, seed, key, digest, number, place)
                        for point, seed, key, digest, place in runs]  # fmt: skip
                db.executemany("insert or replace into runs values (?, ?, ?, ?, ?, ?)", rows)
                db.executemany(
                    "delete from failures where point = ? and seed = ?", [row[:2] for row in rows]
                )
            failed = list(failures)
            db.executemany("insert or replace into failures values (?, ?, ?)", failed)
            db.executemany(
                "delete from runs where point = ? and seed = ?", [row[:2] for row in failed]
            )

    def copy(self, point: int, to: int, seeds: Iterable[int]) -> None:
        """Enter what is known of a point for another that is the same."""
        with self._writing() as db:
            for table, columns in (
                ("runs", "seed, key, digest, file, place"), ("failures", "seed, reason"),
            ):  # fmt: skip
                db.executemany(
                    f"insert or replace into {table} "  # noqa: S608 - names from above
                    f"select ?, {columns} from {table} where point = ? and seed = ?",
                    [(to, point, seed) for seed in seeds],
                )

    def runs(self, point: int) -> list[Entry]:
        """The runs of a point, by seed."""
        return [
            Entry(point, *row)
            for row in self._db.execute(
                "select seed, key, digest, name, place from runs join files on file = number "
                "where point = ? order by seed",
                (point,),
            )
        ]

    def keys(self, point: int) -> dict[int, str]:
        """Keys of the runs of a point, by seed."""
        return dict(self._db.execute("select seed, key from runs where point = ?", (point,)))

    def failures(self, point: int) -> dict[int, str]:
        """Why runs of a point failed, by seed."""
        rows = self._db.execute("select seed, reason from failures where point = ?", (point,))
        return dict(rows.fetchall())

    def failed_points(self) -> list[int]:
        """Points of which a run failed."""
        rows = self._db.execute("select distinct point from failures order by point")
        return [number for (number,) in rows]

    def forget_failures(self) -> None:
        """What failed is tried again."""
        with self._writing() as db:
            db.execute("delete from failures")

    def files(self) -> list[RunFile]:
        """All files."""
        return [RunFile(*row) for row in self._db.execute("select name, size, sha256 from files")]

    def forget(self, file: RunFile) -> list[tuple[int, int]]:
        """Remove a file; gives point and seed of its runs."""
        mine = "from runs where file = (select number from files where name = ?)"
        with self._writing() as db:
            runs = db.execute(f"select point, seed {mine}", (file.name,)).fetchall()
            db.execute(f"delete {mine}", (file.name,))
            db.execute("delete from files where name = ?", (file.name,))
        return runs

    def fingerprint(self) -> str:
        """Hash of all points, runs and failures: the same for the same summary."""
        digest = hashlib.sha256()
        for query in (
            "select number, settings, position from points order by number",
            "select point, seed, key, digest from runs order by point, seed",
            "select point, seed, reason from failures order by point, seed",
        ):
            for row in self._db.execute(query):
                digest.update(repr(row).encode())
        return digest.hexdigest()

    def unused(self) -> list[RunFile]:
        """Files none of whose runs is one of a point any more."""
        rows = self._db.execute(
            "select name, size, sha256 from files where number not in (select file from runs)"
        )
        return [RunFile(*row) for row in rows]


def _connected(path: Path) -> sqlite3.Connection:
    """Without a log beside the file, which file systems of several machines cannot share."""
    db = sqlite3.connect(path, timeout=WAIT_S)
    try:
        db.execute("pragma journal_mode = delete")
        db.executescript(_TABLES)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _entered(db: sqlite3.Connection, file: RunFile) -> int:
    db.execute(
        "insert into files (name, size, sha256) values (?, ?, ?) "
        "on conflict (name) do update set size = excluded.size, sha256 = excluded.sha256",
        (file.name, file.size, file.sha256),
    )
    number: int = db.execute("select number from files where name = ?", (file.name,)).fetchone()[0]
    return number
