"""A metric as figures show it: its name for people, its unit and its scale."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.results.columns import unit_of
from tidegate.results.show import rate_unit
from tidegate.results.summary import APPLICATION_METRICS, GROUP_METRICS, LINK_METRICS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

METRICS = tuple(dict.fromkeys((*GROUP_METRICS, *LINK_METRICS, *APPLICATION_METRICS)))
"""Metrics of a summary."""

_SHORT = {
    "throughput": "throughput_bps", "goodput": "goodput_bps", "loss": "loss_ratio",
    "marked": "mark_ratio", "rtt": "mean_srtt_s", "delay": "mean_queueing_delay_s",
    "fct": "mean_completion_s", "slowdown": "mean_slowdown", "used": "utilization",
    "queue": "mean_backlog_packets", "drops": "drop_ratio", "sojourn": "mean_sojourn_s",
    "unfinished": "transfers_unfinished", "jitter": "jitter_s",
}  # fmt: skip
"""What people call them."""

_LABELS = {
    "throughput_bps": "throughput per user", "goodput_bps": "goodput per user",
    "total_throughput_bps": "throughput of all users", "share": "share of all throughput",
    "ratio_to_first": "throughput over that of the first group", "loss_ratio": "lost packets",
    "mark_ratio": "marked packets", "retransmit_ratio": "retransmissions",
    "mean_srtt_s": "mean round trip", "mos": "MOS", "utilization": "utilization",
    "drop_ratio": "dropped packets", "mean_backlog_packets": "mean queue",
    "mean_backlog_bytes": "mean queue", "transfers_finished": "finished transfers",
    "transfers_unfinished": "unfinished transfers", "marks": "marked packets",
}  # fmt: skip
_ENDINGS = ("_packets", "_bytes", "_bps", "_ratio", "_s")
_WORDS = {"completion": "FCT", "srtt": "round trip", "p999": "p99.9", "sojourn": "sojourn time"}
_COUNTS = {"mean_backlog_packets": "packets", "mean_backlog_bytes": "B"}


@dataclass(frozen=True)
class Shown:
    """A metric on an axis."""

    metric: str
    label: str
    unit: str
    scale: float
    """What values are multiplied by."""

    @property
    def axis(self) -> str:
        """Label of the axis."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


def metric_named(name: str, known: Iterable[str] = METRICS) -> str:
    """Return the metric that a name stands for.

    >>> metric_named("p95_delay"), metric_named("throughput"), metric_named("p99_fct")
    ('p95_queueing_delay_s', 'throughput_bps', 'p99_completion_s')
    """
    known = tuple(known)
    spelt = name.strip().lower().replace("-", "_").replace(" ", "_")
    whole = spelt.replace("fct", "completion")
    if "queueing" not in whole and "one_way" not in whole:
        whole = whole.replace("delay", "queueing_delay")
    for one in (spelt, _SHORT.get(spelt, ""), whole):
        for ending in ("", *_ENDINGS):
            if one and one + ending in known:
                return one + ending
    near = get_close_matches(spelt, [*known, *_SHORT], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"no metric {name[:60]!r}; {hint}")


def shown(metric: str, largest: float) -> Shown:
    """Choose unit and scale by the largest value that is drawn."""
    unit = unit_of(metric)
    if unit == "bit/s":
        return Shown(metric, _label(metric), *rate_unit(largest))
    if unit == "s":
        small = largest < 1.0
        return Shown(metric, _label(metric), "ms" if small else "s", 1e3 if small else 1.0)
    if metric.endswith("ratio") or metric in {"share", "utilization", "blocking", "price"}:
        return Shown(metric, _label(metric), "%", 100.0)
    return Shown(metric, _label(metric), _COUNTS.get(metric, ""), 1.0)


@cache
def _label(metric: str) -> str:
    """Name a metric for people: no key.

    >>> _label("p95_queueing_delay_s"), _label("p99_completion_s")
    ('p95 queueing delay', 'p99 FCT')
    """
    if metric in _LABELS:
        return _LABELS[metric]
    bare = next((metric.removesuffix(end) for end in _ENDINGS if metric.endswith(end)), metric)
    return " ".join(_WORDS.get(word, word) for word in bare.split("_"))


def kind_of(metric: str) -> str:
    """Whether it belongs to ``group``, ``link`` or ``application``."""
    if metric in GROUP_METRICS:
        return "group"
    return "link" if metric in LINK_METRICS else "application"


def names_to_show(names: Collection[str], of: Sequence[str], metric: str) -> list[str]:
    """Return the groups or links among `names` that `of` asks for; all where it is empty.

    Raises
    ------
    UsageError
        Where there are no names, or one of `of` is not among them.

    """
    if not names:
        raise UsageError(f"no run has {metric}")
    for one in of:
        if one not in names:
            raise UsageError(f"nothing named {one!r} has {metric}; there are: {', '.join(names)}")
    return [name for name in names if not of or name in of]
