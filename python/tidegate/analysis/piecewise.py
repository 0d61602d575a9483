"""A probability that is a function of the present queue, along straight lines.

M. Menth and N. Zeitler, "Activity-Based Congestion Management (ABC)", equation (11), is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.signals import Settled, Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals


@dataclass(frozen=True, kw_only=True)
class PiecewiseLinear(Signal):
    """Straight lines between points (queue in packets, probability), both ascending."""

    points: tuple[tuple[float, float], ...]

    law = "piecewise-linear"

    def numbers(self) -> list[ArrayLike]:
        """Queue and probability of each point in turn."""
        return [value for point in self.points for value in point]

    def probability(self, queue_packets: Reals) -> Reals:
        """Of a queue; outside the points the nearest one's."""
        queues, probabilities = np.transpose(self.points)
        return np.asarray(np.interp(queue_packets, queues, probabilities))

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """Where the line reaches it."""
        queues, probabilities = np.transpose(self.points)
        return np.asarray(np.interp(probability, probabilities, queues)) + 0 * capacity_pps

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """Slope of the line at the queue."""
        queues, probabilities = np.transpose(self.points)
        slopes = np.diff(probabilities) / np.diff(queues)
        place = np.searchsorted(queues, at.queue_packets, side="right") - 1
        return np.asarray(slopes[np.clip(place, 0, len(slopes) - 1)] + 0 * s)

    unreached = (
        "the AQM's function ends below 1, and the sources go on to grow",
        "a last point of probability 1 would do",
    )

    def reaches(self, probability: Reals) -> NDArray[np.bool_]:
        """A function may end below 1, where only the buffer limits the queue."""
        return np.asarray(probability <= self.points[-1][1])
