"""Senders as laws: how the window of many equal ones moves, and what rate they settle at.

Every law has the form in which the pricing dissertation writes them ("Congestion Pricing as
Scalable, Efficient and Stable Congestion Control", (6.4.2))::

    W' = g(W, p, R) · x(t − R)        x = W / R

with the window W in packets, the round trip R, the rate x in packets/s, and the probability p that
a packet is marked or lost, of which the sender learns later. g is what an ACK does to the window.
At the equilibrium g = 0; the derivatives of g there make the loop (`tidegate.analysis.bottleneck`).

Numbers may be arrays that broadcast against each other: a map of many cases is one call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Reals: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Slopes:
    """Derivatives of what an ACK does to the window, at an equilibrium."""

    of_window: Reals
    of_probability: Reals
    of_round_trip: Reals
    """Per second."""


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """`count` equal senders, whose round trip without queueing is `base_rtt_s`."""

    count: ArrayLike
    base_rtt_s: ArrayLike

    scalable: ClassVar[bool] = False
    """Whether it answers to marks in proportion, as L4S asks (RFC 9331)."""

    @abstractmethod
    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """Rate of one sender in equilibrium, in packets/s; falls with both."""

    @abstractmethod
    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """Derivatives of g at an equilibrium."""


@dataclass(frozen=True, kw_only=True)
class Reno(Source):
    """TCP Reno, one ACK a packet: ``g = (1 − p)/W − p W/2``.

    S. Low, F. Paganini, L. Wang, J. Doyle, "Linear stability of TCP/RED and a scalable control", as
    the dissertation compares with it in (5.5.2) and (6.5.22).
    """

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = √(2 (1 − p)/p) / R``."""
        return np.sqrt(2 * (1 - probability) / probability) / rtt_s

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """At ``(1 − p)/W = p W/2``."""
        return Slopes(
            of_window=-probability,
            of_probability=-1 / window - window / 2,
            of_round_trip=np.zeros_like(rtt_s),
        )


@dataclass(frozen=True, kw_only=True)
class Scalable(Source):
    """DCTCP and Prague where marks are many: ``g = 1/W − p/2``, so that ``W = 2/p``.

    B. Briscoe, K. De Schepper, "Resolving Tensions between Congestion Control Scaling
    Requirements".
    """

    scalable = True

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = 2/(p R)``."""
        return 2 / (probability * rtt_s)

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:  # noqa: ARG002
        """At ``W = 2/p``."""
        return Slopes(
            of_window=-1 / window**2,
            of_probability=np.full_like(window, -0.5),
            of_round_trip=np.zeros_like(rtt_s),
        )


@dataclass(frozen=True, kw_only=True)
class SbrmSource(Source):
    """Single-bit resource marking: ``g = κ (w R/W − p)`` ((4.2.3), (6.4.2)), so that ``x = w/p``.

    `willingness_pps` is what a sender pays for: marked packets a second.
    """

    gain: ArrayLike = 0.2
    willingness_pps: ArrayLike = 20.0

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = w/p``, whatever the round trip."""
        return np.asarray(self.willingness_pps) / probability + 0 * rtt_s

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:  # noqa: ARG002
        """At ``w R/W = p``."""
        pays = np.asarray(self.gain) * np.asarray(self.willingness_pps)
        return Slopes(
            of_window=-pays * rtt_s / window**2,
            of_probability=-np.asarray(self.gain) + 0 * window,
            of_round_trip=pays / window,
        )
