"""Loops for python-control, which has plots, margins and designs of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.analysis.models import bottleneck_of
from tidegate.analysis.network import Network
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tidegate.analysis.bottleneck import Form
    from tidegate.analysis.models import Model

_LOWEST, _HIGHEST, _POINTS = 2e-3, 40.0, 2000
"""Radians per the longest and the shortest round trip."""


def to_control(
    model: Model | Network, *, omega: ArrayLike | None = None, form: Form = "fluid"
) -> Any:  # noqa: ANN401 - a type of python-control, which need not be there
    """Give the open loop as python-control's `FrequencyResponseData`, with its exact delays.

    Parameters
    ----------
    model
        A bottleneck, a model of it, a scenario, or a network, whose loop is a matrix over its full
        links.
    omega
        Angular frequencies, in radians/s; by default 2,000 from far below to far above those at
        which loops turn.

    Raises
    ------
    AnalysisError
        Where python-control is not installed, or a parameter is an array.

    >>> from tidegate.analysis import Sbrm
    >>> import control
    >>> gain, phase, *_ = control.margin(to_control(Sbrm(n=30, c_pps=10e3, d_s=0.07)))
    >>> round(float(gain), 2)
    1.24
    """
    try:
        import control
    except ModuleNotFoundError as error:
        raise AnalysisError(
            "python-control is not installed, and a loop can only be given to it where it is: "
            "pip install control"
        ) from error
    link = model if isinstance(model, Network) else bottleneck_of(model)
    if not isinstance(link, Network) and link.shape:
        raise AnalysisError(
            "python-control takes one loop: every parameter is a number, none an array"
        )
    rtts = [float(rtt_s) for rtt_s in link.equilibrium.rtt_s]
    between = np.geomspace(_LOWEST / max(rtts), _HIGHEST / min(rtts), _POINTS)
    at = between if omega is None else np.asarray(omega, dtype=np.float64)
    s = np.asarray(1j * at, dtype=np.complex128)
    if isinstance(link, Network):
        response = np.moveaxis(link.loop(s), 0, -1)
    else:
        response = link.loop(s, form=form)
    return control.frd(response, at)
