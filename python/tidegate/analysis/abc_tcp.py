"""ABC over TCP: where customers with adaptive flows settle, which is in no paper.

ABC's equations (M. Menth, N. Zeitler, "Activity-Based Congestion Management") with an offered rate
X that answers to loss by TCP's law, mean values throughout::

    A_i = log2(X_i / R_i), at least 0                     (7), the meter's stationary value
    A   = Σ A_i X_i / Σ X_i                               over the packets that arrive
    p_i = p^(2^(−γ (A_i − A)))                            (5)
    X_i = law(p_i, d_i + Q/c),   Σ X_i (1 − p_i) = c,   p = p(Q)     (11) or another queue's law
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.customers import CustomerGroup, Shared
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.analysis.signals import Signal

# Of ln(−ln p): from all but 1 to next to nothing, for a customer within its rate.
_LEAST, _MOST = -8.0, 4.0
# Doublings by which a customer may exceed its rate.
_DOUBLINGS = 25.0
# A loss below it is as good as none, and a rate beyond these, in logarithms of packets/s, none.
_NO_LOSS = 1e-12
_SLOWEST, _FASTEST = -20.0, 40.0


@dataclass(frozen=True, kw_only=True)
class AbcOverTcp:
    """A link with ABC; parameters are numbers.

    `inertia_s` and `activity_weight` do not move the equilibrium, but how it is kept.
    """

    capacity_pps: float
    signal: Signal
    customers: tuple[CustomerGroup, ...]
    gamma: float = 3.0
    inertia_s: float = 0.6
    activity_weight: float = 0.99

    @cached_property
    def equilibrium(self) -> Shared:
        """The queue at which its probability is what customers' rates need to fill the link."""
        if any(each.reference_pps is None for each in self.customers):
            raise AnalysisError("customers of ABC need reference_pps, the rate they are assigned")

        def excess(logit: float) -> float:
            shared = self._at(_probability(logit))
            return _logit(shared.probability) - logit

        logit = _root(excess, -25.0, 25.0)
        return self._at(_probability(logit))

    def _at(self, probability: float) -> Shared:
        """All that follows from the queue's delay at this probability, and the p it takes."""
        queue = float(
            self.signal.queue_packets(np.asarray(probability), np.asarray(self.capacity_pps))
        )

        def missing(log_exponent: float) -> float:
            through = sum(
                each.count * x * (1 - p)
                for each, (x, _, p) in zip(
                    self.customers, self._answers(log_exponent, queue), strict=True
                )
            )
            return float(np.log(through / self.capacity_pps))

        most = _MOST + self.gamma * _DOUBLINGS * np.log(2)
        log_exponent = _root(missing, _LEAST, most)
        answers = self._answers(log_exponent, queue)
        offered, activity, loss = (tuple(column) for column in zip(*answers, strict=True))
        weights = [each.count * x for each, x in zip(self.customers, offered, strict=True)]
        mean = float(np.average(activity, weights=weights))
        own = float(np.exp(-np.exp(log_exponent - self.gamma * mean * np.log(2))))
        return Shared(queue, own, loss, offered, activity, mean)

    def _answers(self, log_exponent: float, queue: float) -> list[tuple[float, float, float]]:
        """Rate, activity and loss of each, where p_i = exp(−e^y 2^(−γ A_i)) with this y."""
        return [self._answer(each, log_exponent, queue) for each in self.customers]

    def _answer(
        self, customers: CustomerGroup, log_exponent: float, queue: float
    ) -> tuple[float, float, float]:
        rtt_s = customers.rtt_s(queue, self.capacity_pps)
        reference = customers.reference_pps or np.nan

        def at(log_rate: float) -> tuple[float, float, float]:
            activity = max(0.0, (log_rate - np.log(reference)) / np.log(2))
            exponent = np.exp(log_exponent - self.gamma * activity * np.log(2))
            return float(np.exp(log_rate)), activity, max(float(np.exp(-exponent)), _NO_LOSS)

        def excess(log_rate: float) -> float:
            return log_rate - float(np.log(customers.offered_pps(at(log_rate)[2], rtt_s)))

        return at(_root(excess, _SLOWEST, _FASTEST))


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    try:
        return float(brentq(excess, low, high, xtol=1e-12))
    except ValueError as error:
        raise AnalysisError(
            "there is no equilibrium: the sources want more than the link has, whatever the signal "
            "says, or less whatever it says"
        ) from error


def _probability(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def _logit(probability: float) -> float:
    probability = min(max(probability, 1e-300), 1 - 1e-16)
    return float(np.log(probability) - np.log1p(-probability))
