"""A metric of a sweep over its factors: a map of two, and the main effect of each."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from tidegate.errors import UsageError
from tidegate.figures.look import COLOURS, INK, new_figure, plain_log_ticks, subtitle
from tidegate.figures.output import TITLE
from tidegate.figures.plots import APART
from tidegate.figures.quantity import shown
from tidegate.figures.sweeps import LABEL_CHARACTERS, across_key, level_names, short_keys
from tidegate.runs.swept_values import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from tidegate.results.summary import Row
    from tidegate.runs.sweeps import Point, Sweep

_BRIGHT = 0.55
"""Of a cell on which dark letters can be read (ITU-R BT.601)."""


def heat(
    sweep: Sweep,
    metric: str,
    name: str,
    found: Sequence[tuple[Point, Mapping[str, Row]]],
    by: Sequence[str] = (),
) -> Axes:
    """Draw a map: a cell for each pair of values of two keys, with the number in it.

    Parameters
    ----------
    sweep, metric, name, found
        As in `tidegate.figures.sweeps.over_key`.
    by
        The two keys; default: the two with most values. A cell is the mean over all others.

    """
    keys = _two(sweep, by)
    levels = [level_names(sweep, key) for key in keys]
    places = [{value: at for at, value in enumerate(names)} for names in levels]
    cells: dict[tuple[int, int], list[float]] = {}
    for point, rows in found:
        if name in rows and rows[name].runs:
            values = [words(point.values[key]) for key in keys]
            at = places[0][values[0]], places[1][values[1]]
            cells.setdefault(at, []).append(rows[name].mean)
    grid = np.full((len(levels[0]), len(levels[1])), np.nan)
    for at, means in cells.items():
        grid[at] = np.mean(means)
    drawn = shown(metric, float(np.nanmax(grid)))
    grid *= drawn.scale
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    norm = LogNorm(low, high) if low > 0 and high >= APART * low else Normalize(low, high)
    shades = colormaps["viridis"].with_extremes(bad="#eeeeee")
    figure, axes = new_figure(height=1.9 + 0.42 * grid.shape[0])
    image = axes.imshow(grid, cmap=shades, norm=norm, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            red, green, blue, _ = shades(norm(value))
            bright = 0.299 * red + 0.587 * green + 0.114 * blue >= _BRIGHT
            axes.text(
                column, row, f"{value:.3g}", ha="center", va="center", fontsize=9.5,
                color=INK if bright else "white",
            )  # fmt: skip
    named = short_keys(list(keys))
    for axis, key, names in ((axes.yaxis, 0, levels[0]), (axes.xaxis, 1, levels[1])):
        axis.set_ticks(range(len(names)), [textwrap.fill(one, 14) for one in names.values()])
        axis.set_label_text(named[key])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(drawn.axis)
    if isinstance(norm, LogNorm):
        plain_log_ticks(bar.ax.yaxis)
    others = [key for key in sweep.axes if key not in keys]
    rest = f"mean over {', '.join(short_keys(others))}" if others else "mean of runs"
    subtitle(axes, f"{name}: {drawn.label}", f"{sweep.scenario.name}: {rest}")
    return axes


def effects(
    sweep: Sweep, metric: str, name: str, found: Sequence[tuple[Point, Mapping[str, Row]]]
) -> list[Axes]:
    """Draw main effects: for each key, the mean over all values of the others at each of its own.

    A thin line goes from the least to the largest of the points behind a mean: where it is long,
    the other keys matter as well. Numbers are joined by a line, names are not.
    """
    rows = [(point, by[name]) for point, by in found if name in by and by[name].runs]
    drawn = shown(metric, max((row.mean for _, row in rows), default=0.0))
    keys = sweep.axes
    figure = Figure(figsize=(max(8.0, 3.2 * len(keys)), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels: list[Axes] = list(figure.subplots(1, len(keys), sharey=True, squeeze=False)[0])
    for axes, key, label in zip(panels, keys, short_keys(list(keys)), strict=True):
        across = across_key(sweep, key)
        by_level: dict[str, list[float]] = {}
        for point, row in rows:
            by_level.setdefault(words(point.values[key]), []).append(row.mean * drawn.scale)
        levels = sorted(by_level, key=across.places.__getitem__)
        at = [across.places[level] for level in levels]
        axes.vlines(
            at, [min(by_level[level]) for level in levels],
            [max(by_level[level]) for level in levels], color=COLOURS[0], linewidth=0.8,
        )  # fmt: skip
        axes.plot(
            at, [np.mean(by_level[level]) for level in levels], marker="o", color=COLOURS[0],
            linestyle="-" if across.names is None else "none",
        )  # fmt: skip
        if across.names is not None:
            axes.set_xticks(at, [textwrap.fill(one, 12) for one in across.names])
            axes.margins(x=0.2)
        elif at[0] > 0 and at[-1] >= 10 * at[0]:
            axes.set_xscale("log")
            plain_log_ticks(axes.xaxis)
        unit = across.label.removeprefix(key)
        axes.set_xlabel(textwrap.fill(f"{label}{unit}", LABEL_CHARACTERS))
    panels[0].set_ylim(bottom=0.0)
    panels[0].set_ylabel(drawn.axis)
    below = f"{sweep.scenario.name}: means over the other keys, lines from least to largest"
    figure.suptitle(f"{name}: main effects\n{below}", x=0.01, ha="left", fontsize=11, gid=TITLE)
    return panels


def _two(sweep: Sweep, by: Sequence[str]) -> tuple[str, str]:
    for key in by:
        if key not in sweep.axes:
            raise UsageError(f"{key!r} is not swept; there are: {', '.join(sweep.axes)}")
    most = sorted(sweep.axes, key=lambda key: -len(level_names(sweep, key)))
    chosen = [*by, *(key for key in most if key not in by)][:2]
    if len(chosen) < 2:
        raise UsageError("a map takes two swept keys; this sweep has one: --kind line draws it")
    return chosen[0], chosen[1]
