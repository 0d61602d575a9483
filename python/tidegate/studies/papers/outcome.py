"""An experiment's outcome: all its verdicts, and their counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.papers.experiments import Experiment
    from tidegate.studies.papers.explanations import Support
    from tidegate.studies.papers.verdicts import CellVerdict, ClaimVerdict


@dataclass(frozen=True)
class Outcome:
    """Verdicts on one experiment; what is only explained is neither within nor held."""

    experiment: Experiment
    cells: tuple[CellVerdict, ...]
    claims: tuple[ClaimVerdict, ...]
    supports: Sequence[Support]
    with_own_runs: Mapping[str, ClaimVerdict] = field(default_factory=dict)
    """Claims by their names, judged over as many runs as the paper itself has."""

    @property
    def otherwise(self) -> list[tuple[ClaimVerdict, ClaimVerdict]]:
        """Claims that the paper's own number of runs would decide otherwise: ours, and those."""
        pairs = [
            (ours, self.with_own_runs[ours.claim.id])
            for ours in self.claims
            if ours.claim.id in self.with_own_runs
        ]
        return [(ours, few) for ours, few in pairs if ours.verdict is not few.verdict]

    def explanation_of(self, verdict: CellVerdict | ClaimVerdict) -> Support | None:
        """Give the first explanation listed for it that our measurements show."""
        return next((s for s in self.supports if _explains(s, verdict)), None)

    def listed_for(self, verdict: CellVerdict | ClaimVerdict) -> list[Support]:
        """All explanations listed for it, stale ones too."""
        return [s for s in self.supports if _covers(s, verdict)]

    @property
    def deviating(self) -> list[CellVerdict | ClaimVerdict]:
        """Cells that are out and claims that fail."""
        return [
            *(verdict for verdict in self.cells if not verdict.within),
            *(verdict for verdict in self.claims if not (verdict.held or verdict.undecided)),
        ]

    def summary(self, paper: str) -> dict[str, Any]:
        """Give counts for `reproduce --check --format json`.

        Cells and claims are cells within, claims held, and what the three lists have: each stands
        in one of them.
        """
        explained: list[str] = []
        unexplained: list[str] = []
        undecided = [name_of(verdict) for verdict in self.claims if verdict.undecided]
        for verdict in self.deviating:
            (explained if self.explanation_of(verdict) else unexplained).append(name_of(verdict))
        return {
            "experiment": f"{paper}/{self.experiment.name}",
            **({"part": self.experiment.part} if self.experiment.part else {}),
            "cells": len(self.cells),
            "cells_within": sum(verdict.within for verdict in self.cells),
            "claims": len(self.claims),
            "claims_held": sum(verdict.held for verdict in self.claims),
            "claims_undecided": len(undecided),
            "undecided": undecided,
            "explained": explained,
            "unexplained": unexplained,
            "ok": not unexplained,
        }


def name_of(verdict: CellVerdict | ClaimVerdict) -> str:
    """Give identifier of what was judged."""
    return verdict.cell.id if hasattr(verdict, "cell") else verdict.claim.id


def _covers(support: Support, verdict: CellVerdict | ClaimVerdict) -> bool:
    if hasattr(verdict, "cell"):
        return support.explanation.covers_cell(verdict.cell)
    return support.explanation.covers_claim(verdict.claim)


def _explains(support: Support, verdict: CellVerdict | ClaimVerdict) -> bool:
    if hasattr(verdict, "cell"):
        return support.explains_cell(verdict.cell)
    return support.explains_claim(verdict.claim)
