"""Numbers by name: of a pair, or of a mechanism over all situations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.results.statistics import Estimate
from tidegate.studies.league.measures import geometric_mean
from tidegate.studies.league.running import median
from tidegate.studies.league.standings import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.league.field import Mechanism, Situation
    from tidegate.studies.league.standings import Standings

MEAN, WORST = "mean", "worst"
COSTS = ("cpu_ns", "edge_cpu_ns", "edge_state_bytes", "state_bytes")
LOW_IS_BAD = ("jain", "utilization")


@dataclass(frozen=True)
class Scores:
    """What was measured, beside what it was measured of."""

    standings: Standings
    situations: Mapping[str, Situation]
    mechanisms: Mapping[str, Mechanism]

    @property
    def simulated(self) -> list[Situation]:
        """Situations that count into means: a lab's, in real time, has fewer runs."""
        return [one for one in self.situations.values() if not one.lab and not one.offers]

    @property
    def paying(self) -> list[Situation]:
        """Situations where customers may pay, which only some mechanisms are about."""
        return [one for one in self.situations.values() if one.offers]

    @property
    def regular(self) -> list[str]:
        """Names of mechanisms without those that are shown apart."""
        return [name for name, one in self.mechanisms.items() if not one.extra and not one.pays]

    @property
    def costly(self) -> Situation | None:
        """The situation where state is measured."""
        return next((one for one in self.situations.values() if one.state), None)

    def of(self, metric: str, situation: str, mechanism: str) -> Estimate:
        """Value of a metric; `situation` may be ``mean`` or ``worst`` of the simulated ones.

        The mean of ratios is that of their factors from 1, whichever side: 2 and 1/2 make 2. The
        worst is the lowest of indices and utilisations, the highest of all else. Costs are per
        customer and per packet, whatever the situation.
        """
        if metric in COSTS:
            return self._cost(metric, mechanism)
        if situation not in (MEAN, WORST):
            return self.standings.estimate(situation, mechanism, metric)
        found = {name: v.mean for name, v in self._each(metric, mechanism).items()}
        if not found or len(found) < len(self.simulated):
            return UNKNOWN
        values = list(found.values())
        if metric == "ratio":
            values = [max(v, 1 / v) if v > 0 else math.inf for v in values]
        if situation == WORST:
            return Estimate(min(values) if metric in LOW_IS_BAD else max(values), math.nan, 1)
        mean = geometric_mean(values) if metric == "ratio" else sum(values) / len(values)
        return Estimate(mean, math.nan, 1)

    def worst_situation(self, metric: str, mechanism: str) -> str:
        """Where a mechanism's worst value is; empty where not everything has been measured."""
        found = {name: v.mean for name, v in self._each(metric, mechanism).items()}
        if not found or len(found) < len(self.simulated):
            return ""
        pick = min if metric in LOW_IS_BAD else max
        return pick(found, key=lambda name: found[name])

    def matching(self, pattern: str) -> list[str]:
        """Mechanisms by name or pattern, such as ``icp-*``; several with ``|``.

        A pattern does not mean those that are shown apart; their own names do.
        """
        parts = [part.strip() for part in pattern.split("|")]
        found = [
            name for name, one in self.mechanisms.items()
            if name in parts
            or (not one.extra and not one.pays and any(fnmatchcase(name, p) for p in parts))
        ]  # fmt: skip
        if not found:
            raise UsageError(f"no mechanism is called {pattern!r}")
        return found

    def _each(self, metric: str, mechanism: str) -> dict[str, Estimate]:
        values = {
            one.name: self.standings.estimate(one.name, mechanism, metric) for one in self.simulated
        }
        return {name: value for name, value in values.items() if value.runs}

    def _cost(self, metric: str, mechanism: str) -> Estimate:
        customers = self.standings.cost.get("customers", 0)
        if metric == "state_bytes" and self.costly is not None:
            whole = self.standings.estimate(self.costly.name, mechanism, metric)
        else:
            values = self.standings.costs(mechanism, metric)
            whole = Estimate(median(values), math.nan, len(values))
        per_customer = metric in ("state_bytes", "edge_state_bytes")
        if not whole.runs or (per_customer and not customers):
            return UNKNOWN
        return Estimate(whole.mean / (customers if per_customer else 1), math.nan, whole.runs)
