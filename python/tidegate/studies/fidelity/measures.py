"""What is compared: a few numbers of every run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.results.statistics import jain_index
from tidegate.results.summary import bottlenecks
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate.results.result import Result

METRICS = {
    "ratio": ("throughput ratio", "", 1.0),
    "utilization": ("utilisation", "%", 100.0),
    "queue_packets": ("mean queue", "packets", 1.0),
    "loss_ratio": ("loss", "%", 100.0),
    "mark_ratio": ("marks", "%", 100.0),
    "completion_s": ("completion time", "s", 1.0),
}
"""Heading, unit, and what a value is multiplied by to have that unit."""

HONESTY = ("packets", "late_packets", "lateness_mean_s", "lateness_p99_s", "lateness_max_s",
           "overruns", "cpu_share", "realtime", "load_lateness_max_s",
           "busy_share")  # fmt: skip


def runs(result: Result) -> list[dict[str, Any]]:
    """Numbers of every run, and of a lab's how well the machine kept up."""
    about = result.lab.to_pylist() if result.lab is not None else [{}] * result.replications
    found = []
    for seed, row in zip(result.run["seed"].to_pylist(), about, strict=True):
        honesty = {name: row[name] for name in HONESTY if name in row}
        valid = {"valid": row["valid"], "reasons": row["reasons"]} if row else {}
        found.append({"seed": seed, **valid, **of_run(result, seed), **honesty})
    return found


def of_run(result: Result, seed: int) -> dict[str, float | list[float] | None]:
    """Numbers of one run; None where there is none. Those by interval are lists."""

    def only(source: pa.Table) -> pa.Table:
        return source.filter(np.asarray(source["seed"]) == seed)

    link = only(bottlenecks(result.links)).slice(0, 1)
    groups, flows = only(result.groups), only(result.flows)
    arrivals = numbers(link, "arrivals")[0]
    times = numbers(groups, "mean_completion_s")
    values = {
        "jain": jain_index(numbers(only(result.users), "throughput_bps")),
        "policer_ratio": numbers(link, "drops_policer")[0] / arrivals if arrivals else float("nan"),
        "ratio": ratio(numbers(groups, "throughput_bps"), numbers(flows, "throughput_bps")),
        "utilization": numbers(link, "utilization")[0],
        "queue_packets": numbers(link, "mean_backlog_packets")[0],
        "p95_delay_s": numbers(link, "p95_sojourn_s")[0],
        "loss_ratio": numbers(link, "drop_ratio")[0],
        "mark_ratio": numbers(link, "marks")[0] / arrivals if arrivals else float("nan"),
        "completion_s": times[~np.isnan(times)][0] if (~np.isnan(times)).any() else float("nan"),
    }
    for name, throughput, loss in zip(
        result.scenario.groups, numbers(groups, "throughput_bps"), numbers(groups, "loss_ratio"),
        strict=True,
    ):  # fmt: skip
        values |= {f"throughput_bps.{name}": throughput, f"loss_ratio.{name}": loss}
    found: dict[str, float | list[float] | None] = {
        name: None if np.isnan(value) else float(value) for name, value in values.items()
    }
    if result.interval_groups is not None and result.interval_links is not None:
        found |= _by_interval(only(result.interval_groups), only(result.interval_links))
    return found


def _by_interval(groups: pa.Table, link: pa.Table) -> dict[str, list[float]]:
    """Throughput of every group [bit/s], and what the first bottleneck did, part by part."""
    owner = np.asarray(groups["group"].to_pylist())
    throughput = numbers(groups, "throughput_bps")
    found = {
        f"throughput_bps.{name}.by_interval": throughput[owner == name].tolist()
        for name in dict.fromkeys(owner.tolist())
    }
    first = np.asarray(link["link"].to_pylist()) == link["link"][0].as_py()
    for column, name in (("utilization", "utilization"), ("mean_backlog_packets", "queue_packets")):
        found[f"{name}.by_interval"] = numbers(link, column)[first].tolist()
    return found


def ratio(per_user: NDArray[np.float64], of_flows: NDArray[np.float64]) -> float:
    """Return the first group's throughput per user over the second's.

    With one group only, that of the faster half of its flows over that of the slower half: how
    unequal equals are. One flow has none.
    """
    if len(per_user) > 1:
        above, below = per_user[0], per_user[1]
    else:
        rates = np.sort(of_flows)
        half = len(rates) // 2
        above, below = (rates[-half:].sum(), rates[:half].sum()) if half else (0.0, 0.0)
    return float(above / below) if below > 0 else float("nan")
