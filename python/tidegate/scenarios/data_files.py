"""Data files that a scenario names, such as traces of links or videos, put into it as their text.

What is run, kept and hashed has the data themselves, so that nothing depends on the file later.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tidegate import _native
from tidegate.data import in_package
from tidegate.escapes import one_line
from tidegate.files import UnreadableError, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.errors import IssueRow

MAX_BYTES = 2 << 20
"""Of a file of frames: two hours of them, and half of what a scenario may have with it."""

MAX_TRACE_BYTES = 4 << 20
"""Of a trace of a link: a quarter of what a scenario and its files may have together."""


class _Kind(NamedTuple):
    """What a file is to have."""

    limit: int
    stand_in: str
    """Valid data, where the file cannot be read: one error is enough."""
    advice: str


_FRAMES = _Kind(MAX_BYTES, "1000\n", "write a file with a frame's bytes in each line")
_DELAY = _Kind(
    MAX_TRACE_BYTES, "time_s,delay_ms\n0,1\n", "write a CSV with a head such as time_s,delay_ms"
)
_TABLE = _Kind(
    MAX_BYTES,
    "0\n1\n",
    "write whole numbers from -32768 to 32767, as netem's *.dist files have them",
)
_ARRIVALS = _Kind(
    MAX_TRACE_BYTES, "0\n", "write a file with an arrival's time in seconds in each line"
)
_SIZES = _Kind(
    MAX_BYTES, "1000,1\n", "write a CSV with a size and a share in each line, such as 10000,0.15"
)
_RATE = _Kind(
    MAX_TRACE_BYTES, "1\n",
    "write a trace in Mahimahi's format, or a CSV with a head such as time_s,rate_mbps",
)  # fmt: skip


def with_data_files(
    text: str, file: str | None, overrides: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[IssueRow], dict[str, str]]:
    """Overrides, and behind them the text of each data file that the scenario or they name.

    Beside them, each file that cannot be read, for which the smallest data of its kind stand; and
    the names of all files by their keys.
    """
    given = list(overrides)
    unread: list[IssueRow] = []
    files: dict[str, str] = {}
    for key, name, by_file in _native.Scenario.data_files(text, given):
        folder = Path(file).parent if file and by_file else Path()
        given.append((key, _content(key, name, folder, unread)))
        files[key] = name
    return given, unread, files


def named_in(issues: Sequence[IssueRow], files: Mapping[str, str]) -> list[IssueRow]:
    """Name the file in each error of its content; `files` are names by their key."""
    return [_with_file(issue, files.get(issue[2])) for issue in issues]


def _with_file(issue: IssueRow, name: str | None) -> IssueRow:
    line, column, key, message, suggestion, text = issue
    if name is None:
        return issue
    shown = f"{one_line(name)}: {message}"
    return line, column, key, shown, suggestion, text.replace(message, shown, 1)


def _content(key: str, name: str, folder: Path, unread: list[IssueRow]) -> str:
    kind = _kind_of(key)
    try:
        content = read_text(in_package(folder / name), kind.limit)
        # A trace without the end of a line would be a name.
        return _native.toml_value(content if content.endswith("\n") else f"{content}\n")
    except FileNotFoundError as error:
        reason = str(error.strerror)
    except UnreadableError as error:
        reason = str(error)
    shown = one_line(name)
    message = f"cannot read {shown}: {reason}; {kind.advice}"
    unread.append((None, None, key, message, None, f"{key}: {message}"))
    return _native.toml_value(kind.stand_in)


def _kind_of(key: str) -> _Kind:
    if key.endswith(".table"):
        return _TABLE
    if key.endswith(".arrivals"):
        return _ARRIVALS
    if key.endswith(".points"):
        return _SIZES
    if not key.endswith(".trace"):
        return _FRAMES
    return _DELAY if "delay" in key.rsplit(".", 2)[-2] else _RATE
