"""Result folders: a manifest, the resolved scenario, one Parquet file per table.

A folder appears complete under its name or not at all, and what is read of it is what was written:
the manifest has the SHA-256 of every file.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from tidegate._native import Scenario
from tidegate.errors import ResultError, TidegateError
from tidegate.results.atomic import clear_leftovers, draft_of, replace_folder, take_along
from tidegate.results.checked import Checksum, checked_content, parquet_table
from tidegate.results.manifests import (
    MANIFEST,
    SCENARIO,
    VARIANT,
    checksum,
    manifest_of,
    read_manifest,
)
from tidegate.results.places import check_place, planned_runs, same_result, to_keep, unused
from tidegate.scenarios.reading import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.results.manifests import Manifest
    from tidegate.results.places import Run
    from tidegate.results.result import Comparison, Result


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
    # A link to a folder stays one; the folder that it names is replaced.
    place = folder.resolve() if folder.is_symlink() else folder
    draft = draft_of(place)
    clear_leftovers(place.parent, place.name)
    try:
        draft.mkdir(parents=True)
        _write(results, draft)
        if not same_result(draft, place):
            check_place(place, _runs_of(results))
        if place.exists():
            take_along(to_keep(place, draft), draft)
        replace_folder(place, draft)
    except OSError as error:
        raise ResultError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def load(folder: str | os.PathLike[str]) -> Result | Comparison:
    """Read a result folder: a `Result`, or a `Comparison` where it holds variants.

    Every file is compared with its checksum in the manifest; what is damaged raises a
    `ResultError`.
    """
    from tidegate.results.result import Comparison

    path = Path(folder)
    manifest = read_manifest(path)
    if manifest["kind"] == "sweep":
        raise ResultError(f"{path} is the folder of a sweep; tidegate.load_sweep reads it")
    if "variants" not in manifest:
        return _read_result(path, manifest)
    return Comparison(
        {
            entry["name"]: _read_variant(path, entry["folder"], manifest)
            for entry in manifest["variants"]
        }
    )


def json_text(content: object) -> str:
    """As manifests are written."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


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


def _runs_of(results: Mapping[str, Result]) -> list[Run]:
    kind = next(iter(results.values())).kind
    scenarios = {name: result.scenario for name, result in results.items()}
    seeds = {name: result.run["seed"].to_pylist() for name, result in results.items()}
    return planned_runs(scenarios, seeds, kind)


def _write(results: Mapping[str, Result], folder: Path) -> None:
    if list(results) == [""]:
        _write_result(results[""], folder)
        return
    entries, files = [], {}
    for number, (name, result) in enumerate(results.items()):
        # Numbered, because a variant's name may hold anything, and their order matters.
        place = folder / f"{VARIANT}{number}"
        place.mkdir()
        files[f"{place.name}/{MANIFEST}"] = _write_result(result, place)
        entries.append({"name": name, "folder": place.name})
    first = next(iter(results.values()))
    manifest = manifest_of(first.scenario, files, kind="comparison", variants=entries)
    _write_file(folder / MANIFEST, json_text(manifest).encode())


def _write_result(result: Result, folder: Path) -> Checksum:
    """Write the folder of one result; gives the checksum of its manifest."""
    contents = {f"{name}.parquet": _parquet(one) for name, one in result.tables.items()}
    contents[SCENARIO] = result.scenario.to_toml().encode()
    files = {name: _write_file(folder / name, content) for name, content in contents.items()}
    runs = [{"seed": seed, "digest": digest} for seed, digest in result.digests]
    wall = {"wall_s": round(result.wall_s, 3)} if result.wall_s == result.wall_s else {}
    manifest = manifest_of(result.scenario, files, kind=result.kind, runs=runs, **wall)
    return _write_file(folder / MANIFEST, json_text(manifest).encode())


def _parquet(table: Any) -> bytes:  # noqa: ANN401 - pyarrow has no types
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def _write_file(path: Path, content: bytes) -> Checksum:
    """Write and force to the disk; gives the checksum of what was to be written."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Checksum.of(content)


def _read_variant(folder: Path, name: str, manifest: Manifest) -> Result:
    """A variant's result, which must be the one that was written with the others."""
    place = folder / name
    if place.is_symlink():
        raise ResultError(f"{place} cannot be read: it is a symbolic link")
    known = checksum(manifest, f"{name}/{MANIFEST}")
    if known is None:
        raise ResultError(f"{folder / MANIFEST} is damaged: it lists no {name}/{MANIFEST}")
    checked_content(place / MANIFEST, known)
    return _read_result(place, read_manifest(place))


def _read_result(folder: Path, manifest: Manifest) -> Result:
    from tidegate.results.result import Result
    from tidegate.results.tables import DERIVED_TABLES, ENGINE_TABLES, INTERVAL_TABLES

    kind = manifest["kind"]
    if kind not in {"simulation", "lab"}:
        raise ResultError(f"{folder} is damaged: as a single result it cannot be a {kind}")
    names = [*ENGINE_TABLES, *DERIVED_TABLES, *(["lab"] if kind == "lab" else [])]
    names += [name for name in INTERVAL_TABLES if checksum(manifest, f"{name}.parquet")]
    try:
        text = _content(folder, SCENARIO, manifest).decode()
        scenario = Scenario.parse(text)
    except ResultError:
        raise
    except (TidegateError, ValueError) as error:
        raise ResultError(f"{folder / SCENARIO} cannot be read: {error}") from error
    tables = {name: _table(folder, name, manifest) for name in names}
    wall_s = float(manifest.get("wall_s", float("nan")))
    return Result(scenario=scenario, wall_s=wall_s, kind=kind, **tables)


def _content(folder: Path, name: str, manifest: Manifest) -> bytes:
    known = checksum(manifest, name)
    if known is None:
        raise ResultError(f"{folder / MANIFEST} is damaged: it lists no {name}")
    return checked_content(folder / name, known)


def _table(folder: Path, name: str, manifest: Manifest) -> Any:  # noqa: ANN401 - pyarrow has no types
    from tidegate.results.columns import check_types

    path = folder / f"{name}.parquet"
    table = parquet_table(path, _content(folder, path.name, manifest))
    wrong = check_types(name, table)
    if wrong:
        raise ResultError(f"{path} is no table of a result: {wrong}")
    return table
