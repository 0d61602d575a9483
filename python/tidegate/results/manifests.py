"""Manifests of result folders: what it takes to repeat a result, and the checksums of its files.

A manifest has its own SHA-256 under ``sha256``, over its content without that key as compact JSON
with sorted keys. So whatever is damaged in a folder shows when it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate import _native
from tidegate.errors import ResultError
from tidegate.results.checked import Checksum, content_of
from tidegate.scenarios.reading import build_id, content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate._native import Scenario

SCHEMA_VERSION = 2
MANIFEST = "manifest.json"
SCENARIO = "scenario.toml"
VARIANT = "variant-"
"""How the folders of a comparison's variants begin."""
KINDS = ("simulation", "lab", "comparison", "sweep")
MAX_MANIFEST_BYTES = 2**26

Manifest: TypeAlias = "dict[str, Any]"

_SEAL = "sha256"
_FILES = "files"
_VARIANT_FOLDER = re.compile(rf"{VARIANT}[0-9]+")


def is_variant(name: str) -> bool:
    """Whether a folder in a comparison's folder may be one of a variant."""
    return _VARIANT_FOLDER.fullmatch(name) is not None


def manifest_of(
    scenario: Scenario, files: Mapping[str, Checksum] | None = None, **more: object
) -> Manifest:
    """Everything that is needed to repeat it exactly, and the checksums of its files."""
    content: Manifest = {
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.name,
        "scenario_hash": content_hash(scenario),
        "engine_version": _native.version(),
        "engine_build": build_id(),
        "git_revision": git_revision(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        **more,
        _FILES: {name: known._asdict() for name, known in (files or {}).items()},
    }
    return {**content, _SEAL: _seal(content)}


def read_manifest(folder: Path) -> Manifest:
    """Read and check a folder's manifest."""
    try:
        content = _content(folder)
    except ResultError as error:
        raise ResultError(f"{folder} is no result folder: {error}") from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version is None:
        raise ResultError(f"{folder} is no result folder: its {MANIFEST} is damaged")
    if version != SCHEMA_VERSION:
        raise ResultError(
            f"{folder} has schema version {str(version)[:20]}; this tidegate reads version "
            f"{SCHEMA_VERSION}; run its {SCENARIO} again"
        )
    if content.get(_SEAL) != _seal(content) or not _is_sound(content):
        raise ResultError(f"{folder / MANIFEST} is damaged: its SHA-256 is not that of its content")
    known: Manifest = content
    return known


def known_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder that tidegate wrote; other programs call their files so, too.

    One of an older tidegate is known as well: it says what may be replaced, though its result
    cannot be read.
    """
    try:
        content = _content(folder)
    except ResultError:
        return None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION or not _is_sound(content):
        return None
    sealed = version == 1 or content.get(_SEAL) == _seal(content)
    known: Manifest | None = content if sealed else None
    return known


def checksum(manifest: Manifest, name: str) -> Checksum | None:
    """What a manifest knows of a file; None where it lists none of this name."""
    known = manifest.get(_FILES, {}).get(name)
    return None if known is None else Checksum(known["size"], known["sha256"])


def git_revision() -> str | None:
    """Revision of the checkout that this package runs from, None for an installed one.

    An installed package may lie in a folder of some other repository, whose revision says nothing
    of tidegate.
    """
    checkout = Path(__file__).resolve().parents[3]
    ours = (checkout / "python/tidegate/results" / Path(__file__).name).is_file()
    if not (ours and (checkout / "crates/python/Cargo.toml").is_file()):
        return None
    if not (checkout / ".git").exists():
        return None
    return _describe(checkout)


@cache
def _describe(checkout: Path) -> str | None:
    """Revision of a repository at the first call: imported code does not change with its files."""
    # Git's hooks name their repository in the environment, which need not be this one.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, env=environment
        )
    except OSError:
        return None
    return done.stdout.strip() or None


def _content(folder: Path) -> Any:  # noqa: ANN401 - whatever stands in the file
    path = folder / MANIFEST
    try:
        return json.loads(content_of(path, MAX_MANIFEST_BYTES).decode())
    except (ValueError, RecursionError):
        raise ResultError(f"its {MANIFEST} is damaged") from None


def _seal(content: Manifest) -> str:
    rest = {key: value for key, value in content.items() if key != _SEAL}
    try:
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_sound(content: Manifest) -> bool:
    """Whether all that is read of a manifest has the type that it must have."""
    kind, wall_s = content.get("kind"), content.get("wall_s", 0.0)
    files, runs = content.get(_FILES, {}), content.get("runs", [])
    return (
        kind in KINDS
        and ("variants" in content) == (kind == "comparison")
        and isinstance(content.get("scenario_hash", ""), str)
        and isinstance(wall_s, int | float)
        and isinstance(files, dict)
        and all(_is_file(one) for one in files.values())
        and isinstance(runs, list)
        and all(isinstance(run, dict) and type(run.get("seed")) is int for run in runs)
        and _are_variants(content.get("variants", [{"name": "", "folder": f"{VARIANT}0"}]))
    )


def _is_file(known: object) -> bool:
    known = known if isinstance(known, dict) else {}
    return Checksum.read(known.get("size"), known.get("sha256")) is not None


def _are_variants(variants: object) -> bool:
    if not isinstance(variants, list) or not variants:
        return False
    each = [one if isinstance(one, dict) else {} for one in variants]
    names, folders = [one.get("name") for one in each], [one.get("folder") for one in each]
    return (
        all(isinstance(name, str) for name in names)
        and all(isinstance(folder, str) and is_variant(folder) for folder in folders)
        and len(set(names)) == len(set(folders)) == len(variants)
    )
