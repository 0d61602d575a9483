"""A series of ours beside the same points that were measured elsewhere.

An experiment names both::

    [beside]
    ours = "simulated"                  # a series of the experiment
    series = "linux"                    # one with a table of what was measured, see sides/measured
    name = "Linux"                      # what pages call it
    row = { case = "scenario" }         # one or more factors, and their headings
    judged = ["ratio"]                  # metrics of the row's verdict; default: all
    [beside.metrics]
    ratio = { name = "throughput ratio" }
    loss_ratio = { name = "loss", unit = "%", scale = 100 }
    [beside.also.paper]                 # what other series have of these points, for orientation
    ratio = { name = "the paper" }

Each number that both have is a cell with an interval on either side. It is *within* where the means
are within `NEAR`, *undecided* where they are not and chance may explain the difference (Welch), and
else out. Where both are 0 there is nothing to compare.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.studies.errors import ReproductionError
from tidegate.studies.judge import CellVerdict
from tidegate.studies.model import Cell
from tidegate.studies.sides.measured import measured as measured_before
from tidegate.studies.verdict import Tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.results.statistics import Estimate
    from tidegate.studies.model import Series
    from tidegate.studies.points import Point, Points

NEAR, CLOSE = Tolerance(0.10), Tolerance(0.05)


@dataclass(frozen=True)
class Beside:
    """Which series are compared, and how a page shows them."""

    ours: str
    series: str
    name: str
    row: Mapping[str, str]
    metrics: Mapping[str, Mapping[str, Any]]
    judged: Sequence[str] = ()
    also: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def of_verdict(self) -> list[str]:
        """Metrics of a row's verdict."""
        return list(self.judged or self.metrics)

    def heading(self, metric: str) -> str:
        """Heading of a metric's column."""
        unit = self.metrics[metric].get("unit")
        return str(self.metrics[metric]["name"]) + (f" [{unit}]" if unit else "")

    def cells(self, experiment: str, series: Mapping[str, Series]) -> Iterator[Cell]:
        """Give a cell for each number that was measured elsewhere."""
        table = series[self.series].measured
        if table is None:
            raise ReproductionError(f"{experiment}: beside: {self.series} has no table `measured`")
        for setting in series[self.ours].settings:
            # What is lacking there is an error as soon as its series is asked for.
            found: Mapping[str, Estimate] = {}
            with suppress(ReproductionError):
                found = measured_before(table, setting.levels)
            for metric in self.metrics.keys() & found.keys():
                theirs = found[metric]
                yield Cell(
                    experiment, setting.levels, metric, theirs.mean,
                    self.metrics[metric].get("unit", "1"), NEAR, measured=theirs,
                )  # fmt: skip


def judge_beside(cell: Cell, points: Sequence[Point]) -> CellVerdict | None:
    """Put a cell beside the point of ours that has its levels; `None`: nothing to compare."""
    point = next((one for one in points if one.levels == cell.levels), None)
    ours = point.metrics.get(cell.metric) if point else None
    if ours is None or not ours.runs or not (ours.mean or cell.value):
        return None
    return CellVerdict(cell, ours, None)


def all_beside(beside: Beside, cells: Sequence[Cell], measured: Points) -> list[CellVerdict]:
    """Judge every cell, in the order of the metrics and then of the points."""
    points = measured.series((cells[0].experiment, beside.ours)) if cells else []
    order = list(beside.metrics)
    found = [judge_beside(cell, points) for cell in cells]
    return sorted(filter(None, found), key=lambda one: order.index(one.cell.metric))
