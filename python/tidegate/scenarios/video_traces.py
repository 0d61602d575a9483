"""Data files that a scenario names, such as video traces, put into it as their text.

What is run, kept and hashed has the sizes themselves, so that nothing depends on the file later.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import _native
from tidegate.escapes import one_line
from tidegate.files import UnreadableError, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.errors import IssueRow

MAX_BYTES = 2 << 20
"""Of a data file: two hours of frames, and half of what a scenario may have with it."""

_STAND_IN = "1000\n"


def with_traces(
    text: str, file: str | None, overrides: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[IssueRow]]:
    """Overrides, and behind them the text of each data file that the scenario or they name.

    Beside them, each file that cannot be read; a video of one frame stands for it.
    """
    given = list(overrides)
    unread: list[IssueRow] = []
    for key, name, by_file in _native.Scenario.data_files(text, given):
        folder = Path(file).parent if file and by_file else Path()
        given.append((key, _film(key, name, folder, unread)))
    return given, unread


def _film(key: str, name: str, folder: Path, unread: list[IssueRow]) -> str:
    try:
        return _native.toml_value(read_text(folder / name, MAX_BYTES))
    except FileNotFoundError as error:
        reason = str(error.strerror)
    except UnreadableError as error:
        reason = str(error)
    shown = one_line(name)
    message = f"cannot read {shown}: {reason}; write a file with a frame's bytes in each line"
    unread.append((None, None, key, message, None, f"{key}: {message}"))
    return _native.toml_value(_STAND_IN)
