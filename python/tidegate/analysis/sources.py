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

_CUBIC_BETA, _CUBIC_C = 0.7, 0.4
"""RFC 9438, sections 4.6 and 5."""


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

    law: ClassVar[str | None] = None
    """Name of the law in the fluid (`crates/fluid`), which takes its `numbers`; None without."""

    scalable: ClassVar[bool] = False
    """Whether it answers to marks in proportion, as L4S asks (RFC 9331), and its packets say so by
    ECT(1)."""

    clocked: ClassVar[bool] = True
    """Whether it sends when ACKs come, so that a longer queue slows it."""

    @abstractmethod
    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """Rate of one sender in equilibrium, in packets/s; falls with both."""

    @abstractmethod
    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """Derivatives of g at an equilibrium."""

    def numbers(self) -> list[ArrayLike]:
        """The law's own parameters, in the order in which the fluid takes them."""
        return []


@dataclass(frozen=True, kw_only=True)
class Aimd(Source):
    """Adds to the window and cuts a share of it: ``g = a (1 − p)/W − b p W``."""

    law = "aimd"

    def numbers(self) -> list[ArrayLike]:
        """A and b."""
        return [self.increase, self.decrease]

    @property
    @abstractmethod
    def increase(self) -> Reals:
        """a: packets that an unmarked round trip adds."""

    @property
    @abstractmethod
    def decrease(self) -> float:
        """b: share of the window that a mark or loss takes away."""

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = √(a (1 − p)/(b p)) / R``."""
        ratio = self.increase / self.decrease
        return np.asarray(np.sqrt(ratio * (1 - probability) / probability) / rtt_s)

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """At ``a (1 − p)/W = b p W``."""
        return Slopes(
            of_window=-2 * self.decrease * probability,
            of_probability=-self.increase / window - self.decrease * window,
            of_round_trip=np.zeros_like(rtt_s),
        )


@dataclass(frozen=True, kw_only=True)
class Reno(Aimd):
    """TCP Reno: ``g = (1 − p)/W − p W/2``, with one ACK for each packet.

    S. Low, F. Paganini, L. Wang, J. Doyle, "Linear stability of TCP/RED and a scalable control", as
    the dissertation compares with it in (5.5.2) and (6.5.22). A receiver that delays its ACKs sends
    one for two packets (`packets_per_ack`), so that the window grows half as fast; unless the
    sender counts what they acknowledge, as Linux does.
    """

    packets_per_ack: ArrayLike = 1.0

    @property
    def increase(self) -> Reals:
        """One packet a round trip, over the packets that an ACK stands for."""
        return np.asarray(1 / np.asarray(self.packets_per_ack))

    @property
    def decrease(self) -> float:
        """A half."""
        return 0.5


@dataclass(frozen=True, kw_only=True)
class Cubic(Aimd):
    """CUBIC, RFC 9438: in its Reno-friendly region as AIMD, section 4.3, with β = 0.7.

    In equilibrium it has the larger of that and of what the cubic law gives, section 5.1, equation
    6, ``W = (C (3 + β)/(4 (1 − β)))^¼ R^¾ p^−¾`` with C = 0.4. For the cubic law, whose window goes
    by the time since the last loss, there is no ``g``: `friendly` says whether it is needed.
    """

    @property
    def increase(self) -> Reals:
        """α = 3 (1 − β)/(1 + β)."""
        return np.asarray(3 * (1 - _CUBIC_BETA) / (1 + _CUBIC_BETA))

    @property
    def decrease(self) -> float:
        """1 − β."""
        return 1 - _CUBIC_BETA

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """The larger of both laws."""
        friendly = super().rate_pps(probability, rtt_s)
        return np.maximum(friendly, self._cubic_window(probability, rtt_s) / rtt_s)

    def friendly(self, probability: Reals, rtt_s: Reals) -> NDArray[np.bool_]:
        """Whether AIMD gives more than the cubic law."""
        return np.asarray(
            super().rate_pps(probability, rtt_s) * rtt_s > self._cubic_window(probability, rtt_s)
        )

    @staticmethod
    def _cubic_window(probability: Reals, rtt_s: Reals) -> Reals:
        shape = _CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA))
        return np.asarray(shape**0.25 * (rtt_s / probability) ** 0.75)


@dataclass(frozen=True, kw_only=True)
class Scalable(Source):
    """DCTCP and Prague where marks are many: ``g = 1/W − p/2``, so that ``W = 2/p``.

    B. Briscoe, K. De Schepper, "Resolving Tensions between Congestion Control Scaling
    Requirements".
    """

    law = "scalable"
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

    law: ClassVar[str | None] = "sbrm"
    scalable: ClassVar[bool] = True

    def numbers(self) -> list[ArrayLike]:
        """κ and w."""
        return [self.gain, self.willingness_pps]

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


@dataclass(frozen=True, kw_only=True)
class SbrmSteps(SbrmSource):
    """SBRM by its steps (5.1.2), (5.1.3): ``g = κ ((1 − p) w R/W − p)``, so ``p x = (1 − p) w``."""

    law = "sbrm-steps"

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = (1 − p) w/p``, whatever the round trip."""
        pays = np.asarray(self.willingness_pps)
        return pays * (1 - probability) / probability + 0 * rtt_s

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """At ``(1 − p) w R/W = p``."""
        gain = np.asarray(self.gain)
        pays = gain * np.asarray(self.willingness_pps)
        return Slopes(
            of_window=-pays * (1 - probability) * rtt_s / window**2,
            of_probability=-gain - pays * rtt_s / window,
            of_round_trip=pays * (1 - probability) / window,
        )


@dataclass(frozen=True, kw_only=True)
class Cbr(Source):
    """A constant rate, whatever its feedback."""

    offered_pps: ArrayLike

    law = "cbr"
    clocked = False

    def numbers(self) -> list[ArrayLike]:
        """What it sends."""
        return [self.offered_pps]

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """What it sends."""
        return np.asarray(self.offered_pps) + 0 * probability * rtt_s

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:  # noqa: ARG002
        """None."""
        nothing = 0 * window
        return Slopes(of_window=nothing, of_probability=nothing, of_round_trip=nothing)
