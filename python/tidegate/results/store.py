"""Result folders: a manifest, the resolved scenario, one Parquet file per table.

A folder appears complete under its name or not at all: it is written beside its place and renamed.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from tidegate import _native
from tidegate._native import Scenario
from tidegate.errors import ResultError, TidegateError
from tidegate.results.places import (
    MANIFEST,
    SCENARIO,
    VARIANT,
    check_place,
    planned_runs,
    same_result,
    to_keep,
    unused,
)
from tidegate.scenarios.reading import build_id, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.results.places import Run
    from tidegate.results.result import Comparison, Result

SCHEMA_VERSION = 1


def default_folder(results: Mapping[str, Result]) -> Path:
    """`results/<name>-<hash>`: the same for the same content, seeds and variants.

    Runs on real Linux are never the same twice, so that each time they get a folder of their own.
    """
    first = next(iter(results.values()))
    # What a lab was run with stands in its table, a simulation has nothing to add.
    lab = [] if first.lab is None else [first.lab[name][0].as_py() for name in ("ip", "generator")]
    digest = content_hash(
        first.scenario, list(results), [r.hash for r in results.values()],
        first.run["seed"].to_pylist(), *lab,
    )  # fmt: skip
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in first.scenario.name)
    folder = Path("results") / f"{safe}-{'lab-' if lab else ''}{digest[:8]}"
    return unused(folder) if lab else folder


def save(results: Mapping[str, Result], folder: Path) -> Path:
    """Write results; replaces an older result unless it holds more, and nothing else."""
    folder = folder.absolute() if folder.name in ("", "..") else folder
    building = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        building.mkdir(parents=True)
        _write(results, building)
        if not same_result(building, folder):
            check_place(folder, _runs_of(results))
        _replace(building, folder)
    except OSError as error:
        raise ResultError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def load(folder: str | os.PathLike[str]) -> Result | Comparison:
    """Read a result folder: a `Result`, or a `Comparison` where it holds variants."""
    from tidegate.results.result import Comparison

    path = Path(folder)
    manifest = read_manifest(path)
    if manifest.get("kind") == "sweep":
        raise ResultError(f"{path} is the folder of a sweep; tidegate.load_sweep reads it")
    if "variants" not in manifest:
        return _read_result(path, manifest)
    named = {entry["name"]: path / entry["folder"] for entry in manifest["variants"]}
    return Comparison({name: _read_result(at, read_manifest(at)) for name, at in named.items()})


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check a folder's manifest."""
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its manifest is damaged"
        raise ResultError(f"{folder} is no result folder: {MANIFEST}: {reason}") from None
    if not isinstance(manifest, dict):
        raise ResultError(f"{folder} is no result folder: its manifest is damaged")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise ResultError(
            f"{folder} has schema version {manifest.get('schema_version')}; "
            f"this tidegate reads version {SCHEMA_VERSION}"
        )
    known: dict[str, Any] = manifest
    return known


def manifest_of(scenario: Scenario, **more: object) -> dict[str, object]:
    """Everything that is needed to repeat it exactly."""
    return {
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.name,
        "scenario_hash": content_hash(scenario),
        "engine_version": _native.version(),
        "engine_build": build_id(),
        "git_revision": git_revision(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        **more,
    }


def write_json(path: Path, content: object) -> None:
    """Write and force to the disk."""
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def write_parquet(table: Any, path: Path) -> None:  # noqa: ANN401 - pyarrow has no types
    """Write a table and force it to the disk."""
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())


def replace_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside its place, then rename it there."""
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(building)
        building.rename(path)
    except OSError as error:
        with suppress(OSError):
            building.unlink()
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


def hand_over(place: Path) -> None:
    """Under sudo, give what was written to who called it, or the next run without could not write.

    A folder above that was made on the way, such as ``results``, goes along.
    """
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if os.geteuid() != 0 or not user.isdigit() or not group.isdigit():
        return
    above = place.absolute().parent
    made = above.stat().st_uid == 0 and above.parent.stat().st_uid == int(user)
    for path in [place, *place.rglob("*"), *([above] if made else [])]:
        os.chown(path, int(user), int(group), follow_symlinks=False)


def git_revision() -> str | None:
    """Revision of the checkout that this package runs from, None for an installed one."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return None
    return done.stdout.strip() or None


def _runs_of(results: Mapping[str, Result]) -> list[Run]:
    kind = next(iter(results.values())).kind
    scenarios = {name: result.scenario for name, result in results.items()}
    seeds = {name: result.run["seed"].to_pylist() for name, result in results.items()}
    return planned_runs(scenarios, seeds, kind)


def _write(results: Mapping[str, Result], folder: Path) -> None:
    if list(results) == [""]:
        _write_result(results[""], folder)
        return
    entries = []
    for number, (name, result) in enumerate(results.items()):
        # Numbered, because a variant's name may hold anything, and their order matters.
        place = folder / f"{VARIANT}{number}"
        place.mkdir()
        _write_result(result, place)
        entries.append({"name": name, "folder": place.name})
    first = next(iter(results.values()))
    manifest = manifest_of(first.scenario, kind="comparison", variants=entries)
    write_json(folder / MANIFEST, manifest)


def _write_result(result: Result, folder: Path) -> None:
    for name, content in result.tables.items():
        write_parquet(content, folder / f"{name}.parquet")
    (folder / SCENARIO).write_text(result.scenario.to_toml(), encoding="utf-8")
    runs = [{"seed": seed, "digest": digest} for seed, digest in result.digests]
    wall = {"wall_s": round(result.wall_s, 3)} if result.wall_s == result.wall_s else {}
    manifest = manifest_of(result.scenario, kind=result.kind, runs=runs, **wall)
    write_json(folder / MANIFEST, manifest)


def _read_result(folder: Path, manifest: dict[str, Any]) -> Result:
    from tidegate.results.result import Result
    from tidegate.results.tables import DERIVED_TABLES, ENGINE_TABLES, INTERVAL_TABLES

    try:
        scenario = Scenario.parse((folder / SCENARIO).read_text(encoding="utf-8"))
        kind = manifest.get("kind", "simulation")
        names = [*ENGINE_TABLES, *DERIVED_TABLES, *(["lab"] if kind == "lab" else [])]
        names += [name for name in INTERVAL_TABLES if (folder / f"{name}.parquet").is_file()]
        tables = {name: pq.read_table(folder / f"{name}.parquet") for name in names}
    except TidegateError as error:
        raise ResultError(f"{folder / SCENARIO} cannot be read: {error}") from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{folder} is damaged: {error}") from error
    wall_s = manifest.get("wall_s", float("nan"))
    return Result(scenario=scenario, wall_s=wall_s, kind=kind, **tables)


def _replace(building: Path, folder: Path) -> None:
    """Put the new folder in place; what is not ours in the old one stays."""
    if folder.exists():
        keep = to_keep(folder, building)
        old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
        folder.rename(old)
        building.rename(folder)
        for path in keep:
            (old / path.name).rename(folder / path.name)
        shutil.rmtree(old, ignore_errors=True)
    else:
        building.rename(folder)
