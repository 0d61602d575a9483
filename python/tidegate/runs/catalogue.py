"""The catalogue of a sweep's runs: which file has which run, in SQLite.

Only the process that the sweep was called from writes it. It can be rebuilt from the files of
runs, so that what happens between writing a file and entering it loses nothing.

With its rows it keeps the sum of their SHA-256 modulo 2^256, which changes in the same transaction
as they do. So a damaged page shows whenever the catalogue is opened. What tidegate would not write,
such as a trigger or a file's name that leads out of the folder, is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing, contextmanager
from functools import cache, partial
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
create table if not exists tally (total text not null);
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
_COLUMNS = {
    "about": ("name", "value"),
    "points": ("number", "settings", "position"),
    "files": ("number", "name", "size", "sha256"),
    "runs": ("point", "seed", "key", "digest", "file", "place"),
    "failures": ("point", "seed", "reason"),
}
"""Of the tables that are summed up."""
_MODULUS = 2**256
_BESIDE = ("-journal", "-wal", "-shm")
"""Files that SQLite keeps beside a catalogue."""
_LEADS_ELSEWHERE = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names another file, which SQLite would remove (file format, 3)."""


class Entry(NamedTuple):
    """A finished run."""

    point: int
    seed: int
    key: str
    digest: str
    file: RunFile
    place: int
    """Row of the file."""


class _ForeignError(ResultError):
    """A catalogue that tidegate did not write, or not this version."""


class _DamagedError(ResultError):
    """A catalogue that is not as it was written."""


class Catalogue:
    """The catalogue of one folder."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        """Open, or make where it may be written; a damaged one is replaced there."""
        self.path = path
        self._change = 0
        _refuse_others(path)
        self._db = self._open() if writable else self._readable()

    def _readable(self) -> sqlite3.Connection:
        if not self.path.exists() or not self.path.stat().st_size:
            raise ResultError(f"{self.path} has nothing yet: its sweep has not begun")
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        db = sqlite3.connect(place, uri=True, timeout=WAIT_S, isolation_level=None)
        try:
            _check(db, self.path)
        except sqlite3.Error as error:
            db.close()
            raise ResultError(f"{self.path} is damaged: {error}") from error
        except ResultError:
            db.close()
            raise
        return db

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connected()
        except sqlite3.OperationalError as error:
            raise ResultError(f"cannot write {self.path}: {error}") from error
        except (sqlite3.DatabaseError, _DamagedError):
            # Not to be trusted; the files of runs tell what there is.
            self.path.unlink()
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        """Without a log beside the file, which file systems of several machines cannot share."""
        db = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
        try:
            if self.path.stat().st_size:
                _check(db, self.path)
            db.execute("pragma journal_mode = delete")
            # Else rows that `insert or replace` takes away are removed without a trigger.
            db.execute("pragma recursive_triggers = on")
            # At once: a catalogue with some of its tables would be none.
            db.executescript(f"begin immediate; {_TABLES} commit;")
            db.create_function("tally", -1, self._count)
            db.executescript(_triggers())
        except (sqlite3.Error, ResultError):
            db.close()
            raise
        return db

    def _count(self, sign: int, table: str, *row: object) -> None:
        """Add a row to the sum, or take it off."""
        self._change += sign * _digest(table, row)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process reads the file."""
        return partial(Catalogue, writable=False), (self.path,)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        db = self._db
        try:
            db.execute("begin immediate")
            try:
                self._change = 0
                yield db
                total = (_total(db) + self._change) % _MODULUS
                db.execute("delete from tally")
                db.execute("insert into tally values (?)", (f"{total:064x}",))
                db.execute("commit")
            except BaseException:
                if db.in_transaction:
                    db.execute("rollback")
                raise
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
            yield number, _settings(text, self.path)

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
            Entry(point, seed, key, digest, RunFile(*file), place)
            for seed, key, digest, place, *file in self._db.execute(
                "select seed, key, digest, place, name, size, sha256 "
                "from runs join files on file = number where point = ? order by seed",
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


def _refuse_others(path: Path) -> None:
    """Refuse what SQLite would follow out of the folder: links, and a journal that names a file."""
    for one in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
        if one.is_symlink() or (one.exists() and not one.is_file()):
            raise ResultError(f"{one} is not a regular file; it was left alone")
    journal, *logs = (path.with_name(path.name + end) for end in _BESIDE)
    if any(log.exists() for log in logs) or _names_a_file(journal):
        raise ResultError(f"{path} was written by another program; it was left alone")


def _names_a_file(journal: Path) -> bool:
    try:
        with journal.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(-min(size, len(_LEADS_ELSEWHERE)), os.SEEK_END)
            return file.read() == _LEADS_ELSEWHERE
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ResultError(f"{journal} cannot be read: {error.strerror}") from error


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a catalogue that is not one, and one that is not as it was written."""
    db.text_factory = _text
    db.execute("begin")  # another sweep may write meanwhile
    try:
        schema = _schema(db)
        if schema != _own_schema():
            raise _ForeignError(
                f"{path} is no catalogue of this tidegate; it was left alone. Name another folder, "
                "or remove it"
            )
        for row in db.execute("select name, size, sha256 from files"):
            if not RunFile.is_sound(*row):
                raise _ForeignError(
                    f"{path} names {str(row[0])[:80]!r} as a file of runs, which tidegate does not "
                    "write; the folder was left alone"
                )
        total = sum(
            _digest(table, row)
            for table, columns in _COLUMNS.items()
            for row in db.execute(f"select {', '.join(columns)} from {table}")  # noqa: S608
        )
        whole = total % _MODULUS == _total(db)
    except ValueError as error:
        raise _DamagedError(f"{path} is damaged: {error}") from error
    finally:
        db.execute("rollback")
    if not whole:
        raise _DamagedError(
            f"{path} is damaged: the sum of its rows is not that of what was written"
        )


def _schema(db: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(db.execute("select type, name, tbl_name, sql from sqlite_master"))


@cache
def _own_schema() -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_TABLES)
        return _schema(db)


@cache
def _triggers() -> str:
    """What keeps the sum; of this connection alone, so that the file has none."""
    statements = []
    for table, columns in _COLUMNS.items():
        gone, come = (
            f"select tally({sign}, '{table}', {', '.join(f'{row}.{one}' for one in columns)});"
            for sign, row in ((-1, "old"), (1, "new"))
        )
        statements += [
            f"create temp trigger {event}_{table} after {event} on main.{table} begin {what} end;"
            for event, what in (("insert", come), ("delete", gone), ("update", gone + come))
        ]
    return "\n".join(statements)


def _total(db: sqlite3.Connection) -> int:
    """The sum that is kept; 0 before there is anything, -1 for what cannot be one."""
    rows = db.execute("select total from tally").fetchall()
    try:
        return int(rows[0][0], 16) if rows else 0
    except (TypeError, ValueError):
        return -1


def _text(content: bytes) -> str:
    """Also what is no text, so that the sum shows the damage."""
    return content.decode(errors="surrogateescape")


def _settings(text: str, path: Path) -> Settings:
    try:
        return tuple((str(key), str(value)) for key, value in json.loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ResultError(f"{path} is damaged: a point has no settings ({error})") from error


def _digest(table: str, row: Iterable[object]) -> int:
    return int(hashlib.sha256(repr((table, *row)).encode(errors="replace")).hexdigest(), 16)


def _entered(db: sqlite3.Connection, file: RunFile) -> int:
    db.execute(
        "insert into files (name, size, sha256) values (?, ?, ?) "
        "on conflict (name) do update set size = excluded.size, sha256 = excluded.sha256",
        (file.name, file.size, file.sha256),
    )
    number: int = db.execute("select number from files where name = ?", (file.name,)).fetchone()[0]
    return number
