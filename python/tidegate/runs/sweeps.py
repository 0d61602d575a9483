"""A sweep in its folder: its points, and what their runs came to.

Runs stay on the disk and are read when asked for, so that a sweep of 100,000 points is a list of
what each sets, and no more.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tidegate.errors import ResultError, ScenarioError, UsageError
from tidegate.results.atomic import replace_file
from tidegate.results.batch import concatenate
from tidegate.results.checked import Checksum, content_of
from tidegate.results.columns import field_of
from tidegate.results.manifests import SCENARIO, read_manifest
from tidegate.results.summary import as_table, estimated
from tidegate.results.tables import with_groups
from tidegate.runs.catalogue import CATALOGUE, Catalogue
from tidegate.runs.run_files import RunFiles
from tidegate.runs.swept_values import columns, value_of, words
from tidegate.scenarios.reading import Reader, text_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from tidegate._native import Scenario
    from tidegate.figures.output import Output
    from tidegate.results.result import Result
    from tidegate.results.summary import Row
    from tidegate.runs.catalogue import Entry, Settings
    from tidegate.runs.precision import Target, Until

RUNS = "runs"
"""Folder of the files of runs."""
MAX_SCENARIO_BYTES = 2**28
"""Of a scenario with every default filled in."""
BATCH = 1_000
"""Points whose summaries are written at once."""


@dataclass(frozen=True, eq=False)
class SweepStore:
    """What a sweep's folder has."""

    files: RunFiles
    catalogue: Catalogue
    read: Reader
    always: Settings = ()
    """Overrides of all points, before their own."""

    @classmethod
    def of(cls, folder: Path, read: Reader, always: Settings) -> SweepStore:
        """A folder to write to, made where it is not there."""
        check_runs(folder)
        try:
            (folder / RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"cannot write to {folder}: {error.strerror}") from error
        catalogue = Catalogue(folder / CATALOGUE, writable=True)
        return cls(RunFiles(folder / RUNS), catalogue, read, always)

    def scenario(self, settings: Settings) -> Scenario:
        """The scenario at a point."""
        return self.read.point([*self.always, *settings])

    def write_scenario(self, path: Path, content: bytes) -> None:
        """Write the scenario's file; a process killed meanwhile leaves one that is recognised."""
        old, new = self.catalogue.about(SCENARIO) or "", Checksum.of(content).sha256
        self.catalogue.note(SCENARIO, f"{old.split(' ')[0]} {new}")
        replace_file(path, lambda draft: draft.write_bytes(content))
        self.catalogue.note(SCENARIO, new)


def check_runs(folder: Path) -> None:
    """Refuse a folder whose files of runs are elsewhere."""
    runs = folder / RUNS
    if runs.is_symlink() or (runs.exists() and not runs.is_dir()):
        raise ResultError(f"{runs} is not a folder; {folder} was left alone")


def scenario_text(folder: Path, catalogue: Catalogue) -> str:
    """The scenario of a sweep's folder, as it was written."""
    path = folder / SCENARIO
    content = content_of(path, MAX_SCENARIO_BYTES)
    known = (catalogue.about(SCENARIO) or "").split(" ")
    if Checksum.of(content).sha256 not in known:
        raise ResultError(f"{path} is damaged: its SHA-256 is not that of what was written")
    return content.decode()


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """One point of a sweep."""

    number: int
    """In the catalogue."""
    settings: Settings
    """What it sets: dotted keys and TOML values."""
    seeds: Sequence[int]
    """Of the runs that were asked for."""
    store: SweepStore = field(repr=False)

    @property
    def scenario(self) -> Scenario:
        """The scenario at this point."""
        return self.store.scenario(self.settings)

    @property
    def failures(self) -> dict[int, str]:
        """What went wrong, by seed."""
        asked = set(self.seeds)
        found = self.store.catalogue.failures(self.number)
        return {seed: reason for seed, reason in found.items() if seed in asked}

    @property
    def runs(self) -> list[Entry]:
        """The finished runs, by seed."""
        asked = set(self.seeds)
        return [run for run in self.store.catalogue.runs(self.number) if run.seed in asked]

    @property
    def digests(self) -> list[tuple[int, str]]:
        """Seed and digest of each finished run."""
        return [(run.seed, run.digest) for run in self.runs]

    def result(self) -> Result:
        """Read the tables of the finished runs."""
        from tidegate.results.result import Result

        scenario = self.scenario
        found = (self.store.files.read(run.file, run.place) for run in self.runs)
        runs = [with_groups(tables, scenario.groups) for tables in found]
        if not runs:
            raise UsageError(f"no run of {self.label} has finished")
        return Result(scenario=scenario, **concatenate(runs, scenario))

    def summary(self) -> list[Row]:
        """All metrics of all groups and bottlenecks; nothing where no run has finished."""
        runs = self.runs
        measured = [(self.store.files.measured(run.file), run.place) for run in runs]
        if not runs:
            return []
        first, place = measured[0]
        return list(estimated(first.names[place], [one.values[at] for one, at in measured]))

    @property
    def values(self) -> dict[str, object]:
        """The settings as Python values: 3, "5 ms", {"kind": "none"}."""
        return {key: value_of(text) for key, text in self.settings}

    @property
    def label(self) -> str:
        """The settings in one line."""
        return label_of(self.settings)


def label_of(settings: Settings) -> str:
    """What a point sets, in one line."""
    texts = (f"{key} = {words(value_of(text))}" for key, text in settings)
    return ", ".join(texts) or "the only point"


@dataclass(frozen=True, eq=False)
class Sweep:
    """A finished sweep; the runs stay on the disk and are read when asked for."""

    scenario: Scenario
    points: list[Point]
    folder: Path
    until: Until | None = None
    """How well its results were to be known, where that was asked for."""

    @property
    def axes(self) -> list[str]:
        """Keys that are swept."""
        return list(dict.fromkeys(key for point in self.points for key, _ in point.settings))

    @property
    def failed(self) -> list[Point]:
        """Points of which a run failed."""
        if not self.points:
            return []
        numbers = set(self.points[0].store.catalogue.failed_points())
        return [point for point in self.points if point.number in numbers and point.failures]

    @property
    def imprecise(self) -> list[tuple[Point, list[tuple[Target, Row]]]]:
        """Points at which there was an end before something was known well enough, and what."""
        if self.until is None:
            return []
        found = [(point, self.until.lacking(point.summary())) for point in self.points]
        return [(point, lacking) for point, lacking in found if lacking]

    def _repr_html_(self) -> str:
        from tidegate.results.show import html_table
        from tidegate.runs.sweep_grid import sweep_grid

        return html_table(sweep_grid(self))

    def summary(self) -> pa.Table:
        """Means and 95 % half-widths of all points, with a column for each swept key.

        A key's column has numbers where all its values are numbers. Quantities stand there as they
        are written ("5 ms"), and once more as numbers in a column of their own (``…_s``, ``…_bps``,
        ``…_bytes``, ``…_packets``).
        """
        parts = list(self.summary_parts())
        return pa.concat_tables(parts) if parts else pa.table({})

    def summary_parts(self) -> Iterator[pa.Table]:
        """The summary, some points at a time."""
        swept = self._swept()
        for points in _batches(self.points, BATCH):
            found = [(dict(point.settings), point.summary()) for point in points]
            part = as_table(row for _, rows in found for row in rows)
            settings = [one for one, rows in found for _ in rows]
            for position, column in enumerate(swept):
                part = part.add_column(position, column.field, column.at(settings))
            if settings:
                yield part

    def _swept(self) -> list[_Column]:
        """Columns of all swept keys."""
        found = []
        for key in self.axes:
            texts = dict.fromkeys(dict(point.settings).get(key) for point in self.points)
            values = [None if text is None else value_of(text) for text in texts]
            index = {text: number for number, text in enumerate(texts)}
            found += [
                _Column(key, name, index, values) for name, values in columns(key, values).items()
            ]
        return found

    def results(self) -> Iterator[tuple[Point, Result]]:
        """Each point that has finished runs, with its tables, one after the other."""
        for point in self.points:
            if point.runs:
                yield point, point.result()

    def plot(
        self, folder: str | os.PathLike[str] = ".", output: Output | None = None
    ) -> list[Path]:
        """Draw each group's throughput over the swept keys; return the files, PNG by default."""
        from tidegate.figures.sweeps import draw_sweep

        return draw_sweep(self, Path(folder), output)

    def __repr__(self) -> str:
        return f"<Sweep of {self.scenario.name!r}: {len(self.points)} points in {self.folder}>"


@dataclass(frozen=True)
class _Column:
    """A column of a swept key, of which few values are known."""

    key: str
    name: str
    index: dict[str | None, int]
    """Place of each value, by how it is written."""
    values: pa.Array

    @property
    def field(self) -> pa.Field:
        return field_of(self.name, self.values.type)

    def at(self, settings: Sequence[dict[str, str]]) -> pa.Array:
        """The values where these are set."""
        places = [self.index[one.get(self.key)] for one in settings]
        return self.values.take(pa.array(places, pa.int64()))


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Read the folder of a finished sweep."""
    path = Path(folder)
    manifest = read_manifest(path)
    if manifest.get("kind") != "sweep":
        raise ResultError(f"{path} is not the folder of a sweep")
    try:
        check_runs(path)
        catalogue = Catalogue(path / CATALOGUE, writable=False)
        text = scenario_text(path, catalogue)
        store = SweepStore(RunFiles(path / RUNS), catalogue, Reader(*text_of(text)))
        return Sweep(store.read(()), stored_points(store), path)
    except (OSError, ValueError, sqlite3.Error, ScenarioError) as error:
        raise ResultError(f"{path} is damaged: {error}") from error


def stored_points(store: SweepStore) -> list[Point]:
    """All points of a folder with all that it has of them."""
    seeds = store.catalogue.seeds()
    return [
        Point(number, settings, tuple(seeds.get(number, ())), store)
        for number, settings in store.catalogue.points()
    ]


def _batches(points: Sequence[Point], size: int) -> Iterator[Sequence[Point]]:
    return (points[start : start + size] for start in range(0, len(points), size))
