"""How a network should be shared: the rates worth most to all, and what each link is worth.

The problem of the pricing dissertation, (3.2.1) to (3.2.7)::

    maximise  Σ n U(x)   such that, on each link l,  Σ n x ≤ c     over the groups whose way has l

The prices are the multipliers of the links: what a little more rate there would add to the sum. A
source whose marginal utility is the sum of the prices on its way is where it should be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# A link whose price times rate is a smaller share than this of the dearest one's is not full.
_LEAST_SHARE = 1e-9
# Nor is one with more room than this, of which the rates that were found leave no doubt.
_SLACK = 0.3
_NEWTON_STEPS = 200

Fairness: TypeAlias = 'Literal["proportional", "vqm", "max-min"] | float'
"""What a rate x is worth to one who pays w.

`proportional`: ``w ln x``. `vqm`: ``w ln(x + w)``, what the modified source of virtual queue
marking maximises (section 3.2.2, (5.1.2) and (5.1.3)); where it gives some next to nothing, rates
are exact to a thousandth only. A number α: ``w x^(1 − α)/(1 − α)``; beyond 5 or so prices differ by
more than numbers have digits. `max-min`: nobody can have more without somebody having less who has
no more.
"""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Equal sources that go the same way."""

    links: tuple[str, ...]
    count: float = 1.0
    weight: float = 1.0
    """Willingness to pay: with `vqm` in the unit of the rates."""


@dataclass(frozen=True)
class Optimum:
    """Rates of one source of each group, and prices of the links, in the units that were given.

    With max-min there are no prices: they are 0.
    """

    rates: tuple[float, ...]
    prices: Mapping[str, float]


def optimum(
    capacities: Mapping[str, float],
    flows: Sequence[Flow],
    *,
    fairness: Fairness = "proportional",
) -> Optimum:
    """Rates that are worth most.

    Raises
    ------
    AnalysisError
        For links that are not there, ways without a link, and what is not above zero.
    """
    _check(capacities, flows)
    names = list(capacities)
    on = np.array([[name in flow.links for flow in flows] for name in names], dtype=np.float64)
    counts = np.array([flow.count for flow in flows])
    if fairness == "max-min":
        rates = _filled(np.array(list(capacities.values())), on, counts)
        return Optimum(tuple(rates.tolist()), dict.fromkeys(names, 0.0))
    return _solved(capacities, flows, on * counts, fairness)


def _check(capacities: Mapping[str, float], flows: Sequence[Flow]) -> None:
    wrong = [f"capacity of {name!r}" for name, value in capacities.items() if not value > 0]
    for number, flow in enumerate(flows):
        if not flow.links:
            wrong.append(f"flow {number} goes over no link")
        wrong += [
            f"flow {number}: no link {link!r}" for link in flow.links if link not in capacities
        ]
        values = {"count": flow.count, "weight": flow.weight}
        wrong += [f"flow {number}: {name}" for name, value in values.items() if not value > 0]
    if not flows:
        wrong.append("no flows")
    if wrong:
        raise AnalysisError(
            "counts, weights and capacities have to be above 0, and ways lead over links that are "
            f"there: {'; '.join(wrong)}"
        )


def _filled(
    capacities: NDArray[np.float64], on: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """All rates grow together; those of a link that is full stay."""
    rates = np.zeros(len(counts))
    growing = np.ones(len(counts), dtype=bool)
    left = capacities.copy()
    while growing.any():
        takers = on @ (counts * growing)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(takers > 0, left / takers, np.inf)
        step = room.min()
        rates[growing] += step
        left = left - step * takers
        full = (room <= step * (1 + 1e-12)) & (takers > 0)
        growing &= ~(on[full].any(axis=0))
    return rates


def _solved(
    capacities: Mapping[str, float],
    flows: Sequence[Flow],
    load: NDArray[np.float64],
    fairness: Fairness,
) -> Optimum:
    """By an interior-point method, in rates and weights of about 1."""
    import clarabel
    from scipy import sparse

    # The mean share of the narrowest link is the unit of rates.
    limits = np.array(list(capacities.values()))
    unit = float(min(limits / np.maximum(load.sum(axis=1), 1e-300)))
    counts = np.array([flow.count for flow in flows])
    weights = np.array([flow.weight for flow in flows])
    size = len(flows)
    # Variables: rates x, then the worth t of each.
    rows = [sparse.hstack([sparse.csc_matrix(load), sparse.csc_matrix((len(limits), size))])]
    right = [limits / unit]
    cones = [clarabel.NonnegativeConeT(len(limits))]
    gains = counts * weights
    for i in range(size):
        block, side, cone, sign = _worth(i, size, weights[i] / unit, fairness)
        rows.append(block)
        right.append(side)
        cones.append(cone)
        gains[i] *= sign
    gain_unit = float(np.abs(gains).max())
    objective = np.concatenate([np.zeros(size), -gains / gain_unit])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((2 * size, 2 * size)),
        objective,
        sparse.vstack(rows).tocsc(),
        np.concatenate(right),
        cones,
        settings,
    )
    found = solver.solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise AnalysisError(f"the optimum was not found ({found.status})")
    prices = np.array(found.z)[: len(limits)] * gain_unit
    asked = _Asked(weights, weights / unit, fairness)
    polished = _polished(prices, limits / unit, load, asked)
    if polished is None:
        rates = np.array(found.x)[:size] * unit
    else:
        prices = polished
        rates = asked.rates((load > 0).T @ prices) * unit
    prices = prices * _unit_of_worth(fairness, unit) / unit
    return Optimum(tuple(rates.tolist()), dict(zip(capacities, prices.tolist(), strict=True)))


@dataclass(frozen=True)
class _Asked:
    """What sources ask for at a price."""

    weights: NDArray[np.float64]
    shifts: NDArray[np.float64]
    fairness: Fairness

    def rates(self, price: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rates whose marginal worth is the price of the way."""
        if self.fairness == "vqm":
            return np.maximum(self.weights / price - self.shifts, 0)
        return np.asarray((self.weights / price) ** (1 / self._alpha))

    def slopes(self, price: NDArray[np.float64]) -> NDArray[np.float64]:
        """How the rates change with it."""
        if self.fairness == "vqm":
            return np.where(self.rates(price) > 0, -self.weights / price**2, 0)
        return -self.rates(price) / (self._alpha * price)

    @property
    def _alpha(self) -> float:
        return 1.0 if isinstance(self.fairness, str) else float(self.fairness)


def _polished(
    prices: NDArray[np.float64],
    limits: NDArray[np.float64],
    load: NDArray[np.float64],
    asked: _Asked,
) -> NDArray[np.float64] | None:
    """Newton's method on the logarithms of the prices, such that what is asked fills every link.

    An interior-point method leaves an error of its gap's root where the sum of worths is flat. A
    link that is not full has a price that goes to 0, and is left out. `None` where there is no end,
    as where with `vqm` some get nothing.
    """
    on = (load > 0).astype(np.float64)
    full = load @ asked.rates(on.T @ prices) > (1 - _SLACK) * limits
    priced = full & (prices * limits > _LEAST_SHARE * (prices * limits).max())
    logs = np.log(np.maximum(prices, 1e-300))
    for _ in range(_NEWTON_STEPS):
        now = np.where(priced, np.exp(logs), 0)
        way = on.T @ now
        excess = (load @ asked.rates(way) - limits)[priced]
        if np.all(abs(excess) <= 1e-11 * limits[priced]):
            break
        jacobian = (load * asked.slopes(way)) @ (on * now[:, None]).T
        step = np.linalg.lstsq(jacobian[np.ix_(priced, priced)], -excess, rcond=None)[0]
        logs[priced] += np.clip(step, -0.5, 0.5)
        # One that is driven to nothing is not full.
        priced &= logs > np.log(_LEAST_SHARE * (now * limits).max() / limits)
    polished = np.where(priced, np.exp(logs), 0)
    way = on.T @ polished
    if np.any(way <= 0):
        return None
    excess = (load @ asked.rates(way) - limits) / limits
    if np.any(excess > 1e-9) or np.any(excess[priced] < -1e-9):
        return None
    return polished


def _worth(i: int, size: int, weight: float, fairness: Fairness) -> tuple[Any, ...]:
    """Rows that bound the worth of rate i: their matrix, right side and cone, and its sign."""
    import clarabel
    from scipy import sparse

    block = sparse.lil_matrix((3, 2 * size))
    if fairness in ("proportional", "vqm", 1, 1.0):
        # exp(t) ≤ x + shift
        block[0, size + i] = -1.0
        block[2, i] = -1.0
        shift = weight if fairness == "vqm" else 0.0
        return block, np.array([0.0, 1.0, shift]), clarabel.ExponentialConeT(), 1.0
    alpha = float(fairness)
    if alpha <= 0:
        raise AnalysisError(f"alpha has to be above 0, not {alpha:g}")
    if alpha < 1:
        # |t| ≤ x^(1 − α) · 1^α
        block[0, i] = -1.0
        block[2, size + i] = -1.0
        return block, np.array([0.0, 1.0, 0.0]), clarabel.PowerConeT(1 - alpha), 1 / (1 - alpha)
    # 1 ≤ t^(1/α) x^((α − 1)/α), that is t ≥ x^(1 − α)
    block[0, size + i] = -1.0
    block[1, i] = -1.0
    return block, np.array([0.0, 0.0, 1.0]), clarabel.PowerConeT(1 / alpha), 1 / (1 - alpha)


def _unit_of_worth(fairness: Fairness, unit: float) -> float:
    """By what the worth of a rate in units is multiplied to be that of the rate."""
    if isinstance(fairness, str) or fairness == 1:
        return 1.0
    return float(unit ** (1 - fairness))
