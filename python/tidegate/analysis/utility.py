"""Utilities of rates, for the optimum of a network.

Each is a sum of terms that a conic solver takes, and knows in closed form what is asked for at a
price. Rates, and weights where they are rates, are in any one unit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float64]"

Fairness: TypeAlias = 'Literal["proportional", "vqm", "sbrm", "sbrm-steps", "max-min"] | float'
"""Utility of a rate x to one who pays w; the numbers are the pricing dissertation's equations.

`proportional`: ``w ln x`` (3.2.21). `vqm`: ``w ln(x + w)``, what the modified source of virtual
queue marking maximises ((5.1.2), (5.1.3) against prices that add up). `sbrm`:
``x ln x − (x − w) ln(x − w)``, single-bit resource marking (4.2.3), where links mark independently;
no source has less than w, and a link's price is its queue above target, times γ. `sbrm-steps`:
``(x + w) ln(x + w) − x ln x``, the same with the steps (5.1.2) and (5.1.3). A number α:
``w x^(1 − α)/(1 − α)``; beyond 5 or so prices differ by more than numbers have digits. `max-min`:
x/w of no source can grow unless that of a source falls whose x/w is no larger.
"""


class Term(NamedTuple):
    """t ≤ f(x): that the three numbers ``constant + of_rate x + of_utility t`` lie in a cone."""

    cone: Any
    constant: tuple[float, float, float]
    of_rate: tuple[int, int, int]
    of_utility: tuple[int, int, int]
    gain: float
    """What t counts."""


@dataclass(frozen=True)
class Utility(ABC):
    """Utilities of all flows; weights that are rates are in the unit of the rates."""

    weights: Vector

    scales = False
    """Whether the price is per unit of rate; else it is utility over rate, and has no unit."""
    may_be_nothing = False
    """Whether it goes on below a rate of 0, which some get."""

    @abstractmethod
    def terms(self, weight: float) -> list[Term]:
        """Whose sum is the utility of one flow's rate."""

    @abstractmethod
    def rates(self, price: Vector) -> Vector:
        """Rates whose marginal utility is the price of the way."""

    @abstractmethod
    def slopes(self, price: Vector) -> Vector:
        """How the rates change with it."""


class Proportional(Utility):
    """``w ln x``."""

    scales = True

    def terms(self, weight: float) -> list[Term]:
        """exp(t) ≤ x."""
        return [_logarithm(0.0, weight)]

    def rates(self, price: Vector) -> Vector:
        """w/λ."""
        return self.weights / price

    def slopes(self, price: Vector) -> Vector:
        """−w/λ²."""
        return -self.weights / price**2


class Vqm(Utility):
    """``w ln(x + w)``."""

    may_be_nothing = True

    def terms(self, weight: float) -> list[Term]:
        """exp(t) ≤ x + w."""
        return [_logarithm(weight, weight)]

    def rates(self, price: Vector) -> Vector:
        """w/λ − w, or nothing."""
        return np.maximum(self.weights / price - self.weights, 0)

    def slopes(self, price: Vector) -> Vector:
        """−w/λ² of those who get something."""
        return np.where(self.rates(price) > 0, -self.weights / price**2, 0)


class Sbrm(Utility):
    """``x ln x − (x − w) ln(x − w)``, which is ``(x − w) ln(x/(x − w)) + w ln x``."""

    def terms(self, weight: float) -> list[Term]:
        """(x − w) exp(t/(x − w)) ≤ x, and exp(t) ≤ x."""
        return [_entropy((0, -weight, 0)), _logarithm(0.0, weight)]

    def rates(self, price: Vector) -> Vector:
        """w/p, with 1 − p = exp(−λ)."""
        return self.weights / -np.expm1(-price)

    def slopes(self, price: Vector) -> Vector:
        """−w exp(−λ)/p²."""
        return np.asarray(-self.weights * np.exp(-price) / np.expm1(-price) ** 2)


class SbrmSteps(Utility):
    """``(x + w) ln(x + w) − x ln x``, which is ``x ln((x + w)/x) + w ln(x + w)``."""

    def terms(self, weight: float) -> list[Term]:
        """X exp(t/x) ≤ x + w, and exp(t) ≤ x + w."""
        return [_entropy((0, 0, weight)), _logarithm(weight, weight)]

    def rates(self, price: Vector) -> Vector:
        """(1 − p) w/p."""
        return self.weights / np.expm1(price)

    def slopes(self, price: Vector) -> Vector:
        """−w exp(λ)/(exp(λ) − 1)²."""
        return np.asarray(-self.weights * np.exp(price) / np.expm1(price) ** 2)


@dataclass(frozen=True)
class AlphaFair(Utility):
    """``w x^(1 − α)/(1 − α)``."""

    alpha: float

    scales = True

    def terms(self, weight: float) -> list[Term]:
        """|t| ≤ x^(1 − α), or t ≥ x^(1 − α), which counts against."""
        import clarabel

        gain = weight / (1 - self.alpha)
        if self.alpha < 1:
            cone = clarabel.PowerConeT(1 - self.alpha)
            return [Term(cone, (0, 1, 0), (1, 0, 0), (0, 0, 1), gain)]
        cone = clarabel.PowerConeT(1 / self.alpha)
        return [Term(cone, (0, 0, 1), (0, 1, 0), (1, 0, 0), gain)]

    def rates(self, price: Vector) -> Vector:
        """(w/λ)^(1/α)."""
        return np.asarray((self.weights / price) ** (1 / self.alpha))

    def slopes(self, price: Vector) -> Vector:
        """−x/(α λ)."""
        return -self.rates(price) / (self.alpha * price)


def utility(fairness: Fairness, weights: Vector) -> Utility:
    """The utilities of flows with these weights."""
    named: dict[str, Callable[[Vector], Utility]] = {
        "proportional": Proportional, "vqm": Vqm, "sbrm": Sbrm, "sbrm-steps": SbrmSteps,
    }  # fmt: skip
    if isinstance(fairness, str):
        if fairness not in named:
            names = ", ".join([*named, "max-min"])
            raise AnalysisError(f"no fairness {fairness!r}; there are {names}, and a number α")
        return named[fairness](weights)
    alpha = float(fairness)
    if not alpha > 0 or not np.isfinite(alpha):
        raise AnalysisError(f"alpha has to be above 0, not {alpha:g}")
    return Proportional(weights) if alpha == 1 else AlphaFair(weights, alpha)


def _logarithm(shift: float, gain: float) -> Term:
    import clarabel

    return Term(clarabel.ExponentialConeT(), (0, 1, shift), (0, 0, 1), (1, 0, 0), gain)


def _entropy(constant: tuple[float, float, float]) -> Term:
    import clarabel

    return Term(clarabel.ExponentialConeT(), constant, (0, 1, 1), (1, 0, 0), 1.0)
