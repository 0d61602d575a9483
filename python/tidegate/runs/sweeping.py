"""Sweeps: a scenario at many points, each with its replications, resumable.

Every run ends in a file of its own that is named after the content of what was run, so that an
interrupted sweep goes on where it stopped, and one with more replications only does the new ones.
A folder only grows: with fewer replications, what it had stays in it and in its summary.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from tidegate.errors import ResultError, ScenarioError, UsageError
from tidegate.results.columns import field_of
from tidegate.results.places import MANIFEST, SCENARIO, check_writable, known_manifest
from tidegate.results.tables import concatenate
from tidegate.runs.execution import MAX_RUNS, Threads
from tidegate.runs.progress import shown
from tidegate.runs.run_files import RunFiles
from tidegate.runs.simulation import run_once, seeds_of
from tidegate.runs.swept_values import columns, value_of, words
from tidegate.scenarios.reading import build_id, content_hash, overrides_of, parse

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tidegate._native import Scenario
    from tidegate.results.result import Result
    from tidegate.runs.execution import Executor
    from tidegate.runs.simulation import Showing
    from tidegate.scenarios.reading import Settings, Source


@dataclass(frozen=True)
class Point:
    """One point of a sweep."""

    settings: tuple[tuple[str, str], ...]
    """What it sets: dotted keys and TOML values."""
    scenario: Scenario
    seeds: Sequence[int]
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
        from tidegate.results.result import Result

        runs = [self.files.read(self.key(seed)) for seed in self._finished()]
        if not runs:
            raise UsageError(f"no run of {self.label} has finished")
        return Result(scenario=self.scenario, **concatenate(runs, self.scenario))

    @property
    def values(self) -> dict[str, object]:
        """The settings as Python values: 3, "5 ms", {"kind": "none"}."""
        return {key: value_of(text) for key, text in self.settings}

    @property
    def label(self) -> str:
        """The settings in one line."""
        told = (f"{key} = {words(value)}" for key, value in self.values.items())
        return ", ".join(told) or "the only point"

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
        """Means and 95 % half-widths of all points, with a column for each swept key.

        A key's column has numbers where all its values are numbers. Quantities stand there as they
        are written ("5 ms"), and once more as numbers in a column of their own (``…_s``, ``…_bps``,
        ``…_bytes``, ``…_packets``).
        """
        parts = [(point.values, result.summary()) for point, result in self.results()]
        if not parts:
            return pa.table({})
        found = pa.concat_tables([part for _, part in parts])
        rows = [values for values, part in parts for _ in range(part.num_rows)]
        swept = [
            column
            for key in self.axes
            for column in columns(key, [values.get(key) for values in rows]).items()
        ]
        for position, (name, column) in enumerate(swept):
            found = found.add_column(position, field_of(name, column.type), column)
        return found

    def results(self) -> Iterator[tuple[Point, Result]]:
        """Each point that has finished runs, with its tables, one after the other."""
        for point in self.points:
            if len(point.failures) < len(point.seeds):
                yield point, point.result()

    def plot(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Draw each group's throughput over the swept keys; return the PNG files."""
        from tidegate.figures.sweeps import draw_sweep

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
    kept = _kept_in(plan)
    whole = Sweep(base, [_with(kept, point) for point in plan.points], folder)
    started = time.monotonic()
    tasks = [(point, s) for point in whole.points for s in point.seeds]
    files.prepare()
    again = {point.key(s) for point in plan.points for s in point.seeds if not resume}
    todo = [
        (point, s) for point, s in tasks
        if point.key(s) in again or not files.has(point.key(s), s)
    ]  # fmt: skip

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
    _finish(whole, time.monotonic() - started)
    _forget_superseded(kept, whole)
    return _as_asked(whole, plan)


def check_drawable(scenario: Source, overrides: Sequence[tuple[str, str]]) -> None:
    """Refuse to draw what has no axis to draw over, before it is run."""
    if len(parse(scenario, overrides).points()) < 2:
        raise UsageError("a sweep of one point has no axis to draw over; run it without --plot")


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Read the folder of a finished sweep."""
    from tidegate.results.store import read_manifest

    path = Path(folder)
    manifest = read_manifest(path)
    if manifest.get("kind") != "sweep":
        raise ResultError(f"{path} is not the folder of a sweep")
    try:
        text = (path / SCENARIO).read_text(encoding="utf-8")
        return Sweep(parse(text), _read_points(manifest, text, RunFiles(path / "runs")), path)
    except (OSError, ValueError, KeyError) as error:
        raise ResultError(f"{path} is damaged: {error}") from error


def _read_points(manifest: dict[str, Any], text: str, files: RunFiles) -> list[Point]:
    points: list[Point] = []
    for entry in manifest["points"]:
        settings = tuple(entry["settings"].items())
        keys = {int(s): key for s, key in entry["runs"].items()}
        failures = {int(s): reason for s, reason in entry["failures"].items()}
        seeds = tuple(sorted({*keys, *failures}))
        points.append(_KeptPoint(settings, parse(text, settings), seeds, files, failures, keys))
    return points


@dataclass(frozen=True)
class _KeptPoint(Point):
    """A point of a sweep that another build may have run: its files keep their names."""

    keys: dict[int, str] = field(default_factory=dict)

    def key(self, seed: int) -> str:
        return self.keys[seed]


Kept: TypeAlias = "dict[tuple[tuple[str, str], ...], dict[int, str]]"
"""By a point's settings the names of the runs that a folder has of it, by seed."""


def _kept_in(plan: Sweep) -> Kept:
    """What an earlier sweep has left in the folder; refuses a folder that would lose something."""
    folder = plan.folder
    check_writable(folder)
    manifest = known_manifest(folder)
    if manifest is None:
        if (folder / MANIFEST).exists() and not (folder / "runs").is_dir():
            raise ResultError(f"{folder} is not the folder of a sweep; it was left alone")
        return {}
    if manifest["kind"] != "sweep":
        raise ResultError(f"{folder} has a result, not a sweep; it was left alone")
    kept = {
        tuple(entry["settings"].items()): {
            int(s): key for s, key in entry["runs"].items() if s not in entry["failures"]
        }
        for entry in manifest["points"]
    }
    same = manifest["scenario_hash"] == content_hash(plan.scenario)
    if not same or not kept.keys() <= {point.settings for point in plan.points}:
        raise ResultError(
            f"{folder} has another sweep; it was left alone. Name another folder, or remove it"
        )
    for point in plan.points:
        stale = [s for s, key in kept.get(point.settings, {}).items() if key != point.key(s)]
        if not set(stale) <= set(point.seeds):
            raise ResultError(
                f"{folder} has {len(stale)} runs of {point.label} by another build of tidegate; it "
                "was left alone. Ask for as many, name another folder, or remove it"
            )
    return kept


def _with(kept: Kept, point: Point) -> Point:
    """The point with all runs that the folder has or shall have of it."""
    there = kept.get(point.settings, {})
    ours = {seed for seed, key in there.items() if key == point.key(seed)}
    return replace(point, seeds=tuple(sorted({*point.seeds, *ours})), failures={})


def _as_asked(whole: Sweep, plan: Sweep) -> Sweep:
    """The runs that were asked for, of all that the folder has."""
    points = []
    for done, asked in zip(whole.points, plan.points, strict=True):
        failures = {s: why for s, why in done.failures.items() if s in asked.seeds}
        points.append(replace(asked, failures=failures))
    return replace(plan, points=points)


def _forget_superseded(kept: Kept, whole: Sweep) -> None:
    """Remove runs of another build that were done anew: nothing names them any more."""
    wanted = {point.key(seed) for point in whole.points for seed in point.seeds}
    for runs in kept.values():
        for key in set(runs.values()) - wanted:
            whole.points[0].files.path(key).unlink(missing_ok=True)


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
    """Independent of the number of replications, so that more of them build on the first ones.

    Another build of the engine has to do all runs anew, and gets a folder of its own for them.
    """
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in base.name)
    return Path("results") / f"{safe}-{content_hash(base, settings, build_id())[:8]}"


def _finish(plan: Sweep, wall_s: float) -> None:
    """Write what belongs to the sweep as a whole; the manifest last, as a sign that it is done."""
    from tidegate.results.store import manifest_of, replace_with, write_json, write_parquet

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
