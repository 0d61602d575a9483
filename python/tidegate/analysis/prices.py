"""Prices as laws: REM's rules for a link's price, and sources that pay what their way asks.

A packet is marked with ``1 − φ^(−λ)`` where the price of a link is λ, so that the share of unmarked
packets says the sum of the prices on a way (5.2.1)::

    1 − p = Π φ^(−λ_l)         λ = −ln(1 − p)/ln φ

Explicit prices (EPF) are the same with any φ: what a source answers to is λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tidegate.analysis.signals import Settled, Signal
from tidegate.analysis.sources import SbrmSource, Slopes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals

_HALVINGS = 80
_WINDOWS = 1e-3, 1e9


@dataclass(frozen=True, kw_only=True)
class Pc2(Signal):
    """PC2 (5.2.4): ``λ = γ (b − b₀)``, as SBRM's queue, which has φ = e."""

    gamma_per_packet: ArrayLike = 0.001
    target_packets: ArrayLike = 50.0
    base: ArrayLike = np.e
    """φ."""

    law = "sbrm"

    def numbers(self) -> list[ArrayLike]:
        """As SBRM's: ``1 − φ^(−λ) = 1 − e^(−γ ln φ (b − b₀))``."""
        steepness = np.asarray(self.gamma_per_packet) * np.log(self.base)
        return [steepness, self.target_packets]

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """``b₀ + λ/γ``."""
        above = price(probability, self.base) / np.asarray(self.gamma_per_packet)
        return np.asarray(np.asarray(self.target_packets) + above + 0 * capacity_pps)

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``γ dp/dλ``."""
        slope = np.asarray(self.gamma_per_packet) * np.log(self.base) * (1 - at.probability)
        return np.asarray(slope + 0 * s)


@dataclass(frozen=True, kw_only=True)
class Pc1(Signal):
    """PC1 (5.2.3): every T, ``λ ← λ + γ (y − c)``, rates in packets a T.

    As a function of time ``λ' = γ (y − c)``, as the queue: it says nothing of how long that is, and
    settles at any. From an empty queue and no price on it is ``λ = γ b``, as PC2 without a target,
    until the queue runs empty for the first time; then the price falls and the queue does not.
    """

    gamma_per_packet: ArrayLike = 0.001
    base: ArrayLike = np.e
    """φ."""

    law = "price"

    def numbers(self) -> list[ArrayLike]:
        """γ, and nothing that goes by the queue, φ."""
        return [self.gamma_per_packet, 0.0, 0.0, self.base]

    def strained(self, queue_packets: float) -> list[str]:
        """It always is."""
        warning = (
            f"PC1 settles at any queue; {queue_packets:.0f} packets are those of a start without "
            "queue and price, as long as the queue never runs empty"
        )
        return [warning]

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """``λ/γ``."""
        asked = price(probability, self.base) / np.asarray(self.gamma_per_packet)
        return np.asarray(asked + 0 * capacity_pps)

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``γ dp/dλ``."""
        slope = np.asarray(self.gamma_per_packet) * np.log(self.base) * (1 - at.probability)
        return np.asarray(slope + 0 * s)


@dataclass(frozen=True, kw_only=True)
class Pc3(Signal):
    """PC3 (4.2.4): every T, ``λ ← λ + γ (α (b − b₀) + y − c)``, rates in packets a T.

    As a function of time: ``λ' = γ (α (b − b₀)/T + b')``, since the queue grows by ``y − c``.
    """

    gamma_per_packet: ArrayLike = 0.001
    alpha: ArrayLike = 0.1
    target_packets: ArrayLike = 50.0
    interval_s: ArrayLike = 0.001
    base: ArrayLike = 1.001
    """φ."""

    law = "price"

    def numbers(self) -> list[ArrayLike]:
        """γ, α/T, b₀, φ."""
        each_s = np.asarray(self.alpha) / np.asarray(self.interval_s)
        return [self.gamma_per_packet, each_s, self.target_packets, self.base]

    def queue_packets(self, probability: Reals, capacity_pps: Reals) -> Reals:
        """``b₀``, whatever the price."""
        return np.asarray(self.target_packets) + 0 * probability + 0 * capacity_pps

    def transfer(self, s: Complexes, at: Settled) -> Complexes:
        """``γ (α/(T s) + 1) dp/dλ``."""
        slope = np.asarray(self.gamma_per_packet) * np.log(self.base) * (1 - at.probability)
        integral = np.asarray(self.alpha) / np.asarray(self.interval_s)
        return np.asarray(slope * (integral / s + 1))


def price(probability: Reals, base: ArrayLike) -> Reals:
    """λ of a way of whose packets this share is marked; without end where all of them are."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-probability) / np.log(base))


@dataclass(frozen=True, kw_only=True)
class DirectWindow(SbrmSource):
    """Direct window update of EPF and REM: ``g = κ (w R/W − λ)`` (4.2.3), so that ``λ x = w``."""

    gain: ArrayLike = 0.01
    base: ArrayLike = np.e
    """φ, the links' own."""

    law: ClassVar[str | None] = "direct-window"

    def numbers(self) -> list[ArrayLike]:
        """κ, w and φ."""
        return [self.gain, self.willingness_pps, self.base]

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """``x = w/λ``, whatever the round trip."""
        return np.asarray(self.willingness_pps) / price(probability, self.base) + 0 * rtt_s

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """At ``w R/W = λ``."""
        pays = np.asarray(self.gain) * np.asarray(self.willingness_pps)
        per_mark = 1 / ((1 - probability) * np.log(self.base))
        return Slopes(
            of_window=-pays * rtt_s / window**2,
            of_probability=-np.asarray(self.gain) * per_mark + 0 * window,
            of_round_trip=pays / window,
        )


class VegasCp(DirectWindow):
    """Vegas/CP, REM's source (5.2.7): a segment a round trip up or down, until ``λ x = w``.

    It moves by a segment however far it is off, so that it settles as `DirectWindow` does, and has
    no loop: the slopes are not its own.
    """

    law = None


@dataclass(frozen=True, kw_only=True)
class TcpRm(SbrmSource):
    """TCP/RM (5.6.1), (5.6.2): up as SBRM, and down by κ of the window in a round trip with marks.

    In the mean ``g = κ ((1 − p) w R/W − (1 − (1 − p)^W))``: with W packets in flight, the second is
    the share of round trips that have a mark. So ``W² = w R/p`` where marks are few.
    """

    gain: ArrayLike = 0.1

    law = "tcp-rm"
    scalable: ClassVar[bool] = False

    def rate_pps(self, probability: Reals, rtt_s: Reals) -> Reals:
        """The window at which g is 0, over the round trip."""
        pays = (1 - probability) * np.asarray(self.willingness_pps) * rtt_s
        shape = np.broadcast(pays, probability).shape
        low, high = (np.full(shape, end) for end in _WINDOWS)
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            grows = pays / middle > -np.expm1(middle * np.log1p(-probability))
            low, high = np.where(grows, middle, low), np.where(grows, high, middle)
        return np.asarray(np.sqrt(low * high) / rtt_s)

    def slopes(self, window: Reals, probability: Reals, rtt_s: Reals) -> Slopes:
        """Where g is 0."""
        gain, pays = np.asarray(self.gain), np.asarray(self.willingness_pps)
        unmarked = np.exp(window * np.log1p(-probability))
        growth = (1 - probability) * pays / window
        return Slopes(
            of_window=-gain * (growth * rtt_s / window - np.log1p(-probability) * unmarked),
            of_probability=-gain * (pays * rtt_s / window + window * unmarked / (1 - probability)),
            of_round_trip=gain * growth,
        )
