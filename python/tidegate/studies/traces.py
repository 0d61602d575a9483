"""What a link and its users did over time in one run: bursts of policing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Policing drops further apart than this belong to different clusters.
CLUSTER_GAP_S = 1.0
# A link is far from full in a second in which it delivers less than this part of its busiest one.
UNDERUSED = 0.8


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


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b else float("nan")
