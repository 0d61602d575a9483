"""What tips a loop: the round trip, number of flows and rate at which its verdict changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.models import bottleneck_of
from tidegate.analysis.stability import first_crossing
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.bottleneck import Bottleneck, Form
    from tidegate.analysis.models import Model
    from tidegate.analysis.sources import Reals

# Multiples of a parameter that are tried, from a fiftieth to fifty times the present one.
_FACTORS = np.geomspace(0.02, 50.0, 61)
# The change is enclosed to this, by ratio.
_EXACT = 1e-12
# Cases that are computed at once, and the most points between two of them.
_AT_ONCE = 50_000
_MOST_POINTS = 31


@dataclass(frozen=True)
class Tipping:
    """Where a loop changes between settling and oscillating; NaN where it does not.

    `factor` is by what the varied parameter is multiplied to get there, `value` what it is then:
    base round trip of the first group in seconds, number of all sources, or the link's packets/s.
    """

    factor: Reals
    frequency_hz: Reals
    value: Reals
    searched: tuple[Reals, Reals]
    """From which to which factor was looked: where there is an equilibrium between a fiftieth and
    fifty times the present. Without a factor the verdict is the same all over that, which says
    nothing of what is beyond."""


def critical_delay(model: Model, *, form: Form = "fluid") -> Tipping:
    """By what all base round trips are multiplied at the nearest change of verdict."""
    bottleneck = bottleneck_of(model)
    present = bottleneck.sources[0].base_rtt_s
    return _tipping(bottleneck, lambda by: scaled(bottleneck, base_rtt=by), form, present)


def critical_count(model: Model, *, form: Form = "fluid") -> Tipping:
    """By what all numbers of sources are multiplied until the loop tips."""
    bottleneck = bottleneck_of(model)
    present = sum(np.asarray(source.count) for source in bottleneck.sources)
    return _tipping(bottleneck, lambda by: scaled(bottleneck, count=by), form, present)


def critical_capacity(model: Model, *, form: Form = "fluid") -> Tipping:
    """By what the link's rate is multiplied until the loop tips."""
    bottleneck = bottleneck_of(model)
    present = bottleneck.capacity_pps
    return _tipping(bottleneck, lambda by: scaled(bottleneck, capacity=by), form, present)


def scaled(
    bottleneck: Bottleneck,
    *,
    base_rtt: ArrayLike = 1.0,
    count: ArrayLike = 1.0,
    capacity: ArrayLike = 1.0,
) -> Bottleneck:
    """The same bottleneck with other round trips, numbers of sources, and rate."""
    sources = tuple(
        replace(
            source,
            base_rtt_s=np.asarray(source.base_rtt_s) * np.asarray(base_rtt),
            count=np.asarray(source.count) * np.asarray(count),
        )
        for source in bottleneck.sources
    )
    capacity_pps = np.asarray(bottleneck.capacity_pps) * np.asarray(capacity)
    return replace(bottleneck, capacity_pps=capacity_pps, sources=sources)


@dataclass(frozen=True)
class _Verdicts:
    """Of each factor: whether there is an equilibrium, and if so, whether it is stable."""

    exists: NDArray[np.bool_]
    stable: NDArray[np.bool_]


def _tipping(
    bottleneck: Bottleneck,
    with_factor: Callable[[ArrayLike], Bottleneck],
    form: Form,
    present: ArrayLike,
) -> Tipping:
    """The change of verdict that is nearest to the present, by ratio."""
    shape = bottleneck.shape
    at_once = max(1, _AT_ONCE // max(1, math.prod(shape)))
    column = (-1, *(1 for _ in shape))
    tried = [_verdicts(with_factor, f.reshape(column), shape, form) for f in _chunks(at_once)]
    exists = np.concatenate([one.exists for one in tried])
    stable = np.concatenate([one.stable for one in tried])
    changes = exists[1:] & exists[:-1] & (stable[1:] != stable[:-1])
    middles = abs(np.log(_FACTORS[1:] * _FACTORS[:-1])).reshape(column) / 2
    first = np.where(changes, middles, np.inf).argmin(axis=0)
    found = changes.any(axis=0)
    low = np.where(found, _FACTORS[:-1][first], np.nan)
    high = np.where(found, _FACTORS[1:][first], np.nan)
    points = min(_MOST_POINTS, at_once)
    for _ in range(math.ceil(math.log(math.log(_FACTORS[1] / _FACTORS[0]) / _EXACT, points + 1))):
        low, high = _narrowed(with_factor, low, high, points, form)
    factor = np.sqrt(low * high)
    _, omega = first_crossing(with_factor(np.where(found, factor, 1)), form)
    frequency_hz = np.where(found, omega / (2 * np.pi), np.nan)
    searched = _searched(exists, column)
    return Tipping(factor, frequency_hz, np.asarray(factor * np.asarray(present)), searched)


def _searched(exists: NDArray[np.bool_], column: tuple[int, ...]) -> tuple[Reals, Reals]:
    """The least and the largest factor with an equilibrium; NaN where none has one."""
    factors = _FACTORS.reshape(column)
    low = np.where(exists, factors, np.inf).min(axis=0)
    high = np.where(exists, factors, -np.inf).max(axis=0)
    none = ~exists.any(axis=0)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _chunks(size: int) -> list[NDArray[np.float64]]:
    return [_FACTORS[i : i + size] for i in range(0, len(_FACTORS), size)]


def _verdicts(
    with_factor: Callable[[ArrayLike], Bottleneck],
    factor: Reals,
    shape: tuple[int, ...],
    form: Form,
) -> _Verdicts:
    shape = np.broadcast_shapes(factor.shape, shape)
    varied = with_factor(factor)
    try:
        exists = varied.equilibrium.exists
    except AnalysisError:  # at no factor
        return _Verdicts(np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool))
    stable, _ = first_crossing(varied, form)
    return _Verdicts(np.broadcast_to(exists, shape), np.broadcast_to(stable, shape))


def _narrowed(
    with_factor: Callable[[ArrayLike], Bottleneck],
    low: Reals,
    high: Reals,
    points: int,
    form: Form,
) -> tuple[Reals, Reals]:
    """Ends of the first of the equal parts between two factors in which the verdict changes."""
    parts = np.linspace(0, 1, points + 2).reshape(-1, *(1 for _ in low.shape))
    factors = low ** (1 - parts) * high**parts
    stable, _ = first_crossing(with_factor(np.where(np.isnan(factors), 1, factors)), form)
    changes = stable[1:] != stable[:-1]
    first = changes.argmax(axis=0)[None]
    return (
        np.take_along_axis(factors, first, axis=0)[0],
        np.take_along_axis(factors, first + 1, axis=0)[0],
    )
