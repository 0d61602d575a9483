"""Explanations of deviations, each tied to a measurement of ours that has to show it.

`explanations.toml` lists them::

    [[explanation]]
    id = "short-name"
    text = "why"
    claims = ["abc-.."]                                        # what it explains:
    cells = [{ experiment = "table5", where = { ecn = "on" }, metric = ".." }]
    [[explanation.shown_by]]                                   # all of these have to hold:
    series = "traits:tcp"
    metric = ".."
    levels = { without = { .. }, with = { .. } }
    check = { kind = "order", less = ["without", "with"], min_rel_gap = 0.1 }

`shown_by` is a claim of our own, in the language of `selection` and `checks`. One that no longer
holds makes its explanation stale: it then explains nothing, and the report says so.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.papers.errors import ReproductionError
from tidegate.papers.verdicts import judge_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tidegate.papers.book import Book
    from tidegate.papers.checks import Finding
    from tidegate.papers.experiments import Cell, Claim


@dataclass(frozen=True)
class Explanation:
    """Why some cells or claims deviate, and what has to show it."""

    id: str
    text: str
    claims: frozenset[str]
    cells: tuple[Mapping[str, Any], ...]
    shown_by: tuple[Mapping[str, Any], ...]

    def covers_claim(self, claim: Claim) -> bool:
        """Whether it is listed for this claim."""
        return claim.id in self.claims

    def covers_cell(self, cell: Cell) -> bool:
        """Whether it is listed for this cell."""
        return any(
            cell.experiment == group["experiment"]
            and cell.metric == group.get("metric", cell.metric)
            and all(
                cell.levels.get(name) in (want if isinstance(want, list) else [want])
                for name, want in group.get("where", {}).items()
            )
            for group in self.cells
        )


@dataclass(frozen=True)
class Support:
    """An explanation, and what the measurements say of it now."""

    explanation: Explanation
    findings: tuple[tuple[str, Finding], ...]

    @property
    def stale(self) -> bool:
        """Whether the measurements do not show the effect (any more)."""
        return not all(finding.held for _, finding in self.findings)


def load_explanations(file: Path) -> list[Explanation]:
    """Read them; an explanation without a measurement is an error."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("explanation", [])
    for entry in entries:
        if not entry.get("shown_by"):
            raise ReproductionError(f"explanation {entry['id']!r} names no measurement")
    return [
        Explanation(
            entry["id"],
            entry["text"].strip(),
            frozenset(entry.get("claims", [])),
            tuple(entry.get("cells", [])),
            tuple(entry["shown_by"]),
        )
        for entry in entries
    ]


def weigh(explanations: Iterable[Explanation], book: Book) -> list[Support]:
    """Put every explanation to the measurements that are to show it."""
    return [Support(one, tuple(judge_parts(one.shown_by, "", book, {}))) for one in explanations]
