"""Pages: a template with the names of its parts in comments, tables in Markdown, files.

A template is a Markdown file with ``<!-- name -->`` where a part stands; an empty part leaves no
gap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate.errors import ResultError, UsageError
from tidegate.escapes import lines, markdown
from tidegate.results.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate.results.show import Grid

_PART = re.compile(r"<!-- ([a-z][\w.: -]*) -->")
_BAR = re.compile(r"(?<!\\)\|")
_BLANK_LINES = re.compile(r"\n{3,}")


def filled(template: Path, parts: Mapping[str, object]) -> str:
    """A template with its parts; any other comment stays one."""
    try:
        text = template.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{template} cannot be read: {error.strerror}") from error
    return filled_text(text, parts)


def filled_text(text: str, parts: Mapping[str, object]) -> str:
    """The same of a template that was read."""

    def part(found: re.Match[str]) -> str:
        return str(parts.get(found[1], found[0])).strip()

    return _BLANK_LINES.sub("\n\n", _PART.sub(part, text))


def write_page(path: Path, text: str) -> Path:
    """Write a file in one step: it is there whole or as it was.

    Raises `ResultError` where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror or error}") from error
    replace_file(path, lambda draft: draft.write_text(text, encoding="utf-8"))
    return path


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int | None = None
) -> str:
    """A table in Markdown, with the first row as head; from a column on, numbers on the right.

    >>> print(table(["user", "Mb/s"], [["all", "1"]], numbers_from=1))
    | user | Mb/s |
    |---|---:|
    | all | 1 |
    """
    texts = len(head) if numbers_from is None else numbers_from
    rule = "|" + "---|" * texts + "---:|" * (len(head) - texts)
    return "\n".join([_row(head), rule, *map(_row, rows)])


def grid_table(grid: Grid) -> str:
    """A grid as a table; what is in it is text, and no Markdown."""
    head = [markdown(heading.replace("\n", " ").strip()) for heading in grid.headings]
    cells = [list(map(markdown, row)) for row in grid.cells]
    return table(head, cells, numbers_from=grid.text_columns)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_one_line(text) for text in cells) + " |"


def _one_line(text: str) -> str:
    return _BAR.sub(r"\\|", lines(text)).replace("\n", " ")
