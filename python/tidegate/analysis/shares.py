"""How constant-bit-rate users share a link with activity-based congestion management.

M. Menth and N. Zeitler, "Activity-Based Congestion Management (ABC)", section 4.2::

    A_s = log2(R_t / R_r)                              (7), stationary activity
    A_avg = Σ A_s R_t / Σ R_t                          mean over the packets that arrive
    p_A = p^(2^(−γ (A_s − A_avg)))                     (5), loss probability of one user
    Σ (1 − p_A) R_t = C_b                              which determines p

The paper finds p "by an iterative approximation"; here it is the root of the last line in
x = −ln p, because with ABC p comes so near to 1 that p itself would run out of digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.activity import stationary_activity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# The root is bracketed in ln x; outside e^±700 numbers of double precision end.
_LN_X_LIMIT = 700.0


@dataclass(frozen=True)
class CbrUser:
    """A user that sends at a constant rate, and its reference rate."""

    rate_bps: float
    reference_rate_bps: float


@dataclass(frozen=True)
class Shares:
    """Who gets what: one entry a user, and the AQM's own probability."""

    throughput_bps: tuple[float, ...]
    loss_probability: tuple[float, ...]
    activity: tuple[float, ...]
    mean_activity: float
    aqm_probability: float


def cbr_shares(
    users: Sequence[CbrUser],
    *,
    capacity_bps: float,
    gamma: float,
    base: float = 2.0,
    granularity: float | None = None,
) -> Shares:
    """Shares of CBR users on one link; `gamma` 0 is a link without differentiation.

    `base` replaces the 2 of equations (3) and (5) to (7) in the meter, not in (5)'s own power;
    `granularity` rounds the activities up as a coarse header field does.

    >>> users = [CbrUser(15e6, 2e6), CbrUser(7.5e6, 1e6)]
    >>> round(cbr_shares(users, capacity_bps=10e6, gamma=3).throughput_bps[0] / 1e6, 2)
    6.67
    """
    rates = np.array([user.rate_bps for user in users])
    activities = np.array([_activity(user, base, granularity) for user in users])
    mean_activity = float(activities @ rates / rates.sum())
    if rates.sum() <= capacity_bps:
        lossless = (0.0,) * len(users)
        return Shares(tuple(rates.tolist()), lossless, tuple(activities), mean_activity, 0.0)
    # p_A = e^(−x w) with the weights w below, so that the throughput is −expm1(−x w) R_t.
    weights = np.exp2(-gamma * (activities - mean_activity))
    x = _root(lambda x: float(_throughput(x, weights, rates).sum()) - capacity_bps)
    return Shares(
        tuple(_throughput(x, weights, rates).tolist()),
        tuple(np.exp(-x * weights).tolist()),
        tuple(activities.tolist()),
        mean_activity,
        math.exp(-x),
    )


def intended_shares_bps(users: Sequence[CbrUser], *, capacity_bps: float) -> tuple[float, ...]:
    """Give the capacity split in proportion to the reference rates."""
    total = sum(user.reference_rate_bps for user in users)
    return tuple(capacity_bps * user.reference_rate_bps / total for user in users)


def smallest_rate_reaching_bps(
    goal_bps: float, throughput_at: Callable[[float], float], candidates_bps: Sequence[float]
) -> float:
    """Smallest sending rate with a throughput of `goal_bps`; NaN if no candidate reaches it.

    The candidates (ascending) bracket the first crossing, which is then refined.
    """
    from scipy.optimize import brentq

    goal_bps *= 1.0 - 1e-12
    below: float | None = None
    for rate in candidates_bps:
        if throughput_at(rate) >= goal_bps:
            if below is None:
                return rate
            return float(brentq(lambda rate: throughput_at(rate) - goal_bps, below, rate))
        below = rate
    return math.nan


def _activity(user: CbrUser, base: float, granularity: float | None) -> float:
    activity = stationary_activity(
        rate_bps=user.rate_bps, reference_rate_bps=user.reference_rate_bps
    ) / math.log2(base)
    if granularity is None:
        return activity
    return math.ceil(activity / granularity) * granularity


def _throughput(
    x: float, weights: NDArray[np.float64], rates: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # x·w beyond every number is no loss at all
        return -np.expm1(-x * weights) * rates


def _root(excess_at: Callable[[float], float]) -> float:
    """Give the x > 0 at which the rising function `excess_at` is zero."""
    from scipy.optimize import brentq

    return math.exp(
        brentq(lambda ln_x: excess_at(math.exp(ln_x)), -_LN_X_LIMIT, _LN_X_LIMIT, xtol=1e-13)
    )
