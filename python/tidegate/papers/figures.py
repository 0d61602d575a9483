"""Figures of an experiment: lines over one factor, the paper's cells as open markers beside ours.

An experiment's `[figure]` says which metric over which factor, and which factors name a line.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.papers.models import meter_trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

    from tidegate.papers.book import Book, Point
    from tidegate.papers.experiments import Experiment

# Okabe and Ito's palette: readable without colour vision; its yellow is too pale for a line.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F")
_STYLE: Any = {
    "figure.dpi": 120,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "tidegate",
    "svg.fonttype": "none",
}
_PANEL_INCHES = (7.0, 4.4)


@dataclass(frozen=True)
class _Line:
    label: str
    points: list[Point]
    style: str = "-"


def draw(experiment: Experiment, book: Book, folder: Path) -> list[Path]:
    """Write PNG and SVG of an experiment's figure; nothing if it has none."""
    spec = experiment.figure
    if spec is None:
        return []
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        metrics = _listed(spec.get("metric", "activity"))
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(width, height * len(metrics)), layout="constrained")
        figure.suptitle(experiment.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        panels = figure.subplots(len(metrics), 1, squeeze=False)[:, 0]
        if spec.get("kind") == "activity":
            _draw_activity(panels[0], experiment, book)
        else:
            for panel, metric, label in zip(panels, metrics, _listed(spec["y_label"]), strict=True):
                _draw_lines(panel, experiment, book, metric)
                panel.set_ylabel(label)
        return _saved(figure, folder / experiment.name)


def _saved(figure: Figure, stem: Path) -> list[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
    figure.savefig(files[0])
    figure.savefig(files[1], metadata={"Date": None})
    return files


def _draw_lines(axes: Axes, experiment: Experiment, book: Book, metric: str) -> None:
    spec = experiment.figure or {}
    lines = _lines(experiment, book, metric)
    ticks = _categories(lines, spec["x"]) if spec.get("x_category") else None
    published = {
        tuple(sorted(cell.levels.items())): cell.value
        for cell in experiment.cells
        if cell.metric == metric
    }
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        x = [_place(point, spec["x"], ticks) for point in line.points]
        ours = [point.metrics[metric] for point in line.points]
        marker = "o" if published or not spec.get("points") else ""
        axes.errorbar(
            x,
            [estimate.mean for estimate in ours],
            [estimate.half_width for estimate in ours] if ours[0].runs else None,
            color=colour,
            linestyle=line.style,
            marker=marker if ours[0].runs else "",
            markersize=4,
            capsize=2,
            label=line.label,
        )
        theirs = [(_place(p, spec["x"], ticks), _published(p, published)) for p in line.points]
        _draw_published(axes, [pair for pair in theirs if pair[1] is not None], colour)
        if spec.get("points"):
            _draw_dots(axes, line, book.series((experiment.name, spec["points"])), spec, colour)
    if published:
        axes.plot([], [], "D", mfc="white", mec="#555555", ms=6, label="the paper")
    _finish(axes, spec, ticks)


def _draw_published(axes: Axes, pairs: list[tuple[float, Any]], colour: str) -> None:
    if pairs:
        x, y = zip(*pairs, strict=True)
        axes.plot(x, y, "D", mfc="none", mec=colour, ms=7, mew=1.2, zorder=3)


def _draw_dots(
    axes: Axes, line: _Line, points: list[Point], spec: Mapping[str, Any], colour: str
) -> None:
    """Give simulated points on a computed line."""
    name = line.points[0].levels
    own = [p for p in points if all(p.levels.get(f) == name.get(f) for f in spec["lines"])]
    estimates = [point.metrics[spec["metric"]] for point in own]
    axes.errorbar(
        [float(point.levels[spec["x"]]) for point in own],
        [estimate.mean for estimate in estimates],
        [estimate.half_width for estimate in estimates],
        color=colour,
        fmt="o",
        markersize=5,
        capsize=2,
    )


def _draw_activity(axes: Axes, experiment: Experiment, book: Book) -> None:
    """Activity over time while a CBR sender is on and after it has stopped."""
    spec = experiment.figure or {}
    for number, point in enumerate(book.series((experiment.name, spec["series"]))):
        trace = meter_trace(point.levels)
        after = np.linspace(float(point.levels["stop_s"]), spec["x_end"], 400)
        units = spec["unit"]
        label = ", ".join(f"{f} = {point.levels[f]:g} {units[f]}" for f in spec["lines"])
        colour = _COLOURS[number % len(_COLOURS)]
        marker = "." if spec.get("markers") else ""
        axes.plot(trace.time_s, trace.activity, color=colour, marker=marker, label=label, lw=1.4)
        if spec["x_end"] > float(point.levels["stop_s"]):
            axes.plot(after, trace.activity_after(after), color=colour, lw=1.4)
    axes.set(xlabel="time (s)", ylabel="activity A", xlim=(0, spec["x_end"]))
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8.5, loc="upper right")


def _lines(experiment: Experiment, book: Book, metric: str) -> list[_Line]:
    spec = experiment.figure or {}
    lines = []
    for series in _listed(spec.get("series", next(iter(experiment.series)))):
        grouped: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
        for point in book.series((experiment.name, series)):
            if metric in point.metrics:
                grouped[tuple(point.levels.get(factor) for factor in spec["lines"])].append(point)
        template = spec.get("line_name", "")
        template = template if isinstance(template, str) else template[series]
        dashed = spec.get("dashed", {})
        for points in grouped.values():
            levels = points[0].levels
            style = "--" if dashed and _matches_all(levels, dashed) else "-"
            lines.append(_Line(template.format(**levels), points, style))
    return lines


def _matches_all(levels: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(levels.get(name) == level for name, level in wanted.items())


def _finish(axes: Axes, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    axes.set_xlabel(spec["x_label"])
    if spec.get("x_log"):
        axes.set_xscale("log")
    if spec.get("y_log"):
        axes.set_yscale("log")
    for axis, log in ((axes.xaxis, spec.get("x_log")), (axes.yaxis, spec.get("y_log"))):
        if log:
            _plain_log_ticks(axis)
    if not spec.get("y_log"):
        axes.set_ylim(bottom=0)
    if ticks is not None:
        axes.set_xticks(range(len(ticks)), ticks)
    for height, name in spec.get("horizontal", {}).items():
        axes.axhline(float(height), color="#999999", linestyle=":", linewidth=1.2)
        axes.annotate(
            name,
            (1.0, float(height)),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
            color="#666666",
        )
    axes.legend(fontsize=8.5, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _plain_log_ticks(axis: XAxis | YAxis) -> None:
    """1, 2, 5, 10 rather than powers: our factors span one to three decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _categories(lines: list[_Line], factor: str) -> list[str]:
    names: dict[str, None] = {}
    for line in lines:
        for point in line.points:
            names[_category(point.levels[factor])] = None
    return list(names)


def _category(level: object) -> str:
    return "none" if level == "" else str(level)


def _place(point: Point, factor: str, ticks: list[str] | None) -> float:
    level = point.levels[factor]
    return float(level) if ticks is None else float(ticks.index(_category(level)))


def _published(point: Point, published: Mapping[tuple[Any, ...], float]) -> float | None:
    return published.get(tuple(sorted(point.levels.items())))


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
