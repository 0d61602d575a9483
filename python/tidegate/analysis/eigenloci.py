"""Whether several bottlenecks stay where they settle: by the eigenloci of their loop.

The eigenvalues of the matrix L(jω) take the place of the one loop (A. MacFarlane and
I. Postlethwaite, "The generalized Nyquist stability criterion", 1977): none of them may enclose −1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.stability import Stability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tidegate.analysis.network import Network
    from tidegate.analysis.signals import Complexes

_FREQUENCIES = 1000
_LOWEST, _HIGHEST = 2e-3, 60.0
"""Radians per the longest and the shortest round trip."""
SEARCHED = 0.1, 10.0
"""From which to which multiple of the present round trips a change of verdict is looked for."""
# Of the logarithm of the round trips, from the present ones on, on either side.
_STEPS = np.linspace(0, np.log(SEARCHED[1]), 9)[1:]
# Margins of a loop that never crosses; a margin that is as near to 1 as they are exact.
_AMPLE = 10.0
_EXACT = 1e-7
_MOST_TRIES = 60
_J = np.complex128(1j)


def network_stability(network: Network) -> Stability:
    """Margins by the eigenloci: where one of them crosses the negative real axis farthest out.

    The loop is stable as long as none of them encloses −1.
    """
    omega = _frequencies(network)
    loci = np.asarray(np.linalg.eigvals(network.loop(omega * _J)), dtype=np.complex128)
    here, there = loci[:-1], _nearest(loci)
    length, critical = _longest_crossing(omega, here, there)
    return Stability(
        np.asarray(1 / length),
        np.asarray(_phase_margin_deg(here, there)),
        np.asarray(critical / (2 * np.pi)),
        np.asarray(True),
    )


def critical_network_delay(network: Network) -> float:
    """By what all base round trips are multiplied where the verdict changes.

    NaN where it does not, as far as `SEARCHED` says.
    """

    def room(log_factor: float) -> float:
        """Logarithm of the gain margin: below 0 it swings."""
        margin = float(network_stability(slower(network, np.exp(log_factor))).gain_margin)
        return _AMPLE if np.isnan(margin) else float(np.log(margin))

    here = room(0.0)
    near = dict.fromkeys((1, -1), (0.0, here))
    for distance in _STEPS:
        for side, start in near.items():
            at = side * distance
            end = at, room(at)
            if (end[1] > 0) != (start[1] > 0):
                return float(np.exp(_between(room, start, end)))
            near[side] = end
    return float("nan")


def _between(
    room: Callable[[float], float], start: tuple[float, float], end: tuple[float, float]
) -> float:
    """Where it is 0, by false position: the end that stays counts half (the Illinois rule)."""
    (a, at_a), (b, at_b) = start, end
    for _ in range(_MOST_TRIES):
        middle = (a * at_b - b * at_a) / (at_b - at_a)
        found = room(middle)
        if abs(found) < _EXACT:
            return middle
        if (found > 0) != (at_b > 0):
            a, at_a = b, at_b
        else:
            at_a /= 2
        b, at_b = middle, found
    return b


def slower(network: Network, factor: float) -> Network:
    """The same with all base round trips multiplied."""
    routes = tuple(
        replace(
            route,
            source=replace(route.source, base_rtt_s=np.asarray(route.source.base_rtt_s) * factor),
        )
        for route in network.routes
    )
    return replace(network, routes=routes)


def _frequencies(network: Network) -> NDArray[np.float64]:
    rtts = network.equilibrium.rtt_s
    return np.geomspace(_LOWEST / max(rtts), _HIGHEST / min(rtts), _FREQUENCIES)


def _nearest(loci: Complexes) -> Complexes:
    """Of each eigenvalue, the nearest one at the next frequency."""
    distance = abs(loci[1:, None, :] - loci[:-1, :, None])
    return np.take_along_axis(loci[1:], distance.argmin(axis=2), axis=1)


def _longest_crossing(
    omega: NDArray[np.float64], here: Complexes, there: Complexes
) -> tuple[float, float]:
    """How far out the negative real axis is crossed, and at which angular frequency; NaN if not."""
    turns = here.imag * there.imag < 0
    part = np.where(turns, here.imag / np.where(turns, here.imag - there.imag, 1), 0)
    length = np.where(turns, -(here.real + part * (there.real - here.real)), 0)
    row, column = np.unravel_index(int(length.argmax()), length.shape)
    if length[row, column] <= 0:
        return float("nan"), float("nan")
    step = omega[row + 1] / omega[row]
    return float(length[row, column]), float(omega[row] * step ** part[row, column])


def _phase_margin_deg(here: Complexes, there: Complexes) -> float:
    """The smallest where a gain falls through 1, from half a circle down to minus half; or NaN."""
    before, after = np.log(abs(here)), np.log(abs(there))
    falls = (before >= 0) & (after < 0)
    if not falls.any():
        return float("nan")
    part = before[falls] / (before[falls] - after[falls])
    at = here[falls] * (there[falls] / here[falls]) ** part
    return float(np.min(np.degrees(np.angle(-at))))
