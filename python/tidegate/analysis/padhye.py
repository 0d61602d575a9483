"""TCP where losses are many: time-outs make the rate, too.

J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput: A Simple Model and its
Empirical Validation", SIGCOMM 1998, its approximate formula: with a loss probability p, b packets
to an ACK, and a time-out T0::

    X = 1 / (R √(2bp/3) + T0 q(p)),    q(p) = min(1, 3 √(3bp/8)) p (1 + 32 p²)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.sources import Slopes, Source

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tidegate.analysis.sources import Reals


@dataclass(frozen=True, kw_only=True)
class Padhye(Source):
    """TCP Reno with time-outs of `min_rto_s` and a round trip, as Linux has them at even RTTs.

    The law of its equilibrium does not say how it gets there. Here a window grows as Reno's and
    shrinks so that it settles there: ``g = (1/W − W/Ŵ²)/b`` with ``Ŵ = R X(p, R)``. Where losses
    are few that is Reno's law but for a third (2/3 p W in place of p W/2).
    """

    packets_per_ack: ArrayLike = 2.0
    min_rto_s: ArrayLike = 0.2

    law = "padhye"

    def numbers(self) -> list[ArrayLike]:
        """Packets to an ACK, and the least time-out."""
        return [self.packets_per_ack, self.min_rto_s]

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """The formula, with T0 = min_rto + R."""
        return np.asarray(1 / (rtt_s * self._inverse_window(probability, rtt_s)))

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """At ``W = Ŵ``, where a change of 1/Ŵ counts twice."""
        acks = np.asarray(self.packets_per_ack)
        timeouts, timeout_slope = self._timeouts(probability)
        stretch = 1 + np.asarray(self.min_rto_s) / rtt_s
        root_slope = np.sqrt(2 * acks / 3) / (2 * np.sqrt(probability))
        by_probability = root_slope + stretch * timeout_slope
        by_round_trip = -np.asarray(self.min_rto_s) / rtt_s**2 * timeouts
        return Slopes(
            of_window=-2 / (acks * window**2),
            of_probability=-2 / acks * by_probability,
            of_round_trip=-2 / acks * by_round_trip,
        )

    def _inverse_window(self, probability: Reals, rtt_s: Reals) -> Reals:
        """1/Ŵ."""
        root = np.sqrt(2 * np.asarray(self.packets_per_ack) * probability / 3)
        timeouts, _ = self._timeouts(probability)
        return np.asarray(root + (1 + np.asarray(self.min_rto_s) / rtt_s) * timeouts)

    def _timeouts(self, probability: Reals) -> tuple[Reals, Reals]:
        """q(p) and its derivative."""
        p = np.asarray(probability)
        share = 3 * np.sqrt(3 * np.asarray(self.packets_per_ack) * p / 8)
        again, again_slope = p * (1 + 32 * p**2), 1 + 96 * p**2
        few = share < 1
        value = np.where(few, share, 1) * again
        slope = np.where(few, share * again_slope + share / (2 * p) * again, again_slope)
        return value, slope
