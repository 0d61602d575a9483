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
    from numpy.typing import NDArray

    from tidegate.analysis.network import Network
    from tidegate.analysis.signals import Complexes

_FREQUENCIES = 1000
_LOWEST, _HIGHEST = 2e-3, 60.0
"""Radians per the longest and the shortest round trip."""
_FACTORS = np.geomspace(0.1, 10, 17)
_HALVINGS = 20
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
    """By what all base round trips are multiplied where it begins to swing; NaN if nowhere near."""
    verdicts = [bool(network_stability(slower(network, factor)).stable) for factor in _FACTORS]
    changes = [i for i in range(len(_FACTORS) - 1) if verdicts[i] != verdicts[i + 1]]
    if not changes:
        return float("nan")
    nearest = min(changes, key=lambda i: abs(np.log(_FACTORS[i] * _FACTORS[i + 1])))
    low, high = _FACTORS[nearest], _FACTORS[nearest + 1]
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        same = bool(network_stability(slower(network, middle)).stable) == verdicts[nearest]
        low, high = (middle, high) if same else (low, middle)
    return float(np.sqrt(low * high))


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
