"""packetdrill's scripts on the page: what `make packetdrill` found, and what explains the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tidegate.studies import page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.explanations import Explanation

RESULTS = "packetdrill.json"
ACCURATE_ECN = "packetdrill-accurate-ecn.json"
Row = dict[str, Any]
"""What was found of a script."""


def parts(folder: Path, explanations: Sequence[Explanation]) -> dict[str, str]:
    """The parts of the page, by name: a set of scripts each. `folder` has the runner's results."""
    return {
        "packetdrill": section(folder / RESULTS, explanations),
        "packetdrill-accurate-ecn": section(folder / ACCURATE_ECN, explanations),
    }


def section(results: Path, explanations: Sequence[Explanation]) -> str:
    """How many scripts pass, and a table of them unless all do; nothing if none were played."""
    rows = _rows(results)
    if not rows:
        return ""
    passed = sum(row["verdict"] == "passed" for row in rows)
    if passed == len(rows):
        return f"**All {passed} scripts pass.**"
    lines = [[f"`{row['script']}`", row["verdict"], _why(row, explanations)] for row in rows]
    table = page.table(["script", "verdict", "why"], lines)
    return f"**{passed} of {len(rows)} scripts pass.**\n\n{table}"


def deviating(folder: Path) -> list[Row]:
    """What was found of each script that does not pass."""
    rows = [*_rows(folder / RESULTS), *_rows(folder / ACCURATE_ECN)]
    return [row for row in rows if row["verdict"] != "passed"]


def _rows(path: Path) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return rows


def _why(row: Row, explanations: Sequence[Explanation]) -> str:
    if row["verdict"] == "passed":
        ticks = row.get("other_ticks")
        return f"with a clock of {ticks} ticks a second" if ticks else ""
    happened = f"line {row['line']}: {row['why']}".replace("<", "&lt;")
    reasons = [" ".join(one.paragraphs()) for one in explanations if one.covers(row)]
    return f"{happened} – {' '.join(reasons) or 'not explained yet'}"
