"""Figures of packets beside a model: where both say the same, points lie on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.analysis.spectra import fourier_spectrum, music_spectrum
from tidegate.figures.look import INK, look
from tidegate.studies.matching import matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tidegate.studies.points import Point
    from tidegate.studies.traces import Trace

_PANEL_INCHES = 2.6


def draw_spectra(figure: Figure, spec: Mapping[str, Any], packets: Sequence[Point],
                 model: Sequence[Point]) -> None:  # fmt: skip
    """Give a column to each case that is shown: queue, two spectra, and all its cases' model."""
    shown = spec["shown"]
    figure.set_figheight(4 * _PANEL_INCHES)
    axes = figure.subplots(4, len(shown), squeeze=False)
    for column, case in zip(axes.T, shown, strict=True):
        [point] = [one for one in packets if matches(one.levels, case["where"])]
        if point.trace is not None:
            _draw_queue(column, point.trace, spec["from_s"])
        column[0].set_title(case["title"], fontsize=10)
        pairs = _pairs(packets, model, {"tcp": case["where"]["tcp"]})
        _draw_identity(column[3], pairs, (spec["predicted"], spec["metric"]), spec["label"])


def draw_identity(figure: Figure, spec: Mapping[str, Any], packets: Sequence[Point],
                  model: Sequence[Point]) -> None:  # fmt: skip
    """Give a row to each metric and a column to each choice; the unstable points are open."""
    rows, columns = spec["rows"], spec["columns"]
    figure.set_figheight(_PANEL_INCHES * 1.3 * len(rows))
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for i, row in enumerate(rows):
        for j, where in enumerate(columns):
            pairs = _pairs(packets, model, where)
            _draw_identity(axes[i, j], pairs, (row["metric"], row["metric"]), row["label"])
            axes[i, j].legend(fontsize=8, loc="upper left")
            if i == 0:
                axes[i, j].set_title(", ".join(map(str, where.values())), fontsize=10)


def _draw_queue(axes: Sequence[Axes], trace: Trace, from_s: float) -> None:
    late = trace.time_s >= from_s
    # Without the packet in transmission, as it is measured.
    time_s, queue = trace.time_s[late], np.maximum(trace.backlog_packets[late] - 1, 0)
    sampling_hz = (len(time_s) - 1) / (time_s[-1] - time_s[0])
    axes[0].plot(time_s, queue, color=INK, linewidth=0.8)
    axes[0].set(xlabel="time [s]", ylabel="queue [packets]", xlim=(time_s[0], time_s[-1]))
    axes[0].set_ylim(bottom=0)
    axes[1].plot(*fourier_spectrum(queue, sampling_hz=sampling_hz), color=INK, linewidth=0.8)
    axes[1].set(xlabel="frequency [Hz]", ylabel="amplitude [packets]", xlim=(0, 6))
    axes[1].set_ylim(bottom=0)
    axes[2].plot(*music_spectrum(queue, sampling_hz=sampling_hz), color=INK, linewidth=1.2)
    axes[2].set(xlabel="frequency [Hz]", ylabel="MUSIC, peak = 1", xlim=(0, 6))
    axes[2].set_ylim(bottom=0)


def _pairs(
    packets: Sequence[Point], model: Sequence[Point], where: Mapping[str, Any]
) -> list[tuple[Point, Point]]:
    """Each simulated point beside what the model says of the same case."""

    def case(point: Point) -> tuple[Any, ...]:
        return tuple(sorted((k, v) for k, v in point.levels.items() if k != "by"))

    known = {case(point): point for point in model}
    return [(known[case(p)], p) for p in packets if matches(p.levels, where)]


def _draw_identity(
    axes: Axes, pairs: Sequence[tuple[Point, Point]], metrics: tuple[str, str], label: str
) -> None:
    """Every case: the model's number to the right, the packets' upwards."""
    predicted, metric = metrics
    style = look(0)
    for beyond, fill, name in ((False, style.colour, "stable"), (True, "none", "unstable")):
        chosen = [
            (theirs.metrics[predicted].mean, ours.metrics[metric])
            for theirs, ours in pairs
            if (theirs.metrics["beyond_critical"].mean > 1) == beyond
        ]
        if chosen:
            axes.errorbar(
                [x for x, _ in chosen],
                [y.mean for _, y in chosen],
                [y.ci95 for _, y in chosen],
                fmt="o",
                color=style.colour,
                mfc=fill,
                markersize=4,
                elinewidth=0.8,
                label=name,
            )
    highest = max(
        max(theirs.metrics[predicted].mean, ours.metrics[metric].mean) for theirs, ours in pairs
    )
    line = np.array([0.0, 1.08 * highest])
    axes.plot(line, line, ":", color="#777777", linewidth=1.2)
    axes.set(xlabel=f"{label}, model", ylabel=f"{label}, packets", xlim=line, ylim=line)
