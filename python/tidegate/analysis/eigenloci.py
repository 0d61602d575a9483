"""Whether several bottlenecks stay where they settle: by the eigenloci of their loop.

The eigenvalues of the matrix L(jω) take the place of the one loop (A. MacFarlane and
I. Postlethwaite, "The generalized Nyquist stability criterion", 1977): none of them may enclose −1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.loci import followed
from tidegate.analysis.stability import Stability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidegate.analysis.network import Network
    from tidegate.analysis.signals import Complexes

_FREQUENCIES = 4000
_LOWEST, _HIGHEST = 2e-3, 60.0
"""Radians per the longest and the shortest round trip."""
_FACTORS = np.geomspace(0.1, 10, 25)
_HALVINGS = 30
_J = np.complex128(1j)


def network_stability(network: Network) -> Stability:
    """Margins by the eigenloci: where one of them crosses the negative real axis farthest out.

    The loop is stable as long as none of them encloses −1.
    """
    omega = _frequencies(network)
    eigenvalues = np.asarray(np.linalg.eigvals(network.loop(omega * _J)), dtype=np.complex128)
    loci = followed(eigenvalues)
    longest, critical = 0.0, np.nan
    for locus in loci.T:
        length, at = _longest_crossing(omega, locus)
        if length > longest:
            longest, critical = length, at
    margin = 1 / longest if longest else np.nan
    phases = [_phase_margin(locus) for locus in loci.T]
    known = [phase for phase in phases if not np.isnan(phase)]
    return Stability(
        np.asarray(margin),
        np.asarray(min(known, default=np.nan)),
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


def _longest_crossing(omega: NDArray[np.float64], locus: Complexes) -> tuple[float, float]:
    """How far out it crosses the negative real axis, and at which angular frequency."""
    here, there = locus[:-1], locus[1:]
    turns = here.imag * there.imag < 0
    part = np.where(turns, here.imag / np.where(turns, here.imag - there.imag, 1), 0)
    length = np.where(turns, -(here.real + part * (there.real - here.real)), 0)
    best = int(length.argmax())
    if length[best] <= 0:
        return 0.0, float("nan")
    return float(length[best]), float(omega[best] * (omega[best + 1] / omega[best]) ** part[best])


def _phase_margin(locus: Complexes) -> float:
    """At the highest frequency with a gain of 1, in degrees."""
    gain = np.log(abs(locus))
    falls = np.flatnonzero((gain[:-1] >= 0) & (gain[1:] < 0))
    if not falls.size:
        return float("nan")
    last = falls[-1]
    part = gain[last] / (gain[last] - gain[last + 1])
    here, there = np.degrees(np.unwrap(np.angle(locus)))[last : last + 2]
    return float(here + part * (there - here) + 180)
