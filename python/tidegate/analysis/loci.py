"""Margins of a loop through several signals at once.

Under differentiation each customer meets its own probability, and the feedback to each depends on
all: the loop is a matrix L(jω). All its parts are stable by themselves, and so is the whole with
small gains. As the gains grow by a common factor k, it becomes unstable where k L(jω) first has an
eigenvalue of −1. The gain margin is that of the eigenvalue that crosses the negative real axis
farthest out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tidegate.analysis.signals import Complexes

_POINTS = 1200
_HALVINGS = 40
# An eigenvalue that is always 0 is so up to rounding.
_NOTHING = 1e-9
# Crossings that are nearly as far out as the farthest are looked at closely, too.
_NEARLY = 0.9


@dataclass(frozen=True)
class LociMargin:
    """How far a loop of several signals is from oscillating.

    `gain_margin` is by what all gains may grow, infinite where no eigenvalue crosses; below 1 the
    loop is unstable. `frequency_hz` is that of an oscillation that begins, NaN where there is none.
    """

    gain_margin: float
    frequency_hz: float

    @property
    def stable(self) -> bool:
        """Whether it settles."""
        return self.gain_margin > 1


def loci_margin(
    loop: Callable[[NDArray[np.float64]], Complexes], *, lowest: float, highest: float
) -> LociMargin:
    """Margin of L, given as a stack of matrices at angular frequencies between these."""
    omega = np.geomspace(lowest, highest, _POINTS)
    loci = followed(np.linalg.eigvals(loop(omega)).astype(np.complex128))
    about = (loci.real[:-1] + loci.real[1:]) / 2
    crosses = (loci.imag[:-1] * loci.imag[1:] < 0) & (about < -_NOTHING)
    farthest = np.min(about, where=crosses, initial=0.0)
    worst = LociMargin(float("inf"), float("nan"))
    for step, which in np.argwhere(crosses & (about <= _NEARLY * farthest)):
        ends = omega[step], omega[step + 1]
        at, value = _crossing(loop, *ends, loci[step, which], loci[step + 1, which])
        if value.real < -_NOTHING and -1 / value.real < worst.gain_margin:
            worst = LociMargin(float(-1 / value.real), at / (2 * np.pi))
    return worst


def followed(eigenvalues: Complexes) -> Complexes:
    """Put each column on one continuous way: nearest to where it was."""
    followed = eigenvalues.copy()
    if followed.shape[1] == 1:
        return followed
    for step in range(1, len(followed)):
        left = list(eigenvalues[step])
        for which, before in enumerate(followed[step - 1]):
            nearest = int(np.argmin([abs(value - before) for value in left]))
            followed[step, which] = left.pop(nearest)
    return followed


def _crossing(
    loop: Callable[[NDArray[np.float64]], Complexes],
    low: float,
    high: float,
    at_low: complex,
    at_high: complex,
) -> tuple[float, complex]:
    """Where one eigenvalue is real, between two frequencies at which its imaginary parts differ."""
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        values = np.linalg.eigvals(loop(np.array([middle]))[0])
        value = complex(values[np.argmin(abs(values - (at_low + at_high) / 2))])
        if value.imag * at_low.imag > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return high, at_high
