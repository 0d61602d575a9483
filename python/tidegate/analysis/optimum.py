"""How a network should be shared: the rates of largest total utility, and prices of links.

The problem of the pricing dissertation, (3.2.1) to (3.2.7)::

    maximise  Σ n U(x)   such that, on each link l,  Σ n x ≤ c     over the groups whose way has l

The prices are the multipliers of the links: what a little more rate there would add to the sum. A
source whose marginal utility is the sum of the prices on its way is where it should be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.utility import Fairness, Term, Utility, utility
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_array


# A link whose price times rate is a smaller share than this of the dearest one's is not full. What
# an interior point leaves to a link with room may be more, so that larger ones are tried.
_LEAST_SHARES = (1e-9, 1e-7, 1e-5, 1e-3)
# Nor is one with more room than this, of which the rates that were found leave no doubt.
_SLACK = 0.3
_NEWTON_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Equal sources that go the same way."""

    links: tuple[str, ...]
    count: float = 1.0
    weight: float = 1.0
    """Willingness to pay, in the unit of the rates with `vqm` and both `sbrm`; with max-min, the
    share of the bottleneck in relation to the other flows' shares."""


@dataclass(frozen=True)
class Optimum:
    """Rates of one source of each group, and prices of the links, in the units that were given.

    With max-min there are no prices: they are 0.
    """

    rates: tuple[float, ...]
    prices: Mapping[str, float]


def allocate(capacities: Mapping[str, float], flows: Sequence[Flow], fairness: Fairness) -> Optimum:
    """Rates that are worth most, of these flows over links of these capacities."""
    _check(capacities, flows)
    names = list(capacities)
    on = np.array([[name in flow.links for flow in flows] for name in names], dtype=np.float64)
    counts = np.array([flow.count for flow in flows])
    if fairness == "sbrm":
        _check_paid(capacities, counts * [flow.weight for flow in flows], on)
    if fairness == "max-min":
        weights = np.array([flow.weight for flow in flows])
        rates = _filled(np.array(list(capacities.values())), on, counts, weights)
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


def _check_paid(
    capacities: Mapping[str, float], pays: NDArray[np.float64], on: NDArray[np.float64]
) -> None:
    """Under (4.2.3) no user has less than it pays for."""
    full = [
        f"{name!r} ({paid:g} of {capacity:g})"
        for (name, capacity), paid in zip(capacities.items(), on @ pays, strict=True)
        if paid >= capacity
    ]
    if full:
        raise AnalysisError(
            f"flows pay for all that a link has or more: {', '.join(full)}; smaller weights, or "
            "fairness 'sbrm-steps', would do"
        )


def _filled(
    capacities: NDArray[np.float64],
    on: NDArray[np.float64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Weighted max-min by progressive filling: x/w grows alike for all until a link is full.

    Bertsekas and Gallager, "Data Networks", section 6.5.2. The level of each step is computed from
    the whole capacity, not from what the last step left, so that rounding does not add up.
    """
    rates = np.zeros(len(counts))
    growing = np.ones(len(counts), dtype=bool)
    while growing.any():
        fixed = on @ (counts * rates)
        takers = on @ (counts * weights * growing)
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.where(takers > 0, (capacities - fixed) / takers, np.inf)
        level = levels.min()
        full = (levels <= level * (1 + 1e-12)) & (takers > 0)
        stops = growing & on[full].any(axis=0)
        rates[stops] = level * weights[stops]
        growing &= ~stops
    return rates


def _solved(
    capacities: Mapping[str, float],
    flows: Sequence[Flow],
    load: NDArray[np.float64],
    fairness: Fairness,
) -> Optimum:
    """By an interior-point method, in rates of about 1."""
    # The mean share of the narrowest link is the unit of rates.
    limits = np.array(list(capacities.values()))
    unit = float(min(limits / np.maximum(load.sum(axis=1), 1e-300)))
    weights = np.array([flow.weight for flow in flows])
    asked = utility(fairness, weights)
    # Prices of utility per rate go with the weights, which may be in any unit; others are rates'.
    weight_unit = float(weights.max()) if asked.scales else unit
    asked = replace(asked, weights=weights / weight_unit)
    counts = np.array([flow.count for flow in flows])
    rates, prices, status = _inner_point(limits / unit, load, counts, asked)
    tries = (_polished(prices, limits / unit, load, asked, share) for share in _LEAST_SHARES)
    polished = next((found for found in tries if found is not None), None)
    if polished is None and status not in ("Solved", "AlmostSolved"):
        raise AnalysisError(f"the optimum was not found ({status})")
    if polished is not None:
        # Where that comes to an end it is the optimum, however near the first was.
        prices = polished
        rates = asked.rates((load > 0).T @ prices)
    prices = prices * _unit_of_price(fairness, unit, weight_unit)
    return Optimum(
        tuple((rates * unit).tolist()), dict(zip(capacities, prices.tolist(), strict=True))
    )


def _unit_of_price(fairness: Fairness, unit: float, weight_unit: float) -> float:
    """By what a price in units is multiplied to be that of the rates and weights as given."""
    if isinstance(fairness, str):
        return weight_unit / unit
    return float(weight_unit * unit**-fairness)


def _inner_point(
    limits: NDArray[np.float64],
    load: NDArray[np.float64],
    counts: NDArray[np.float64],
    asked: Utility,
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Rates, prices, and how it ended.

    Variables: the rates x, then a utility t for each term of each of them.
    """
    import clarabel
    from scipy import sparse

    size = len(counts)
    links = len(limits)
    if asked.may_be_nothing:
        limits, load = np.append(limits, np.zeros(size)), np.vstack([load, -np.eye(size)])
    terms = [(i, term) for i in range(size) for term in asked.terms(float(asked.weights[i]))]
    gains = np.array([term.gain * counts[i] for i, term in terms])
    gain_unit = float(np.abs(gains).max())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    variables = size + len(terms)
    solver = clarabel.DefaultSolver(
        sparse.csc_array((variables, variables)),
        np.concatenate([np.zeros(size), -gains / gain_unit]),
        _matrix(load, [(size + k, i, term) for k, (i, term) in enumerate(terms)]),
        np.concatenate([limits, *(term.constant for _, term in terms)]),
        [clarabel.NonnegativeConeT(len(limits)), *(term.cone for _, term in terms)],
        settings,
    )
    found = solver.solve()
    prices = np.array(found.z)[:links] * gain_unit
    rates = np.array(found.x)[:size]
    return np.maximum(rates, 0) if asked.may_be_nothing else rates, prices, str(found.status)


def _matrix(load: NDArray[np.float64], terms: list[tuple[int, int, Term]]) -> csc_array:
    """Rows of all constraints: the links', then three for each term; columns: x, then t."""
    from scipy import sparse

    links, flows = np.nonzero(load)
    rows, columns, values = [links], [flows], [load[links, flows]]
    first = len(load) + 3 * np.arange(len(terms))
    for part in range(3):
        # A cone holds what is on the right minus what is in here.
        by_utility = -np.array([term.of_utility[part] for _, _, term in terms], dtype=np.float64)
        by_rate = -np.array([term.of_rate[part] for _, _, term in terms], dtype=np.float64)
        rows += [first + part, first + part]
        columns += [np.array([t for t, _, _ in terms]), np.array([x for _, x, _ in terms])]
        values += [by_utility, by_rate]
    shape = (len(load) + 3 * len(terms), load.shape[1] + len(terms))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    matrix = sparse.coo_array(entries, shape=shape).tocsc()
    matrix.eliminate_zeros()
    return matrix


def _polished(
    prices: NDArray[np.float64],
    limits: NDArray[np.float64],
    load: NDArray[np.float64],
    asked: Utility,
    least_share: float,
) -> NDArray[np.float64] | None:
    """Newton's method on the logarithms of the prices, such that what is asked fills every link.

    An interior-point method leaves an error of its gap's root where the sum of utilities is flat. A
    link that is not full has a price that goes to 0, and is left out. `None` where there is no end.
    """
    on = (load > 0).astype(np.float64)
    full = load @ asked.rates(on.T @ prices) > (1 - _SLACK) * limits
    priced = full & (prices * limits > least_share * (prices * limits).max())
    logs = np.log(np.maximum(prices, 1e-300))
    for _ in range(_NEWTON_STEPS):
        now = np.where(priced, np.exp(logs), 0)
        way = on.T @ now
        if np.any(way <= 0):
            return None
        excess = (load @ asked.rates(way) - limits)[priced]
        if np.all(abs(excess) <= 1e-11 * limits[priced]):
            break
        jacobian = (load * asked.slopes(way)) @ (on * now[:, None]).T
        step = np.linalg.lstsq(jacobian[np.ix_(priced, priced)], -excess, rcond=None)[0]
        logs[priced] += np.clip(step, -0.5, 0.5)
        # One that is driven to nothing is not full.
        priced &= logs > np.log(least_share * (now * limits).max() / limits)
    polished = np.where(priced, np.exp(logs), 0)
    way = on.T @ polished
    if np.any(way <= 0):
        return None
    excess = (load @ asked.rates(way) - limits) / limits
    if np.any(excess > 1e-9) or np.any(excess[priced] < -1e-9):
        return None
    return polished
