"""A figure of cells: levels of one factor by those of another, coloured by a ratio.

The colour is the ratio's logarithm; below the ratio stands a delay, and how much of the link is
used where that is less than `full`.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from tidegate.figures.look import INK
from tidegate.studies.factors import title
from tidegate.studies.points import series_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Point, Points

_MOST = 4.0
"""log2 of the ratio from which on the colour is the same: 16 times."""
_CELL = (0.66, 0.47)
"""Width and height of a cell, inches."""
_HEADING = 10
"""Letters that fit over a column."""
_LARGE, _MIDDLE, _SMALL = 9.0, 8.0, 7.0
"""Sizes of letters, points."""


def draw_cells(experiment: Experiment, measured: Points) -> Figure:
    """Draw a cell for each point that has the ratio; what was not measured stays empty."""
    from matplotlib import colormaps
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    spec, factors = experiment.figure or {}, experiment.factors
    points = {
        (point.levels[spec["row"]], point.levels[spec["column"]]): point
        for name in spec["series"]
        for point in measured.series(series_key(name, experiment.name))
        if spec["ratio"] in point.metrics
        and factors[spec["row"]].kinds.get(str(point.levels[spec["row"]])) in spec["kinds"]
    }
    rows, columns = (list(dict.fromkeys(key[axis] for key in points)) for axis in (0, 1))
    shades = colormaps["RdBu_r"].with_extremes(bad="#eeeeee")
    norm = TwoSlopeNorm(0.0, -_MOST, _MOST)
    size = (1.75 + _CELL[0] * len(columns), 2.0 + _CELL[1] * len(rows))
    figure = Figure(size, layout="constrained")
    axes = figure.add_subplot()
    level = {at: _logarithm(point.metrics[spec["ratio"]].mean) for at, point in points.items()}
    colours = [[level.get((row, column), math.nan) for column in columns] for row in rows]
    image = axes.imshow(colours, cmap=shades, norm=norm, aspect="auto")
    for (row, column), point in points.items():
        red, green, blue, _ = shades(norm(level[row, column]))
        # What can be read on this colour, by its brightness (ITU-R BT.601).
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK
        texts = _texts(point, spec)
        heights = (-0.29, 0.03, 0.31) if len(texts) == 3 else (-0.17, 0.2)
        for number, (text, up) in enumerate(zip(texts, heights, strict=True)):
            at = (columns.index(column), rows.index(row) + up)
            axes.text(
                *at,
                text,
                ha="center",
                va="center",
                color=ink,
                fontsize=_SMALL if number else _LARGE,
            )
    heads = [
        textwrap.fill(title(factors, spec["column"], one), _HEADING, break_long_words=False)
        for one in columns
    ]
    axes.set_xticks(range(len(columns)), heads, fontsize=_MIDDLE)
    axes.xaxis.tick_top()
    axes.set_yticks(
        range(len(rows)), [title(factors, spec["row"], one) for one in rows], fontsize=_LARGE
    )
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, pad=0.01, aspect=40)
    bar.set_ticks([-4, -2, 0, 2, 4], labels=["1/16", "1/4", "1", "4", "16"], fontsize=_SMALL)
    bar.set_label(spec["label"], fontsize=_LARGE)
    return figure


def _logarithm(ratio: float) -> float:
    if math.isnan(ratio):
        return math.nan
    return min(max(math.log2(ratio), -_MOST), _MOST) if ratio > 0 else -_MOST


def _texts(point: Point, spec: Mapping[str, Any]) -> list[str]:
    ratio = point.metrics[spec["ratio"]].mean
    delay_ms = 1e3 * point.metrics[spec["delay_s"]].mean
    used = point.metrics[spec["used"]].mean
    texts = [">99" if ratio > 99 else f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2f}"]
    texts.append(f"{delay_ms:.0f} ms" if delay_ms >= 9.5 else f"{delay_ms:.1f} ms")
    return texts + ([f"{100 * used:.0f} %"] if round(used, 2) < spec["full"] else [])
