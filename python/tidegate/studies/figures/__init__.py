"""Figures of an experiment: lines over one factor, the paper's cells as open markers beside ours.

An experiment's `[figure]` says which metric over which factor, which factors name a line, and, for
several panels, what each of them shows: one metric, or several with what each is called.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import STYLE, look, write
from tidegate.studies.curves import draw_over_time
from tidegate.studies.figures.lines import (
    Line,
    Panel,
    category,
    draw_line,
    legend,
    lines_of,
    mark_beyond,
    place,
    x_of,
)
from tidegate.studies.figures.model import draw_identity, draw_spectra
from tidegate.studies.matching import matches
from tidegate.studies.points import series_key
from tidegate.studies.sides.model.formulas import meter_trace
from tidegate.studies.traces import draw_shares, draw_throughput, draw_trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
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
_MANY_DECADES = 1e4


def draw(
    experiment: Experiment, measured: Points, folder: Path, *, vector: bool = True
) -> list[Path]:
    """Write an experiment's figure as PNG and, with `vector`, as SVG; nothing if it has none."""
    spec = experiment.figure
    if spec is None:
        return []
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        if spec.get("kind") == "traces":
            return _saved(_traces(experiment, measured), folder / experiment.name, vector=vector)
        if spec.get("kind") == "over-time":
            return _saved(_over_time(experiment, measured), folder / experiment.name, vector=vector)
        if spec.get("kind") in _OF_TRACES:
            figure = _OF_TRACES[spec["kind"]](experiment, measured)
            return _saved(figure, folder / experiment.name, vector=vector)
        if spec.get("kind") in _BESIDE_MODEL:
            return _saved(
                _beside_model(experiment, measured), folder / experiment.name, vector=vector
            )
        specs = [{**spec, **panel} for panel in spec.get("panels", [{}])]
        figure = Figure((_WIDTH_INCHES, _PANEL_INCHES * len(specs)), layout="constrained")
        title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        axes = figure.subplots(len(specs), 1, squeeze=False)[:, 0]
        for pair, one in zip(axes, specs, strict=True):
            if spec.get("kind") == "activity":
                _draw_activity(pair, experiment, measured)
            else:
                _draw_panel(pair, Panel(experiment, measured, one))
        return _saved(figure, folder / experiment.name, vector=vector)


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
    title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    axes = figure.subplots(3 * len(points), 1, squeeze=False)[:, 0]
    for number, point in enumerate(points):
        own = axes[3 * number : 3 * number + 3]
        own[0].set_title(str(point.levels[spec["factor"]]), loc="left")
        if point.trace is not None:
            draw_trace(list(own), point.trace, spec)
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
    title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    axes = figure.subplots(panels * max(1, len(points)), 1, squeeze=False)[:, 0]
    for number, (name, point) in enumerate(points):
        own = list(axes[panels * number : panels * (number + 1)])
        draw_over_time(own, name, point.curves, spec)
    return figure


def _beside_model(experiment: Experiment, measured: Points) -> Figure:
    """Packets beside what a model says of them."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    figure = Figure((_WIDTH_INCHES, _PANEL_INCHES), layout="constrained")
    title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize="medium")
    packets, model = (measured.series((experiment.name, spec[one])) for one in ("series", "model"))
    _BESIDE_MODEL[spec["kind"]](figure, spec, packets, model)
    return figure


_BESIDE_MODEL = {"spectra": draw_spectra, "identity": draw_identity}


def _throughput(experiment: Experiment, measured: Points) -> Figure:
    """Give axes to each point: who sent how much over time."""
    from matplotlib.figure import Figure

    spec = experiment.figure or {}
    panels = [
        (spec["panel_name"][name].format(**point.levels), point.traces)
        for name in spec["series"]
        for point in measured.series((experiment.name, name))
    ]
    height = _PANEL_INCHES / 2 * max(2, len(panels))
    figure = Figure((_WIDTH_INCHES, height), layout="constrained")
    figure.suptitle(experiment.title, x=0.01, ha="left", fontweight="bold")
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for pair, (title, traces) in zip(axes, panels, strict=True):
        pair.set_title(title, loc="left")
        draw_throughput(pair, traces, spec["senders"])
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
    figure.suptitle(experiment.title, x=0.01, ha="left", fontweight="bold")
    axes = figure.subplots(len(levels), 1, sharex=True, squeeze=False)[:, 0]
    for pair, level in zip(axes, levels, strict=True):
        own = [point for point in points if point.levels[spec["factor"]] == level]
        named = {spec["line_name"].format(**point.levels): point.traces for point in own}
        pair.set_title(spec["panel_name"].format(level), loc="left")
        draw_shares(pair, named, spec["capacity_bps"], width_s=spec["bin_s"])
    return figure


_OF_TRACES = {"throughput": _throughput, "shares": _shares}


def _saved(figure: Figure, stem: Path, *, vector: bool) -> list[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    # Names have dots, as in `table5.5.1`.
    png, svg = (stem.with_name(stem.name + suffix) for suffix in (".png", ".svg"))
    if not vector:
        return [write(figure, png)]
    figure.savefig(svg, metadata={"Date": None})
    return [write(figure, png), svg]


def _draw_panel(axes: Axes, panel: Panel) -> None:
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
    told = ", ".join(_told(name, level) for name, level in spec.get("where", {}).items())
    axes.set_title(spec.get("title", told))
    _finish(axes, spec, ticks)
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
        _plain_log_ticks(axes.xaxis)
    if spec.get("y_log"):
        axes.set_yscale("log")
        _plain_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    if "y_limits" in spec:
        axes.set_ylim(*spec["y_limits"])
    if ticks is not None:
        long = max(map(len, ticks)) > _LONG_TICK
        axes.set_xticks(range(len(ticks)), ticks, rotation=20 if long else 0)
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


def _plain_log_ticks(axis: XAxis | YAxis) -> None:
    """1, 2, 5, 10 rather than powers, as most factors span one to three decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_data_interval()
    wide = low > 0 and high / low > _MANY_DECADES
    axis.set_major_locator(LogLocator(base=100.0) if wide else LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _categories(lines: list[Line], factor: str) -> list[str]:
    return list(dict.fromkeys(category(p.levels[factor]) for line in lines for p in line.points))


def _levels(lines: list[Line], factor: str) -> list[float]:
    return sorted({float(point.levels[factor]) for line in lines for point in line.points})


def _told(factor: str, level: object) -> str:
    """A level as a panel's title: `D_b_ms` 5 reads `D_b = 5 ms`."""
    if isinstance(level, list):
        level = " or ".join(map(str, level))
    stem, _, unit = factor.rpartition("_")
    return f"{stem} = {level} {unit}" if stem else f"{factor} = {level}"


def _columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]
