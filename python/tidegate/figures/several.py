"""More than two results in one figure. A colour and a marker are a result in all parts.

Above, throughput by group and how far each result is from the first; below, each group and each
queue over time, in axes of its own.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import INK, Look, look, plain_log_ticks
from tidegate.figures.plots import APART, ENOUGH_RUNS
from tidegate.results.show import rate_unit, variant_labels
from tidegate.results.statistics import band95

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.results.comparing import Difference, SideBySide

    Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

MOST_PANELS = 6
"""Groups over time; more would be too small to be read."""
LABEL_CHARACTERS = 40
_WIDE = 3
"""Panels side by side."""


def several(both: SideBySide) -> Figure:
    """Draw three or more results."""
    from tidegate.figures.comparisons import WORDS, group_curves, queue_curves

    rows: dict[tuple[str, str, str], list[Difference]] = {}
    for row in both.differences:
        if row.metric in WORDS and not np.isnan(row.relative):
            rows.setdefault((row.kind, row.name, row.metric), []).append(row)
    results = list(both.results.values())
    groups = [{name: (t, y) for name, t, y in group_curves(result)} for result in results]
    queues = [{name: (t, y) for name, t, y in queue_curves(result)} for result in results]
    panels = _panels(groups, "throughput per user")[:MOST_PANELS]
    panels += _panels(queues, "queue: backlog over rate")[:MOST_PANELS]
    count = len(results)
    upper = max(3.0, 0.9 + max(0.26, 0.1 * count) * len(rows))
    deep = -(-len(panels) // _WIDE)
    figure = Figure(figsize=(13.0, upper + 2.9 * deep + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    parts = figure.subfigures(2, 1, squeeze=False, height_ratios=[upper, max(2.9 * deep, 0.1)])
    top, bottom = parts[:, 0]
    who, change = top.subplots(1, 2)
    _throughput(who, both)
    _changes(change, both, rows, WORDS)
    if panels:
        _over_time(bottom.subplots(deep, _WIDE, squeeze=False).ravel().tolist(), panels)
    handles = [who.plot([], [], **_style(look(side)))[0] for side in range(count)]
    labels = [textwrap.fill(name, LABEL_CHARACTERS) for name in variant_labels(both.results)]
    figure.legend(handles, labels, loc="outside upper center", ncols=min(count, 5))
    return figure


def _style(one: Look) -> dict[str, object]:
    return {"color": one.colour, "marker": one.marker, "linestyle": one.dashes, "markersize": 6}


def _throughput(axes: Axes, both: SideBySide) -> None:
    """Throughput per user of every group; marks on a logarithmic axis where 30-fold apart."""
    found = [row for row in both.differences if row.metric == "throughput_bps"]
    names = list(dict.fromkeys(row.name for row in found))
    every = np.array([value.mean for row in found for value in (row.a, row.b)])
    unit, scale = rate_unit(float(every.max(initial=0.0)))
    some = every[every > 0]
    apart = bool(some.size) and some.max() >= APART * some.min()
    count = len(both.results)
    for side in range(count):
        # The first is in every row, the others in their own.
        values = {row.name: row.b if side else row.a for row in found if side in (0, row.side)}
        means = np.array([value.mean * scale for value in values.values()])
        half = np.nan_to_num([value.ci95 * scale for value in values.values()])
        at = [names.index(name) + (side - (count - 1) / 2) * 0.7 / count for name in values]
        one = look(side)
        shown = np.maximum(means, some.min(initial=1.0) * scale / 2) if apart else means
        axes.errorbar(
            shown, at, xerr=[np.minimum(half, 0.999 * shown), half], linestyle="none",
            color=one.colour, marker=one.marker, capsize=2, markersize=6,
        )  # fmt: skip
    _rows(axes, names)
    if apart:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    else:
        axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput per user [{unit}]")
    axes.set_title("Throughput by group")


def _changes(
    axes: Axes,
    both: SideBySide,
    rows: Mapping[tuple[str, str, str], list[Difference]],
    words: Mapping[str, str],
) -> None:
    """How far the others are from the first, in per cent of it: a row a metric."""
    from tidegate.figures.comparisons import FARTHEST

    first, *others = variant_labels(both.results)
    sizes = [
        100 * abs(row.relative) + np.nan_to_num(100 * row.relative_ci95)
        for own in rows.values() for row in own
    ]  # fmt: skip
    end = 1.1 * min(max(sizes, default=10.0), FARTHEST)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for place, own in enumerate(rows.values()):
        for row in own:
            at = place + (row.side - (len(others) + 1) / 2) * 0.8 / len(others)
            mean, half = 100 * row.relative, float(np.nan_to_num(100 * row.relative_ci95))
            one = look(row.side)
            if abs(mean) > end:
                side = 1 if mean > 0 else -1
                axes.plot(
                    0.97 * side * end, at, marker=">" if side > 0 else "<", color=one.colour,
                    markersize=5, clip_on=False,
                )  # fmt: skip
                continue
            axes.errorbar(
                mean, at, xerr=half, color=one.colour, marker=one.marker, capsize=2, markersize=4.5
            )
    _rows(axes, [f"{name}: {words[metric]}" for _, name, metric in rows])
    axes.set_xlim(-end, end)
    paired = all(both.is_paired(side) for side in range(1, len(both.results)))
    kind = "of paired runs" if paired else "(Welch)"
    what = f"difference from {first} [%], 95 % confidence {kind}; arrows: beyond the axis"
    axes.set_xlabel(textwrap.fill(what, 52))
    axes.set_title("Difference")


def _rows(axes: Axes, names: list[str]) -> None:
    """Names one below the other, with lines between them."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    for between in range(1, len(names)):
        axes.axhline(between - 0.5, color="#dddddd", linewidth=0.8)


def _panels(
    every: list[dict[str, Curve]], what: str
) -> list[tuple[str, str, list[tuple[int, Curve]]]]:
    names = dict.fromkeys(name for curves in every for name in curves)
    return [
        (name, what, [(side, curves[name]) for side, curves in enumerate(every) if name in curves])
        for name in names
    ]


def _over_time(every: list[Axes], panels: list[tuple[str, str, list[tuple[int, Curve]]]]) -> None:
    for axes, (name, what, curves) in zip(every, panels, strict=False):
        largest = max(float(values.mean(axis=0).max()) for _, (_, values) in curves)
        unit, scale = ("ms", 1.0) if what.startswith("queue") else rate_unit(largest)
        for side, (time, values) in curves:
            one = look(side)
            mean, half = band95(values * scale)
            if len(values) >= ENOUGH_RUNS:
                low = np.maximum(mean - half, 0.0)
                axes.fill_between(time, low, mean + half, color=one.colour, alpha=0.1, linewidth=0)
            axes.plot(time, mean, color=one.colour, linestyle=one.dashes, linewidth=1.3)
        axes.set_ylim(bottom=0.0)
        axes.margins(x=0)
        axes.set_title(name, fontsize=11)
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"{what} [{unit}]", fontsize=10)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
