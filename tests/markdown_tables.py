"""Reads the tables of a page in Markdown."""

import re

from support import ROOT

Row = dict[str, str]


def table(page: str, *headings: str) -> list[Row]:
    """The rows of all the page's tables that have these headings."""
    text = (ROOT / page).read_text(encoding="utf-8")
    rows = [row for found in _tables(text) for row in found if {*headings} <= row.keys()]
    assert rows, f"{page} has no table with the headings {', '.join(headings)}"
    return rows


def row(page: str, first: str, *headings: str) -> Row:
    """The one row of such tables whose first cell is this."""
    found = [one for one in table(page, *headings) if next(iter(one.values())) == first]
    assert len(found) == 1, f"{page} has {len(found)} rows {first!r}"
    return found[0]


def _tables(text: str) -> list[list[Row]]:
    blocks = re.findall(r"(?:^\|.*\n)+", text + "\n", flags=re.MULTILINE)
    return [[_row(head, line) for line in body] for head, _, *body in map(str.splitlines, blocks)]


def _row(head: str, line: str) -> Row:
    """By heading; of headings that come twice, the first."""
    cells: Row = {}
    for name, cell in zip(_cells(head), _cells(line), strict=True):
        cells.setdefault(name, cell)
    return cells


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]
