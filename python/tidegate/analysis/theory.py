"""What models predict of a scenario, beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tidegate.analysis.mapped.network import Mapped
from tidegate.analysis.views import ask
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate._native import Scenario
    from tidegate.analysis.accuracy.causes import Cause
    from tidegate.results.result import Result

Predictions: TypeAlias = "dict[tuple[str, str, str], float]"
"""By kind (``group``, ``link``), name and metric of a summary's row."""


class Theory(NamedTuple):
    """What is predicted, by which model."""

    model: str
    warnings: tuple[str, ...]
    predicted: Predictions
    causes: tuple[Cause, ...] = ()
    """Why packets may differ, and by how much; each is a warning as well."""

    def to_dict(self) -> dict[str, object]:
        """As `tidegate simulate --theory --format json` prints it."""
        causes = [cause.to_dict() for cause in self.causes]
        return {"model": self.model, "warnings": list(self.warnings), "causes": causes}


def theory(scenario: Scenario) -> Theory:
    """The equilibrium's throughput of a user, probability and queue.

    Raises
    ------
    AnalysisError
        Where no model applies.
    """
    mapped = Mapped(scenario)
    found = ask("equilibrium", mapped)
    predicted: Predictions = {}
    # A group may be several of the model's: users with other ways. Their mean is the group's.
    users: dict[str, float] = {}
    for row in found.tables["groups"]:
        name, count = str(row["group"]), float(row["users"] or 0)
        before, rate_bps = users.get(name, 0.0), float(row["rate_bps"] or 0)
        key = ("group", name, "throughput_bps")
        predicted[key] = (predicted.get(key, 0.0) * before + rate_bps * count) / (before + count)
        users[name] = before + count
        if row.get("rtt_s") is not None:
            predicted["group", name, "mean_srtt_s"] = float(row["rtt_s"] or 0)
    for row in found.tables["links"]:
        name = str(row["link"])
        if row["queue_packets"] is not None:
            # Laws count packets that wait; a backlog is those and the one in transmission.
            queue = float(row["queue_packets"]) + 1
            rate_bps = next(rate for link, rate, _ in scenario.bottlenecks if link == name)
            predicted["link", name, "mean_backlog_packets"] = queue
            wait_s = queue * mapped.packet_bits / rate_bps
            predicted["link", name, "mean_sojourn_s"] = wait_s
    return Theory(found.model, found.warnings, predicted, found.causes)


def theory_or_why(scenario: Scenario) -> Theory | str:
    """The same, or the sentence why there is none."""
    try:
        return theory(scenario)
    except AnalysisError as error:
        return str(error)


def beside_theory(result: Result) -> pa.Table:
    """The summary's rows with what a model predicts and by which share a mean is above that.

    Both are null in rows that no model predicts; of the others, `warning` says why packets may
    differ, all reasons in one, if there are any. Raises `AnalysisError` where no model applies.
    """
    import pyarrow as pa

    found = theory(result.scenario)
    predicted = found.predicted
    summary = result.summary()
    keys = zip(*(summary[name].to_pylist() for name in ("kind", "name", "metric")), strict=True)
    values = [predicted.get(key) for key in keys]
    means = summary["mean"].to_pylist()
    deviations = [
        deviation(m, p) if p is not None else None for m, p in zip(means, values, strict=True)
    ]
    columns = {"predicted": values, "deviation": deviations}
    for name, column in columns.items():
        summary = summary.append_column(name, pa.array(column, pa.float64()))
    warning = "; ".join(found.warnings) or None
    warnings = [warning if value is not None else None for value in values]
    return summary.append_column("warning", pa.array(warnings, pa.string()))


def deviation(mean: float, predicted: float) -> float | None:
    """By which share of the prediction a measurement is above it."""
    return mean / predicted - 1 if predicted else None
