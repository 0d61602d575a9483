"""Which sine is strongest in samples that are evenly apart: by Fourier transform, and by MUSIC.

MUSIC (R. Schmidt, "Multiple emitter location and signal parameter estimation", IEEE Transactions
on Antennas and Propagation 34(3), 1986; as in section 6.6.3 of the pricing dissertation) takes the
covariance of `lags` samples in a row. Its few largest eigenvectors hold the sines, the others
noise; where a sine is at a right angle to all noise, the pseudospectrum 1/Σ|<noise, sine>|² peaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.sources import Reals

LAGS = 80
COMPONENTS = 4
"""Two sines: each has a positive and a negative frequency."""
# Of the pseudospectrum: four thousand frequencies up to half the sampling rate.
_GRID = 8000


def fourier_spectrum(samples: ArrayLike, *, sampling_hz: float = 1.0) -> tuple[Reals, Reals]:
    """Frequencies above zero, and the amplitude of each in the samples' unit.

    >>> import numpy as np
    >>> hz, amplitude = fourier_spectrum(3 * np.sin(np.arange(100) * 2 * np.pi / 20))
    >>> float(hz[amplitude.argmax()]), round(float(amplitude.max()), 6)
    (0.05, 3.0)
    """
    swing = _swing(samples)
    amplitude = 2 * abs(np.fft.rfft(swing)[1:]) / swing.size
    return _frequencies(swing.size, sampling_hz), np.asarray(amplitude, dtype=np.float64)


def music_spectrum(
    samples: ArrayLike,
    *,
    sampling_hz: float = 1.0,
    lags: int = LAGS,
    components: int = COMPONENTS,
) -> tuple[Reals, Reals]:
    """Frequencies above zero, and the pseudospectrum, 1 at its peak.

    >>> import numpy as np
    >>> swing = np.sin(np.arange(1200) * 0.3) + np.random.default_rng(1).normal(size=1200)
    >>> hz, height = music_spectrum(swing, sampling_hz=20.0)
    >>> abs(float(hz[height.argmax()]) - 0.3 * 20 / (2 * np.pi)) < 0.02
    True
    """
    swing = _swing(samples)
    sines = np.linalg.eigh(_covariance(swing, lags)).eigenvectors[:, -components:]
    # All eigenvectors together see a sine in full: noise sees what these few do not.
    seen = lags - (abs(np.fft.rfft(sines, _GRID, axis=0)) ** 2).sum(axis=1)[1:]
    seen = np.maximum(seen, lags * np.finfo(np.float64).eps)
    return _frequencies(_GRID, sampling_hz), np.asarray(seen.min() / seen, dtype=np.float64)


def _covariance(swing: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Mean over all places k of x[k + i] x[k + j], each row from the one before."""
    places = swing.size - lags + 1
    covariance = np.empty((lags, lags), dtype=np.float64)
    covariance[0] = np.correlate(swing, swing[:places])
    covariance[:, 0] = covariance[0]
    for i in range(1, lags):
        first, last = swing[i - 1], swing[places + i - 1]
        moved = last * swing[places : places + lags - 1] - first * swing[: lags - 1]
        covariance[i, 1:] = covariance[i - 1, :-1] + moved
    return np.asarray(covariance / places, dtype=np.float64)


def strongest(spectrum: tuple[Reals, Reals]) -> float:
    """Frequency of the highest peak."""
    hz, height = spectrum
    return float(hz[height.argmax()])


def _frequencies(size: int, sampling_hz: float) -> Reals:
    """Above zero."""
    return np.asarray(np.fft.rfftfreq(size, 1 / sampling_hz)[1:], dtype=np.float64)


def _swing(samples: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(samples, dtype=np.float64)
    return np.asarray(array - array.mean(), dtype=np.float64)
