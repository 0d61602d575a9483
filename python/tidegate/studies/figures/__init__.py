"""Figures of an experiment: lines over one factor, the paper's cells as open markers beside ours.

An experiment's `[figure]` says which metric over which factor, which factors name a line, and, for
several panels, what each of them shows: one metric, or several with what each is called.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import INK, STYLE, look, plain_log_ticks, write_light
from tidegate.studies.factors import title
from tidegate.studies.figures import over_time
from tidegate.studies.figures.beside import draw_beside
from tidegate.studies.figures.heat import draw_cells
from tidegate.studies.figures.lines import (
    Line,
    Panel,
    category,
    draw_line,
    legend,
    lines_of,
    mark_beyond,
    x_of,
)
from tidegate.studies.figures.maps import draw_maps
from tidegate.studies.figures.model import draw_identity, draw_spectra
from tidegate.studies.matching import matches
from tidegate.studies.points import place, series_key
from tidegate.studies.sides.model.formulas import meter_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Points

# So that the same numbers give the same file.
_STYLE: Any = {**STYLE, "svg.hashsalt": "tidegate", "svg.fonttype": "none"}
_WIDTH_INCHES = 7.6
_PANEL_INCHES = 3.9
_TITLE_CHARACTERS = 80
_LONG_TICK = 6
# So few levels of a factor are the ticks of its axis themselves.
_MOST_OWN_TICKS = 7


def draw(experiment: Experiment, measured: Points, folder: Path) -> Path | None:
    """Write an experiment's figure; give its file, or nothing if it has none."""
    if experiment.figure is None:
        return None
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        kind = experiment.figure.get("kind", "lines")
        figure = _KINDS[kind](experiment, measured)
        return write_light(figure, folder / experiment.name)


def _lines(experiment: Experiment, measured: Points) -> Figure:
    """Panels of lines, in as many columns as `across` says."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    specs = [{**spec, **panel} for panel in spec.get("panels", [{}])]
    across = spec.get("across", 1)
    down = -(-len(specs) // across)
    width = _WIDTH_INCHES * (1.0 if across == 1 else 0.6 * across)
    figure = Figure((width, _PANEL_INCHES * down), layout="constrained")
    _head(figure, experiment)
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for pair, one in zip(axes, specs, strict=False):
        if spec.get("kind") == "activity":
            _draw_activity(pair, experiment, measured)
        else:
            _draw_panel(pair, Panel(experiment, measured, one), legends=across == 1)
    if across > 1:
        shown = [pair.get_legend_handles_labels() for pair in axes]
        handles = {name: one for them in shown for one, name in zip(*them, strict=True)}
        where = {"loc": "outside lower center", "ncols": across, "fontsize": 9}
        figure.legend(handles.values(), handles.keys(), **where)
    return figure


def _head(figure: Figure, experiment: Experiment, size: str = "large") -> None:
    title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=size)


def _traces(experiment: Experiment, measured: Points) -> Figure:
    """Three rows of axes for each level of a factor: what happened over time."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    points = [
        point
        for level in spec["levels"]
        for point in measured.series((experiment.name, spec["series"]))
        if point.trace is not None and point.levels[spec["factor"]] == level
    ]
    figure = Figure((_WIDTH_INCHES, _PANEL_INCHES * len(points)), layout="constrained")
    _head(figure, experiment)
    axes = figure.subplots(3 * len(points), 1, squeeze=False)[:, 0]
    for number, point in enumerate(points):
        own = axes[3 * number : 3 * number + 3]
        own[0].set_title(str(point.levels[spec["factor"]]), loc="left")
        if point.trace is not None:
            over_time.draw_trace(list(own), point.trace, spec)
    return figure


def _over_time(experiment: Experiment, measured: Points) -> Figure:
    """Give each level of a factor its panels, levels one below the other."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    named = spec["panel_name"]
    points = [
        ((named if isinstance(named, str) else named[name]).format(**point.levels), point)
        for name in spec["series"]
        for point in measured.series(series_key(name, experiment.name))
        if point.curves
    ]
    panels = len(spec["panels"])
    height = _PANEL_INCHES / 2.4 * panels * max(1, len(points))
    figure = Figure((_WIDTH_INCHES, height), layout="constrained")
    _head(figure, experiment)
    axes = figure.subplots(panels * max(1, len(points)), 1, squeeze=False)[:, 0]
    for number, (name, point) in enumerate(points):
        own = list(axes[panels * number : panels * (number + 1)])
        over_time.draw_over_time(own, name, point.curves, spec)
    return figure


def _beside_model(experiment: Experiment, measured: Points) -> Figure:
    """Packets beside what a model says of them."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    figure = Figure((_WIDTH_INCHES, _PANEL_INCHES), layout="constrained")
    _head(figure, experiment, "medium")
    packets, model = (measured.series((experiment.name, spec[one])) for one in ("series", "model"))
    _BESIDE_MODEL[spec["kind"]](figure, spec, packets, model)
    return figure


_BESIDE_MODEL = {"spectra": draw_spectra, "identity": draw_identity}


def _throughput(experiment: Experiment, measured: Points) -> Figure:
    """Draw axes for each point: throughput of each sender over time."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    panels = [
        (spec["panel_name"][name].format(**point.levels), point.traces)
        for name in spec["series"]
        for point in measured.series((experiment.name, name))
    ]
    height = _PANEL_INCHES / 2 * max(2, len(panels))
    figure = Figure((_WIDTH_INCHES, height), layout="constrained")
    _head(figure, experiment)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for pair, (name, traces) in zip(axes, panels, strict=True):
        pair.set_title(name, loc="left")
        over_time.draw_throughput(pair, traces, spec["senders"])
        if "y_limits" in spec:
            pair.set_ylim(*spec["y_limits"])
    return figure


def _shares(experiment: Experiment, measured: Points) -> Figure:
    """Give axes to each level of a factor: how much of the link is used over time."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    points = measured.series((experiment.name, spec["series"]))
    levels = list(dict.fromkeys(point.levels[spec["factor"]] for point in points))
    figure = Figure((_WIDTH_INCHES, _PANEL_INCHES * len(levels)), layout="constrained")
    _head(figure, experiment)
    axes = figure.subplots(len(levels), 1, sharex=True, squeeze=False)[:, 0]
    for pair, level in zip(axes, levels, strict=True):
        own = [point for point in points if point.levels[spec["factor"]] == level]
        named = {spec["line_name"].format(**point.levels): point.traces for point in own}
        pair.set_title(spec["panel_name"].format(level), loc="left")
        over_time.draw_shares(pair, named, spec["capacity_bps"], width_s=spec["bin_s"])
    return figure


def _dots(experiment: Experiment, measured: Points) -> Figure:
    """Levels of the factor `y` one below the other, a metric along x, a panel for each level."""
    from matplotlib.figure import Figure

    spec, factors = experiment.figure or {}, experiment.factors
    points = [
        point for name in spec["series"] for point in measured.series((experiment.name, name))
    ]
    rows, panels, lines = (
        list(dict.fromkeys(point.levels[spec[name]] for point in points))
        for name in ("y", "panel", "line")
    )
    figure = Figure((13.0, 2.2 + 0.42 * len(rows)), layout="constrained")
    _head(figure, experiment)
    axes = figure.subplots(1, len(panels), sharey=True, sharex=True, squeeze=False)[0]
    for pair, panel in zip(axes, panels, strict=True):
        for number, line in enumerate(lines):
            own = [
                (rows.index(point.levels[spec["y"]]), point.metrics[spec["metric"]])
                for point in points
                if (point.levels[spec["panel"]], point.levels[spec["line"]]) == (panel, line)
                and spec["metric"] in point.metrics
            ]
            pair.errorbar(
                [value.mean for _, value in own],
                [row + 0.22 * (number - (len(lines) - 1) / 2) for row, _ in own],
                xerr=[value.ci95 for _, value in own],
                fmt=look(number).marker, color=look(number).colour, capsize=2.5, markersize=5,
                label=title(factors, spec["line"], line),
            )  # fmt: skip
        for at in spec.get("vertical", []):
            pair.axvline(at, color=INK, linewidth=1.0)
        # Fine where it is decided, and yet room for ten times as much.
        pair.set_xscale("function", functions=(lambda x: abs(x) ** 0.5, lambda y: y**2))
        pair.set_xlim(*spec["x_limits"])
        pair.set_xticks(spec["x_ticks"], [f"{tick:g}" for tick in spec["x_ticks"]])
        pair.set_title(spec["panel_name"].format(title(factors, spec["panel"], panel)))
    axes[0].set_yticks(range(len(rows)), [title(factors, spec["y"], row) for row in rows])
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(lines)
    )
    axes[len(axes) // 2].set_xlabel(spec["x_label"])
    return figure


def _maps(experiment: Experiment, _: Points) -> Figure:
    """Give what a model says over two factors, in as many columns as `across` says."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    across = spec["across"]
    down = -(-len(spec["panels"]) // across)
    figure = Figure((2.0 + 3.4 * across, 3.7 * down), layout="constrained")
    _head(figure, experiment)
    draw_maps(figure, figure.subplots(down, across, sharex=True, squeeze=False), spec)
    return figure


_KINDS: Mapping[str, Callable[[Experiment, Points], Figure]] = {
    "lines": _lines,
    "activity": _lines,
    "dots": _dots,
    "beside": draw_beside,
    "map": _maps,
    "cells": draw_cells,
    "traces": _traces,
    "over-time": _over_time,
    "throughput": _throughput,
    "shares": _shares,
    "spectra": _beside_model,
    "identity": _beside_model,
}


def _draw_panel(axes: Axes, panel: Panel, *, legends: bool) -> None:
    spec, published = panel.spec, panel.published
    lines = lines_of(panel)
    ticks = _categories(lines, spec["x"]) if spec.get("x_category") else None
    for line in lines:
        draw_line(axes, line, spec, ticks)
        theirs = [
            (x_of(point, spec["x"], ticks), published[place(point.levels)])
            for point in line.points
            if place(point.levels) in published
        ]
        axes.plot(*_columns(theirs), "D", mfc="none", mec=line.look.colour, ms=7, mew=1.2, zorder=3)
        if "points" in spec:
            _draw_dots(axes, line, panel)
    if published:
        axes.plot([], [], "D", mfc="white", mec="#555555", ms=6, label="the paper")
    where = ", ".join(_level_text(name, level) for name, level in spec.get("where", {}).items())
    axes.set_title(spec.get("title", where))
    _finish(axes, spec, ticks)
    if legends:
        legend(axes, spec, lines)
    for line in lines:
        mark_beyond(axes, line, spec, ticks)
    levels = _levels(lines, spec["x"]) if spec.get("x_log") else []
    if 0 < len(levels) <= _MOST_OWN_TICKS:
        axes.set_xticks(levels, [f"{level:g}" for level in levels])
        axes.set_xticks([], minor=True)


def _draw_dots(axes: Axes, line: Line, panel: Panel) -> None:
    """Simulated points on a computed line."""
    spec, levels = panel.spec, line.points[0].levels
    points = panel.measured.series((panel.experiment.name, spec["points"]))
    own = [p for p in points if all(p.levels.get(f) == levels.get(f) for f in spec["lines"])]
    estimates = [point.metrics[panel.metric] for point in own]
    axes.errorbar(
        [float(point.levels[spec["x"]]) for point in own],
        [estimate.mean for estimate in estimates],
        [estimate.ci95 for estimate in estimates],
        color=line.look.colour,
        fmt=line.look.marker,
        markersize=5,
        capsize=2,
    )


def _draw_activity(axes: Axes, experiment: Experiment, measured: Points) -> None:
    """Activity over time while a CBR sender is on and after it has stopped."""
    spec = experiment.figure or {}
    for number, point in enumerate(measured.series((experiment.name, spec["series"]))):
        trace = meter_trace(point.levels)
        stop_s = float(point.levels["stop_s"])
        colour = look(number).colour
        style = "--" if spec.get("dashed") and matches(point.levels, spec["dashed"]) else "-"
        axes.plot(
            trace.time_s,
            trace.activity,
            style,
            color=colour,
            marker="." if spec.get("markers") else "",
            label=spec["line_name"].format(**point.levels),
            linewidth=1.5,
        )
        if spec["x_end"] > stop_s:
            after = np.linspace(stop_s, spec["x_end"], 400)
            axes.plot(after, trace.activity_after(after), style, color=colour, linewidth=1.5)
    axes.set(xlabel="time (s)", ylabel="activity A", xlim=(0, spec["x_end"]))
    axes.set_ylim(bottom=0)
    legend(axes, {}, [])


def _finish(axes: Axes, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    axes.set(xlabel=spec["x_label"], ylabel=spec["y_label"])
    if spec.get("x_log"):
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    if spec.get("y_log"):
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    if "y_limits" in spec:
        axes.set_ylim(*spec["y_limits"])
    if ticks is not None:
        long = max(map(len, ticks)) > _LONG_TICK
        axes.set_xticks(range(len(ticks)), ticks, rotation=20 if long else 0)
    for x, name in spec.get("vertical", {}).items():
        _draw_vertical(axes, float(x), name)
    for start, end in spec.get("straight", []):
        axes.plot(*zip(start, end, strict=True), color=INK, linestyle="--", linewidth=1.2)
    for height, name in spec.get("horizontal", {}).items():
        _draw_horizontal(axes, float(height), name, below=name in spec.get("named_below", []))


def _draw_horizontal(axes: Axes, height: float, name: str, *, below: bool) -> None:
    """Dotted line with its name above its left end, or below its right one, clear of the curves."""
    axes.axhline(height, color="#999999", linestyle=":", linewidth=1.2)
    axes.annotate(
        name,
        (1.0 if below else 0.01, height),
        xycoords=("axes fraction", "data"),
        ha="right" if below else "left",
        va="top" if below else "bottom",
        fontsize=8,
        color="#666666",
    )


def _draw_vertical(axes: Axes, x: float, name: str) -> None:
    axes.axvline(x, color="#999999", linestyle=":", linewidth=1.2)
    axes.annotate(
        name,
        (x, 0.26),
        xycoords=("data", "axes fraction"),
        rotation=90,
        ha="right",
        va="bottom",
        fontsize=8,
        color="#666666",
    )


def _categories(lines: list[Line], factor: str) -> list[str]:
    return list(dict.fromkeys(category(p.levels[factor]) for line in lines for p in line.points))


def _levels(lines: list[Line], factor: str) -> list[float]:
    return sorted({x_of(point, factor, None) for line in lines for point in line.points})


def _level_text(factor: str, level: object) -> str:
    """A level as a panel's title: `D_b_ms` 5 reads `D_b = 5 ms`."""
    if isinstance(level, list):
        level = " or ".join(map(str, level))
    stem, _, unit = factor.rpartition("_")
    return f"{stem} = {level} {unit}" if stem else f"{factor} = {level}"


def _columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]
