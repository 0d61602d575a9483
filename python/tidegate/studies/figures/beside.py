"""How far ours is from what was measured elsewhere: a row a point, a panel a metric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.figures.look import COLOURS, INK
from tidegate.studies.beside import NEAR, all_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tidegate.studies.judge import CellVerdict
    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Points

EDGE = 60.0
"""Per cent; what is farther off stands at the edge with its number."""


def draw_beside(experiment: Experiment, measured: Points) -> Figure:
    """Draw the deviation of each cell with its interval; `metrics` of the figure are shown.

    `also` names further series that were measured elsewhere, and what to call them.
    """
    from matplotlib.figure import Figure

    spec, beside = experiment.figure or {}, experiment.beside
    assert beside is not None, "the figure is about it"  # noqa: S101
    sides = {beside.name: all_beside(beside, experiment.cells, measured)}
    for name, called in spec.get("also", {}).items():
        cells = replace(beside, series=name).cells(experiment.name, experiment.series)
        sides[called] = all_beside(beside, [*cells], measured)
    found = [one for each in sides.values() for one in each]
    factor = next(iter(beside.row))
    order = dict.fromkeys(one.levels[factor] for one in experiment.series[beside.ours].settings)
    there = {one.cell.levels[factor] for one in found}
    levels = [level for level in order if level in there]
    shown = spec["metrics"]
    figure = Figure((12.0, 2.0 + 0.34 * len(levels)), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for axes, metric in zip(panels, shown, strict=True):
        _prepare(axes)
        for side, each in enumerate(sides.values()):
            own = [one for one in each if one.cell.metric == metric]
            apart = (side - (len(sides) - 1) / 2) * 0.36
            _panel(
                axes, [(levels.index(one.cell.levels[factor]) + apart, one) for one in own], side
            )
        axes.set_title(beside.metrics[metric]["name"])
    panels[0].set_yticks(range(len(levels)), list(map(str, levels)))
    panels[0].set_ylim(len(levels) - 0.4, -0.6)
    whom = " and ".join(f"{one} ({_MARKS[side][1]})" if len(sides) > 1 else one
                        for side, one in enumerate(sides))  # fmt: skip
    figure.supxlabel(f"simulator against {whom} [%], with 95 % confidence", fontsize=11)
    return figure


_MARKS = (("o", "dots"), ("D", "diamonds"), ("^", "triangles"))


def _prepare(axes: Axes) -> None:
    axes.axvspan(-100 * NEAR.share, 100 * NEAR.share, color=COLOURS[2], alpha=0.15, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    axes.set_xlim(-EDGE, EDGE)


def _panel(axes: Axes, cells: list[tuple[float, CellVerdict]], side: int) -> None:
    mark = _MARKS[side][0]
    for place, each in cells:
        if not np.isfinite(each.deviation):
            continue
        size, half = 100 * each.deviation, float(np.nan_to_num(100 * each.uncertainty))
        colour = COLOURS[2] if each.within else COLOURS[1]
        if abs(size) <= EDGE:
            axes.errorbar(size, place, xerr=half, fmt=mark, color=colour, capsize=3, markersize=5)
            continue
        at, end = (EDGE, "right") if size > 0 else (-EDGE, "left")
        axes.annotate(f"{size:+.0f}", (at, place), ha=end, va="center", fontsize=9, color=colour)
