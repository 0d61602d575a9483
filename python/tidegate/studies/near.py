"""Whether measured numbers are as near as asked to those of a model of the same point.

`[near]` of a study names metrics that share a bound, each with the model's own::

    [near.rates]
    of = { a_bps = "model a throughput_bps", b_bps = "model b throughput_bps" }
    within = 0.1

Of the measured metrics over the model's, a point then has the lowest and the highest, `rates_low`
and `rates_high`, each with its interval. Its level `verdict` is `near` where all means are within
their bounds, `off` where one is beyond by more than its 95 % interval (the metric `off` is then 1,
and else 0), and `undecided` where one is beyond by less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.verdict import Tolerance, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.points import Point, Points


@dataclass(frozen=True)
class Near:
    """Metrics beside those of a model, and the share of it within which they are near."""

    of: Mapping[str, str]
    within: float


def read_near(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Near]:
    """Read `[near]` of a study."""
    return {name: Near(**entry) for name, entry in table.items()}


def with_near(measured: Points, near: Mapping[str, Near]) -> Points:
    """Give the same with what this makes of points that have a model beside them."""
    if not near:
        return measured
    return replace(
        measured,
        points={
            key: [_with(point, near) for point in series] for key, series in measured.points.items()
        },
    )


def _with(point: Point, near: Mapping[str, Near]) -> Point:
    metrics: dict[str, Estimate] = {}
    verdicts = set()
    for name, one in near.items():
        quotients = [
            point.metrics[ours].over(point.metrics[model])
            for ours, model in one.of.items()
            if model in point.metrics
        ]
        if quotients:
            metrics[f"{name}_low"] = min(quotients, key=attrgetter("mean"))
            metrics[f"{name}_high"] = max(quotients, key=attrgetter("mean"))
        verdicts |= {_verdict(value, one.within) for value in quotients}
    if not verdicts:
        return point
    worst = next(verdict for verdict in ("off", "undecided", "near") if verdict in verdicts)
    metrics["off"] = Estimate(float(worst == "off"))
    return replace(
        point, levels={**point.levels, "verdict": worst}, metrics={**point.metrics, **metrics}
    )


def _verdict(value: Estimate, within: float) -> str:
    margin = Tolerance(within).margin(value, 1.0)
    if margin.distance >= 0:
        return "near"
    return "off" if margin.verdict is Verdict.FAILED else "undecided"
