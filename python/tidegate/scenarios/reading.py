"""From a file, a text or a dictionary to a validated scenario."""

from __future__ import annotations

import copyreg
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import astuple
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tidegate import _native
from tidegate._native import MAX_FILE_BYTES, Scenario
from tidegate.data import in_package, nearest_file
from tidegate.errors import ScenarioError
from tidegate.files import UnreadableError, read_text
from tidegate.scenarios.data_files import named_in, with_data_files
from tidegate.scenarios.linked import linked_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | Scenario"
"""A path, the text of a scenario file, its content as a dictionary, or a parsed scenario."""

Settings: TypeAlias = Mapping[str, object]
"""Dotted keys and values that win over the file, such as ``{"users.heavy.flows": 20}``."""

# The word before the key of a group or link that is not there yet.
ADD = "add "

VARIANT = "variant"
"""In the settings of a point: the name of a variant, as a TOML text."""

AS_IN_THE_FILE = "as in the file"
"""Name of the scenario without a variant, where no variant in the file is the same."""

# They say how often something is run and what it is called, not what is run.
NOT_CONTENT = ("name", "description", "seed", "replications", "sweep", "variants")


def load_scenario(
    source: Source,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
) -> Scenario:
    """Read and validate a scenario.

    Parameters
    ----------
    source
        A path to a scenario file, or where there is none, of one that comes with the package, such
        as ``scenarios/evening-peak.toml`` or ``evening-peak``; its text; its content as nested
        dictionaries; or a scenario.
    set
        Settings that win over the file: dotted key and value. They may only name groups and links
        that there are.
    add
        The same for groups and links that there are not, such as ``{"users.guest.flows": 2}``.

    Raises
    ------
    ScenarioError
        With every error found: line, key, what was expected.

    """
    return parse(source, overrides_of(set, add))


def overrides_of(settings: Settings | None, added: Settings | None = None) -> list[tuple[str, str]]:
    """Give settings as overrides in TOML: what is added first, since the others may change it."""
    given = [(f"{ADD}{key}", toml_value(value)) for key, value in (added or {}).items()]
    return given + [(key, toml_value(value)) for key, value in (settings or {}).items()]


def parse(source: Source, overrides: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Like `load_scenario`, with the values in TOML (bare words are text), as people type them."""
    return Reader(*text_of(source))(overrides)


class Reader(NamedTuple):
    """A source that was read once, to be parsed with any overrides."""

    text: str
    name: str | None
    """Where the source suggests one."""
    file: str | None
    """For messages."""

    def __call__(self, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """Parse it with these."""
        return self._parsed(Scenario.parse, overrides)

    def variant(self, overrides: Sequence[tuple[str, str]], variant: str | None) -> Scenario:
        """Parse one of its variants, or without a name the file as it stands; no sweep is left."""
        return self._parsed(partial(Scenario.parse_variant, variant=variant), overrides)

    def point(self, settings: Sequence[tuple[str, str]]) -> Scenario:
        """Parse a point of its sweep, of the variant that the settings name with `VARIANT`.

        A name that is none of the file's variants is a mechanism of the league.
        """
        named = next((json.loads(value) for key, value in settings if key == VARIANT), None)
        changes = [one for one in settings if one[0] != VARIANT]
        if named is None or named == AS_IN_THE_FILE:
            return self.variant(changes, None)
        if any(name == named for name, _ in self([]).variants()):
            return self.variant(changes, named)
        from tidegate.scenarios.variants import of_mechanism

        base = self.variant(changes, None)
        return self.variant([*changes, *of_mechanism(base, named)], None)

    def _parsed(
        self, parse: Callable[..., Scenario], overrides: Sequence[tuple[str, str]]
    ) -> Scenario:
        filled, unread, files = with_data_files(self.text, self.file, overrides)
        try:
            parsed = parse(self.text, filled, self.name)
        except ScenarioError as error:
            unread += named_in([astuple(issue) for issue in error.issues], files)
        else:
            if not unread:
                return parsed
        raise ScenarioError(unread, self.file)


def content_text(scenario: Scenario) -> str:
    """The scenario without what is not content (`NOT_CONTENT`): what a run depends on."""
    head, *tables = scenario.to_toml().split("\n[")
    kept = [line for line in head.split("\n") if line.split(" = ")[0] not in NOT_CONTENT]
    tables = [table for table in tables if not table.startswith(("sweep]", "variants."))]
    return "\n[".join(["\n".join(kept), *tables])


def content_hash(scenario: Scenario, *also: object) -> str:
    """Hash of what is run: equal for files that differ in name, comments or order alone."""
    content = _content(scenario.to_toml())
    canonical = json.dumps([content, *also], sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


@lru_cache(2)
def _content(text: str) -> dict[str, object]:
    """What `content_hash` is of; several hashes of a scenario are asked for in a row."""
    return {key: value for key, value in tomllib.loads(text).items() if key not in NOT_CONTENT}


def setting(scenario: Scenario, key: str) -> str:
    """Value of a dotted key, defaults included, as people would write it."""
    value = value_at(scenario, key)
    if value is None:
        return "unset"
    return value if isinstance(value, str) else toml_value(value)


def value_at(scenario: Scenario, key: str) -> object:
    """Value of a dotted key, defaults included; nothing where none is set."""
    value: object = tomllib.loads(scenario.to_toml())
    for part in key.removeprefix(ADD).split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def toml_value(value: object) -> str:
    """Write a value in TOML, on one line.

    >>> toml_value({"kind": "abc", "gamma": 3.0, "points": [[11, 0.0]], "on": True})
    '{ kind = "abc", gamma = 3.0, points = [[11, 0.0]], on = true }'
    """
    try:
        return _native.toml_value(_plain(value))
    except RecursionError:
        raise _unreadable("a value is nested too deeply") from None


def _plain(value: object) -> object:
    """What stands for a value in a file: a path is a text, an array of numbers a list."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return _plain(value.tolist())
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def build_id() -> str:
    """Fingerprint of the compiled engine, since a version number does not tell two builds apart."""
    library = Path(_native.__file__)
    found = linked_id(library) or hashlib.sha256(library.read_bytes()).hexdigest()
    return found[:16]


def _pickled(scenario: Scenario) -> tuple[Callable[[str], Scenario], tuple[str]]:
    """A scenario travels as its text, in which every default is filled in."""
    return _unpickled, (scenario.to_toml(),)


def _unpickled(text: str) -> Scenario:
    return Scenario.parse(text)


copyreg.pickle(Scenario, _pickled)


def text_of(source: Source) -> tuple[str, str | None, str | None]:
    """Text, a name where the source suggests one, and the file for messages."""
    if isinstance(source, Scenario):
        return source.to_toml(), None, None
    if isinstance(source, Mapping):
        lines = (
            f"{_native.toml_key(str(key))} = {toml_value(value)}" for key, value in source.items()
        )
        return "\n".join(lines), None, None
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return source, None, None
    path = Path(source)
    there = in_package(path)
    # Of a bare name the file is among the scenarios, and so are its data files.
    shown = path if there == path or path.suffix else Path("scenarios", there.name)
    try:
        return read_text(there, MAX_FILE_BYTES), path.stem, str(shown)
    except FileNotFoundError as error:
        near = nearest_file(path)
        raise _unreadable(str(error.strerror), str(path), str(near) if near else None) from None
    except UnreadableError as error:
        raise _unreadable(str(error), str(path)) from None
    except OSError as error:  # a name that no file has
        raise _unreadable(str(error.strerror), str(path)) from None
    except ValueError as error:  # a null character in the name
        raise _unreadable(str(error)) from None


def _unreadable(reason: str, file: str | None = None, near: str | None = None) -> ScenarioError:
    message = f"cannot read the scenario: {reason}"
    text = f'{message}; did you mean "{near}"?' if near else message
    return ScenarioError([(None, None, "", message, near, text)], file)
