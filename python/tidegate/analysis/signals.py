"""Congestion signals as laws: the probability that a packet is marked, from the queue.

Each gives the queue at which it settles with a probability, and its transfer function: how a small
change of the queue moves the probability, with what the signal remembers. Queues are in packets,
frequencies s in radians per second. PIE and DualPI2's controller are in `tidegate.analysis.pie`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.sources import Reals

Complexes: TypeAlias = "NDArray[np.complex128]"


@dataclass(frozen=True)
class Settled:
    """Where a signal has settled, on a link of this rate."""

    probability: Reals
    queue_packets: Reals
    capacity_pps: Reals


@dataclass(frozen=True, kw_only=True)
class Signal(ABC):
    """What a bottleneck says of its congestion."""

    law: ClassVar[str]
    """Name of the law in the fluid (`crates/fluid`), which takes the fields in their order."""

    @abstractmethod
    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """The queue at which it settles with that probability."""

    @abstractmethod
    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """Change of the probability per packet of queue, at frequency `s`."""

    def met(self, probability: Reals, *, scalable: bool) -> Reals:  # noqa: ARG002 - coupled ones tell
        """Probability with which a source's packets are marked, where the signal's own is this."""
        return probability

    def met_slope(self, probability: Reals, *, scalable: bool) -> Reals:  # noqa: ARG002
        """Derivative of `met`."""
        return np.ones_like(probability)


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

    law = "red"

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
        """Piecewise linear in a queue that stays: 0, to p_max, to 1."""
        low, high = np.asarray(self.min_threshold_packets), np.asarray(self.max_threshold_packets)
        between = self.slope_per_packet * (queue_packets - low)
        above = np.asarray(self.max_probability) + self._steep_per_packet * (queue_packets - high)
        return np.asarray(np.clip(np.where(queue_packets < high, between, above), 0, 1))

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:  # noqa: ARG002
        """(5.5.8): ``th_min + p/ρ``, and above p_max by the steeper slope."""
        low, high = np.asarray(self.min_threshold_packets), np.asarray(self.max_threshold_packets)
        limit = np.asarray(self.max_probability)
        between = low + probability / self.slope_per_packet
        above = high + (probability - limit) / self._steep_per_packet
        return np.asarray(np.where(probability <= limit, between, above))

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``ρ α c/(s + α c)``."""
        corner = np.asarray(self.weight) * at.capacity_pps
        gentle = at.queue_packets >= np.asarray(self.max_threshold_packets)
        slope = np.where(gentle, self._steep_per_packet, self.slope_per_packet)
        return slope * corner / (s + corner)


@dataclass(frozen=True, kw_only=True)
class SbrmQueue(Signal):
    """Single-bit resource marking (5.4.1): ``p = 1 − exp(−γ [b − b0]⁺)``, of the present queue."""

    steepness_per_packet: ArrayLike = 0.006
    target_packets: ArrayLike = 50.0

    law = "sbrm"

    def probability(self, queue_packets: Reals) -> Reals:
        """See the class; of a queue that stays."""
        above = np.maximum(queue_packets - np.asarray(self.target_packets), 0)
        return np.asarray(-np.expm1(-np.asarray(self.steepness_per_packet) * above))

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:  # noqa: ARG002
        """(5.5.4): ``b0 − ln(1 − p)/γ``."""
        above = -np.log1p(-probability) / np.asarray(self.steepness_per_packet)
        return np.asarray(np.asarray(self.target_packets) + above)

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """(6.5.19): ``γ exp(−γ (b − b0))``; 0 below the target."""
        steepness = np.asarray(self.steepness_per_packet)
        above = at.queue_packets - np.asarray(self.target_packets)
        slope = np.where(above >= 0, steepness * np.exp(-steepness * np.maximum(above, 0)), 0)
        return slope + 0 * s
