"""How many calls fit: Erlang's loss formula, and what admission by marks lets in.

A. K. Erlang (1917): of calls that arrive at random, a of them at work at a time if none were lost,
a share B is lost where there is room for n::

    B = (a^n / n!) / Σ a^k / k!

computed by ``1/B(n) = 1 + (n/a) / B(n − 1)``, which neither overflows nor loses digits. The
distribution of holding times does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def erlang_b(servers: int, load_erlang: ArrayLike) -> NDArray[np.float64]:
    """Share of the calls that is lost, for one load or many."""
    load = np.asarray(load_erlang, dtype=np.float64)
    if servers < 0 or not np.all(load >= 0):
        raise AnalysisError("servers and load must not be negative")
    inverse = np.ones_like(load)
    with np.errstate(divide="ignore", over="ignore"):
        for number in range(1, servers + 1):
            inverse = 1 + inverse * (number / load)
    return np.asarray(1 / inverse)


def servers_for(load_erlang: float, blocking: float) -> int:
    """The fewest servers with which no more than this share is lost."""
    _check_blocking(blocking)
    inverse, servers = 1.0, 0
    while 1 / inverse > blocking:
        servers += 1
        inverse = 1 + inverse * servers / load_erlang
    return servers


def load_for(servers: int, blocking: float) -> float:
    """The load at which this share is lost, in Erlang."""
    from scipy.optimize import brentq

    _check_blocking(blocking)
    if servers < 1:
        raise AnalysisError("without servers every call is lost")
    # Of a load beyond this, more than the share is lost even if all servers are always at work.
    most = servers / (1 - blocking) + 1
    return float(brentq(lambda load: float(erlang_b(servers, load)) - blocking, 0, most, xtol=1e-9))


def accepted_by_probes(marking_probability: ArrayLike, probes: int) -> NDArray[np.float64]:
    """Share of calls let in by `probes` packets none of which may come back marked: ``(1 − p)^n``.

    Pricing dissertation, (7.2.2); a threshold of about 1/n on the marking, so that the number of
    probes is the call's willingness to pay.
    """
    if probes < 1:
        raise AnalysisError("at least one probe is needed")
    return np.asarray((1 - np.asarray(marking_probability, dtype=np.float64)) ** probes)


def admission_threshold(willingness_pps: ArrayLike, rate_pps: ArrayLike) -> NDArray[np.float64]:
    """Marking up to which a call is let in that is worth w and sends at x: ``p < w/x`` (7.2.2).

    Pricing dissertation, section 7.2: beyond it, a call pays more, p x, than it is worth. A call
    that asks with n probes and takes no mark has 1/n.

    >>> float(admission_threshold(2.0, 20.0))
    0.1
    """
    willing, sent = np.asarray(willingness_pps), np.asarray(rate_pps)
    if not (np.all(willing > 0) and np.all(sent > 0)):
        raise AnalysisError("the willingness to pay and the rate of a call are above 0")
    return np.asarray(willing / sent, dtype=np.float64)


def _check_blocking(blocking: float) -> None:
    if not 0 < blocking < 1:
        raise AnalysisError(f"a share of lost calls is between 0 and 1, not {blocking}")
