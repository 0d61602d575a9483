"""What came out: predicted and simulated rates and queues of each scenario, and the warnings."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from tidegate.analysis.accuracy.measured import Measured
from tidegate.analysis.theory import theory
from tidegate.errors import AnalysisError
from tidegate.results.statistics import estimate
from tidegate.results.tables import derive
from tidegate.studies import running
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.runs.execution import Executor, Progress
    from tidegate.studies.running import Numbers

RATE_BOUND, QUEUE_BOUND = 0.10, 0.20
"""Shares of the model's rate of a group and of its mean queue, within which packets are near."""
_RATE, _QUEUE = "throughput_bps", "mean_backlog_packets"
_ENOUGH_ALONE = 8
"""From so many scenarios with a cause alone on, its range is of those."""
OTHER = "other"
"""A warning that is none of the measured causes."""
COLUMNS = ("scenario", "quantity", "predicted", "simulated", "ci95", "warnings", "refused")


class Verdict(StrEnum):
    """How near a scenario's packets are to its model."""

    REFUSED = "refused"
    NEAR = "near"
    """All means are within the bounds."""
    UNDECIDED = "undecided"
    """A mean is beyond a bound, by less than its 95 % confidence interval."""
    OFF = "off"


class Quantity(NamedTuple):
    """A rate of a group or a queue of a link."""

    name: str
    predicted: float
    simulated: float
    ci95: float

    @property
    def is_rate(self) -> bool:
        """Else it is a queue."""
        return self.name.startswith("rate")

    @property
    def deviation(self) -> float:
        """By which share of the model's the mean is above it."""
        return self.simulated / self.predicted - 1

    @property
    def verdict(self) -> Verdict:
        """Against its bound."""
        beyond = abs(self.deviation) - (RATE_BOUND if self.is_rate else QUEUE_BOUND)
        if beyond <= 0:
            return Verdict.NEAR
        return Verdict.OFF if beyond > self.ci95 / self.predicted else Verdict.UNDECIDED


@dataclass(frozen=True)
class Outcome:
    """One scenario."""

    name: str
    quantities: tuple[Quantity, ...] = ()
    warnings: tuple[str, ...] = ()
    """Kinds of causes, and `OTHER`."""
    refused: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of its quantities."""
        if self.refused:
            return Verdict.REFUSED
        found = {quantity.verdict for quantity in self.quantities}
        worst = (Verdict.OFF, Verdict.UNDECIDED)
        return next((verdict for verdict in worst if verdict in found), Verdict.NEAR)

    @property
    def silent(self) -> bool:
        """Whether it is off and nothing says so."""
        return self.verdict is Verdict.OFF and not self.warnings

    def range_of(self, *, rates: bool) -> tuple[float, float] | None:
        """Smallest and largest deviation of its rates, or of its queues."""
        found = [one.deviation for one in self.quantities if one.is_rate is rates]
        return (min(found), max(found)) if found else None


def simulated(
    scenarios: Mapping[str, Scenario], runs: int, executor: Executor, tell: Progress
) -> list[Outcome]:
    """Predict and simulate all of them, each with the seeds from 1 on."""
    refused: dict[str, str] = {}
    theories = {}
    for name, scenario in scenarios.items():
        try:
            theories[name] = theory(scenario)
        except AnalysisError as error:
            refused[name] = str(error)
    seeds = range(1, runs + 1)
    trials = [Trial(scenarios[name], seeds, of_run) for name in theories]
    numbers = dict(zip(theories, running.simulate(trials, executor, tell), strict=True))
    found = []
    for name in scenarios:
        if name in refused:
            found.append(Outcome(name, refused=refused[name]))
            continue
        known = theories[name]
        quantities = tuple(_quantities(known.predicted, numbers[name]))
        kinds = {cause.kind for cause in known.causes}
        kinds |= {OTHER} if len(known.warnings) > len(known.causes) else set()
        found.append(Outcome(name, quantities, tuple(sorted(kinds))))
    return found


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """Rates of a user of groups and mean queues of monitored links, by the names of quantities."""
    groups = derive(tables, scenario)["groups"].to_pylist()
    rates = {f"rate {row['group']}": row[_RATE] for row in groups}
    links = [link for link in tables["links"].to_pylist() if link["monitored"]]
    return rates | {f"queue {link['name']}": link[_QUEUE] for link in links}


def _quantities(
    predicted: Mapping[tuple[str, str, str], float], runs: Sequence[Mapping[str, float]]
) -> Iterable[Quantity]:
    words = {_RATE: "rate", _QUEUE: "queue"}
    for (_, of, metric), value in predicted.items():
        if metric in words and value > 0:
            name = f"{words[metric]} {of}"
            mean, ci95, _ = estimate([run[name] for run in runs])
            yield Quantity(name, value, mean, ci95)


def ranges(outcomes: Sequence[Outcome]) -> dict[str, Measured]:
    """By how much packets differ where each cause is, alone if enough scenarios have it alone."""
    kinds = {kind for one in outcomes for kind in one.warnings if kind != OTHER}
    found = {}
    for kind in sorted(kinds):
        having = [one for one in outcomes if kind in one.warnings]
        alone = [one for one in having if one.warnings == (kind,)]
        of = alone if len(alone) >= _ENOUGH_ALONE else having
        found[kind] = Measured(len(of), _percent(of, rates=True), _percent(of, rates=False))
    return found


def _percent(outcomes: Sequence[Outcome], *, rates: bool) -> tuple[int, int]:
    ends = [end for one in outcomes if (end := one.range_of(rates=rates)) is not None]
    if not ends:
        return 0, 0
    return round(100 * min(low for low, _ in ends)), round(100 * max(high for _, high in ends))


def write(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Keep a row for each quantity."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for one in outcomes:
            if one.refused:
                rows.writerow([one.name, "", "", "", "", "", one.refused])
            for quantity in one.quantities:
                numbers = (f"{value:.6g}" for value in quantity[1:])
                rows.writerow([one.name, quantity.name, *numbers, " ".join(one.warnings), ""])


def read(path: Path) -> list[Outcome]:
    """What was kept."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["scenario"]].append(row)
    return [_outcome(name, of) for name, of in rows.items()]


def _outcome(name: str, rows: Sequence[Mapping[str, str]]) -> Outcome:
    if rows[0]["refused"]:
        return Outcome(name, refused=rows[0]["refused"])
    quantities = tuple(
        Quantity(row["quantity"], *(float(row[key]) for key in ("predicted", "simulated", "ci95")))
        for row in rows
    )
    return Outcome(name, quantities, tuple(rows[0]["warnings"].split()))
