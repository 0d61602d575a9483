"""What the analysis promises of a case, what the simulation showed, and whether it was right."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from tidegate.studies.stability.cases import Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

STEADY_MARGIN, SWINGING_MARGIN = 2.0, 0.5
"""From the first on a queue is promised to be steady, up to the second to swing."""
STEADY_SPREAD, STEADY_UTILIZATION = 0.5, 0.998
SWINGING_SPREAD, SWINGING_UTILIZATION = 0.6, 0.995
COLUMNS = (
    "queue", "rate_mbps", "flows", "base_rtt_ms", "seed", "utilization", "queue_packets",
    "queue_sd_packets",
)  # fmt: skip


class Promise(StrEnum):
    """What a gain margin says."""

    STEADY = "steady"
    BETWEEN = "between"
    SWINGS = "swings"


@dataclass(frozen=True)
class Verdict:
    """A case and its runs: means over them."""

    case: Case
    utilization: float
    queue_packets: float
    spread: float
    """Standard deviation of the queue over its mean."""

    @property
    def promise(self) -> Promise:
        """By the gain margin."""
        margin = self.case.gain_margin
        if margin >= STEADY_MARGIN:
            return Promise.STEADY
        return Promise.SWINGS if margin <= SWINGING_MARGIN else Promise.BETWEEN

    @property
    def right(self) -> bool:
        """Whether the simulation did what was promised; always where nothing is."""
        match self.promise:
            case Promise.STEADY:
                return self.spread < STEADY_SPREAD and self.utilization > STEADY_UTILIZATION
            case Promise.SWINGS:
                return self.spread > SWINGING_SPREAD and self.utilization < SWINGING_UTILIZATION
            case Promise.BETWEEN:
                return True


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """Utilisation, and mean and standard deviation of the backlog, after the warm-up."""
    series = tables["link_series"]
    late = pc.greater_equal(series["time_s"], scenario.plan()["warm_up_s"])
    backlog = series.filter(late)["backlog_packets"]
    [bottleneck] = [link for link in tables["links"].to_pylist() if link["monitored"]]
    return {
        "utilization": bottleneck["utilization"],
        "queue_packets": pc.mean(backlog).as_py(),
        "queue_sd_packets": pc.stddev(backlog).as_py(),
    }


def write(path: Path, runs: Mapping[Case, Iterable[Mapping[str, float]]]) -> None:
    """Keep a row for each run."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for case, found in runs.items():
            for run in found:
                measured = [f"{run[name]:.6g}" for name in COLUMNS[4:]]
                rows.writerow([case.queue, case.rate_mbps, case.flows, case.base_rtt_ms, *measured])


def read(path: Path) -> list[Verdict]:
    """What was kept, judged."""
    runs: dict[Case, list[Mapping[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            numbers = (int(row[name]) for name in ("rate_mbps", "flows", "base_rtt_ms"))
            runs[Case(row["queue"], *numbers)].append(row)
    return [verdict_of(case, found) for case, found in runs.items()]


def verdict_of(case: Case, runs: Sequence[Mapping[str, str | float]]) -> Verdict:
    """Means over the runs of a case."""

    def mean(name: str) -> float:
        return fmean(float(run[name]) for run in runs)

    spread = fmean(float(run["queue_sd_packets"]) / float(run["queue_packets"]) for run in runs)
    return Verdict(case, mean("utilization"), mean("queue_packets"), spread)
