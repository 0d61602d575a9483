"""How well people like a video that stalls.

A. Sanhaji, P. Niger, P. Cadro and A.-L. Beylot, "ConEx Performance Evaluation and Application to
Video Streaming", IARIA IJAT 8(3&4), 2015, section VI-B::

    QoE(L, N) = 3.50 exp(−(0.15 L + 0.19) N) + 1.50        (2), N stalls of L s on average
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def quality_of_experience(mean_stall_s: ArrayLike, stalls: ArrayLike) -> NDArray[np.float64]:
    """Mean opinion of a video, from 5 if it never stalled down to 1.5 (equation 2).

    Parameters
    ----------
    mean_stall_s : array_like
        L: how long a stall took on average [s]; 0 without any.
    stalls : array_like
        N: number of stalls.

    Returns
    -------
    ndarray
        QoE, as the table ``applications`` of a run has it.

    Examples
    --------
    >>> quality_of_experience([0.0, 5.0, 1.0], [0, 1, 2]).round(3)
    array([5.   , 2.867, 3.273])
    """
    length_s = np.asarray(mean_stall_s, dtype=float)
    weariness = (0.15 * length_s + 0.19) * np.asarray(stalls, dtype=float)
    return np.asarray(3.50 * np.exp(-weariness) + 1.50)
