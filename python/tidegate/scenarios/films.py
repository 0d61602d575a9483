"""Films of one's own: files of frames' sizes that a scenario names, put into it as their text.

What is run, kept and hashed has the sizes themselves, so that nothing depends on the file later.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import _native

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.errors import IssueRow

_KEY = ".traffic.frames"
_FILE = ".csv"
_STAND_IN = "1000\n"


def with_films(
    text: str, file: str | None, overrides: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[IssueRow]]:
    """Overrides that have the text of each file of frames that the scenario or they name.

    Beside them, each file that cannot be read; a film of one frame stands for it.
    """
    folder = Path(file).parent if file else Path()
    unread: list[IssueRow] = []
    named = [(key, _film(key, value, folder, unread)) for key, value in _named_in(text)]
    given = [
        (key, _film(key, name, Path(), unread) if (name := _name_in(key, value)) else value)
        for key, value in overrides
    ]
    return named + given, unread


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


def _film(key: str, name: str, folder: Path, unread: list[IssueRow]) -> str:
    try:
        return _native.toml_value((folder / name).read_text(encoding="utf-8"))
    except OSError as error:
        reason = str(error.strerror)
    except ValueError:
        reason = "it is not UTF-8 text"
    message = f"cannot read {name}: {reason}; write a file with a frame's bytes in each line"
    unread.append((None, None, key, message, None, f"{key}: {message}"))
    return _native.toml_value(_STAND_IN)
