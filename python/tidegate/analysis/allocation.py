"""The optimal allocation of rates: of links and flows, or of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tidegate.analysis.mapped.network import Mapped
from tidegate.analysis.mapped.optimum import sharing, solved
from tidegate.analysis.optimum import allocate
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.analysis.optimum import Flow, Optimum
    from tidegate.analysis.utility import Fairness
    from tidegate.scenarios.reading import Source


def optimum(
    capacities: Mapping[str, float] | Source,
    flows: Sequence[Flow] | None = None,
    *,
    fairness: Fairness = "proportional",
) -> Optimum:
    """Rates that are worth most.

    Parameters
    ----------
    capacities
        Of the links by name, with `flows`; or a scenario, with what that says of weights: rates are
        then of a user of each group of equal flows, in bit/s.
    flows
        Who goes over which links.
    fairness
        What a rate is worth.

    Raises
    ------
    AnalysisError
        For links that are not there, ways without a link, and what is not above zero.
    """
    if flows is None:
        mapped = Mapped(load_scenario(capacities))
        return solved(mapped, sharing(mapped)._replace(fairness=fairness))
    return allocate(cast("Mapping[str, float]", capacities), flows, fairness)
