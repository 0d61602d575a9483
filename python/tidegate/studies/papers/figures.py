"""Figures of an experiment: lines over one factor, the paper's cells as open markers beside ours.

An experiment's `[figure]` says which metric over which factor, which factors name a line, and, for
several panels, what each of them shows: one metric, or several with what each is called.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import STYLE, Look, look, write
from tidegate.studies.matching import matches
from tidegate.studies.papers.beside_model import draw_identity, draw_spectra
from tidegate.studies.papers.formulas import meter_trace
from tidegate.studies.papers.over_time import draw_over_time
from tidegate.studies.papers.points import series_key
from tidegate.studies.papers.traces import draw_shares, draw_throughput, draw_trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

    from tidegate.studies.papers.experiments import Experiment
    from tidegate.studies.papers.points import Point, Points

# So that the same numbers give the same file.
_STYLE: Any = {**STYLE, "svg.hashsalt": "tidegate", "svg.fonttype": "none"}
_WIDTH_INCHES = 7.6
_PANEL_INCHES = 3.9
_TITLE_CHARACTERS = 80
_LONG_TICK = 6
# So few levels of a factor are the ticks of its axis themselves.
_MOST_OWN_TICKS = 7
_MANY_DECADES = 1e4


@dataclass(frozen=True)
class _Line:
    label: str
    series: str
    points: list[Point]
    look: Look
    style: str
    metric: str


@dataclass(frozen=True)
class _Panel:
    """What one pair of axes shows of an experiment."""

    experiment: Experiment
    measured: Points
    spec: Mapping[str, Any]

    @property
    def metric(self) -> str:
        return str(self.spec["metric"])

    @property
    def metrics(self) -> Mapping[str, str]:
        """All that is drawn, with what is told of each beside its line's name."""
        metrics: Mapping[str, str] = self.spec.get("metrics", {self.metric: ""})
        return metrics

    @property
    def published(self) -> dict[tuple[Any, ...], float]:
        cells = self.experiment.cells
        return {_place(c.levels): c.value for c in cells if c.metric == self.metric}


def draw(experiment: Experiment, measured: Points, folder: Path) -> list[Path]:
    """Write PNG and SVG of an experiment's figure; nothing if it has none."""
    spec = experiment.figure
    if spec is None:
        return []
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        if spec.get("kind") == "traces":
            return _saved(_traces(experiment, measured), folder / experiment.name)
        if spec.get("kind") == "over-time":
            return _saved(_over_time(experiment, measured), folder / experiment.name)
        if spec.get("kind") in _OF_TRACES:
            figure = _OF_TRACES[spec["kind"]](experiment, measured)
            return _saved(figure, folder / experiment.name)
        if spec.get("kind") in _BESIDE_MODEL:
            return _saved(_beside_model(experiment, measured), folder / experiment.name)
        specs = [{**spec, **panel} for panel in spec.get("panels", [{}])]
        figure = Figure((_WIDTH_INCHES, _PANEL_INCHES * len(specs)), layout="constrained")
        title = textwrap.fill(experiment.title, _TITLE_CHARACTERS)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        axes = figure.subplots(len(specs), 1, squeeze=False)[:, 0]
        for pair, one in zip(axes, specs, strict=True):
            if spec.get("kind") == "activity":
                _draw_activity(pair, experiment, measured)
            else:
                _draw_panel(pair, _Panel(experiment, measured, one))
        return _saved(figure, folder / experiment.name)


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


def _saved(figure: Figure, stem: Path) -> list[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    # Names have dots, as in `table5.5.1`.
    files = [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]
    figure.savefig(files[1], metadata={"Date": None})
    return [write(figure, files[0]), files[1]]


def _draw_panel(axes: Axes, panel: _Panel) -> None:
    spec, published = panel.spec, panel.published
    lines = _lines(panel)
    ticks = _categories(lines, spec["x"]) if spec.get("x_category") else None
    for line in lines:
        _draw_line(axes, line, spec, ticks)
        theirs = [
            (_x(point, spec["x"], ticks), published[_place(point.levels)])
            for point in line.points
            if _place(point.levels) in published
        ]
        axes.plot(*_columns(theirs), "D", mfc="none", mec=line.look.colour, ms=7, mew=1.2, zorder=3)
        if "points" in spec:
            _draw_dots(axes, line, panel)
    if published:
        axes.plot([], [], "D", mfc="white", mec="#555555", ms=6, label="the paper")
    axes.set_title(", ".join(_told(name, level) for name, level in spec.get("where", {}).items()))
    _finish(axes, spec, ticks)
    for line in lines:
        _mark_beyond(axes, line, spec, ticks)
    levels = _levels(lines, spec["x"]) if spec.get("x_log") else []
    if 0 < len(levels) <= _MOST_OWN_TICKS:
        axes.set_xticks(levels, [f"{level:g}" for level in levels])
        axes.set_xticks([], minor=True)


def _draw_line(axes: Axes, line: _Line, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    """Our values, with their intervals where they were measured."""
    ours = [point.metrics[line.metric] for point in line.points]
    measured = ours[0].runs > 0
    axes.errorbar(
        [_x(point, spec["x"], ticks) for point in line.points],
        [estimate.mean for estimate in ours],
        [estimate.ci95 for estimate in ours] if measured else None,
        color=line.look.colour,
        linestyle=line.style,
        marker=line.look.marker if measured else "",
        markersize=4,
        capsize=2,
        label=line.label,
    )


def _mark_beyond(axes: Axes, line: _Line, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    """Arrows at the edge for values that the axis does not reach, with the numbers."""
    low, high = spec.get("y_limits", (-np.inf, np.inf))
    for point in line.points:
        value = point.metrics[line.metric].mean
        if low <= value <= high:
            continue
        above = value > high
        place = (_x(point, spec["x"], ticks), high if above else low)
        mark = "^" if above else "v"
        axes.plot(*place, mark, color=line.look.colour, ms=7, clip_on=False, zorder=4)
        axes.annotate(
            f"{value:,.0f}" if value >= 100 else f"{value:.3g}",
            place,
            (0, -6 if above else 6),
            textcoords="offset points",
            ha="center",
            va="top" if above else "bottom",
            fontsize=8,
            color=line.look.colour,
        )


def _draw_dots(axes: Axes, line: _Line, panel: _Panel) -> None:
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
    _legend(axes)


def _lines(panel: _Panel) -> list[_Line]:
    spec = panel.spec
    series = spec.get("series", next(iter(panel.experiment.series)))
    lines: list[_Line] = []
    for name in [series] if isinstance(series, str) else series:
        grouped: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
        for point in panel.measured.series((panel.experiment.name, name)):
            if panel.metric in point.metrics and matches(point.levels, spec.get("where", {})):
                grouped[tuple(point.levels.get(factor) for factor in spec["lines"])].append(point)
        template = spec["line_name"]
        template = template if isinstance(template, str) else template[name]
        for points in grouped.values():
            levels = points[0].levels
            style = "--" if spec.get("dashed") and matches(levels, spec["dashed"]) else "-"
            for metric, told in panel.metrics.items():
                label = f"{template.format(**levels)} {told}".strip()
                lines.append(_Line(label, name, points, look(len(lines)), style, metric))
    return lines


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
    _legend(axes)


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


def _legend(axes: Axes) -> None:
    axes.legend(fontsize=8.5, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _plain_log_ticks(axis: XAxis | YAxis) -> None:
    """1, 2, 5, 10 rather than powers, as most factors span one to three decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_data_interval()
    wide = low > 0 and high / low > _MANY_DECADES
    axis.set_major_locator(LogLocator(base=100.0) if wide else LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _categories(lines: list[_Line], factor: str) -> list[str]:
    return list(dict.fromkeys(_category(p.levels[factor]) for line in lines for p in line.points))


def _levels(lines: list[_Line], factor: str) -> list[float]:
    return sorted({float(point.levels[factor]) for line in lines for point in line.points})


def _category(level: object) -> str:
    return "none" if level == "" else str(level)


def _told(factor: str, level: object) -> str:
    """A level as a panel's title: `D_b_ms` 5 reads `D_b = 5 ms`."""
    stem, _, unit = factor.rpartition("_")
    return f"{stem} = {level} {unit}" if stem else f"{factor} = {level}"


def _x(point: Point, factor: str, ticks: list[str] | None) -> float:
    level = point.levels[factor]
    return float(level) if ticks is None else float(ticks.index(_category(level)))


def _place(levels: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(levels.items()))


def _columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]
