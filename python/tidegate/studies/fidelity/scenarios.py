"""The scenarios below ``fidelity/``, and the page about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.studies.fidelity import figure, packetdrill, report
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Study, read_case

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "studies/fidelity"
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
    both = _on_both_sides(records)
    return report.verdict_line(both) + "\n" + report.table(both).replace("<br>", "  ")


def parts(records: Sequence[Record], root: Path) -> dict[str, object]:
    """What the page tells of them."""
    folder = root / FOLDER
    off = [*report.beyond(_on_both_sides(records)), *packetdrill.deviating(folder)]
    explanations = report.explanations_of(folder, off)
    told = report.parts(records, explanations, folder / HELD_OUT / "page.md")
    return {**told, **packetdrill.parts(folder, explanations)}


def draw(records: Sequence[Record], root: Path) -> Path:
    """Draw the page's figure."""
    return figure.draw(_on_both_sides(records), root / "docs/images/fidelity.png")


def _on_both_sides(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.runs(SIMULATED) and record.runs(LINUX)]


STUDY = Study(FOLDER, "docs/fidelity.md", cases, table, parts, draw, simulations=SIMULATIONS)
