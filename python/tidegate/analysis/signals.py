"""Congestion signals as laws: the probability that a packet is marked, from the queue.

Each gives the queue at which it settles with a probability, and its transfer function: how a small
change of the queue moves the probability, with what the signal remembers. Queues are in packets,
frequencies s in radians per second. RED is in `tidegate.analysis.red`, functions of the queue are
in `tidegate.analysis.piecewise`, PIE and DualPI2's controller in `tidegate.analysis.pie`.
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

    law: ClassVar[str | None] = None
    """Name of the law in the fluid (`crates/fluid`), which takes its `numbers`; None without."""

    marks_leaving: ClassVar[bool] = False
    """Whether packets are marked as they leave the queue, by what waits behind them."""

    def numbers(self) -> list[ArrayLike]:
        """Its parameters as numbers, in the order in which the fluid takes them."""
        return list(vars(self).values())

    unreached: ClassVar[tuple[str, str]] = ("", "")
    """Why it does not say each probability, and what would."""

    def reaches(self, probability: Reals) -> NDArray[np.bool_]:
        """Whether there is a queue at which it says this probability."""
        return np.ones_like(probability, dtype=bool)

    def strained(self, queue_packets: float) -> list[str]:  # noqa: ARG002 - some have an edge
        """Where its law is at its edge at this queue, in sentences."""
        return []

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
class SbrmQueue(Signal):
    """Single-bit resource marking (5.4.1): ``p = 1 − exp(−γ [b − b0]⁺)``, of the present queue."""

    steepness_per_packet: ArrayLike = 0.006
    target_packets: ArrayLike = 50.0

    law = "sbrm"
    marks_leaving = True

    def probability(self, queue_packets: Reals) -> Reals:
        """See the class; of a queue that stays."""
        above = np.maximum(queue_packets - np.asarray(self.target_packets), 0)
        return np.asarray(-np.expm1(-np.asarray(self.steepness_per_packet) * above))

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:  # noqa: ARG002
        """(5.5.7): ``b0 − ln(1 − p)/γ``."""
        above = -np.log1p(-probability) / np.asarray(self.steepness_per_packet)
        return np.asarray(np.asarray(self.target_packets) + above)

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """(6.5.19): ``γ exp(−γ (b − b0))``; 0 below the target."""
        steepness = np.asarray(self.steepness_per_packet)
        above = at.queue_packets - np.asarray(self.target_packets)
        slope = np.where(above >= 0, steepness * np.exp(-steepness * np.maximum(above, 0)), 0)
        return slope + 0 * s
