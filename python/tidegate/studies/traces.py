"""What a link and its users did over time in one run: bursts of policing, and their figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.figures.look import COLOURS, INK
from tidegate.results.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Policing drops further apart than this belong to different clusters.
CLUSTER_GAP_S = 1.0
# A link is far from full in a second in which it delivers less than this part of its busiest one.
UNDERUSED = 0.8
_MEGA = 1e6


@dataclass(frozen=True)
class Trace:
    """Samples at a fixed step, from the start of the run."""

    time_s: NDArray[np.float64]
    throughput_bps: NDArray[np.float64]
    """A row per sample, a column per user group."""
    backlog_packets: NDArray[np.float64]
    policed: NDArray[np.float64]
    """Policing drops within each step."""

    def metrics(self) -> dict[str, float]:
        """Give numbers for what a reader sees in the trace."""
        span_s = float(self.time_s[-1] - self.time_s[0])
        counts = self.policed.astype(int)
        at_s = np.repeat(self.time_s, counts)
        gaps = np.diff(at_s)
        starts = at_s[np.r_[True, gaps > CLUSTER_GAP_S]] if at_s.size else at_s
        apart = np.diff(starts)
        steps = max(1, round(1.0 / (self.time_s[1] - self.time_s[0])))
        total = self.throughput_bps.sum(axis=1)
        seconds = total[: total.size // steps * steps].reshape(-1, steps).mean(axis=1)
        return {
            "policing_drops_per_s": float(counts.sum()) / span_s,
            "policing_gap_variation": _ratio(gaps.std(), gaps.mean()) if gaps.size else np.nan,
            "policing_cluster_distance": float(apart.mean()) if apart.size else np.nan,
            "drops_per_policing_cluster": _ratio(float(counts.sum()), float(starts.size)),
            "underused_share": float((seconds < UNDERUSED * seconds.max()).mean()),
        }


def trace_of(tables: Mapping[str, Mapping[str, Any]], link: str) -> Trace | None:
    """Pick a link's trace from the engine's tables; `None` where nothing was sampled of it."""
    series, groups = tables.get("link_series"), tables.get("group_series")
    if series is None or groups is None or len(series["time_s"]) == 0:
        return None
    rows = np.flatnonzero(np.asarray(series["link"]) == link)
    if rows.size == 0:
        return None
    time_s = np.asarray(series["time_s"], dtype=float)[rows]
    users = np.asarray(groups["group"])
    throughput = np.asarray(groups["throughput_bps"], dtype=float)
    columns = [throughput[users == group] for group in np.unique(users)]
    return Trace(
        time_s,
        np.column_stack(columns),
        np.asarray(series["backlog_packets"], dtype=float)[rows],
        np.asarray(series["drops_policer"], dtype=float)[rows],
    )


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
        axes[0].plot(time_s, rate / _MEGA, color=colour, linewidth=1.1, label=name)
    axes[0].set(ylabel="Mb/s")
    axes[0].legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names))
    axes[1].plot(time_s, trace.backlog_packets[part], color=INK, linewidth=0.9)
    axes[1].set(ylabel="queue (packets)")
    policed = trace.policed[part]
    axes[2].vlines(time_s[policed > 0], 0, policed[policed > 0], color=COLOURS[3], linewidth=1.0)
    axes[2].set(ylabel="policing\ndrops / step", xlabel="time (s)")
    for pair in axes:
        pair.set_xlim(begin_s, end_s)
        pair.set_ylim(bottom=0)


def draw_throughput(axes: Axes, traces: Sequence[Trace], names: Sequence[str]) -> None:
    """Show throughput of each sender over time: the mean over runs, with its 95 % interval."""
    rates = np.stack([trace.throughput_bps for trace in traces]) / _MEGA
    time_s = traces[0].time_s
    for column, (name, colour) in enumerate(zip(names, _SENDERS, strict=False)):
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


_SENDERS = (COLOURS[1], COLOURS[0], *COLOURS[2:])


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b else float("nan")
