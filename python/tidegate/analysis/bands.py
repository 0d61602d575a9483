"""All the round trips at which a bottleneck is stable, where there is more than one range of them.

PIE's gain goes in steps with its probability (RFC 8033, section 4.2), and that falls as round trips
grow: across a step a loop that has begun to swing may settle again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.stability import stability
from tidegate.analysis.tipping import scaled

if TYPE_CHECKING:
    from tidegate.analysis.bottleneck import Bottleneck

_POINTS = 801
_HALVINGS = 40


def stable_delays(
    bottleneck: Bottleneck, *, smallest: float = 0.05, largest: float = 20.0
) -> tuple[tuple[float, float], ...]:
    """Ranges of a factor to all base round trips in which the bottleneck is stable.

    Parameters
    ----------
    bottleneck
        One case: its parameters are numbers.
    smallest, largest
        Where to look. Ranges narrower than an eight-hundredth of it, by ratio, may be missed.

    >>> from tidegate.analysis import Bottleneck, Pie, Reno
    >>> flows = Reno(count=20, base_rtt_s=0.001)
    >>> link = Bottleneck(capacity_pps=1e8 / 12_000, signal=Pie(), sources=(flows,))
    >>> [(round(low), round(high)) for low, high in stable_delays(link, smallest=1, largest=400)]
    [(1, 82), (92, 109)]
    """
    factors = np.geomspace(smallest, largest, _POINTS)
    verdicts = _stable(bottleneck, factors)
    edges = np.flatnonzero(verdicts[1:] != verdicts[:-1])
    tips = _edges(bottleneck, factors[edges], factors[edges + 1], verdicts[edges])
    bounds = [smallest, *tips, largest]
    ranges = tuple(pairwise(bounds))
    return ranges[0 if verdicts[0] else 1 :: 2]


def _stable(bottleneck: Bottleneck, factors: np.ndarray) -> np.ndarray:
    return stability(scaled(bottleneck, base_rtt=factors)).stable


def _edges(
    bottleneck: Bottleneck, low: np.ndarray, high: np.ndarray, at_low: np.ndarray
) -> list[float]:
    """Where between each two factors the verdict changes."""
    for _ in range(_HALVINGS if low.size else 0):
        middle = np.sqrt(low * high)
        same = _stable(bottleneck, middle) == at_low
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(edge) for edge in np.sqrt(low * high)]
