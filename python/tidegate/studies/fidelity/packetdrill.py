"""packetdrill's scripts on the page: what `make packetdrill` found, and what explains the rest."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from tidegate.studies import page

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = "packetdrill.json"
EXPLANATIONS = "packetdrill.toml"


def section(folder: Path) -> str:
    """How many scripts pass, and a table of them; nothing if none were played.

    `folder` has the runner's results and the explanations.
    """
    if not (folder / RESULTS).is_file():
        return ""
    rows = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    reasons = _reasons(folder / EXPLANATIONS)
    passed = sum(row["verdict"] == "passed" for row in rows)
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
