"""The papers' metrics, from the runs of one point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.papers.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate.papers.runs import Run

_MEGA = 1e6


def _throughput_ratio(run: Run) -> float:
    heavy, light = run.user_throughput_bps[:2]
    return heavy / light if light else float("nan")


# One value a run; the reported number is their mean.
_PER_RUN: Mapping[str, Callable[[Run], float]] = {
    # The paper defines T_R by a run's mean throughputs per user and reports means over runs, so
    # this is the mean of the ratios; the ratio of the means stands in the report beside it.
    "throughput_ratio_T_R": _throughput_ratio,
    # Packets that wait: what the AQM sees, too. The one in transmission is there for as large a
    # part of the time as the link is busy.
    "mean_queue_length_Q_avg": lambda run: run.mean_backlog_packets - run.utilization,
    "utilization": lambda run: run.utilization,
    "upload_time": lambda run: run.upload_s,
    "loss_share": lambda run: run.loss_share,
    "mark_share": lambda run: run.mark_share,
    "timeouts": lambda run: run.timeouts,
}
_PER_GROUP: Mapping[str, Callable[[Run], Sequence[float]]] = {
    "throughput_{}_mbps": lambda run: [rate / _MEGA for rate in run.user_throughput_bps],
    "group_throughput_{}_mbps": lambda run: [rate / _MEGA for rate in run.group_throughput_bps],
    "activity_{}": lambda run: run.mean_activity,
}
RATIO_OF_MEANS = "ratio_of_mean_throughputs"


def measure(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Every metric of a point, by name."""
    estimates = {name: Estimate.from_runs(map(of, runs)) for name, of in _PER_RUN.items()}
    for name, of in _PER_GROUP.items():
        for group, values in enumerate(zip(*map(of, runs), strict=True)):
            estimates[name.format(group)] = Estimate.from_runs(values)
    if "throughput_1_mbps" in estimates:
        heavy, light = estimates["throughput_0_mbps"].mean, estimates["throughput_1_mbps"].mean
        estimates[RATIO_OF_MEANS] = Estimate(heavy / light if light else float("nan"))
    return estimates
