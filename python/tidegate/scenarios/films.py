"""Films of one's own: files of frames' sizes that a scenario names, put into it as their text.

What is run, kept and hashed has the sizes themselves, so that nothing depends on the file later.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import _native
from tidegate.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KEY = ".traffic.frames"
_FILE = ".csv"


def with_films(
    text: str, file: str | None, overrides: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Overrides that have the text of each file of frames that the scenario or they name."""
    folder = Path(file).parent if file else Path()
    named = [(key, _film(key, value, folder)) for key, value in _named_in(text)]
    given = [
        (key, _film(key, name, Path()) if (name := _name_in(key, value)) else value)
        for key, value in overrides
    ]
    return named + given


def _named_in(text: str) -> Iterator[tuple[str, str]]:
    """Keys of a scenario that name a file. What is no scenario is told by who reads it next."""
    try:
        users = tomllib.loads(text).get("users")
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for group, user in users.items() if isinstance(users, dict) else ():
        traffic = user.get("traffic") if isinstance(user, dict) else None
        name = traffic.get("frames") if isinstance(traffic, dict) else None
        if isinstance(name, str) and name.endswith(_FILE):
            yield f"users.{_native.toml_key(group)}{_KEY}", name


def _name_in(key: str, value: str) -> str | None:
    """The file that an override names: as text in TOML, or as a bare word."""
    name = value.strip().strip("\"'")
    return name if key.endswith(_KEY) and name.endswith(_FILE) else None


def _film(key: str, name: str, folder: Path) -> str:
    try:
        return _native.toml_value((folder / name).read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(key, name, str(error.strerror)) from None
    except ValueError:
        raise _unreadable(key, name, "it is not UTF-8 text") from None


def _unreadable(key: str, name: str, reason: str) -> ScenarioError:
    message = f"cannot read {name}: {reason}; write a file with a frame's bytes in each line"
    return ScenarioError([(None, None, key, message, None, f"{key}: {message}")])
