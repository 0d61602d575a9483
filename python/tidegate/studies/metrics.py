"""A study's metrics, computed from what is read from the runs of one point.

`[metrics]` gives each an expression of the names in `[reads]`::

    [metrics]
    unfairness = "heavy_bps / heavy_users / (light_bps / light_users)"

It is worked out for each run, or for each interval, transfer or whatever else a read has several
numbers of; these are the samples of its mean and of its interval. Two kinds are different:
`{ exact = ".." }` is of a single run and has no interval, and `{ of_means = ".." }` is an
expression of the means of other metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.results.statistics import Estimate, estimate
from tidegate.studies.curves import Curve, CurveRead, read_curves
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate_all, names_in
from tidegate.studies.reads import Read, Reading, read_reads
from tidegate.studies.traces import Trace, trace_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tidegate.studies.runner import Simulation
    from tidegate.studies.running import Columns

WARM_UP = "warm_up_s"
BOTTLENECK = "bottleneck"
_PACKETS = Read("links", "departures_in_all", {"name": BOTTLENECK})


@dataclass(frozen=True)
class Metric:
    """How one is worked out."""

    expression: str
    kind: str = "samples"
    """Or `exact` or `of_means`."""


@dataclass(frozen=True)
class Run:
    """What was read from a run."""

    readings: Mapping[str, Reading]
    packets: int
    """Left the bottleneck, warm-up included."""
    trace: Trace | None = None
    """Only where time series are sampled."""
    curves: Mapping[str, Curve] = field(default_factory=dict)
    """What figures show over time, of the first run of a point."""


@dataclass(frozen=True)
class Measures:
    """What is read from a study's runs, and the metrics computed from it."""

    reads: Mapping[str, Read] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    curves: Mapping[str, CurveRead] = field(default_factory=dict)
    traces: str = "all"
    """Whether the time series of each run are kept, of the `first` of a scenario, or `none`."""

    def keep(
        self, simulation: Simulation, columns: Columns, names: Mapping[str, Any] | None = None
    ) -> Run:
        """Read a run's tables; `names` are those of its set-up."""
        groups = simulation.groups
        begin_s = simulation.warm_up_s
        known = {**(names or {}), "begin_s": begin_s, "end_s": begin_s + simulation.duration_s}
        found = {name: read.of(columns, groups, known) for name, read in self.reads.items()}
        packets = _PACKETS.of(columns, groups)
        return Run(
            {WARM_UP: simulation.warm_up_s, **found},
            int(packets) if isinstance(packets, float) else 0,
            trace_of(columns, BOTTLENECK) if self._traced(simulation, columns) else None,
            self._curves(simulation, columns),
        )

    def _traced(self, simulation: Simulation, columns: Columns) -> bool:
        first = self.traces == "first" and int(columns["run"]["seed"][0]) == simulation.seed
        return first or self.traces == "all"

    def _curves(self, simulation: Simulation, columns: Columns) -> dict[str, Curve]:
        if not self.curves or columns["run"]["seed"][0] != simulation.seed:
            return {}
        found = {name: read.of(columns, simulation.groups) for name, read in self.curves.items()}
        return {name: curve for name, curve in found.items() if curve is not None}

    def of(self, runs: Sequence[Run]) -> dict[str, Estimate]:
        """Every metric of a point, by name; one that has nothing to be read from is left out."""
        found: dict[str, Estimate] = {}
        for name, metric in self.metrics.items():
            if metric.kind == "of_means":
                means = {one: known.mean for one, known in found.items()}
                found |= _of_means(name, metric.expression, means)
                continue
            samples = [value for run in runs for value in _values(metric.expression, run.readings)]
            if samples:
                exact = metric.kind == "exact"
                found[name] = Estimate(samples[0]) if exact else estimate(samples)
        # What the first run's trace shows; of a trace there is no interval.
        trace = runs[0].trace
        shown = trace.metrics() if trace else {}
        return found | {name: Estimate(value) for name, value in shown.items()}


def read_measures(head: Mapping[str, Any]) -> Measures:
    """Read `[reads]` and `[metrics]` of a study."""
    reads = read_reads(head.get("reads", {}))
    metrics = {name: _metric(entry) for name, entry in head.get("metrics", {}).items()}
    there = {*reads, *metrics, WARM_UP}
    wrong = [
        f"metrics.{name}: no {missing!r} in [reads]"
        for name, metric in metrics.items()
        for missing in sorted(names_in(metric.expression) - there)
    ]
    if wrong:
        raise ReproductionError("\n".join(wrong))
    curves = read_curves(head.get("curves", {}))
    return Measures(reads, metrics, curves, head.get("traces", "all"))


def _metric(entry: str | Mapping[str, str]) -> Metric:
    if isinstance(entry, str):
        return Metric(entry)
    ((kind, expression),) = entry.items()
    if kind not in ("exact", "of_means"):
        raise ReproductionError(f"no metric of kind {kind!r}; there are exact and of_means")
    return Metric(expression, kind)


def _values(expression: str, readings: Mapping[str, Reading]) -> Iterable[float]:
    """Give a value, or several where a reading has several; none where one has nothing."""
    named = {name: readings[name] for name in names_in(expression)}
    if any(reading is None for reading in named.values()):
        return ()
    # A function of whole columns may do without one of them, but not without all.
    if named and all(reading == () for reading in named.values()):
        return ()
    columns = {name: np.asarray(reading, dtype=float) for name, reading in named.items()}
    values: list[float] = np.atleast_1d(evaluate_all(expression, columns)).tolist()
    return values


def _of_means(name: str, expression: str, means: Mapping[str, float]) -> dict[str, Estimate]:
    if not names_in(expression) <= means.keys():
        return {}
    columns = {one: np.asarray(means[one]) for one in names_in(expression)}
    return {name: Estimate(float(evaluate_all(expression, columns)))}
