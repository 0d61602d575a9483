"""Means over replications, with Student's confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Estimate(NamedTuple):
    """A mean over replications and what is known about it."""

    mean: float
    ci95: float
    """Half-width of the 95 % confidence interval; NaN with fewer than two values."""
    runs: int
    """Replications that had a value."""


def student_t95(count: int) -> float:
    """0.975 quantile of Student's t with ``count - 1`` degrees of freedom.

    >>> round(student_t95(20), 3)
    2.093
    """
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975)) if count > 1 else float("nan")


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
    half = student_t95(count) * float(known.std(ddof=1)) / count**0.5
    return Estimate(float(known.mean()), half, count)


def welch95(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """Difference of two means, b - a, and its 95 % half-width after Welch; NaN values do not count.

    The degrees of freedom are Welch and Satterthwaite's. The half-width is NaN where either side
    has fewer than two values.

    >>> tuple(round(x, 3) for x in welch95([9.0, 10.0, 11.0], [11.0, 12.0, 13.0, 14.0]))
    (2.5, 2.232)
    """
    from scipy.special import stdtrit

    x, y = (np.asarray(values, dtype=float) for values in (a, b))
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if not len(x) or not len(y):
        return float("nan"), float("nan")
    difference = float(y.mean() - x.mean())
    if len(x) < 2 or len(y) < 2:
        return difference, float("nan")
    parts = np.array([x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)])
    if parts.sum() == 0.0:
        return difference, 0.0
    freedom = parts.sum() ** 2 / (parts**2 / [len(x) - 1, len(y) - 1]).sum()
    return difference, float(stdtrit(freedom, 0.975) * parts.sum() ** 0.5)


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
