"""Figures over time: series of one run, means over runs, and the bursts of policing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import COLOURS, INK, look
from tidegate.results.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.studies.curves import Curve
    from tidegate.studies.traces import Trace


def draw_over_time(
    axes: Sequence[Axes], title: str, curves: Mapping[str, Curve], spec: Mapping[str, Any]
) -> None:
    """Draw the panels of one level, one above the other."""
    axes[0].set_title(title, loc="left")
    for pair, panel in zip(axes, spec["panels"], strict=True):
        for number, (name, label) in enumerate(panel["curves"].items()):
            if name in curves:
                times, values = curves[name]
                colour = look(number).colour
                pair.plot(times, values, color=colour, linewidth=0.9, label=label)
        pair.set(ylabel=panel["y_label"])
        pair.set_ylim(bottom=0, top=panel.get("y_top"))
        pair.set_xlim(0, spec["x_end"])
        if len(panel["curves"]) > 1:
            pair.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    axes[-1].set(xlabel="time (s)")


def draw_trace(axes: Sequence[Axes], trace: Trace, spec: Mapping[str, Any]) -> None:
    """Show throughput of each sender, queue, and policing drops, one above the other."""
    begin_s, end_s = spec["between_s"]
    part = (trace.time_s >= begin_s) & (trace.time_s <= end_s)
    time_s = trace.time_s[part]
    step_s = time_s[1] - time_s[0]
    names = spec["senders"]
    width = max(1, round(1.0 / step_s))
    for column, (name, colour) in enumerate(zip(names, (COLOURS[1], COLOURS[0]), strict=False)):
        rate = np.convolve(trace.throughput_bps[:, column], np.ones(width) / width, "same")[part]
        axes[0].plot(time_s, rate / 1e6, color=colour, linewidth=1.1, label=name)
    axes[0].set(ylabel="Mb/s")
    axes[0].legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names))
    axes[1].plot(time_s, trace.backlog_packets[part], color=INK, linewidth=0.9)
    axes[1].set(ylabel="queue (packets)")
    policed = trace.policed[part]
    axes[2].vlines(time_s[policed > 0], 0, policed[policed > 0], color=COLOURS[3], linewidth=1.0)
    axes[2].set(ylabel="policing\ndrops / step", xlabel="time (s)")
    for pair in axes:
        pair.set(xlim=(begin_s, end_s), ylim=(0, None))


def draw_throughput(axes: Axes, traces: Sequence[Trace], names: Sequence[str]) -> None:
    """Show throughput of each sender over time: the mean over runs, with its 95 % interval."""
    rates = np.stack([trace.throughput_bps for trace in traces]) / 1e6
    time_s, colours = traces[0].time_s, (COLOURS[1], COLOURS[0], *COLOURS[2:])
    for column, (name, colour) in enumerate(zip(names, colours, strict=False)):
        _draw_mean(axes, time_s, rates[:, :, column], name, colour)
    axes.set(xlabel="time (s)", ylabel="Mb/s", xlim=(0, time_s[-1]))
    # Intervals of few runs are wider than what any run has.
    axes.set_ylim(0, 1.05 * rates.max())
    axes.label_outer()
    axes.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names))


def draw_shares(
    axes: Axes, named: Mapping[str, Sequence[Trace]], capacity_bps: float, *, width_s: float
) -> None:
    """Show what part of a link all senders together have over time, a line a name."""
    for number, (name, traces) in enumerate(named.items()):
        time_s = traces[0].time_s
        steps = max(1, round(width_s / (time_s[1] - time_s[0])))
        count = time_s.size // steps
        totals = np.stack([trace.throughput_bps.sum(axis=1) for trace in traces]) / capacity_bps
        binned = totals[:, : count * steps].reshape(len(traces), count, steps).mean(axis=2)
        middle_s = time_s[: count * steps].reshape(count, steps).mean(axis=1)
        _draw_mean(axes, middle_s, binned, name, COLOURS[number])
    # Intervals of few runs are wider than the link.
    axes.set(xlabel="time (s)", ylabel="throughput / capacity", ylim=(0, 1.1))
    axes.label_outer()
    axes.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(named))


def _draw_mean(
    axes: Axes, time_s: NDArray[np.float64], samples: NDArray[np.float64], name: str, colour: str
) -> None:
    """Draw the mean over runs, a row each, with its 95 % interval."""
    found = [estimate(column) for column in samples.T.tolist()]
    middle = np.array([one.mean for one in found])
    half = np.array([one.ci95 if len(samples) > 1 else 0.0 for one in found])
    axes.plot(time_s, middle, color=colour, linewidth=1.1, label=name)
    axes.fill_between(time_s, middle - half, middle + half, color=colour, alpha=0.3, linewidth=0)
