"""packetdrill's scripts on the page: what `make packetdrill` found, and what explains the rest."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from tidegate.studies import page

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = "packetdrill.json"
ACCURATE_ECN = "packetdrill-accurate-ecn.json"
EXPLANATIONS = "packetdrill.toml"


def parts(folder: Path) -> dict[str, str]:
    """The parts of the page, by name: a set of scripts each."""
    return {
        "packetdrill": section(folder),
        "packetdrill-accurate-ecn": section(folder, ACCURATE_ECN),
    }


def section(folder: Path, results: str = RESULTS) -> str:
    """How many scripts pass, and a table of them unless all do; nothing if none were played.

    `folder` has the runner's results and the explanations.
    """
    if not (folder / results).is_file():
        return ""
    rows = json.loads((folder / results).read_text(encoding="utf-8"))
    reasons = _reasons(folder / EXPLANATIONS)
    passed = sum(row["verdict"] == "passed" for row in rows)
    if passed == len(rows):
        return f"**All {passed} scripts pass.**"
    lines = [[f"`{row['script']}`", row["verdict"], _why(row, reasons)] for row in rows]
    table = page.table(["script", "verdict", "why"], lines)
    return f"**{passed} of {len(rows)} scripts pass.**\n\n{table}"


def _reasons(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    found = tomllib.loads(path.read_text(encoding="utf-8"))["explanation"]
    return {script: each["why"] for each in found for script in each["scripts"]}


def _why(row: dict[str, str | int | None], reasons: dict[str, str]) -> str:
    if row["verdict"] == "passed":
        ticks = row.get("other_ticks")
        return f"with a clock of {ticks} ticks a second" if ticks else ""
    happened = f"line {row['line']}: {row['why']}".replace("<", "&lt;")
    reason = reasons.get(str(row["script"]), "not explained yet")
    return f"{happened} – {reason}"
