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

An explanation may also be a derivation, `derived_in = "tests/../test_x.py::test_y"`: a test that
computes from the scenario's and the paper's own numbers that they contradict each other.

Whatever explains a cell has to test its value, by a derivation or by another assumption. Where
another assumption is to explain cells, `assuming = ["traits:series", ..]` names series that
have the points of these cells measured with it. Of the cells listed it then explains only those
that come to lie within their tolerance; the report says what the others come to. `read_as = {
throughput_ratio_T_R = ".." }` names another metric of ours for theirs, where the assumption is on
what was counted.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.points import series_key
from tidegate.studies.papers.verdicts import judge_cell_in, judge_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tidegate.studies.papers.experiments import Cell, Claim
    from tidegate.studies.papers.findings import Finding
    from tidegate.studies.papers.points import Points, SeriesKey
    from tidegate.studies.papers.verdicts import CellVerdict


@dataclass(frozen=True)
class Explanation:
    """Why some cells or claims deviate, and what has to show it."""

    id: str
    text: str
    claims: frozenset[str]
    cells: tuple[Mapping[str, Any], ...]
    shown_by: tuple[Mapping[str, Any], ...]
    assuming: tuple[SeriesKey, ...] = ()
    """Series that measure the cells with another assumption."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Metrics of ours that stand for the cells' own under that assumption."""
    derived_in: str = ""
    """The test that derives the contradiction, as `file::test`."""

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
    measured: Points

    @property
    def stale(self) -> bool:
        """Whether the measurements do not show the effect (any more)."""
        return not all(finding.held for _, finding in self.findings)

    def explains_claim(self, claim: Claim) -> bool:
        """Whether it is listed for this claim and shown."""
        return self.explanation.covers_claim(claim) and not self.stale

    def explains_cell(self, cell: Cell) -> bool:
        """Whether it is listed for this cell and shown, for the cell itself where it can be."""
        if not self.explanation.covers_cell(cell) or self.stale:
            return False
        other = self.with_other_assumption(cell)
        return other is None or other.within

    def with_other_assumption(self, cell: Cell) -> CellVerdict | None:
        """Give the cell as it comes out with the assumption that is to explain it."""
        if not self.explanation.assuming:
            return None
        points = [point for key in self.explanation.assuming for point in self.measured.series(key)]
        return judge_cell_in(points, cell, self.explanation.read_as.get(cell.metric, cell.metric))


def load_explanations(file: Path) -> list[Explanation]:
    """Read them; an explanation without a measurement is an error."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("explanation", [])
    for entry in entries:
        tests_values = entry.get("assuming") or entry.get("derived_in")
        if not tests_values and not entry.get("shown_by"):
            raise ReproductionError(f"explanation {entry['id']!r} names no measurement")
        if entry.get("cells") and not tests_values:
            raise ReproductionError(f"explanation {entry['id']!r} tests no cell's value")
    return [
        Explanation(
            entry["id"],
            entry["text"].strip(),
            frozenset(entry.get("claims", [])),
            tuple(entry.get("cells", [])),
            tuple(entry.get("shown_by", [])),
            tuple(series_key(name, "") for name in entry.get("assuming", [])),
            entry.get("read_as", {}),
            entry.get("derived_in", ""),
        )
        for entry in entries
    ]


def weigh(explanations: Iterable[Explanation], measured: Points) -> list[Support]:
    """Put every explanation to the measurements that are to show it."""
    return [
        Support(one, tuple(judge_parts(one.shown_by, "", measured, {})), measured)
        for one in explanations
    ]
