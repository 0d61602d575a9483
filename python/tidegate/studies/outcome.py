"""An experiment's outcome: all its verdicts, and their counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.baselines import Without
    from tidegate.studies.explanations import Support
    from tidegate.studies.judge import CellVerdict, ClaimVerdict
    from tidegate.studies.model import Experiment


@dataclass(frozen=True)
class Outcome:
    """Verdicts on one experiment; what is only explained is neither within nor held."""

    experiment: Experiment
    cells: tuple[CellVerdict, ...]
    claims: tuple[ClaimVerdict, ...]
    supports: Sequence[Support]
    with_own_runs: Mapping[str, ClaimVerdict] = field(default_factory=dict)
    """Claims by their names, judged over as many runs as the paper itself has."""
    without: Mapping[str, Without] = field(default_factory=dict)
    """Cells and claims by their names, as they would be without the mechanism."""

    @property
    def otherwise(self) -> list[tuple[ClaimVerdict, ClaimVerdict]]:
        """Claims whose verdict differs with the paper's number of runs: ours, and that one."""
        pairs = [
            (ours, self.with_own_runs[ours.claim.id])
            for ours in self.claims
            if ours.claim.id in self.with_own_runs
        ]
        return [(ours, few) for ours, few in pairs if ours.verdict is not few.verdict]

    def explanation_of(self, verdict: CellVerdict | ClaimVerdict) -> Support | None:
        """Give the first explanation listed for it that our measurements show.

        Another reading comes after what explains it.
        """
        shown = [s for s in self.supports if _explains(s, verdict)]
        return next(iter(sorted(shown, key=lambda one: not one.explanation.explains)), None)

    def listed_for(self, verdict: CellVerdict | ClaimVerdict) -> list[Support]:
        """All explanations listed for it, stale ones too."""
        return [s for s in self.supports if _covers(s, verdict)]

    @property
    def deviating(self) -> list[CellVerdict | ClaimVerdict]:
        """Cells that are out and claims that fail."""
        return [
            *(one for one in self.counted_cells if not (one.within or one.undecided)),
            *(one for one in self.counted_claims if not (one.held or one.undecided)),
        ]

    @property
    def counted_cells(self) -> list[CellVerdict]:
        """Cells that can be out."""
        return [verdict for verdict in self.cells if not verdict.cell.cannot_fail]

    @property
    def counted_claims(self) -> list[ClaimVerdict]:
        """Claims that can fail."""
        return [verdict for verdict in self.claims if not verdict.claim.cannot_fail]

    def summary(self, study: str) -> dict[str, Any]:
        """Give counts for `reproduce --check --format json`.

        Cells and claims are cells within, claims held, and what the lists `undecided`, `explained`,
        `by_another_reading` and `unexplained` have: each stands in one of them. What cannot fail is
        in none of these counts, but in `cannot_fail`.
        """
        undecided = [name_of(one) for one in self.counted_cells if one.undecided]
        undecided += [name_of(verdict) for verdict in self.counted_claims if verdict.undecided]
        deviating: dict[str, list[str]] = {
            "explained": [], "by_another_reading": [], "unexplained": []
        }  # fmt: skip
        for verdict in self.deviating:
            deviating[self._standing(verdict)].append(name_of(verdict))
        apart = [name_of(one) for one in self.cells if one.cell.cannot_fail]
        apart += [name_of(one) for one in self.claims if one.claim.cannot_fail]
        return {
            "experiment": f"{study}/{self.experiment.name}",
            **({"part": self.experiment.part} if self.experiment.part else {}),
            "cells": len(self.counted_cells),
            "cells_within": sum(verdict.within for verdict in self.counted_cells),
            "claims": len(self.counted_claims),
            "claims_held": sum(verdict.held for verdict in self.counted_claims),
            "claims_undecided": sum(verdict.undecided for verdict in self.counted_claims),
            "undecided": undecided,
            **deviating,
            "cannot_fail": apart,
            **self._without_mechanism(),
            "ok": not deviating["unexplained"],
        }

    def _without_mechanism(self) -> dict[str, int]:
        """How many could be asked without the mechanism, and would be within or hold as well."""
        counted = [name_of(one) for one in self.counted_cells]
        counted += [name_of(one) for one in self.counted_claims]
        asked = [self.without[name] for name in counted if name in self.without]
        asked = [one for one in asked if one.asked]
        held = sum(one.held for one in asked)
        return {"without_mechanism": len(asked), "without_mechanism_held": held}

    def _standing(self, verdict: CellVerdict | ClaimVerdict) -> str:
        support = self.explanation_of(verdict)
        if support is None:
            return "unexplained"
        return "explained" if support.explanation.explains else "by_another_reading"


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
