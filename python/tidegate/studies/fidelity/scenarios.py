"""The scenarios below ``fidelity/``, and the page about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.studies.fidelity import figure, report
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, read_case
from tidegate.studies.fidelity.running import say
from tidegate.studies.fidelity.verdicts import read_explanations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "fidelity"
HELD_OUT = "held-out"
SIMULATIONS = 15
"""Simulated runs of each, for they cost nothing; on Linux as many as the scenario says."""


def cases(root: Path) -> list[Case]:
    """Every scenario file, in the order of their numbers, those that are held out last."""
    folder = root / FOLDER
    found = [read_case(path, path.stem) for path in sorted(folder.glob("*-*.toml"))]
    found += [
        read_case(path, f"{HELD_OUT}/{path.stem}", held_out=True)
        for path in sorted((folder / HELD_OUT).glob("*-*.toml"))
    ]
    if not found:
        raise UsageError(f"{root / FOLDER} has no scenarios; run it in a checkout, or name --root")
    return found


def table(records: Sequence[Record]) -> str:
    """What is printed after a quick look."""
    both = [record for record in records if record.runs(SIMULATED) and record.runs(LINUX)]
    return report.verdict_line(both) + "\n" + report.table(both).replace("<br>", "  ")


def write(records: Sequence[Record], root: Path) -> list[Path]:
    """Write the page and its figure."""
    explanations = read_explanations(root / FOLDER / "explanations.toml")
    both = [record for record in records if record.runs(SIMULATED) and record.runs(LINUX)]
    open_ = set(report.beyond(both))
    for explanation in explanations:
        if not any(explanation.covers(*cell) for cell in open_):
            say(f"explains nothing any more: {explanation.text[:60]!r}")
    image = figure.draw(both, root / "docs/images/fidelity.png")
    path = root / "docs/fidelity.md"
    path.write_text(report.page(records, explanations, "images/fidelity.png"), encoding="utf-8")
    return [path, image]
