"""The papers' metrics, from the runs of one point."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from tidegate.results.statistics import Estimate, estimate, jain_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate.studies.papers.runs import Run

_MEGA = 1e6


def _throughput_ratio(run: Run) -> float:
    heavy, light = run.user_throughput_bps[:2]
    return heavy / light if light else float("nan")


def _unmarked_ratio(run: Run) -> float:
    heavy, light = run.user_unmarked_bps[:2]
    return heavy / light if light else float("nan")


# One value a run; the reported number is their mean.
_PER_RUN: Mapping[str, Callable[[Run], float]] = {
    # The paper defines T_R by a run's mean throughputs per user and reports means over runs, so
    # this is the mean of the ratios; the ratio of the means stands in the report beside it.
    "throughput_ratio_T_R": _throughput_ratio,
    # The same of what left the bottleneck without a congestion mark.
    "unmarked_throughput_ratio": _unmarked_ratio,
    # Packets that wait. The one in transmission is there for as large a part of the time as the
    # link is busy.
    "mean_queue_length_Q_avg": lambda run: run.mean_backlog_packets - run.utilization,
    "utilization": lambda run: run.utilization,
    "upload_time": lambda run: run.upload_s,
    # From the end of the warm-up instead of the connection request.
    "upload_time_since_warm_up": lambda run: run.upload_end_s,
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
    estimates = {name: estimate([of(run) for run in runs]) for name, of in _PER_RUN.items()}
    for name, of in _PER_GROUP.items():
        for group, values in enumerate(zip(*map(of, runs), strict=True)):
            estimates[name.format(group)] = estimate(values)
    if "throughput_1_mbps" in estimates:
        heavy, light = estimates["throughput_0_mbps"].mean, estimates["throughput_1_mbps"].mean
        estimates[RATIO_OF_MEANS] = Estimate(heavy / light if light else float("nan"))
    return estimates | _by_interval(runs) | _by_transfer(runs) | _by_trace(runs)


def _by_interval(runs: Sequence[Run]) -> dict[str, Estimate]:
    """What is averaged over the intervals of runs, each of them a sample."""
    rates = [rates for run in runs for rates in run.interval_throughput_bps]
    used = [used for run in runs for used in run.interval_utilization]
    if not rates:
        return {}
    found = {
        "bottleneck_utilization": [links[0] for links in used],
        "mean_utilization_of_shared_links": [fmean(links) for links in used],
        # What waits, without the packet in transmission.
        "mean_queue_packets": [
            backlog[0] - busy[0]
            for run in runs
            for backlog, busy in zip(
                run.interval_backlog_packets, run.interval_utilization, strict=True
            )
        ],
        "jain_fairness": [jain_index(groups) for groups in rates],
    }
    if min(map(len, rates)) > 1:
        found["sender_ratio"] = [groups[0] / (groups[1] or math.nan) for groups in rates]
        # The flow over all links against the mean of the others.
        found["jain_fairness_one_vs_four_queues"] = [
            jain_index((groups[0], fmean(groups[1:]))) for groups in rates
        ]
    return {name: estimate(values) for name, values in found.items()}


def _by_transfer(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Mean over all transfers, each of them a sample, and the two extremes of them."""
    times = [seconds for run in runs for seconds in run.completions_s]
    if not times:
        return {}
    return {
        "finish_time_min": Estimate(min(times)),
        "finish_time_mean": estimate(times),
        "finish_time_max": Estimate(max(times)),
    }


def _by_trace(runs: Sequence[Run]) -> dict[str, Estimate]:
    """What the first run's trace shows; of a trace there is no interval."""
    trace = runs[0].trace
    return {name: Estimate(value) for name, value in trace.metrics().items()} if trace else {}
