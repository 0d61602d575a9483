"""Lines of one pair of axes: which points each has, how it looks, and what the legend says of it.

By default each line has a look of its own, and those that `dashed` names are dashed. A figure that
shows the same levels in several readings has `styles` instead, one for each series: then a level
has one colour in all of them, or is grey where the style is `plain`, and the legend tells levels
and styles apart. Where the horizontal axis has kinds of something and no order, `joined = false`
has points alone, beside each other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import COLOURS, DASHES, Look, look
from tidegate.studies.matching import matches
from tidegate.studies.points import place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from tidegate.studies.factors import Level
    from tidegate.studies.model import Experiment
    from tidegate.studies.points import Point, Points

_GREY = "#777777"
# Of the distance from one kind to the next: between the points of two lines.
_APART = 0.12


@dataclass(frozen=True)
class Line:
    """Points of a series that have the same levels of the factors that name a line."""

    label: str
    series: str
    points: list[Point]
    look: Look
    style: Any
    metric: str
    # Whether there are markers on it.
    marked: bool = True
    # How far it is moved sideways, so that its points do not hide those of others.
    shift: float = 0.0


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows of an experiment."""

    experiment: Experiment
    measured: Points
    spec: Mapping[str, Any]

    @property
    def metric(self) -> str:
        """What its vertical axis shows."""
        return str(self.spec["metric"])

    @property
    def metrics(self) -> Mapping[str, str]:
        """All that is drawn, with each line's note beside its name."""
        metrics: Mapping[str, str] = self.spec.get("metrics", {self.metric: ""})
        return metrics

    @property
    def published(self) -> dict[tuple[Any, ...], float]:
        """The paper's cells by their levels."""
        cells = self.experiment.cells
        published = [c for c in cells if c.metric == self.metric and c.measured is None]
        return {place(c.levels): c.value for c in published}

    def titled(self, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Levels as pages call them."""
        factors = self.experiment.factors
        named = {name for name in levels if name in factors and factors[name].titles}
        return {n: factors[n].title(one) if n in named else one for n, one in levels.items()}

    @property
    def series(self) -> list[str]:
        """Those that are drawn."""
        series = self.spec.get("series", next(iter(self.experiment.series)))
        return [series] if isinstance(series, str) else list(series)


def lines_of(panel: Panel) -> list[Line]:
    """Every line of a panel, in the order of its series."""
    return _styled(panel) if "styles" in panel.spec else _each_of_its_own(panel)


def _each_of_its_own(panel: Panel) -> list[Line]:
    spec = panel.spec
    lines: list[Line] = []
    for name in panel.series:
        for points in _grouped(panel, name).values():
            levels = points[0].levels
            dashed = bool(spec.get("dashed")) and matches(levels, spec["dashed"])
            for metric, label_of in panel.metrics.items():
                label = f"{_template(spec, name).format(**panel.titled(levels))} {label_of}".strip()
                own = look(len(lines))
                # Where colours come again, other dashes tell lines apart.
                style = "--" if dashed else DASHES[len(lines) // len(COLOURS) % len(DASHES)]
                lines.append(Line(label, name, points, own, style, metric))
    return lines if spec.get("joined", True) else _apart(lines, spec["x"])


def _apart(lines: list[Line], factor: str) -> list[Line]:
    """Points beside those of other lines at the same places, around the middle."""
    together: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
    for line in lines:
        together[tuple(_x(point, factor) for point in line.points)].append(line)
    shifts = {
        id(line): _APART * (number - (len(some) - 1) / 2)
        for some in together.values() for number, line in enumerate(some)
    }  # fmt: skip
    return [replace(line, style="none", shift=shifts[id(line)]) for line in lines]


def _styled(panel: Panel) -> list[Line]:
    """Lines whose look goes by their levels, and whose dashes by their series."""
    spec = panel.spec
    looks: dict[tuple[Any, ...], Look] = {}
    lines: list[Line] = []
    for name in panel.series:
        style = spec["styles"][name]
        for group, points in _grouped(panel, name).items():
            plain = style.get("plain", False)
            own = Look(_GREY, "-", "") if plain else looks.setdefault(group, look(len(looks)))
            label = _template(spec, name).format(**panel.titled(points[0].levels))
            marked = style.get("marked", not plain)
            lines.append(Line(label, name, points, own, style["line"], panel.metric, marked))
    return lines


def _grouped(panel: Panel, series: str) -> dict[tuple[Any, ...], list[Point]]:
    spec = panel.spec
    grouped: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
    for point in panel.measured.series((panel.experiment.name, series)):
        if panel.metric in point.metrics and matches(point.levels, spec.get("where", {})):
            grouped[tuple(point.levels.get(factor) for factor in spec["lines"])].append(point)
    return grouped


def _template(spec: Mapping[str, Any], series: str) -> str:
    template = spec["line_name"]
    return template if isinstance(template, str) else str(template[series])


def draw_line(axes: Axes, line: Line, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    """Our values, with their intervals where more than one run was measured."""
    ours = [point.metrics[line.metric] for point in line.points]
    measured = ours[0].runs > 0
    # Without a line there is nothing else to see.
    shown = measured or line.style == "none"
    axes.errorbar(
        [x_of(point, spec["x"], ticks) + line.shift for point in line.points],
        [estimate.mean for estimate in ours],
        [estimate.ci95 for estimate in ours] if measured and line.marked else None,
        color=line.look.colour,
        linestyle=line.style,
        marker=line.look.marker if shown and line.marked else "",
        markersize=4,
        capsize=2,
        label=line.label,
    )


def mark_beyond(axes: Axes, line: Line, spec: Mapping[str, Any], ticks: list[str] | None) -> None:
    """Arrows at the edge for values that the axis does not reach, with the numbers."""
    low, high = spec.get("y_limits", (-np.inf, np.inf))
    for point in line.points:
        value = point.metrics[line.metric].mean
        if low <= value <= high:
            continue
        above = value > high
        where = (x_of(point, spec["x"], ticks), high if above else low)
        mark = "^" if above else "v"
        axes.plot(*where, mark, color=line.look.colour, ms=7, clip_on=False, zorder=4)
        axes.annotate(
            f"{value:,.0f}" if value >= 100 else f"{value:.3g}",
            where,
            (0, -6 if above else 6),
            textcoords="offset points",
            ha="center",
            va="top" if above else "bottom",
            fontsize=8,
            color=line.look.colour,
        )


def legend(axes: Axes, spec: Mapping[str, Any], lines: list[Line]) -> None:
    """Lines by name; with `styles`, levels by colour and below them what each style stands for."""
    beside: dict[str, Any] = {"fontsize": 8.5, "loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    if "styles" not in spec:
        axes.legend(**beside)
        return
    from matplotlib.lines import Line2D

    looks = {line.label: line.look for line in lines if line.look.colour != _GREY}
    levels = [
        Line2D([], [], color=own.colour, marker=own.marker, markersize=4, label=label)
        for label, own in looks.items()
    ]
    styles = []
    for name, colour in {line.series: line.look.colour for line in lines}.items():
        style = spec["styles"][name]
        shown = _GREY if len(levels) > 1 else colour
        styles.append(Line2D([], [], color=shown, linestyle=style["line"], label=style["name"]))
    axes.legend(handles=[*levels, *styles] if len(levels) > 1 else styles, **beside)


def category(level: object) -> str:
    """A level as the name of a tick."""
    return "none" if level == "" else str(level)


def x_of(point: Point, factor: str, ticks: list[str] | None) -> float:
    """Where a point stands on the horizontal axis, by a factor or a metric."""
    level = _x(point, factor)
    return float(level) if ticks is None else float(ticks.index(category(level)))


def _x(point: Point, factor: str) -> Level:
    return point.levels[factor] if factor in point.levels else point.metrics[factor].mean
