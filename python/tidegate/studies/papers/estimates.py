"""A measured mean with its 95 % confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and the half-width of its interval, which is 0 for what was computed exactly."""

    mean: float
    half_width: float = 0.0
    runs: int = 0

    @classmethod
    def from_runs(cls, values: Iterable[float]) -> Estimate:
        """Mean over independent runs with Student's t interval; runs without a value are left out.

        >>> Estimate.from_runs([1.0, 2.0, 3.0])
        Estimate(mean=2, half_width=2.484, runs=3)
        """
        sample = np.array([value for value in values if not math.isnan(value)])
        if sample.size == 0:
            return cls(math.nan)
        if sample.size == 1:
            return cls(float(sample[0]), math.inf, 1)
        t = float(stdtrit(sample.size - 1, 0.5 + CONFIDENCE / 2))
        half_width = t * float(sample.std(ddof=1)) / math.sqrt(sample.size)
        return cls(float(sample.mean()), half_width, int(sample.size))

    def __repr__(self) -> str:
        return f"Estimate(mean={self.mean:.4g}, half_width={self.half_width:.4g}, runs={self.runs})"

    def __str__(self) -> str:
        """Give rounded for reading, as `1.37 ± 0.02`.

        >>> str(Estimate(1.3712, 0.0214, 50))
        '1.37 ± 0.02'
        """
        digits = decimals(self.mean)
        if self.runs == 0:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.half_width:.{digits}f}"

    def scaled(self, factor: float) -> Estimate:
        """Give times a number that is known exactly."""
        return Estimate(self.mean * factor, self.half_width * abs(factor), self.runs)

    def over(self, other: Estimate) -> Estimate:
        """Quotient of two independent estimates; its interval to first order."""
        quotient = self.mean / other.mean
        relative = math.hypot(self.half_width / self.mean, other.half_width / other.mean)
        return Estimate(quotient, abs(quotient) * relative, min(self.runs, other.runs))

    def exceeds(self, other: Estimate, *, by: float = 0.0) -> bool:
        """Whether this mean lies above the other's by more than `by`."""
        return self.mean - other.mean > by


def joint_half_width(a: Estimate, b: Estimate) -> float:
    """Half-width of the interval of the difference of two independent means."""
    return math.hypot(a.half_width, b.half_width)


def decimals(number: float) -> int:
    """Decimal places with which a number of this size reads well (three or four digits)."""
    if not math.isfinite(number) or number == 0:
        return 2
    return min(4, max(1, 2 - math.floor(math.log10(abs(number)))))
