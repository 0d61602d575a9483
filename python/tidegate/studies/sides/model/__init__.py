"""What is computed instead of simulated, as points of an experiment.

A model takes the levels of a point (rates in Mbit/s, as in the papers' figures) and gives metrics.
Most formulas need none: a series with `engine` has an expression for each metric, of the levels and
of what the scenario's own functions answer (`formulas.Formulas`)::

    engine = { drop_probability = "aicp_b_probability(fill_ratio, red_prob)" }

Here are closed forms of `tidegate.analysis`; what takes more than one question to the engine is in
`formulas`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tidegate.analysis import (
    CbrUser,
    cbr_shares,
    intended_shares_bps,
    smallest_rate_reaching_bps,
)
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate_asking
from tidegate.studies.sides.model.control import CONTROL
from tidegate.studies.sides.model.cost import packet_cost
from tidegate.studies.sides.model.equilibrium import equilibrium
from tidegate.studies.sides.model.formulas import FORMULAS
from tidegate.studies.sides.model.loops import LOOPS
from tidegate.studies.sides.model.pricing import PRICING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.sides.model.formulas import ScenarioWith

_MEGA = 1e6


Model: TypeAlias = "str | Mapping[str, str]"
"""Name of a model, or an expression for each metric."""


def compute(
    model: Model, levels: Mapping[str, Any], scenario: ScenarioWith
) -> Mapping[str, float | str]:
    """Metrics of one point; `scenario` is asked only by models of the engine's own functions."""
    if not isinstance(model, str):
        asked = scenario(())
        return {name: evaluate_asking(text, levels, asked) for name, text in model.items()}
    if model in _OF_SCENARIOS:
        return _OF_SCENARIOS[model](levels, scenario)
    if model not in MODELS:
        there = ", ".join(sorted({*MODELS, *_OF_SCENARIOS}))
        raise ReproductionError(f"no model {model!r}; there are {there}")
    return MODELS[model](levels)


def cbr_users(levels: Mapping[str, Any]) -> dict[str, float]:
    """Shares of the users with rates R_t0, R_t1, .. and reference rates R_r0, R_r1, .. [Mbit/s].

    `gamma` 0 is a link without differentiation. With `base` b, gamma is multiplied by log2(b), the
    adaptation that section 4.3.1 asks for; `scale` multiplies all reference rates.
    """
    users = _users(levels)
    base = float(levels.get("base", 2))
    capacity_bps = levels["C_b"] * _MEGA
    shares = cbr_shares(
        users,
        capacity_bps=capacity_bps,
        gamma=levels["gamma"] * math.log2(base),
        base=base,
        granularity=levels.get("g") or None,
    )
    intended = intended_shares_bps(users, capacity_bps=capacity_bps)
    metrics = {"mean_activity": shares.mean_activity, "p": shares.aqm_probability}
    for i in range(len(users)):
        metrics[f"throughput_{i}_mbps"] = shares.throughput_bps[i] / _MEGA
        metrics[f"intended_{i}_mbps"] = intended[i] / _MEGA
        metrics[f"activity_{i}"] = shares.activity[i]
    metrics["throughput_ratio_T_R"] = shares.throughput_bps[0] / shares.throughput_bps[1]
    return metrics


def cbr_operating_point(levels: Mapping[str, Any]) -> dict[str, float]:
    """Smallest rate of user 0 that gets him his intended share against user 1."""
    capacity_bps = levels["C_b"] * _MEGA
    goal = intended_shares_bps(_users({**levels, "R_t0": 1.0}), capacity_bps=capacity_bps)[0]

    def throughput_at(rate_bps: float) -> float:
        return cbr_shares(
            _users({**levels, "R_t0": rate_bps / _MEGA}),
            capacity_bps=capacity_bps,
            gamma=levels["gamma"],
        ).throughput_bps[0]

    candidates = (np.arange(5.0, 20.0, 0.05) * _MEGA).tolist()
    rate_bps = smallest_rate_reaching_bps(goal, throughput_at, candidates)
    return {"smallest_rate_mbps": rate_bps / _MEGA}


def same_signalled_activity(levels: Mapping[str, Any]) -> dict[str, float]:
    """Two users whose rates differ by all but 2^g and whose rounded activities are yet the same."""
    g, steps = levels["g"], levels["steps"]
    margin = 1e-6
    lower, upper = 2.0 ** (g * steps) * (1 + margin), 2.0 ** (g * (steps + 1)) * (1 - margin)
    return cbr_users({**levels, "R_r0": 1.0, "R_r1": 1.0, "R_t0": upper, "R_t1": lower})


def _users(levels: Mapping[str, Any]) -> list[CbrUser]:
    count = next(i for i in range(len(levels) + 1) if f"R_t{i}" not in levels)
    scale = levels.get("scale", 1) * _MEGA
    return [CbrUser(levels[f"R_t{i}"] * _MEGA, levels[f"R_r{i}"] * scale) for i in range(count)]


_OF_SCENARIOS: Mapping[
    str, Callable[[Mapping[str, Any], ScenarioWith], Mapping[str, float | str]]
] = {**FORMULAS, "packet-cost": packet_cost, "equilibrium": equilibrium}
MODELS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, float]]] = {
    "cbr-users": cbr_users,
    "cbr-operating-point": cbr_operating_point,
    "same-signalled-activity": same_signalled_activity,
    **PRICING,
    **CONTROL,
    **LOOPS,
}
