"""What is compared: a few numbers of every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.results.statistics import jain_index
from tidegate.results.summary import bottlenecks
from tidegate.results.tables import derive, numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

METRICS = {
    "ratio": ("throughput ratio", "", 1.0),
    "utilization": ("utilisation", "%", 100.0),
    "queue_packets": ("mean queue", "packets", 1.0),
    "loss_ratio": ("loss", "%", 100.0),
    "mark_ratio": ("marks", "%", 100.0),
    "completion_s": ("completion time", "s", 1.0),
}
"""Heading, unit, and what a value is multiplied by to have that unit."""


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """Numbers of one run; None where there is none. Those by interval are lists."""
    found = {**tables, **derive(tables, scenario)}
    link, groups = bottlenecks(found["links"]).slice(0, 1), found["groups"]
    arrivals = numbers(link, "arrivals")[0]
    times = numbers(groups, "mean_completion_s")
    values = {
        "jain": jain_index(numbers(found["users"], "throughput_bps")),
        "policer_ratio": numbers(link, "drops_policer")[0] / arrivals if arrivals else float("nan"),
        "ratio": ratio(
            numbers(groups, "throughput_bps"), numbers(found["flows"], "throughput_bps")
        ),
        "utilization": numbers(link, "utilization")[0],
        "queue_packets": numbers(link, "mean_backlog_packets")[0],
        "p95_delay_s": numbers(link, "p95_sojourn_s")[0],
        "loss_ratio": numbers(link, "drop_ratio")[0],
        "mark_ratio": numbers(link, "marks")[0] / arrivals if arrivals else float("nan"),
        "completion_s": times[~np.isnan(times)][0] if (~np.isnan(times)).any() else float("nan"),
    }
    for name, throughput, loss in zip(
        scenario.groups, numbers(groups, "throughput_bps"), numbers(groups, "loss_ratio"),
        strict=True,
    ):  # fmt: skip
        values |= {f"throughput_bps.{name}": throughput, f"loss_ratio.{name}": loss}
    known: Numbers = {
        name: None if np.isnan(value) else float(value) for name, value in values.items()
    }
    if "interval_groups" in found:
        known |= _by_interval(found["interval_groups"], found["interval_links"])
    return known


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
