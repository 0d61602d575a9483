"""Congestion signals as laws: the probability that a packet is marked, from the queue.

Each gives the probability at a queue length and back, and its transfer function: how a small change
of the queue moves the probability, with what the signal remembers. Queues are in packets,
frequencies s in radians per second.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.sources import Reals

Complexes: TypeAlias = "NDArray[np.complex128]"


@dataclass(frozen=True, kw_only=True)
class Signal(ABC):
    """What a bottleneck says of its congestion."""

    @abstractmethod
    def probability(self, queue_packets: Reals) -> Reals:
        """Of a packet to be marked, at a queue that stays as it is."""

    @abstractmethod
    def queue_packets(self, probability: Reals) -> Reals:
        """The queue at which it is that probability."""

    @abstractmethod
    def transfer(self, s: Complexes, queue_packets: Reals, capacity_pps: Reals) -> Complexes:
        """Change of the probability per packet of queue, at frequency `s`, around this queue."""


@dataclass(frozen=True, kw_only=True)
class Red(Signal):
    """Random early detection, each packet marked by itself with the probability of the mean queue.

    The mean r of the queue b is a filter: ``r' = α c (b − r)``. Above `max_threshold_packets` the
    probability goes on from p_max to 1 up to twice that threshold ("gentle").
    """

    min_threshold_packets: ArrayLike = 50.0
    max_threshold_packets: ArrayLike = 550.0
    max_probability: ArrayLike = 0.1
    weight: ArrayLike = 1e-4

    @property
    def slope_per_packet(self) -> Reals:
        """ρ: growth of the probability between the thresholds."""
        width = np.asarray(self.max_threshold_packets) - np.asarray(self.min_threshold_packets)
        return np.asarray(np.asarray(self.max_probability) / width)

    @property
    def _steep_per_packet(self) -> Reals:
        steep = (1 - np.asarray(self.max_probability)) / np.asarray(self.max_threshold_packets)
        return np.asarray(steep)

    def probability(self, queue_packets: Reals) -> Reals:
        """Piecewise linear: 0, to p_max, to 1."""
        low, high = np.asarray(self.min_threshold_packets), np.asarray(self.max_threshold_packets)
        between = self.slope_per_packet * (queue_packets - low)
        above = np.asarray(self.max_probability) + self._steep_per_packet * (queue_packets - high)
        return np.asarray(np.clip(np.where(queue_packets < high, between, above), 0, 1))

    def queue_packets(self, probability: Reals) -> Reals:
        """(5.5.8): ``th_min + p/ρ``, and above p_max by the steeper slope."""
        low, high = np.asarray(self.min_threshold_packets), np.asarray(self.max_threshold_packets)
        limit = np.asarray(self.max_probability)
        between = low + probability / self.slope_per_packet
        above = high + (probability - limit) / self._steep_per_packet
        return np.asarray(np.where(probability <= limit, between, above))

    def transfer(self, s: Complexes, queue_packets: Reals, capacity_pps: Reals) -> Complexes:
        """``ρ α c/(s + α c)``."""
        corner = np.asarray(self.weight) * capacity_pps
        gentle = queue_packets >= np.asarray(self.max_threshold_packets)
        slope = np.where(gentle, self._steep_per_packet, self.slope_per_packet)
        return slope * corner / (s + corner)


@dataclass(frozen=True, kw_only=True)
class SbrmQueue(Signal):
    """Single-bit resource marking (5.4.1): ``p = 1 − exp(−γ [b − b0]⁺)``, of the present queue."""

    steepness_per_packet: ArrayLike = 0.006
    target_packets: ArrayLike = 50.0

    def probability(self, queue_packets: Reals) -> Reals:
        """See the class."""
        above = np.maximum(queue_packets - np.asarray(self.target_packets), 0)
        return np.asarray(-np.expm1(-np.asarray(self.steepness_per_packet) * above))

    def queue_packets(self, probability: Reals) -> Reals:
        """(5.5.4): ``b0 − ln(1 − p)/γ``."""
        above = -np.log1p(-probability) / np.asarray(self.steepness_per_packet)
        return np.asarray(np.asarray(self.target_packets) + above)

    def transfer(
        self,
        s: Complexes,
        queue_packets: Reals,
        capacity_pps: Reals,  # noqa: ARG002 - others need it
    ) -> Complexes:
        """(6.5.19): ``γ exp(−γ (b − b0))``; 0 below the target."""
        steepness = np.asarray(self.steepness_per_packet)
        above = queue_packets - np.asarray(self.target_packets)
        slope = np.where(above >= 0, steepness * np.exp(-steepness * np.maximum(above, 0)), 0)
        return slope + 0 * s
