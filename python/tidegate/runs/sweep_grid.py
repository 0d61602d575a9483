"""Table for people of a sweep: throughput of each group at each point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.results.show import Grid, rate_unit, uncertain
from tidegate.results.statistics import Estimate
from tidegate.runs.swept_values import words

if TYPE_CHECKING:
    from tidegate.runs.sweeps import Sweep


def sweep_grid(done: Sweep) -> Grid:
    """Throughput per user of each group at each point."""
    groups = done.scenario.groups
    found = [
        (point, {row.name: row for row in point.summary() if row.metric == "throughput_bps"})
        for point in done.points
    ]
    found = [(point, by_group) for point, by_group in found if by_group]
    largest = max((row.mean for _, by_group in found for row in by_group.values()), default=0.0)
    unit, scale = rate_unit(largest)
    headings = [*done.axes, *groups, *["runs"] * (done.until is not None)]
    grid = Grid(f"Throughput per user [{unit}]", headings, text_columns=len(done.axes))
    for point, by_group in found:
        estimates = (Estimate(r.mean, r.ci95, r.runs) for r in map(by_group.get, groups) if r)
        cells = [uncertain(value, scale) for value in estimates]
        runs = [str(len(point.runs))] if done.until else []
        grid.cells.append([*(words(point.values[key]) for key in done.axes), *cells, *runs])
    return grid
