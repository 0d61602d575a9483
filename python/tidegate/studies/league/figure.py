"""The figure: who gets more than his share, mechanisms by situations, and how long the queue is."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from matplotlib import colormaps, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from tidegate.figures.look import INK, STYLE, write
from tidegate.studies.league.tables import ratio

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.studies.league.field import Situation
    from tidegate.studies.league.scores import Scores

_MOST = 4.0
"""log2 of the ratio from which on the colour is the same: 16 times."""
_CELL = (0.66, 0.47)
"""Width and height of a cell, inches: so that twelve and the names fit the width of a page."""
_LARGE, _MIDDLE, _SMALL = 9.0, 8.0, 7.0
"""Sizes of letters, points: the small ones can still be read where the figure fills a page."""
_HEADING = 10
"""Letters that fit over a column."""
_FULL = 0.95
"""A link that is used less has that written in its cell."""
_GREY = "#666666"
_SHADES = colormaps["RdBu_r"].with_extremes(bad="#eeeeee")
_NORM = TwoSlopeNorm(0.0, -_MOST, _MOST)


def draw(scores: Scores, path: Path) -> Path:
    """Write a heat map of all mechanisms and situations."""
    with rc_context(STYLE):
        figure = heat_map(scores)
        path.parent.mkdir(parents=True, exist_ok=True)
        return write(figure, path)


def heat_map(scores: Scores) -> Figure:
    """Draw the heat map."""
    shown = [s for s in scores.situations.values() if not s.offers]
    situations = [s for s in shown if _measured(scores, s)]
    names = scores.regular or list(scores.mechanisms)
    size = (1.75 + _CELL[0] * len(situations), 2.3 + _CELL[1] * len(names))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    colours = [[_level(scores, s, name) for s in situations] for name in names]
    image = axes.imshow(colours, cmap=_SHADES, norm=_NORM, aspect="auto")
    for row, name in enumerate(names):
        for column, situation in enumerate(situations):
            _cell(axes, scores, situation, name, (column, row))
    _frame(axes, situations, [scores.mechanisms[name].title for name in names])
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, pad=0.01, aspect=40)
    bar.set_ticks([-4, -2, 0, 2, 4], labels=["1/16", "1/4", "1", "4", "16"], fontsize=_SMALL)
    bar.set_label(
        "ratio of rates per customer; below it the delay that 95 % of the packets stay below,\n"
        f"and how much of the link is used where that is less than {100 * _FULL:.0f} %",
        fontsize=_LARGE,
    )
    figure.suptitle("Who gets more than his share?", x=0.01, ha="left", fontweight="bold")
    return figure


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
    used = scores.of("utilization", situation.name, mechanism).mean
    value = ratio(scores.of("ratio", situation.name, mechanism).mean)
    below = [f"{delay_ms:.0f} ms" if delay_ms >= 9.5 else f"{delay_ms:.1f} ms"]
    if round(used, 2) < _FULL:
        below.append(f"{100 * used:.0f} %")
    column, row = place
    lines = [(value, _LARGE), *((text, _SMALL) for text in below)]
    for at, (text, size) in zip(_heights(len(lines)), lines, strict=True):
        axes.text(
            column, row + at, text, ha="center", va="center", color=_ink(level), fontsize=size
        )


def _ink(level: float) -> str:
    """What can be read on the colour of this level: by its brightness (ITU-R BT.601)."""
    red, green, blue, _ = _SHADES(_NORM(level))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


def _heights(lines: int) -> tuple[float, ...]:
    """Where the lines of a cell stand, as shares of its height from its middle."""
    return (-0.29, 0.03, 0.31) if lines == 3 else (-0.17, 0.2)


def _frame(axes: Axes, situations: list[Situation], titles: list[str]) -> None:
    for column, one in enumerate(situations):
        title = textwrap.fill(one.title.replace("\n", " "), _HEADING, break_long_words=False)
        for text, up, size, colour in (
            (" :\n".join(one.ratio), 5, _SMALL, _GREY),
            (title, 9 + 2.5 * _SMALL, _MIDDLE, INK),
        ):
            axes.annotate(
                text, (column, -0.5), (0, up), textcoords="offset points", ha="center", va="bottom",
                fontsize=size, color=colour,
            )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks(range(len(titles)), titles, fontsize=_LARGE)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_xticks([n - 0.5 for n in range(1, len(situations))], minor=True)
    axes.set_yticks([n - 0.5 for n in range(1, len(titles))], minor=True)
    axes.grid(visible=True, which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
