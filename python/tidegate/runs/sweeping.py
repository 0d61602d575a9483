"""Sweeping: a scenario at many points, each with its replications, resumable.

Every run ends in a file, under a key that is made of the content of what was run, so that an
interrupted sweep goes on where it stopped, and one with more replications only does the new ones.
A folder only grows: with fewer replications, what it had stays in it and in its summary.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ClusterError, ResultError, ScenarioError, UsageError
from tidegate.results.manifests import MANIFEST, known_manifest
from tidegate.results.places import check_writable
from tidegate.runs.catalogue import CATALOGUE, Catalogue
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.runs.simulation import seeds_of
from tidegate.runs.sweep_work import Planned, Work, check_number
from tidegate.runs.sweeps import RUNS, Sweep, SweepStore, check_runs, label_of
from tidegate.scenarios.reading import (
    VARIANT,
    Reader,
    build_id,
    content_hash,
    content_text,
    overrides_of,
    parse,
    text_of,
    toml_value,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tidegate._native import Scenario
    from tidegate.runs.catalogue import Settings
    from tidegate.runs.estimate import Estimate
    from tidegate.runs.execution import Executor
    from tidegate.runs.simulation import Showing
    from tidegate.scenarios.reading import Settings as Changes
    from tidegate.scenarios.reading import Source


def sweep(
    scenario: Source,
    *,
    set: Changes | None = None,  # noqa: A002 - the same word as on the command line
    add: Changes | None = None,
    mechanisms: Sequence[str] = (),
    only: Sequence[str] = (),
    seed: int | None = None,
    replications: int | None = None,
    until: str | Sequence[str] | None = None,
    at_most: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Sweep:
    """Simulate every point of a scenario's ``[sweep]``.

    Parameters
    ----------
    scenario, set, add, seed, replications, until, at_most, jobs, progress, executor
        As in `tidegate.simulate`; with `until` each point gets as many replications as it needs.
    mechanisms, only
        As in `tidegate.compare`: every point is run with each of these mechanisms as well, and of
        the variants only some.
    out
        Folder of the runs; default: ``results/<name>-<hash>``.
    resume
        Skip runs that are already there; they are recognised by their content.

    """
    return sweep_points(
        scenario, overrides_of(set, add), mechanisms=mechanisms, only=only, seed=seed,
        replications=replications, until=until, at_most=at_most, jobs=jobs, out=out, resume=resume,
        progress=progress, executor=executor,
    )  # fmt: skip


def sweep_points(
    scenario: Source,
    overrides: Sequence[tuple[str, str]],
    *,
    mechanisms: Sequence[str] = (),
    only: Sequence[str] = (),
    seed: int | None = None,
    replications: int | None = None,
    until: str | Sequence[str] | None = None,
    at_most: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: Showing = False,
    executor: Executor | None = None,
) -> Sweep:
    """Like `sweep`, with overrides in TOML."""
    from tidegate.runs.precision import until_of

    reader = Reader(*text_of(scenario))
    base = reader(overrides)
    enough = until_of(until, replications, base.replications, at_most)
    _check_axes(base)
    settings = _settings(base, mechanisms, only)
    plan = _planned(
        reader, tuple(overrides), settings, seed, enough.first if enough else replications
    )
    folder = Path(out) if out else _default_folder(base, settings)
    started = time.monotonic()
    _check_place(folder, base, plan)
    with shown(progress) as tell:
        try:
            work = Work(folder, base, plan, SweepStore.of(folder, reader, tuple(overrides)))
            work.run(executor or Threads(jobs), enough, tell, resume=resume)
            work.finish(time.monotonic() - started, enough)
        except (ResultError, ClusterError) as error:
            raise type(error)(
                f"{error}; the finished runs are kept, and the same sweep goes on from there"
            ) from error
    return Sweep(base, work.points, folder, enough)


def expected(
    scenario: Source,
    overrides: Sequence[tuple[str, str]],
    *,
    mechanisms: Sequence[str] = (),
    only: Sequence[str] = (),
    replications: int | None = None,
    jobs: int | None = None,
) -> Estimate:
    """Estimate how long all points take, without runs that the folder may have already."""
    from tidegate.runs.estimate import estimate

    reader = Reader(*text_of(scenario))
    base = reader(overrides)
    settings = _settings(base, mechanisms, only)
    points = [reader.point([*overrides, *values]) for values in settings]
    runs = [(point, len(seeds_of(point, None, replications))) for point in points]
    return estimate(runs, Threads(jobs).jobs)


def _check_axes(base: Scenario) -> None:
    """Refuse a variant that sets what is swept, whose points would all be the same."""
    from tidegate.scenarios.variants import settled_by_variants

    for key, _ in (base.points() or [[]])[0]:
        for name in settled_by_variants(base, key):
            raise UsageError(f"variant {name} sets {key}, which is swept; drop one of them")


def _settings(base: Scenario, mechanisms: Sequence[str], only: Sequence[str]) -> list[Settings]:
    """Settings of all points: each variant at each of the swept values."""
    from tidegate.scenarios.variants import names_of_points

    names = names_of_points(base, mechanisms=mechanisms, only=only)
    variants: list[Settings] = [((VARIANT, toml_value(name)),) for name in names]
    return [(*named, *point) for named in variants or [()] for point in base.points() or [[]]]


def check_drawable(
    scenario: Source, overrides: Sequence[tuple[str, str]], varied: bool = False
) -> None:
    """Refuse to draw what has no axis to draw over, before it is run."""
    if not varied and len(parse(scenario, overrides).points()) < 2:
        raise UsageError("a sweep of one point has no axis to draw over; run it without --plot")


def _planned(
    reader: Reader,
    overrides: Settings,
    settings: Sequence[Settings],
    seed: int | None,
    replications: int | None,
) -> list[Planned]:
    """Check all points before anything runs."""
    points, refused = [], {}
    for values in settings:
        try:
            parsed = reader.point([*overrides, *values])
            parsed.check_simulator()
        except ScenarioError as error:
            refused.update({issue.text: error for issue in error.issues})
        else:
            content = hashlib.sha256(content_text(parsed).encode()).hexdigest()
            points.append(Planned(values, content, seeds_of(parsed, seed, replications)))
    if refused:
        every = {
            issue.text: (issue.line, issue.column, issue.key, issue.message, issue.suggestion,
                         issue.text)
            for error in refused.values() for issue in error.issues
        }  # fmt: skip
        raise ScenarioError(list(every.values()), next(iter(refused.values())).source)
    check_number(sum(len(point.seeds) for point in points))
    return points


def _default_folder(base: Scenario, settings: object) -> Path:
    """Independent of the number of replications, so that more of them build on the first ones.

    Another build of the engine repeats all runs, and gets a folder of its own for them.
    """
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in base.name)
    return Path("results") / f"{safe}-{content_hash(base, settings, build_id())[:8]}"


def _check_place(folder: Path, base: Scenario, plan: Sequence[Planned]) -> None:
    """Refuse a folder that is none of this sweep's, or would lose something."""
    check_writable(folder)
    manifest = known_manifest(folder)
    if manifest is None and (folder / MANIFEST).exists() and not (folder / RUNS).is_dir():
        raise ResultError(f"{folder} is not the folder of a sweep; it was left alone")
    if manifest is not None and manifest["kind"] != "sweep":
        raise ResultError(f"{folder} has a result, not a sweep; it was left alone")
    remedy = "it was left alone. Name another folder, or remove it"
    if manifest is not None and "points" in manifest:
        raise ResultError(f"{folder} has a sweep of an older tidegate; {remedy}")
    check_runs(folder)
    if not (folder / CATALOGUE).exists():
        return
    catalogue = Catalogue(folder / CATALOGUE, writable=True)
    numbers = {settings: number for number, settings in catalogue.points()}
    other = catalogue.about("scenario_hash") not in {None, content_hash(base)}
    if other or not numbers.keys() <= {point.settings for point in plan}:
        raise ResultError(f"{folder} has another sweep; {remedy}")
    for point in plan:
        keys = catalogue.keys(numbers[point.settings]) if point.settings in numbers else {}
        stale = {seed for seed, key in keys.items() if key != point.key(seed)}
        if not stale <= set(point.seeds):
            raise ResultError(
                f"{folder} has {len(stale)} runs of {label_of(point.settings)} by another build of "
                "tidegate; it was left alone. Ask for as many, name another folder, or remove it"
            )
