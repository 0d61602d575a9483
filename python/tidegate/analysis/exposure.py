"""The functions by which queues signal congestion and policers answer to it (ConEx).

A. Sanhaji, P. Niger, P. Cadro and A.-L. Beylot, "ConEx Performance Evaluation and Application
to Video Streaming", 2015, figures 2 and 6. The engine's own code computes them, as in a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


class RedOfScenario(Protocol):
    """What a scenario answers of its first RED."""

    def red_probabilities(self, averages: Sequence[float]) -> list[float]:
        """Probability at these average queues."""


class PolicerOfScenario(Protocol):
    """What a scenario answers of its first ConEx policer."""

    def conex_policer_probabilities(self, fills: Sequence[float]) -> list[float]:
        """Drop probability at these fills, in multiples of the depth."""


def red_probability(scenario: RedOfScenario, average_queue: ArrayLike) -> NDArray[np.float64]:
    """RED's probability of a mark or a drop over the average queue: figure 2.

    Of the scenario's first link with RED, before marks are spaced out; the average queue is in
    the unit of its thresholds, packets or bytes.

    >>> from tidegate import load_scenario
    >>> conex = load_scenario("scenarios/conex.toml")     # from 8 to 83 packets, p_max = 1
    >>> red_probability(conex, [0, 8, 45.5, 82, 83, 200]).round(2).tolist()
    [0.0, 0.0, 0.5, 0.99, 1.0, 1.0]
    """
    averages = np.atleast_1d(np.asarray(average_queue, dtype=float))
    return np.asarray(scenario.red_probabilities(averages.tolist()))


def policer_probability(scenario: PolicerOfScenario, fill: ArrayLike) -> NDArray[np.float64]:
    """Drop probability of the scenario's first ConEx policer over the fill of its bucket: figure 6.

    The fill is in multiples of the bucket's depth; below 0, something is owed.

    >>> from tidegate import load_scenario
    >>> conex = load_scenario("scenarios/conex.toml")     # mild: from 0 to 1 a tenth below
    >>> policer_probability(conex, [-1, -0.1, -0.05, 0, 1]).tolist()
    [1.0, 1.0, 0.5, 0.0, 0.0]
    """
    fills = np.atleast_1d(np.asarray(fill, dtype=float))
    return np.asarray(scenario.conex_policer_probabilities(fills.tolist()))
