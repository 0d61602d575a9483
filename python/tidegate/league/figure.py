"""The figure: who gets more than his share, mechanisms by situations, and how long the queue is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib import colormaps, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from tidegate.figures import INK, STYLE, write
from tidegate.league.tables import ratio

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.league.field import Situation
    from tidegate.league.scores import Scores

_MOST = 4.0
"""log2 of the ratio from which on the colour is the same: 16 times."""
_CELL = (1.12, 0.46)
"""Width and height of a cell, inches."""
_FULL = 0.95
"""A link that is used less has that written in its cell."""
_MISSING = "#eeeeee"


def draw(scores: Scores, path: Path) -> Path:
    """Write a heat map of all mechanisms and situations."""
    situations = [s for s in scores.situations.values() if _measured(scores, s)]
    names = scores.regular or list(scores.mechanisms)
    size = (3.6 + _CELL[0] * len(situations), 2.4 + _CELL[1] * len(names))
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        shades = colormaps["RdBu_r"].with_extremes(bad=_MISSING)
        norm = TwoSlopeNorm(0.0, -_MOST, _MOST)
        colours = [[_level(scores, s, name) for s in situations] for name in names]
        image = axes.imshow(colours, cmap=shades, norm=norm, aspect="auto")
        for row, name in enumerate(names):
            for column, situation in enumerate(situations):
                _cell(axes, scores, situation, name, (column, row))
        _frame(axes, situations, [scores.mechanisms[name].title for name in names])
        bar = figure.colorbar(image, ax=axes, shrink=0.5, pad=0.01, aspect=30)
        bar.set_ticks([-4, -2, 0, 2, 4], labels=["1/16", "1/4", "1", "4", "16"])
        bar.set_label("ratio of rates")
        figure.suptitle("Who gets more than his share?", x=0.01, ha="left", fontweight="bold")
        figure.supxlabel(
            "ratio of rates per customer, below it the 95 % queue delay,\n"
            f"and how much of the link is used where that is less than {100 * _FULL:.0f} %",
            x=0.01, ha="left", fontsize=9, color="#666666",
        )  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        return write(figure, path)


def _measured(scores: Scores, situation: Situation) -> bool:
    return any(scores.standings.runs(situation.name, name) for name in scores.mechanisms)


def _level(scores: Scores, situation: Situation, mechanism: str) -> float:
    """log2 of the ratio within what colours can tell; NaN where there is none."""
    value = scores.of("ratio", situation.name, mechanism).mean
    if math.isnan(value):
        return math.nan
    return min(max(math.log2(value), -_MOST), _MOST) if value > 0 else -_MOST


def _cell(
    axes: Axes, scores: Scores, situation: Situation, mechanism: str, place: tuple[int, int]
) -> None:
    level = _level(scores, situation, mechanism)
    if math.isnan(level):
        return
    delay_ms = 1e3 * scores.of("p95_delay_s", situation.name, mechanism).mean
    colour = "white" if abs(level) > 2.4 else INK
    value = ratio(scores.of("ratio", situation.name, mechanism).mean)
    column, row = place
    axes.text(column, row - 0.12, value, ha="center", va="center", color=colour, fontsize=11)
    below = f"{delay_ms:.0f} ms" if delay_ms >= 9.5 else f"{delay_ms:.1f} ms"
    used = scores.of("utilization", situation.name, mechanism).mean
    below += f", {100 * used:.0f} %" if used < _FULL else ""
    axes.text(column, row + 0.28, below, ha="center", va="center", color=colour, fontsize=8)


def _frame(axes: Axes, situations: list[Situation], titles: list[str]) -> None:
    axes.set_xticks(range(len(situations)), [f"{s.title}\n" for s in situations], fontsize=10)
    for column, one in enumerate(situations):
        axes.annotate(
            " : ".join(one.ratio), (column, -0.5), (0, 5), textcoords="offset points", ha="center",
            fontsize=8, color="#666666",
        )  # fmt: skip
    axes.set_yticks(range(len(titles)), titles)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_xticks([n - 0.5 for n in range(1, len(situations))], minor=True)
    axes.set_yticks([n - 0.5 for n in range(1, len(titles))], minor=True)
    axes.grid(visible=True, which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
