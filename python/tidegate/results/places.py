"""What a result folder holds, and whether another result may take its place.

Nothing is replaced by less: a result gives way to one with at least the same runs or to one of
another scenario, runs on real Linux and sweeps to none, and what is not ours stays.
"""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegate.errors import ResultError
from tidegate.results.manifests import MANIFEST, SCENARIO, is_variant, known_manifest
from tidegate.scenarios.reading import content_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tidegate._native import Scenario
    from tidegate.results.manifests import Manifest

FIGURES = tuple(
    f"{stem}.{ending}"
    for stem in ("who-got-what", "delay", "group-*", "queue-*", "completions-*", "plot-*")
    for ending in ("png", "svg", "pdf")
)
"""Drawn of a result."""
REPORT = "report.html"
MAX_NAME_BYTES = 220
"""Of a folder's name: 255 is what systems have, and while it is built it has a longer one."""


class Run(NamedTuple):
    """What tells a run from others."""

    kind: str
    """``simulation`` or ``lab``."""
    scenario_hash: str
    seed: int


def planned_runs(
    scenarios: Mapping[str, Scenario], seeds: Mapping[str, Iterable[int]], kind: str
) -> list[Run]:
    """All runs of these variants."""
    hashes = {name: content_hash(scenario) for name, scenario in scenarios.items()}
    return [Run(kind, hashes[name], seed) for name, every in seeds.items() for seed in every]


def check_place(folder: Path, planned: Collection[Run]) -> None:
    """Refuse a folder that cannot be written or must not be replaced by what is planned.

    Asked before anything runs: hours later would be too late.
    """
    check_writable(folder)
    if not folder.exists() or not any(folder.iterdir()):
        return
    manifest = known_manifest(folder)
    if manifest is None:
        raise ResultError(f"{folder} is not empty and not a result folder; it was left alone")
    if manifest["kind"] == "sweep":
        raise ResultError(f"{folder} is the folder of a sweep; it was left alone")
    remedy = "it was left alone; name another folder, or remove it"
    singles = _singles(folder, manifest)
    if singles is None:
        raise ResultError(f"{folder} has a variant whose {MANIFEST} is damaged; {remedy}")
    held = {run for _, single in singles for run in _runs(single)}
    if any(run.kind == "lab" for run in held):
        raise ResultError(f"{folder} has runs on real Linux, which cannot be repeated; {remedy}")
    if held > set(planned):
        raise ResultError(
            f"{folder} has {len(held)} runs, of which this has {len(set(planned))}; {remedy}"
        )


def check_writable(folder: Path) -> None:
    """Refuse a folder that is none, or that nothing can be written to or made in."""
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    except OSError as error:
        raise ResultError(f"cannot write {folder}: {error.strerror}") from error
    if len(os.fsencode(folder.name)) > MAX_NAME_BYTES:
        raise ResultError(f"cannot write {folder}: its name has more than {MAX_NAME_BYTES} bytes")
    if not there.is_dir():
        raise ResultError(f"cannot write {folder}: {there} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ResultError(f"cannot write {folder}: {there} cannot be written to")


def unused(folder: Path) -> Path:
    """The folder, or the first of ``<folder>-2``, ``-3``, … that is not there."""
    others = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in chain([folder], others) if not path.exists())


def same_result(a: Path, b: Path) -> bool:
    """Whether two folders hold the same runs of the same scenarios, with the same outcome."""
    first, second = _identity(a), _identity(b)
    return first is not None and first == second


def to_keep(old: Path, new: Path) -> list[Path]:
    """What of an old folder goes over into the new one: what others put there.

    Figures go along if they still show what the folder holds.
    """
    same, content = same_result(old, new), _content_names(old)
    return [
        path
        for path in old.iterdir()
        if not (new / path.name).exists()
        and path.name not in content
        and not (path.is_dir() and is_variant(path.name))
        and (same or not any(path.match(pattern) for pattern in (*FIGURES, REPORT)))
    ]


def _content_names(old: Path) -> set[str]:
    """Files that a result writes."""
    from tidegate.results.columns import TABLES

    listed = (known_manifest(old) or {}).get("files", {})
    return {MANIFEST, SCENARIO, *(f"{table.name}.parquet" for table in TABLES), *listed}


def _identity(folder: Path) -> list[tuple[str, dict[str, Any]]] | None:
    manifest = known_manifest(folder)
    if manifest is None or manifest["kind"] == "sweep":
        return None
    singles = _singles(folder, manifest)
    return singles and [
        # Runs on real Linux have no digests; that two of them took the same time does not happen.
        (name, {key: single.get(key) for key in ("kind", "scenario_hash", "runs", *_time(single))})
        for name, single in singles
    ]


def _time(manifest: Manifest) -> tuple[str, ...]:
    return ("wall_s",) if manifest["kind"] == "lab" else ()


def _singles(folder: Path, manifest: Manifest) -> list[tuple[str, Manifest]] | None:
    """The manifest, or those of all variants, each with the variant's name; None if one is not."""
    if "variants" not in manifest:
        return [("", manifest)]
    found = [(one["name"], known_manifest(folder / one["folder"])) for one in manifest["variants"]]
    singles = [(name, single) for name, single in found if single is not None]
    return singles if len(singles) == len(found) else None


def _runs(manifest: Manifest) -> list[Run]:
    about = manifest["kind"], manifest.get("scenario_hash", "")
    return [Run(*about, run["seed"]) for run in manifest.get("runs", [])]
