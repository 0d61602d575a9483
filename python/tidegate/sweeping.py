"""Sweeps: a scenario at many points, each with its replications, resumable.

Every run ends in a file of its own that is named after the content of what was run, so that an
interrupted sweep goes on where it stopped, and one with more replications only does the new ones.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tidegate.errors import ScenarioError, UsageError
from tidegate.execution import MAX_RUNS, Threads
from tidegate.progress import shown
from tidegate.run_files import RunFiles
from tidegate.scenario import build_id, content_hash, overrides_of, parse
from tidegate.simulation import run_once, seeds_of
from tidegate.tables import concatenate

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from tidegate._native import Scenario
    from tidegate.execution import Executor
    from tidegate.result import Result
    from tidegate.scenario import Settings, Source
    from tidegate.simulation import Showing


@dataclass(frozen=True)
class Point:
    """One point of a sweep."""

    settings: tuple[tuple[str, str], ...]
    """What it sets: dotted keys and TOML values."""
    scenario: Scenario
    seeds: range
    files: RunFiles
    failures: dict[int, str] = field(default_factory=dict)
    """What went wrong, by seed."""

    def key(self, seed: int) -> str:
        """Name of a run's file: hash of the scenario's content, the seed and the engine."""
        return content_hash(self.scenario, seed, build_id())[:32]

    @property
    def digests(self) -> list[tuple[int, str]]:
        """Seed and digest of each finished run."""
        runs = (self.files.read(self.key(seed), ["run"])["run"] for seed in self._finished())
        return [(run["seed"][0].as_py(), run["digest"][0].as_py()) for run in runs]

    def result(self) -> Result:
        """Read the tables of the finished runs."""
        from tidegate.result import Result

        runs = [self.files.read(self.key(seed)) for seed in self._finished()]
        if not runs:
            raise UsageError(f"no run of {self.label} has finished")
        return Result(scenario=self.scenario, **concatenate(runs, self.scenario))

    @property
    def label(self) -> str:
        """The settings in one line."""
        return ", ".join(f"{key} = {value}" for key, value in self.settings) or "the only point"

    def _finished(self) -> list[int]:
        return [seed for seed in self.seeds if seed not in self.failures]


@dataclass(frozen=True)
class Sweep:
    """A finished sweep; the runs stay on the disk and are read when asked for."""

    scenario: Scenario
    points: list[Point]
    folder: Path

    @property
    def axes(self) -> list[str]:
        """Keys that are swept."""
        return list(dict.fromkeys(key for point in self.points for key, _ in point.settings))

    @property
    def failed(self) -> list[Point]:
        """Points of which a run failed."""
        return [point for point in self.points if point.failures]

    def summary(self) -> pa.Table:
        """Means and 95 % half-widths of all points, with a column for each swept key."""
        parts = []
        for point, result in self.results():
            part = result.summary()
            values = dict(point.settings)
            for position, key in enumerate(self.axes):
                column = pa.array([values.get(key, "")] * part.num_rows, pa.string())
                part = part.add_column(position, key, column)
            parts.append(part)
        return pa.concat_tables(parts) if parts else pa.table({})

    def results(self) -> Iterator[tuple[Point, Result]]:
        """Each point that has finished runs, with its tables, one after the other."""
        for point in self.points:
            if len(point.failures) < len(point.seeds):
                yield point, point.result()

    def plot(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Draw each group's throughput over the swept keys; return the PNG files."""
        from tidegate.sweep_plots import draw_sweep

        return draw_sweep(self, Path(folder))

    def __repr__(self) -> str:
        return f"<Sweep of {self.scenario.name!r}: {len(self.points)} points in {self.folder}>"


def sweep(
    scenario: Source,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Sweep:
    """Simulate every point of a scenario's ``[sweep]``.

    Parameters
    ----------
    scenario, set, add, seed, replications, jobs, progress, executor
        As in `tidegate.simulate`.
    out
        Folder of the runs; default: ``results/<name>-<hash>``.
    resume
        Skip runs that are already there; they are recognised by their content.

    """
    return sweep_points(
        scenario, overrides_of(set, add), seed=seed, replications=replications, jobs=jobs, out=out,
        resume=resume, progress=progress, executor=executor,
    )  # fmt: skip


def sweep_points(
    scenario: Source,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Sweep:
    """Like `sweep`, with overrides in TOML."""
    base = parse(scenario, overrides)
    settings = base.points() or [[]]
    folder = Path(out) if out else _default_folder(base, settings)
    files = RunFiles(folder / "runs")
    plan = Sweep(base, _points(scenario, overrides, settings, files, seed, replications), folder)
    runs = sum(len(point.seeds) for point in plan.points)
    if runs > MAX_RUNS:
        raise UsageError(f"{runs} runs are more than {MAX_RUNS}; take fewer replications")
    started = time.monotonic()
    tasks = [(point, s) for point in plan.points for s in point.seeds]
    todo = [task for task in tasks if not (resume and files.has(task[0].key(task[1])))]
    files.prepare()

    def run(task: tuple[Point, int]) -> None:
        point, run_seed = task
        files.write(point.key(run_seed), run_once(point.scenario, run_seed))

    with shown(progress) as tell:
        done = len(tasks) - len(todo)
        tell(done, len(tasks))
        for (point, run_seed), outcome in (executor or Threads(jobs)).work(todo, run):
            if isinstance(outcome, Exception):
                point.failures[run_seed] = str(outcome)
            done += 1
            tell(done, len(tasks))
    _finish(plan, time.monotonic() - started)
    return plan


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Read the folder of a finished sweep."""
    from tidegate.errors import ResultError
    from tidegate.store import SCENARIO, read_manifest

    path = Path(folder)
    manifest = read_manifest(path)
    if manifest.get("kind") != "sweep":
        raise ResultError(f"{path} is not the folder of a sweep")
    text = (path / SCENARIO).read_text(encoding="utf-8")
    files = RunFiles(path / "runs")
    points = []
    for entry in manifest["points"]:
        settings = tuple(entry["settings"].items())
        keys = {int(s): key for s, key in entry["runs"].items()}
        failures = {int(s): reason for s, reason in entry["failures"].items()}
        points.append(_KeptPoint(settings, parse(text, settings), _range(keys, failures), files,
                                 failures, keys))  # fmt: skip
    return Sweep(parse(text), list(points), path)


@dataclass(frozen=True)
class _KeptPoint(Point):
    """A point of a sweep that another build may have run: its files keep their names."""

    keys: dict[int, str] = field(default_factory=dict)

    def key(self, seed: int) -> str:
        return self.keys[seed]


def _points(
    scenario: Source,
    overrides: Sequence[tuple[str, str]],
    settings: Sequence[Sequence[tuple[str, str]]],
    files: RunFiles,
    seed: int | None,
    replications: int | None,
) -> list[Point]:
    """Check all points before anything runs."""
    points, refused = [], {}
    for values in settings:
        try:
            parsed = parse(scenario, [*overrides, *values])
            parsed.check_simulator()
        except ScenarioError as error:
            refused.update({issue.text: error for issue in error.issues})
        else:
            seeds = seeds_of(parsed, seed, replications)
            points.append(Point(tuple(values), parsed, seeds, files))
    if refused:
        every = {
            issue.text: (issue.line, issue.column, issue.key, issue.message, issue.suggestion,
                         issue.text)
            for error in refused.values() for issue in error.issues
        }  # fmt: skip
        raise ScenarioError(list(every.values()), next(iter(refused.values())).source)
    return points


def _default_folder(base: Scenario, settings: object) -> Path:
    """Independent of the number of replications, so that more of them build on the first ones."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in base.name)
    return Path("results") / f"{safe}-{content_hash(base, settings)[:8]}"


def _finish(plan: Sweep, wall_s: float) -> None:
    """Write what belongs to the sweep as a whole; the manifest last, as a sign that it is done."""
    from tidegate.store import (
        MANIFEST,
        SCENARIO,
        manifest_of,
        replace_with,
        write_json,
        write_parquet,
    )

    replace_with(
        plan.folder / SCENARIO,
        lambda path: path.write_text(plan.scenario.to_toml(), encoding="utf-8"),
    )
    replace_with(plan.folder / "summary.parquet", lambda path: write_parquet(plan.summary(), path))
    points = [
        {
            "settings": dict(point.settings),
            "runs": {str(seed): point.key(seed) for seed in point.seeds},
            "failures": {str(seed): reason for seed, reason in point.failures.items()},
        }
        for point in plan.points
    ]
    manifest = manifest_of(plan.scenario, kind="sweep", points=points, wall_s=round(wall_s, 3))
    replace_with(plan.folder / MANIFEST, lambda path: write_json(path, manifest))


def _range(keys: dict[int, str], failures: dict[int, str]) -> range:
    seeds = sorted({*keys, *failures})
    return range(seeds[0], seeds[-1] + 1) if seeds else range(0)


def point_values(point: Point) -> dict[str, object]:
    """The settings as plain values: 3 rather than the text "3"."""
    import tomllib

    values: dict[str, object] = {}
    for key, text in point.settings:
        try:
            values[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[key] = text
    return json.loads(json.dumps(values, default=str))  # type: ignore[no-any-return]
