"""AICP over TCP: policers in the queue, with customers whose flows answer to loss.

D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C. A customer's bucket of depth d fills
with r and is charged with the queue's own probability p for what is forwarded; how full it is, φ
from 0 to 1, bends the probability that its packets meet::

    AICP-a   p_i = (p − φ κ)/(1 + φ)                RED with thresholds stretched by 1 + φ,
                                                    κ = p_max th_min/(th_max − th_min)
    AICP-b   p_i = p² + P (1 − φ/x)⁺
    d φ_i' = r − p Y_i,  Y_i = X_i (1 − p_i)        φ at most 1
    X_i = law(p_i, d_i + Q/c),   Σ Y_i = c,   p = p(Q)

Who causes less than r is not policed: φ = 1. Who would cause more is held at ``Y = r/p``, however
many flows it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.customers import CustomerGroup, Shared
from tidegate.analysis.loci import LociMargin, loci_margin
from tidegate.analysis.shared_loop import J, answers, band, sender
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidegate.analysis.signals import Complexes, Signal

_NO_LOSS = 1e-12
_NEARLY_ALL = 1 - 1e-9


@dataclass(frozen=True, kw_only=True)
class Aicp(ABC):
    """How a bucket's fill bends a probability."""

    @abstractmethod
    def loss(self, probability: float, fill: float) -> float:
        """What a customer meets."""

    @abstractmethod
    def fill(self, probability: float, loss: float) -> float:
        """Fill of the bucket at which its packets meet that probability."""

    @abstractmethod
    def slopes(self, probability: float, fill: float) -> tuple[float, float]:
        """Derivatives of the loss by the queue's own probability, and by the fill."""


@dataclass(frozen=True, kw_only=True)
class AicpA(Aicp):
    """By thresholds of RED, in the unit of its queue."""

    min_threshold: float
    max_threshold: float
    max_probability: float

    @property
    def _shift(self) -> float:
        """κ."""
        width = self.max_threshold - self.min_threshold
        return self.max_probability * self.min_threshold / width

    def loss(self, probability: float, fill: float) -> float:
        """RED's, where the average lies between its stretched thresholds."""
        return max((probability - fill * self._shift) / (1 + fill), 0.0)

    def fill(self, probability: float, loss: float) -> float:
        """Of `loss`, solved."""
        return (probability - loss) / (loss + self._shift)

    def slopes(self, probability: float, fill: float) -> tuple[float, float]:
        """None where no packet of the customer is dropped or marked."""
        if self.loss(probability, fill) == 0:
            return 0.0, 0.0
        return 1 / (1 + fill), -(self._shift + probability) / (1 + fill) ** 2


@dataclass(frozen=True, kw_only=True)
class AicpB(Aicp):
    """By probability: the queue's squared, and one of the customer's own below `start`."""

    start: float = 0.25
    max_probability: float = 0.5

    def loss(self, probability: float, fill: float) -> float:
        """See the module."""
        own = self.max_probability * max(0.0, 1 - fill / self.start)
        return min(probability**2 + own, 1.0)

    def fill(self, probability: float, loss: float) -> float:
        """Of `loss`, solved; below `start`."""
        return self.start * (1 - (loss - probability**2) / self.max_probability)

    def slopes(self, probability: float, fill: float) -> tuple[float, float]:
        """By the queue's, and below `start` by the fill."""
        steep = -self.max_probability / self.start
        return 2 * probability, steep if fill < self.start else 0.0


@dataclass(frozen=True, kw_only=True)
class AicpOverTcp:
    """A link with AICP; parameters are numbers, buckets in packets."""

    capacity_pps: float
    signal: Signal
    customers: tuple[CustomerGroup, ...]
    policing: Aicp
    fill_pps: float = 0.2
    """r; 300 B/s in packets of 1500 bytes."""
    depth_packets: float = 150.0
    """d."""

    @cached_property
    def equilibrium(self) -> Shared:
        """The probability at which what all get through is what the link has; states are fills."""

        def excess(logit: float) -> float:
            through = self._at(_probability(logit)).throughput_pps
            total = sum(each.count * y for each, y in zip(self.customers, through, strict=True))
            return total - self.capacity_pps

        from scipy.optimize import brentq

        try:
            return self._at(_probability(brentq(excess, -20.0, 20.0, xtol=1e-12)))
        except ValueError as error:
            raise AnalysisError(
                "there is no equilibrium: the sources want more than the link has, whatever the "
                "signal says, or less whatever it says"
            ) from error

    def _at(self, probability: float) -> Shared:
        capacity = np.asarray(self.capacity_pps)
        queue = float(self.signal.queue_packets(np.asarray(probability), capacity))
        settled = [self._settled(each, probability, queue) for each in self.customers]
        loss, fill, offered = (tuple(column) for column in zip(*settled, strict=True))
        weights = [each.count * x for each, x in zip(self.customers, offered, strict=True)]
        return Shared(
            queue, probability, loss, offered, fill, float(np.average(fill, weights=weights))
        )

    def _settled(
        self, customers: CustomerGroup, probability: float, queue: float
    ) -> tuple[float, float, float]:
        """Loss, fill and offered rate of a customer."""
        from scipy.optimize import brentq

        rtt_s = customers.rtt_s(queue, self.capacity_pps)

        def charged_pps(loss: float) -> float:
            return probability * customers.offered_pps(loss, rtt_s) * (1 - loss)

        let_off = max(self.policing.loss(probability, 1.0), _NO_LOSS)
        empty = min(self.policing.loss(probability, 0.0), _NEARLY_ALL)
        if charged_pps(let_off) <= self.fill_pps:
            return let_off, 1.0, customers.offered_pps(let_off, rtt_s)
        if charged_pps(empty) > self.fill_pps:
            # An empty bucket limits a customer no more than this.
            return empty, 0.0, customers.offered_pps(empty, rtt_s)
        held = float(brentq(lambda p: charged_pps(p) - self.fill_pps, let_off, empty, xtol=1e-16))
        return held, self.policing.fill(probability, held), customers.offered_pps(held, rtt_s)


def aicp_stability(link: AicpOverTcp) -> tuple[LociMargin, tuple[LociMargin | None, ...]]:
    """Margins of all groups as ones, and of each group's customers against each other."""
    joint = loci_margin(partial(joint_loop, link), **band(link))
    own = tuple(
        loci_margin(partial(own_loop, link, group), **band(link)) if each.count > 1 else None
        for group, each in enumerate(link.customers)
    )
    return joint, own


def joint_loop(link: AicpOverTcp, omega: NDArray[np.float64]) -> Complexes:
    """L(jω) of all groups: a stack of matrices, met probability by met probability."""
    at, s = link.equilibrium, J * omega
    answer = answers(link, s)
    passed = 1 - np.array(at.loss)
    offered = np.array(at.offered_pps)
    through = passed[:, None] * answer.rates - np.diag(offered)
    own = answer.probability[:, None, :]
    charged = at.probability * through + (offered * passed)[:, None] * own
    by_own, by_fill = _slopes(link)
    fills = -charged / (link.depth_packets * s)[:, None, None]
    return np.asarray(-(by_own[:, None] * own + by_fill[:, None] * fills))


def own_loop(link: AicpOverTcp, group: int, omega: NDArray[np.float64]) -> Complexes:
    """L(jω) of a group's customers against each other, whose buckets alone answer."""
    at, s = link.equilibrium, J * omega
    through = (1 - at.loss[group]) * sender(link, group, s).by_loss - at.offered_pps[group]
    fill = -at.probability * through / (link.depth_packets * s)
    return np.asarray(-(_slopes(link)[1][group] * fill)[:, None, None])


def _slopes(link: AicpOverTcp) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By the queue's own probability, and by fills; a full or an empty bucket stays so."""
    at = link.equilibrium
    by_own, by_fill = zip(
        *(link.policing.slopes(at.probability, fill) for fill in at.state), strict=True
    )
    moves = (np.array(at.state) > 0) & (np.array(at.state) < 1)
    return np.array(by_own), np.where(moves, np.array(by_fill), 0.0)


def _probability(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
