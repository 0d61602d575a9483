"""Does the simulator say what Linux does? A deviation, and how certain it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.results.statistics import welch95
from tidegate.studies.fidelity.cases import LINUX, SIMULATED
from tidegate.studies.fidelity.measures import METRICS
from tidegate.studies.verdict import Tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.results.statistics import Estimate
    from tidegate.studies.fidelity.cases import Record

NEAR, CLOSE = Tolerance(0.10), Tolerance(0.05)
JUDGED = ("ratio", "queue_packets")
"""What a scenario has to agree in."""


@dataclass(frozen=True)
class Agreement:
    """One metric of one case on both sides."""

    metric: str
    simulated: Estimate
    linux: Estimate
    deviation: float
    """Simulated over Linux, minus 1; NaN where Linux has 0 or nothing."""
    uncertainty: float
    """Half-width of the deviation's 95 % confidence interval (Welch), over Linux' mean."""

    @property
    def within(self) -> bool:
        """Whether the means are within 10 %."""
        return NEAR.holds(self.simulated.mean, self.linux.mean)

    @property
    def close(self) -> bool:
        """Whether the means are within 5 %, or chance may explain what they differ by."""
        return CLOSE.holds(self.simulated.mean, self.linux.mean) or not self.differs

    @property
    def differs(self) -> bool:
        """Whether the difference is more than chance; unknown counts as more."""
        return not abs(self.deviation) <= self.uncertainty


def agreements(record: Record, metrics: Iterable[str] = METRICS) -> dict[str, Agreement]:
    """Those of the metrics that both sides have."""
    found = {}
    for metric in metrics:
        simulated, linux = (record.estimate(side, metric) for side in (SIMULATED, LINUX))
        if not simulated.runs or not linux.runs or not (simulated.mean or linux.mean):
            continue
        values = (record.values(side, metric) for side in (LINUX, SIMULATED))
        difference, half = welch95(*values)
        scale = linux.mean or float("nan")
        found[metric] = Agreement(metric, simulated, linux, difference / scale, half / abs(scale))
    return found


def agrees(found: dict[str, Agreement]) -> bool:
    """Whether throughput ratio and mean queue are within 10 %; one flow alone has no ratio."""
    return "queue_packets" in found and all(found[m].within for m in JUDGED if m in found)
