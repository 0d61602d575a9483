"""An experiment's cells and claims beside ours, as tables for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tidegate.results.show import Grid
from tidegate.results.statistics import decimals
from tidegate.studies.outcome import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.judge import CellVerdict, ClaimVerdict
    from tidegate.studies.outcome import Outcome


def grids(outcome: Outcome) -> list[Grid]:
    """Every number that the paper prints with ours and the verdict, and every statement."""
    judged = outcome.summary("")
    return [grid for grid in (_cells(outcome, judged), _claims(outcome, judged)) if grid.cells]


def _cells(outcome: Outcome, judged: Mapping[str, Any]) -> Grid:
    factors = list(dict.fromkeys(name for one in outcome.cells for name in one.cell.levels))
    headings = [*factors, "metric", "the paper", "ours", "deviation", "verdict"]
    grid = Grid(outcome.experiment.title, headings, text_columns=len(factors) + 1)
    for verdict in outcome.cells:
        cell = verdict.cell
        levels = [str(cell.levels.get(factor, "")) for factor in factors]
        unit = "" if cell.unit == "1" else f" {cell.unit}"
        grid.cells.append([
            *levels, cell.metric, f"{cell.value:g}{unit}", *_ours(verdict),
            _word(verdict, judged, "within" if verdict.within else "out"),
        ])  # fmt: skip
    return grid


def _ours(verdict: CellVerdict) -> list[str]:
    cell, ours = verdict.cell, verdict.ours
    if math.isnan(ours.mean):
        return ["–", ""]
    digits = max(2, decimals(cell.value)) if cell.unit != "s" else 1
    return [
        ours.written(digits),
        f"{100 * verdict.deviation:+.1f} %",
    ]


def _claims(outcome: Outcome, judged: Mapping[str, Any]) -> Grid:
    grid = Grid("Claims", ["the paper says", "ours", "verdict"], text_columns=3)
    for verdict in outcome.claims:
        word = _word(verdict, judged, verdict.verdict.value)
        grid.cells.append([verdict.claim.text, verdict.measured, word])
    return grid


def _word(verdict: CellVerdict | ClaimVerdict, judged: Mapping[str, Any], word: str) -> str:
    """The verdict, and why where it is neither within nor held."""
    name = name_of(verdict)
    if name in judged["cannot_fail"]:
        return f"{word}, cannot fail"
    if name in judged["by_another_reading"]:
        return f"{word}, by another reading"
    return f"{word}, explained" if name in judged["explained"] else word
