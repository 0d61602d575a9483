"""What is read from a run: a few numbers, each with its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.results.statistics import jain_index
from tidegate.results.tables import derive, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.league.field import Situation
    from tidegate.studies.running import Numbers


def of_run(situation: Situation, scenario: Scenario, tables: Tables) -> Numbers:
    """Numbers of one run; None where there is none.

    ``ratio`` is the mean rate per customer of the first group over that of the second, ``jain``
    Jain's index over the customers, where some offer to pay over rate by offer; ``utilization`` the
    mean over the bottlenecks and ``p95_delay_s`` the longest of theirs; ``state_bytes`` what the
    mechanism keeps at all of them. ``rtt_s`` is the mean round-trip time
    that TCP measures in the second group.
    """
    found = {**tables, **derive(tables, scenario)}
    rates = {
        group: customer_rates_bps(found, scenario, group, fetches=situation.fetches(group))
        for group in scenario.groups
    }
    links = found["links"].filter(found["links"]["monitored"])
    above, below = (_mean(rates[group]) for group in situation.ratio)
    values: dict[str, float] = {
        "ratio": above / below if below > 0 else float("nan"),
        "jain": jain_index(
            np.concatenate([rates[one] / situation.weight(one) for one in situation.customers])
        ),
        "utilization": _mean(numbers(links, "utilization")),
        "p95_delay_s": float(numbers(links, "p95_sojourn_s").max()),
    }
    rtts = dict(zip(scenario.groups, numbers(found["groups"], "mean_srtt_s"), strict=True))
    values["rtt_s"] = float(rtts[situation.ratio[1]])
    if situation.completion:
        values["completion_s"] = completion_s(found, scenario, situation.completion)
    if "state_bytes" in links.column_names:
        values["state_bytes"] = float(numbers(links, "state_bytes").sum())
    values |= {f"rate_bps.{group}": _mean(every) for group, every in rates.items()}
    values |= {f"rtt_s.{group}": float(rtt) for group, rtt in rtts.items()}
    return {name: float(v) if np.isfinite(v) else None for name, v in values.items()}


def customer_rates_bps(
    tables: Tables, scenario: Scenario, group: str, *, fetches: bool
) -> NDArray[np.float64]:
    """Rate of every customer of a group [bit/s]: payload that arrived over the measured time.

    Of those who fetch something now and then, over the part of it that they spent in transfers;
    who spent none has no rate.
    """
    users, index = tables["users"], scenario.groups.index(group)
    mine = numbers(users, "group").astype(int) == index
    goodput = numbers(users, "goodput_bps")[mine]
    if not fetches:
        return np.asarray(goodput, dtype=float)
    owner = numbers(tables["flows"], "user").astype(int)
    moved = _transfers(tables["transfers"], scenario, index)
    of_user = np.bincount(
        owner[moved["flow"].astype(int)], moved["seconds"], minlength=users.num_rows
    )
    seconds = of_user[numbers(users, "user").astype(int)[mine]]
    busy = seconds > 0
    return np.asarray(goodput[busy] * scenario.duration_s / seconds[busy], dtype=float)


def completion_s(tables: Tables, scenario: Scenario, group: str) -> float:
    """Mean completion time of a group's transfers [s].

    The measured time that customers spent in transfers, over the number that finished in it: the
    mean of all if none is cut off, and otherwise none is left out, as the longest would be by a
    mean over those finished. Where none finished, one counts as finished at the end.
    """
    moved = _transfers(tables["transfers"], scenario, scenario.groups.index(group))
    if not len(moved["seconds"]):
        return float("nan")
    return float(moved["seconds"].sum() / max(moved["done"].sum(), 1))


def _transfers(source: pa.Table, scenario: Scenario, group: int) -> dict[str, NDArray[np.float64]]:
    """Transfers of a group that are under way in the measured time: how long in it, and if done."""
    begin_s, end_s = scenario.warm_up_s, scenario.warm_up_s + scenario.duration_s
    start = numbers(source, "start_s")
    end = start + np.nan_to_num(numbers(source, "completion_s"), nan=np.inf)
    kept = (numbers(source, "group") == group) & (start < end_s) & (end > begin_s)
    start, end = start[kept], end[kept]
    return {
        "flow": numbers(source, "flow")[kept],
        "seconds": np.minimum(end, end_s) - np.maximum(start, begin_s),
        "done": end <= end_s,
    }


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def geometric_mean(values: Sequence[float]) -> float:
    """Mean of factors: 2 and 1/2 make 1.

    >>> round(geometric_mean([2.0, 8.0]), 6)
    4.0
    """
    return float(np.exp(np.mean(np.log(values))))
