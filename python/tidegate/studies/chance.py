"""What a search for explanations is worth: how many cells it would explain by chance.

With several other assumptions at hand, one of them comes near to almost any number. So beside the
number of cells that assumptions explain stands the number that they would explain had the paper
printed something else: a value drawn at random, evenly on a logarithmic scale, from half to twice
its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.studies.explanations import Support
    from tidegate.studies.judge import CellVerdict

_FACTORS = np.geomspace(0.5, 2.0, 401)


@dataclass(frozen=True)
class Tried:
    """Deviating cells that other assumptions were tried on."""

    cells: int
    explained: int
    by_chance: float
    """How many would be explained on average, were the paper's numbers drawn at random."""


def tried(verdicts: Iterable[CellVerdict], supports: Sequence[Support]) -> Tried:
    """Count the deviating cells that some of these assumptions bring within their tolerance."""
    cells, explained, by_chance = 0, 0, 0.0
    for verdict in verdicts:
        others = [] if verdict.within else _others(verdict, supports)
        if others:
            cells += 1
            explained += any(other.within for other in others)
            by_chance += _share_explained(verdict, others)
    return Tried(cells, explained, by_chance)


def _others(verdict: CellVerdict, supports: Sequence[Support]) -> list[CellVerdict]:
    listed = [s for s in supports if s.explanation.covers_cell(verdict.cell) and not s.stale]
    others = (support.with_other_assumption(verdict.cell) for support in listed)
    return [other for other in others if other is not None]


def _share_explained(verdict: CellVerdict, others: Sequence[CellVerdict]) -> float:
    """Of the numbers that would deviate, too."""
    deviating, explained = 0, 0
    for factor in _FACTORS:
        cell = replace(verdict.cell, value=verdict.cell.value * factor)
        if not replace(verdict, cell=cell).within:
            deviating += 1
            explained += any(replace(other, cell=cell).within for other in others)
    return explained / deviating if deviating else 0.0
