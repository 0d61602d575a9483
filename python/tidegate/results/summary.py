"""Summary: means over replications with their confidence intervals."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.results.arrow import distinct, equal, rows_where, texts
from tidegate.results.batch import group_table
from tidegate.results.columns import field_of, unit_of
from tidegate.results.quantities import drop_ratio
from tidegate.results.statistics import Estimate, estimate
from tidegate.results.tables import array, numbers, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tidegate.results.batch import Batch
    from tidegate.results.tables import Tables

GROUP_METRICS = (
    "throughput_bps", "goodput_bps", "total_throughput_bps", "share", "ratio_to_first",
    "loss_ratio", "mark_ratio", "retransmit_ratio", "timeouts", "mean_srtt_s",
    "mean_queueing_delay_s", "p50_queueing_delay_s", "p95_queueing_delay_s",
    "p99_queueing_delay_s", "p999_queueing_delay_s", "max_queueing_delay_s",
    "mean_one_way_delay_s", "p50_one_way_delay_s", "p95_one_way_delay_s", "p99_one_way_delay_s",
    "p999_one_way_delay_s", "max_one_way_delay_s", "jitter_s", "loss_runs",
    "longest_loss_run_packets", "mos", "transfers_finished",
    "transfers_unfinished", "mean_completion_s", "p50_completion_s", "p95_completion_s",
    "p99_completion_s", "max_completion_s", "mean_slowdown", "p50_slowdown", "p99_slowdown",
)  # fmt: skip
LINK_METRICS = (
    "utilization", "mean_backlog_packets", "mean_backlog_bytes", "mean_sojourn_s",
    "p95_sojourn_s", "p99_sojourn_s", "max_sojourn_s", "drop_ratio", "drops_full", "drops_aqm",
    "drops_wire", "drops_policer", "marks",
)  # fmt: skip
APPLICATION_METRICS = (
    "stalls", "mean_stall_s", "startup_s", "qoe", "begun", "finished", "completion_s",
    "longest_completion_s", "blocks", "block_s", "longest_block_s", "offered", "blocking",
    "calls", "set_up_s", "target_rate_bps", "quality", "quality_changes", "price",
)  # fmt: skip
"""Metrics of applications (video, short flows, calls, video traces): means over a group's flows."""


class Row(NamedTuple):
    """One metric of one group, link, or group's applications."""

    kind: str
    """``group``, ``link`` or ``application``."""
    name: str
    metric: str
    unit: str
    mean: float
    ci95: float
    """Half-width of the 95 % confidence interval (Student's t), NaN without replications."""
    runs: int
    """Replications that had a value."""


def rows(tables: Tables) -> Iterator[Row]:
    """All metrics of all groups and bottlenecks, and of applications that tell of themselves."""
    yield from _rows("group", tables["groups"], "group", GROUP_METRICS)
    yield from _rows("link", bottlenecks(tables["links"]), "name", LINK_METRICS)
    for name, metric, part in labelled(tables):
        runs = part.group_by("replication").aggregate([("amount", "mean")])
        yield Row(
            "application", name, metric, unit_of(metric), *estimate(numbers(runs, "amount_mean"))
        )


Label: TypeAlias = tuple[str, str, str]
"""Kind, name and metric of a measure."""


class Measures(NamedTuple):
    """All metrics of all groups and bottlenecks of a single run, in the order of `rows`."""

    labels: tuple[Label, ...]
    """The same object for runs that have the same ones."""
    values: NDArray[np.float64]
    """NaN where the run has none."""


def measures(batch: Batch) -> list[Measures]:
    """The measures of each run."""
    groups = group_table(batch)
    names = batch.scenarios[0].groups
    metrics, of_groups = _matrix(groups, GROUP_METRICS)
    group_labels = tuple(("group", name, metric) for name in names for metric in metrics)
    of_groups = of_groups.reshape(len(batch), -1)

    links = bottlenecks(batch.tables["links"])
    link_metrics, of_links = _matrix(links, LINK_METRICS)
    link_names = links["name"].to_pylist()
    monitored = np.cumsum([0, *numbers(batch.tables["links"], "monitored").astype(bool)])
    link_ends = monitored[batch.ends("links")]

    known: dict[object, tuple[Label, ...]] = {}
    found = []
    for run, (first, end) in enumerate(pairwise(link_ends)):
        applications = _of_applications(batch, run)
        named = (*link_names[first:end],), (*(label for label, _ in applications),)
        labels = known.get(named)
        if labels is None:
            link_labels = (("link", name, metric) for name in named[0] for metric in link_metrics)
            labels = known[named] = (*group_labels, *link_labels, *named[1])
        parts = of_groups[run], of_links[first:end].ravel(), [value for _, value in applications]
        found.append(Measures(labels, np.concatenate(parts)))
    return found


def _matrix(source: pa.Table, metrics: tuple[str, ...]) -> tuple[list[str], NDArray[np.float64]]:
    """The metrics that a table has, and its numbers: a row for each of its rows."""
    columns = set(source.column_names)
    known = [name for name in metrics if name in columns]
    return known, np.column_stack([numbers(source, name) for name in known])


def _of_applications(batch: Batch, run: int) -> list[tuple[Label, float]]:
    rows = batch.rows.get("applications")
    if rows is None or rows[run] <= 0:
        return []
    tables = batch.slice(run, run + 1).tables
    return [
        (("application", name, metric), _mean(numbers(part, "amount")))
        for name, metric, part in labelled(tables)
    ]


def labelled(tables: Tables) -> Iterator[tuple[str, str, pa.Table]]:
    """What a group's applications tell of themselves: the group, what, and a row a flow."""
    applications = tables.get("applications")
    if applications is None:
        return
    for name, part in by_name(applications, "group"):
        what = texts(part["what"])
        for metric in APPLICATION_METRICS:
            if (found := rows_where(part, equal(what, metric))).num_rows:
                yield name, metric, found


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def estimated(
    names: Sequence[tuple[str, str, str]], values: Sequence[NDArray[np.float64]]
) -> Iterator[Row]:
    """The same rows from the measures of each run: what they are called, and a vector a run."""
    for number, (kind, name, metric) in enumerate(names):
        yield Row(kind, name, metric, _unit(metric), *_estimated([one[number] for one in values]))


def _estimated(values: Sequence[float]) -> Estimate:
    """As `estimate`, which takes long for the one value that points of a large sweep have."""
    if len(values) > 1:
        return estimate(values)
    value = float(values[0])
    return Estimate(value, math.nan, 0 if math.isnan(value) else 1)


_unit = cache(unit_of)


def summary_table(tables: Tables) -> pa.Table:
    """`rows` as a table."""
    return as_table(rows(tables))


def as_table(found: Iterable[Row]) -> pa.Table:
    """Rows as a table."""
    content = list(found)
    columns: dict[str, object] = {
        name: [getattr(row, name) for row in content] for name in ("kind", "name", "metric", "unit")
    }
    columns["mean"] = np.array([row.mean for row in content], dtype=float)
    columns["ci95"] = np.array([row.ci95 for row in content], dtype=float)
    columns["runs"] = np.array([row.runs for row in content], dtype="u4")
    return table(columns)


def bottlenecks(links: pa.Table) -> pa.Table:
    """Return the monitored links, with the share of packets that each dropped."""
    monitored = rows_where(links, links["monitored"])
    # Results of before there were policers have no column for their drops.
    columns = set(monitored.column_names)
    ratio = drop_ratio(lambda name: numbers(monitored, name) if name in columns else None)
    return monitored.append_column(field_of("drop_ratio", pa.float64()), array(ratio))


def by_name(source: pa.Table, key: str) -> Iterator[tuple[str, pa.Table]]:
    """Split a table by the names in a column."""
    names = texts(source[key])
    for name in distinct(names):
        yield name, rows_where(source, equal(names, name))


def _rows(kind: str, source: pa.Table, key: str, metrics: tuple[str, ...]) -> Iterator[Row]:
    # Results of before there were policers have no column for their drops.
    known = [metric for metric in metrics if metric in source.column_names]
    for name, part in by_name(source, key):
        for metric in known:
            yield Row(kind, name, metric, unit_of(metric), *estimate(numbers(part, metric)))
