"""Controllers of delay as laws: PIE, and that of DualPI2.

Both move a probability p′ by how far the delay q = b/c is from its target and by how it changes.
They update it every T; as smooth functions of time, without what holding it for T adds::

    p′' = k (α/T (q − q₀) + β q')

PIE signals with p′ and steps k with it (RFC 8033, section 4.2). DualPI2 has k = 1, and signals
classic packets with p′² and scalable ones with K p′ (RFC 9332; "PI2", K. De Schepper,
O. Bondarenko, I. Tsang, B. Briscoe, CoNEXT 2016). RFC 8033 has PIE's probability rise by at most
2 % an update from 10 % on, and lets it decay while nothing waits; neither counts near an
equilibrium.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.signals import Settled, Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals

# Below the first of each pair the adjustment is divided by the second (RFC 8033, section 4.2).
_STEPS = ((1e-1, 2), (1e-2, 8), (1e-3, 32), (1e-4, 128), (1e-5, 512), (1e-6, 2048))


@dataclass(frozen=True, kw_only=True)
class _Controller(Signal):
    """A probability that keeps the delay at a target."""

    target_s: ArrayLike = 0.015
    update_interval_s: ArrayLike = 0.015

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """``q₀ c``, whatever the probability."""
        return np.asarray(self.target_s) * capacity_pps + 0 * probability

    def _transfer(self, s: Complexes, at: Settled, alpha: ArrayLike, beta: ArrayLike) -> Complexes:
        """``(α/T/s + β)/c``: of the probability by the queue."""
        integral = np.asarray(alpha) / np.asarray(self.update_interval_s)
        return np.asarray((integral / s + np.asarray(beta)) / at.capacity_pps)


@dataclass(frozen=True, kw_only=True)
class Pie(_Controller):
    """PIE, RFC 8033, with its step-wise gain: a smaller probability moves in smaller steps."""

    alpha_hz: ArrayLike = 0.125
    beta_hz: ArrayLike = 1.25

    law = "pie"

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``k(p) (α/T/s + β)/c``."""
        gain = pie_gain(at.probability)
        return np.asarray(gain * self._transfer(s, at, self.alpha_hz, self.beta_hz))


@dataclass(frozen=True, kw_only=True)
class Pi2(_Controller):
    """DualPI2's controller, RFC 9332, on one queue: classic packets by p′², scalable by K p′."""

    alpha_hz: ArrayLike = 0.15
    beta_hz: ArrayLike = 3.0
    coupling: ArrayLike = 2.0

    law = "pi2"

    @classmethod
    def for_rtt(
        cls, *, target_s: ArrayLike = 0.015, max_rtt_s: ArrayLike = 0.1, coupling: ArrayLike = 2.0
    ) -> Pi2:
        """RFC 9332, appendix A.1: T = min(q₀, R/3), α = 0.1 T/R², β = 0.3/R.

        >>> at = Pi2.for_rtt()
        >>> round(float(at.alpha_hz), 9), round(float(at.beta_hz), 9)
        (0.15, 3.0)
        """
        rtt = np.asarray(max_rtt_s, dtype=np.float64)
        interval = np.minimum(np.asarray(target_s, dtype=np.float64), rtt / 3)
        return cls(
            target_s=target_s,
            update_interval_s=interval,
            alpha_hz=0.1 * interval / rtt**2,
            beta_hz=0.3 / rtt,
            coupling=coupling,
        )

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``(α/T/s + β)/c``, of p′."""
        return self._transfer(s, at, self.alpha_hz, self.beta_hz)

    def met(self, probability: Reals, *, scalable: bool) -> Reals:
        """``p′²``, or ``K p′`` up to 1."""
        if scalable:
            return np.minimum(np.asarray(self.coupling) * probability, 1)
        return probability**2

    def met_slope(self, probability: Reals, *, scalable: bool) -> Reals:
        """``2 p′`` or ``K``; 0 where every scalable packet is marked already."""
        if scalable:
            slope = np.asarray(self.coupling) + 0 * probability
            return np.where(slope * probability < 1, slope, 0)
        return 2 * probability


def pie_gain(probability: ArrayLike) -> Reals:
    """k: by what PIE multiplies its adjustments at a probability (RFC 8033, section 4.2).

    >>> [float(pie_gain(p)) for p in (0.2, 0.1, 0.05, 0.01, 0.005)]
    [1.0, 1.0, 0.5, 0.5, 0.125]
    """
    probability = np.asarray(probability, dtype=np.float64)
    gain = np.ones_like(probability)
    for below, divisor in _STEPS:
        gain = np.where(probability < below, 1 / divisor, gain)
    return gain
