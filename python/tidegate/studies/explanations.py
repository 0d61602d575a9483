"""Why something that a study judged deviates, and what has to show it.

`explanations.toml` lists them::

    [[explanation]]
    id = "short-name"
    text = "why"
    cells = [{ case = ["05-two-cubic", "04-two-reno"], metric = "ratio" }]
    derived_in = "tests/../test_x.py::test_y"

An entry of `cells` has what a cell must be: a value, one of a list, or a range. `derived_in` names
a test that computes what the text says.

A study that is judged by claims adds what has to show it::

    claims = ["abc-.."]                                        # what it explains, too
    [[explanation.shown_by]]                                   # all of these have to hold:
    series = "sensitivity:tcp"
    metric = ".."
    levels = { without = { .. }, with = { .. } }
    check = { kind = "order", less = ["without", "with"], min_rel_gap = 0.1 }

A cell has its experiment, its metric and its levels: `{ experiment = "table5", ecn = "on" }`.
`shown_by` is a claim of our own, in the language of `selection` and `checks`. One that no longer
holds makes its explanation stale: it then explains nothing, and the report says so.

How much one is worth is a verdict of its own. *Explained* is what a derivation says cannot be
(`derived_in`), or what comes out with one parameter that the paper leaves open (`parameter` names
it) and everything else as it is taken. All others show another reading of the text or several
changes at once: what they bring is *held by another reading*.

Whatever explains a cell has to test its value, by a derivation or by another assumption. Where
another assumption is to explain cells, `assuming = ["sensitivity:series", ..]` names series that
have the points of these cells measured with it. Of the cells listed it then explains only those
that come to lie within their tolerance; the report says what the others come to. `read_as = {
throughput_ratio_T_R = ".." }` names another metric of ours for theirs, where the assumption is on
what was counted.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tidegate.errors import ResultError
from tidegate.studies.errors import ReproductionError
from tidegate.studies.judge import judge_cell_in, judge_parts
from tidegate.studies.matching import matches
from tidegate.studies.points import series_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate.studies.checks.findings import Finding
    from tidegate.studies.judge import CellVerdict
    from tidegate.studies.model import Cell, Claim
    from tidegate.studies.points import Points, SeriesKey


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why some cells deviate, and what stands behind that."""

    id: str
    text: str
    cells: Sequence[Mapping[str, Any]] = ()
    derived_in: str = ""
    """The test that derives it, as `file::test`."""

    def covers(self, cell: Mapping[str, Any]) -> bool:
        """Whether it is about what has these traits."""
        return any(matches(cell, where) for where in self.cells)

    def paragraphs(self, *measured: str) -> list[str]:
        """Its words, what was measured of it, and the test behind it."""
        behind = [f"Derived in `{self.derived_in}`."] if self.derived_in else []
        return [self.text.strip(), *measured, *behind]


@dataclass(frozen=True, kw_only=True)
class StudyExplanation(Explanation):
    """Why some cells or claims of a study deviate, and what has to show it."""

    claims: Sequence[str] = ()
    parameter: str = ""
    """The one parameter that the paper leaves open and that is another in `shown_by`."""
    shown_by: Sequence[Mapping[str, Any]] = ()
    assuming: Sequence[str] = ()
    """Series that measure the cells with another assumption."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Metrics of ours that stand for the cells' own under that assumption."""

    def __post_init__(self) -> None:
        """Refuse what nothing of ours tests."""
        tests_values = self.assuming or self.derived_in
        if not tests_values and not self.shown_by:
            raise ReproductionError(f"explanation {self.id!r} names no measurement")
        if self.cells and not tests_values:
            raise ReproductionError(f"explanation {self.id!r} tests no cell's value")

    @property
    def explains(self) -> bool:
        """Whether what it is listed for is explained, and not only held by another reading."""
        return bool(self.derived_in or self.parameter)

    def paragraphs(self, *measured: str) -> list[str]:
        """Its words, what was measured of it, and what stands behind it."""
        lines = super().paragraphs(*measured)
        if self.derived_in:
            return lines
        behind = f"one open parameter, {self.parameter}" if self.parameter else "another reading"
        return [*lines, f"Rests on: {behind}."]

    @property
    def measured_in(self) -> list[SeriesKey]:
        """The series of `assuming`."""
        return [series_key(name, "") for name in self.assuming]

    def covers_claim(self, claim: Claim) -> bool:
        """Whether it is listed for this claim."""
        return claim.id in self.claims

    def covers_cell(self, cell: Cell) -> bool:
        """Whether it is listed for this cell."""
        return self.covers({"experiment": cell.experiment, "metric": cell.metric, **cell.levels})


@dataclass(frozen=True)
class Support:
    """An explanation, and what the measurements say of it now."""

    explanation: StudyExplanation
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
        points = [
            point for key in self.explanation.measured_in for point in self.measured.series(key)
        ]
        return judge_cell_in(points, cell, self.explanation.read_as.get(cell.metric, cell.metric))


def weigh(explanations: Iterable[StudyExplanation], measured: Points) -> list[Support]:
    """Put every explanation to the measurements that are to show it."""
    return [
        Support(one, tuple(judge_parts(one.shown_by, "", measured, {})), measured)
        for one in explanations
    ]


AnyExplanation = TypeVar("AnyExplanation", bound=Explanation)


def read_explanations(file: Path, kind: type[AnyExplanation]) -> list[AnyExplanation]:
    """Read a file's; without a file there are none."""
    if not file.is_file():
        return []
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("explanation", [])
        return [kind(**entry) for entry in entries]
    except (OSError, TypeError, tomllib.TOMLDecodeError) as error:
        raise ResultError(f"{file}: {error}") from error
