"""Metrics of a point over those of another point of its series, or over those of a model.

`[relative]` of a study names them::

    [relative]
    kept = { of = "victims_bps", to = { flood = "none" } }

`kept` is the point's `victims_bps` over that of the point that has `flood = "none"` and is like it
in all other factors. A level may be that of another factor (`"{alike}"`), or a range such as
`{ max = "{flows}" }`; of several points the one with the largest mean is taken.

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
from tidegate.studies.factors import filled
from tidegate.studies.matching import matches
from tidegate.studies.verdict import Tolerance, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.points import Point, Points


@dataclass(frozen=True)
class Relative:
    """A metric, and where the point is that it is put over."""

    of: str
    to: Mapping[str, Any]


@dataclass(frozen=True)
class Near:
    """Metrics beside those of a model, and the share of it within which they are near."""

    of: Mapping[str, str]
    within: float


def read_relatives(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Relative]:
    """Read `[relative]` of a study."""
    return {name: Relative(**entry) for name, entry in table.items()}


def read_near(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Near]:
    """Read `[near]` of a study."""
    return {name: Near(**entry) for name, entry in table.items()}


def with_relatives(
    measured: Points, relatives: Mapping[str, Relative], near: Mapping[str, Near] | None = None
) -> Points:
    """Add these metrics; a point without a reference lacks them."""
    if not relatives and not near:
        return measured
    return replace(
        measured,
        points={
            key: [_beside_model(_with(point, series, relatives), near or {}) for point in series]
            for key, series in measured.points.items()
        },
    )


def _with(point: Point, series: Sequence[Point], relatives: Mapping[str, Relative]) -> Point:
    more = {}
    for name, one in relatives.items():
        reference = _reference(point, series, one)
        if reference is not None:
            more[name] = point.metrics[one.of].over(reference.metrics[one.of])
    return replace(point, metrics={**point.metrics, **more}) if more else point


def _reference(point: Point, series: Sequence[Point], one: Relative) -> Point | None:
    if one.of not in point.metrics or not one.to.keys() <= point.levels.keys():
        return None
    others = {name: level for name, level in point.levels.items() if name not in one.to}
    where = {**others, **{name: filled(want, "", point.levels) for name, want in one.to.items()}}
    found = [each for each in series if one.of in each.metrics and matches(each.levels, where)]
    return max(found, key=lambda each: each.metrics[one.of].mean, default=None)


def _beside_model(point: Point, near: Mapping[str, Near]) -> Point:
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
