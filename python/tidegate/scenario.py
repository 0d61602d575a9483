"""From a file, a text or a dictionary to a validated scenario."""

from __future__ import annotations

import copyreg
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidegate import _native
from tidegate._native import Scenario
from tidegate.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | Scenario"
"""A path, the text of a scenario file, its content as a dictionary, or a parsed scenario."""

Settings: TypeAlias = Mapping[str, object]
"""Dotted keys and values that win over the file, such as ``{"users.heavy.flows": 20}``."""

# They say how often something is run and what it is called, not what is run.
NOT_CONTENT = ("name", "description", "seed", "replications", "sweep")


def load_scenario(source: Source, *, set: Settings | None = None) -> Scenario:  # noqa: A002
    """Read and validate a scenario.

    Parameters
    ----------
    source
        A path to a scenario file; its text; its content as nested dictionaries; or a scenario.
    set
        Settings that win over the file: dotted key and value.

    Raises
    ------
    ScenarioError
        With every mistake found: line, key, what was expected.

    """
    overrides = [(key, toml_value(value)) for key, value in (set or {}).items()]
    return parse(source, overrides)


def parse(source: Source, overrides: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Like `load_scenario`, with the values in TOML (bare words are text), as people type them."""
    text, name, file = _text_of(source)
    given = list(overrides)
    if name is not None and not _names_itself(text):
        given.insert(0, ("name", toml_value(name)))
    try:
        return Scenario.parse(text, given)
    except ScenarioError as error:
        error.source = file
        raise


def content_hash(scenario: Scenario, *also: object) -> str:
    """Hash of what is run: equal for files that differ in name, comments or order alone."""
    content = {k: v for k, v in tomllib.loads(scenario.to_toml()).items() if k not in NOT_CONTENT}
    canonical = json.dumps([content, *also], sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def setting(scenario: Scenario, key: str) -> str:
    """Value of a dotted key, defaults included, as people would write it."""
    value: object = tomllib.loads(scenario.to_toml())
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return "unset"
        value = value[part]
    return value if isinstance(value, str) else toml_value(value)


def toml_value(value: object) -> str:
    """Write a value in TOML, on one line.

    >>> toml_value({"kind": "abc", "gamma": 3.0, "points": [[11, 0.0]], "on": True})
    '{ kind = "abc", gamma = 3.0, points = [[11, 0.0]], on = true }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | os.PathLike):
        return _quoted(os.fspath(value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return toml_value(value.tolist())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(f"a {type(value).__name__} cannot stand in a scenario: {value!r}")


@cache
def build_id() -> str:
    """Fingerprint of the compiled engine, since a version number does not tell two builds apart."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]


def _pickled(scenario: Scenario) -> tuple[Callable[[str], Scenario], tuple[str]]:
    """A scenario travels as its text, in which every default is filled in."""
    return _unpickled, (scenario.to_toml(),)


def _unpickled(text: str) -> Scenario:
    return Scenario.parse(text)


copyreg.pickle(Scenario, _pickled)


def _text_of(source: Source) -> tuple[str, str | None, str | None]:
    """Text, a name where the source suggests one, and the file for messages."""
    if isinstance(source, Scenario):
        return source.to_toml(), None, None
    if isinstance(source, Mapping):
        lines = (f"{_toml_key(str(key))} = {toml_value(value)}" for key, value in source.items())
        return "\n".join(lines), None, None
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return source, None, None
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8"), path.stem, str(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        message = f"cannot read the scenario: {reason}"
        raise ScenarioError([(None, None, "", message, None, message)], str(path)) from None


def _names_itself(text: str) -> bool:
    try:
        return "name" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return True  # the engine tells what is wrong; a second mistake would only distract


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's, but for the one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _quoted(key)
