"""Whether a bottleneck settles or oscillates: the Nyquist criterion, margins, and what tips it.

All parts of the open loop are stable by themselves (pricing dissertation, section 6.5.3), so the
closed one is stable as long as L(jω) passes the point −1 on its right: where it crosses the
negative real axis, it must be shorter than 1. Everything is computed for arrays of cases at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.models import bottleneck_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tidegate.analysis.bottleneck import Bottleneck, Form
    from tidegate.analysis.models import Model
    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals

# Crossings lie where a loop has turned by half a circle: within some radians per round trip.
_LOWEST, _HIGHEST, _STEPS = 2e-3, 40.0, 64
_HALVINGS = 45
_J = np.complex128(1j)


@dataclass(frozen=True)
class Stability:
    """How far a loop is from oscillating; NaN where it has no such crossing, or no equilibrium.

    Attributes
    ----------
    gain_margin
        By what the loop gain may grow; below 1 the loop is unstable.
    phase_margin_deg
        How far its phase is from half a circle where its gain is 1; negative if unstable.
    critical_frequency_hz
        Of the crossing with the negative real axis: of an oscillation that begins.
    exists
        Whether there is an equilibrium at all.
    """

    gain_margin: Reals
    phase_margin_deg: Reals
    critical_frequency_hz: Reals
    exists: NDArray[np.bool_]

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether it settles. A loop that never crosses the axis does."""
        return self.exists & ~(self.gain_margin < 1)


def stability(model: Model, *, form: Form = "fluid") -> Stability:
    """Margins of a loop, or of all loops of arrays of parameters."""
    bottleneck = bottleneck_of(model)
    frequencies = _frequencies(bottleneck)
    # What has no equilibrium or no crossing is NaN from here on.
    with np.errstate(invalid="ignore", divide="ignore"):
        loops = [bottleneck.loop(_J * omega, form=form) for omega in frequencies]
        omega = _crossing(bottleneck, form, frequencies, loops)
        return Stability(
            gain_margin=np.asarray(-1 / bottleneck.loop(_J * omega, form=form).real),
            phase_margin_deg=_phase_margin(bottleneck, form, frequencies, loops),
            critical_frequency_hz=omega / (2 * np.pi),
            exists=bottleneck.equilibrium.exists,
        )


def first_crossing(bottleneck: Bottleneck, form: Form) -> tuple[NDArray[np.bool_], Reals]:
    """Whether a loop is stable where there is one, and at which angular frequency it oscillates."""
    frequencies = _frequencies(bottleneck)
    with np.errstate(invalid="ignore", divide="ignore"):
        loops = [bottleneck.loop(_J * omega, form=form) for omega in frequencies]
        omega = _crossing(bottleneck, form, frequencies, loops)
        length = -bottleneck.loop(_J * omega, form=form).real
    return ~(length > 1), omega


def _frequencies(bottleneck: Bottleneck) -> list[Reals]:
    """Angular ones, from low to high, by the longest and shortest round trip."""
    rtts = bottleneck.equilibrium.rtt_s
    longest, shortest = np.maximum.reduce(rtts), np.minimum.reduce(rtts)
    low, high = _LOWEST / longest, _HIGHEST / shortest
    return [low * (high / low) ** (step / (_STEPS - 1)) for step in range(_STEPS)]


def _crossing(
    bottleneck: Bottleneck, form: Form, frequencies: list[Reals], loops: list[Complexes]
) -> Reals:
    """Frequency of the longest crossing with the negative real axis; NaN if there is none."""
    shape = np.broadcast_shapes(loops[0].shape, frequencies[0].shape)
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    longest = np.zeros(shape)
    steps = zip(frequencies, frequencies[1:], loops, loops[1:], strict=False)
    for before, after, here, there in steps:
        length = -(here.real + there.real) / 2
        found = (here.imag * there.imag <= 0) & (length > longest)
        longest = np.where(found, length, longest)
        low, high = np.where(found, before, low), np.where(found, after, high)

    def below(omega: Reals) -> NDArray[np.float64]:
        return np.sign(bottleneck.loop(_J * omega, form=form).imag)

    return bisected(low, high, below)


def _phase_margin(
    bottleneck: Bottleneck, form: Form, frequencies: list[Reals], loops: list[Complexes]
) -> Reals:
    """At the highest frequency with a gain of 1, in degrees; followed from low frequencies on."""
    phases = np.unwrap(np.angle(np.stack(np.broadcast_arrays(*loops))), axis=0)
    shape = phases.shape[1:]
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    phase = np.full(shape, np.nan)
    steps = zip(frequencies, frequencies[1:], loops, loops[1:], phases, strict=False)
    for before, after, here, there, turned in steps:
        found = (abs(here) >= 1) & (abs(there) < 1)
        low, high = np.where(found, before, low), np.where(found, after, high)
        phase = np.where(found, turned, phase)
    omega = bisected(low, high, lambda at: np.sign(abs(bottleneck.loop(_J * at, form=form)) - 1))
    exact = np.angle(bottleneck.loop(_J * omega, form=form))
    turns = np.round((phase - exact) / (2 * np.pi))
    return np.asarray(np.degrees(exact + 2 * np.pi * turns) + 180)


def bisected(low: Reals, high: Reals, side: Callable[[Reals], np.ndarray]) -> Reals:
    """Where `side` changes between the two; NaN stays."""
    at_low = side(low)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        same = side(middle) == at_low
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray(np.sqrt(low * high))
