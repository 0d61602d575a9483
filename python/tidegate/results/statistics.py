"""Means over replications, with Student's confidence intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.results.student import t_quantile975

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ROUNDS_TO_NOTHING = 5e-5
"""Smaller than this, four decimals are all zeros."""


class Estimate(NamedTuple):
    """A mean over replications and what is known about it."""

    mean: float
    ci95: float = 0.0
    """Half-width of the 95 % confidence interval: 0 for what was computed exactly, NaN where there
    are fewer than two values to tell it from."""
    runs: int = 0
    """Replications that had a value; 0 for what was computed exactly."""

    def __str__(self) -> str:
        """Rounded for reading.

        >>> str(Estimate(1.3712, 0.0214, 50)), str(Estimate(1.3712)), str(Estimate(1.9e-10))
        ('1.37 ± 0.02', '1.37', '1.9e-10')
        """
        if 0 < abs(self.mean) < _ROUNDS_TO_NOTHING:
            half = "" if not self.runs or math.isnan(self.ci95) else f" ± {self.ci95:.2g}"
            return f"{self.mean:.3g}{half}"
        digits = decimals(self.mean)
        return self.written(digits) if self.runs else f"{self.mean:.{digits}f}"

    def written(self, digits: int) -> str:
        """The mean with a number of decimals, and the half-width where there is one."""
        half = "" if math.isnan(self.ci95) else f" ± {self.ci95:.{digits}f}"
        return f"{self.mean:.{digits}f}{half}"

    def scaled(self, factor: float) -> Estimate:
        """Times a number that is known exactly."""
        return Estimate(self.mean * factor, self.ci95 * abs(factor), self.runs)

    def over(self, other: Estimate) -> Estimate:
        """Quotient of two independent estimates; its interval to first order.

        NaN where the other's mean is 0.

        >>> Estimate(0.0, 0.5, 3).over(Estimate(2.0, 0.1, 3))
        Estimate(mean=0.0, ci95=0.25, runs=3)
        """
        runs = min(self.runs, other.runs)
        if other.mean == 0:
            return Estimate(math.nan, math.nan, runs)
        quotient = self.mean / other.mean
        half = math.hypot(self.ci95, quotient * other.ci95) / abs(other.mean)
        return Estimate(quotient, half, runs)

    def change_from(self, base: Estimate) -> float:
        """Relative change of the mean: 0.1 for a tenth more; infinite from 0, NaN from 0 to 0."""
        if base.mean == 0:
            return math.copysign(math.inf, self.mean) if self.mean else math.nan
        return self.mean / base.mean - 1.0

    def less(self, other: Estimate) -> Estimate:
        """Difference of two independent estimates."""
        half = math.hypot(self.ci95, other.ci95)
        return Estimate(self.mean - other.mean, half, min(self.runs, other.runs))

    def differs(self, other: Estimate) -> bool:
        """Whether it differs from another by more than the interval of the difference."""
        return abs(self.mean - other.mean) > difference_ci95(self, other)


def difference_ci95(a: Estimate, b: Estimate) -> float:
    """Half-width of the interval of the difference of two independent means; unknown: no end."""
    half = math.hypot(a.ci95, b.ci95)
    return math.inf if math.isnan(half) else half


def decimals(number: float) -> int:
    """Decimal places with which a number of this size reads well (three or four digits)."""
    if not math.isfinite(number) or number == 0:
        return 2
    return min(4, max(1, 2 - math.floor(math.log10(abs(number)))))


def student_t95(count: int) -> float:
    """0.975 quantile of Student's t with ``count - 1`` degrees of freedom.

    >>> round(student_t95(20), 3)
    2.093
    """
    return t_quantile975(count - 1) if count > 1 else float("nan")


def estimate(values: ArrayLike) -> Estimate:
    """Mean of independent values and its 95 % confidence half-width; NaN values do not count.

    >>> estimate([9.0, 10.0, 11.0])
    Estimate(mean=10.0, ci95=2.484..., runs=3)
    """
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    count = len(known)
    if count == 0:
        return Estimate(float("nan"), float("nan"), 0)
    if count == 1:
        return Estimate(float(known[0]), float("nan"), 1)
    # Infinite values have no deviation.
    with np.errstate(invalid="ignore"):
        half = student_t95(count) * float(known.std(ddof=1)) / count**0.5
        return Estimate(float(known.mean()), half, count)


def welch95(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """Difference of two means, b - a, and its 95 % half-width after Welch; NaN values do not count.

    The half-width is NaN where either side has fewer than two values.

    >>> tuple(round(x, 3) for x in welch95([9.0, 10.0, 11.0], [11.0, 12.0, 13.0, 14.0]))
    (2.5, 2.232)
    """
    x, y = estimate(a), estimate(b)
    return y.mean - x.mean, welch95_half(x, y)


def paired95(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """Mean of the differences of pairs, b - a, and its 95 % half-width (Student's t).

    Pairs are runs with the same seed, whose random numbers are common: what varies alike in both
    cancels. Pairs with a NaN do not count; NaN with fewer than two pairs.

    >>> tuple(round(x, 3) for x in paired95([9.0, 10.0, 12.0], [11.0, 12.0, 14.5]))
    (2.167, 0.717)
    """
    differences = estimate(np.asarray(b, dtype=float) - np.asarray(a, dtype=float))
    return differences.mean, differences.ci95


def welch95_half(a: Estimate, b: Estimate) -> float:
    """95 % half-width of the difference of two independent means after Welch.

    The degrees of freedom are Welch and Satterthwaite's. NaN where either has fewer than two runs.
    """
    if a.runs < 2 or b.runs < 2:
        return float("nan")
    parts = np.array([(one.ci95 / student_t95(one.runs)) ** 2 for one in (a, b)])
    if parts.sum() == 0.0:
        return 0.0
    freedom = parts.sum() ** 2 / (parts**2 / [a.runs - 1, b.runs - 1]).sum()
    return t_quantile975(float(freedom)) * math.sqrt(float(parts.sum()))


def band95(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and 95 % half-width of each column of a replications x time array."""
    count = rows.shape[0]
    mean = rows.mean(axis=0)
    if count < 2:
        return mean, np.zeros_like(mean)
    return mean, student_t95(count) * rows.std(axis=0, ddof=1) / count**0.5


def jain_index(shares: ArrayLike) -> float:
    """Jain's fairness index (Σ xᵢ)² / (n Σ xᵢ²) of throughputs [bit/s] (DEC-TR-301, 1984).

    >>> round(jain_index([5.0, 1.0]), 3)     # five flows against one, shared per flow
    0.692
    """
    x = np.asarray(shares, dtype=float)
    squares = float((x**2).sum())
    return float(x.sum()) ** 2 / (len(x) * squares) if squares > 0 else float("nan")
