"""RED and adaptive RED as laws: a probability that goes by the mean queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from tidegate.analysis.signals import Settled, Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals

SPACINGS = ("geometric", "uniform", "wait")
Spacing: TypeAlias = Literal["geometric", "uniform", "wait"]
"""Which packets are signalled at 1/n: each by itself, after 1 to n − 1, or after n to 2n − 1."""

# Adaptive RED's marks, as shares of the way between the thresholds, and the bounds of p_max.
_LOW, _HIGH = 0.4, 0.6
_LEAST, _MOST = 0.01, 0.5


@dataclass(frozen=True, kw_only=True)
class Red(Signal):
    """Random early detection: a probability of the mean queue.

    The mean r of the queue b is a filter: ``r' = α c (b − r)``. With `gentle`, the probability goes
    on from p_max to 1 between `max_threshold_packets` and its double; without, it jumps to 1 there.
    The dissertation's model has each packet signalled by itself (`geometric`). Spaced out, packets
    meet one over the mean gap: ``2p/(1 + p)`` where gaps are uniform, ``2p/(3 − p)`` with a wait.
    """

    min_threshold_packets: ArrayLike = 50.0
    max_threshold_packets: ArrayLike = 550.0
    max_probability: ArrayLike = 0.1
    weight: ArrayLike = 1e-4
    gentle: bool = True
    spacing: Spacing = "geometric"

    law = "red"

    def numbers(self) -> list[ArrayLike]:
        """Gentle as 0 or 1, and the spacing's place in the list of them."""
        return [
            self.min_threshold_packets, self.max_threshold_packets, self.max_probability,
            self.weight, float(self.gentle), float(SPACINGS.index(self.spacing)),
        ]  # fmt: skip

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
        beyond = above if self.gentle else np.ones_like(above)
        return np.asarray(np.clip(np.where(queue_packets < high, between, beyond), 0, 1))

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:  # noqa: ARG002
        """Table 5.5.1: ``th_min + p/ρ``, and above p_max by the steeper slope."""
        low, high = np.asarray(self.min_threshold_packets), np.asarray(self.max_threshold_packets)
        limit = np.asarray(self.max_probability)
        between = low + probability / self.slope_per_packet
        if not self.gentle:
            return np.asarray(np.minimum(between, high))
        steep = np.where(self._steep_per_packet > 0, self._steep_per_packet, 1)
        above = high + (probability - limit) / steep
        return np.asarray(np.where(probability <= limit, between, above))

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``ρ α c/(s + α c)``."""
        corner = np.asarray(self.weight) * at.capacity_pps
        gentle = at.queue_packets >= np.asarray(self.max_threshold_packets)
        slope = np.where(gentle, self._steep_per_packet, self.slope_per_packet)
        return slope * corner / (s + corner)

    def met(self, probability: Reals, *, scalable: bool) -> Reals:  # noqa: ARG002 - all alike
        """Share of the packets that is signalled: one over the mean gap."""
        match self.spacing:
            case "uniform":
                return 2 * probability / (1 + probability)
            case "wait":
                return 2 * probability / (3 - probability)
        return probability

    def met_slope(self, probability: Reals, *, scalable: bool) -> Reals:  # noqa: ARG002
        """Derivative of that."""
        match self.spacing:
            case "uniform":
                return 2 / (1 + probability) ** 2
            case "wait":
                return 6 / (3 - probability) ** 2
        return np.ones_like(probability)

    unreached = (
        "RED's mean queue is at max_threshold, where every packet is signalled",
        "a larger max_probability, or gentle = true, would do",
    )

    def reaches(self, probability: Reals) -> NDArray[np.bool_]:
        """Without `gentle`, nothing lies between p_max and 1."""
        return np.asarray(self.gentle | (probability <= np.asarray(self.max_probability)))

    def strained(self, queue_packets: float) -> list[str]:
        """Beyond the upper threshold."""
        if queue_packets <= np.asarray(self.max_threshold_packets):
            return []
        limit = float(np.asarray(self.max_threshold_packets))
        return [
            (
                f"the mean queue of {queue_packets:.0f} packets is beyond RED's max_threshold, "
                f"{limit:.0f} packets"
            )
        ]


@dataclass(frozen=True, kw_only=True)
class AdaptiveRed(Red):
    """Adaptive RED: RED whose p_max moves until the mean queue lies between two marks.

    S. Floyd, R. Gummadi and S. Shenker, 2001; table 6.7.1. The marks are 0.4 and 0.6 of the way
    between the thresholds; p_max begins as `max_probability` and moves no further than to 0.01 and
    0.5. Near an equilibrium it rests, so that the loop is RED's with the p_max that was reached.
    """

    interval_s: ArrayLike = 0.5
    increase: ArrayLike = 0.01
    decrease: ArrayLike = 0.9

    law = "adaptive-red"

    def numbers(self) -> list[ArrayLike]:
        """RED's, then what moves p_max."""
        return [*super().numbers(), self.interval_s, self.increase, self.decrease]

    def reached(self, probability: Reals) -> Red:
        """RED with the p_max at which it rests."""
        begin = np.asarray(self.max_probability)
        share = np.clip(probability / begin, _LOW, _HIGH)
        least, most = np.minimum(_LEAST, begin), np.maximum(_MOST, begin)
        return Red(
            min_threshold_packets=self.min_threshold_packets,
            max_threshold_packets=self.max_threshold_packets,
            max_probability=np.clip(probability / share, least, most),
            weight=self.weight,
            spacing=self.spacing,
        )

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """RED's, where p_max rests."""
        return self.reached(probability).queue_packets(probability, capacity_pps)

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """RED's, where p_max rests."""
        return self.reached(at.probability).transfer(s, at)
