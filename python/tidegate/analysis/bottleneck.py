"""One bottleneck with any sources: where it settles, and its loop.

The equations are those of the pricing dissertation, sections 5.5 and 6.4 to 6.5, for groups of
sources that may differ in law, number and round trip::

    b' = Σ N x(t − R/2) − c,    x = W/R,    R = d + b/c,    p = p(b)

A mark is made at the queue and is with the source half a round trip later; a changed window is at
the queue another half later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tidegate.analysis.signals import Settled
from tidegate.analysis.sources import SbrmSource
from tidegate.errors import AnalysisError, NoEquilibriumError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.signals import Complexes, Signal
    from tidegate.analysis.sources import Reals, Source

Form = Literal["fluid", "paper", "clocked"]
"""`fluid`: the linearisation of the equations above. `paper`: as the dissertation computed it, for
SBRM with (6.5.20), whose factor γ exp(−γ (b − b0)) stands on both terms and whose queueing delay
comes half a round trip later than (6.4.5) has it. For other sources both are the same. `clocked`:
ACKs clock the senders (K. Jacobsson, L. Andrew, A. Tang, K. Johansson, H. Hjalmarsson, S. Low,
"ACK-clocking dynamics", INFOCOM 2008): what a window grows by is in the queue at once."""

_HALVINGS = 100
_WANT_MORE = (
    "the sources want more than the link has, whatever the signal says",
    "fewer of them, a smaller willingness to pay or a faster link would do",
)
_WANT_LESS = "the link is never full", "more sources or a slower link would do"


@dataclass(frozen=True)
class Equilibrium:
    """Where a bottleneck settles; entries broadcast like the parameters."""

    queue_packets: Reals
    probability: Reals
    """Of the signal itself; of coupled ones, the base probability p′."""
    met_probability: tuple[Reals, ...]
    """With which packets of each group are marked or lost."""
    rtt_s: tuple[Reals, ...]
    """Of each group."""
    rate_pps: tuple[Reals, ...]
    """Of one source of each group."""
    exists: NDArray[np.bool_]
    """Whether there is one; where not, every number is NaN."""

    @property
    def window_packets(self) -> tuple[Reals, ...]:
        """Of one source of each group."""
        return tuple(x * rtt for x, rtt in zip(self.rate_pps, self.rtt_s, strict=True))


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """A link of `capacity_pps` packets a second, a signal, and groups of sources.

    Without an equilibrium, as where what the sources ask at the largest probability that the signal
    can give is more than the link has, its numbers are NaN; where no case has one,
    `NoEquilibriumError` is raised.
    """

    capacity_pps: ArrayLike
    signal: Signal
    sources: tuple[Source, ...]

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """The one probability at which the rates fill the link (section 5.5)."""
        self._check()
        # The probability's logit is halved in, so that small ones keep their digits.
        low, high = np.full(self.shape, -30.0), np.full(self.shape, 30.0)
        too_much = self._excess(_probability(high)) > 0
        exists = ~too_much & ~(self._excess(_probability(low)) < 0)
        if not exists.any():
            raise NoEquilibriumError(*(_WANT_MORE if too_much.any() else _WANT_LESS))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            wants_more = self._excess(_probability(middle)) > 0
            low, high = np.where(wants_more, middle, low), np.where(wants_more, high, middle)
        probability = _probability((low + high) / 2)
        exists &= self.signal.reaches(probability)
        if not exists.any():
            raise NoEquilibriumError(*self.signal.unreached)
        probability = np.where(exists, probability, np.nan)
        rtts, met = self._rtts(probability), self._met(probability)
        rates = [s.rate_pps(p, rtt) for s, p, rtt in zip(self.sources, met, rtts, strict=True)]
        queue = np.asarray(np.broadcast_to(self._queue_packets(probability), self.shape))
        return Equilibrium(queue, probability, tuple(met), tuple(rtts), tuple(rates), exists)

    @property
    def shape(self) -> tuple[int, ...]:
        """To which its parameters broadcast."""
        return np.broadcast_shapes(*(np.shape(value) for value in self._numbers()))

    def _numbers(self) -> list[ArrayLike]:
        of_sources = [value for source in self.sources for value in vars(source).values()]
        return [self.capacity_pps, *self.signal.numbers(), *of_sources]

    def _check(self) -> None:
        """Tell of everything that is no number, or not above zero and has to be."""
        named = {"capacity_pps": self.capacity_pps}
        for i, source in enumerate(self.sources):
            named |= {f"sources[{i}].{name}": value for name, value in vars(source).items()}
        wrong = [
            f"{name} is {np.asarray(value)[~_positive(value)].flat[0]:g}"
            for name, value in named.items()
            if not np.all(_positive(value))
        ]
        if not self.sources:
            wrong.append("there are no sources")
        numbers = np.concatenate([np.ravel(value) for value in self.signal.numbers()])
        if not np.all(np.isfinite(numbers) & (numbers >= 0)):
            wrong.append(f"{self.signal} has what is no number from 0 on")
        if wrong:
            raise AnalysisError(f"every number has to be above 0: {'; '.join(wrong)}")

    def _queue_packets(self, probability: Reals) -> Reals:
        return self.signal.queue_packets(probability, np.asarray(self.capacity_pps))

    def _met(self, probability: Reals) -> list[Reals]:
        return [self.signal.met(probability, scalable=s.scalable) for s in self.sources]

    def _rtts(self, probability: Reals) -> list[Reals]:
        delay = self._queue_packets(probability) / np.asarray(self.capacity_pps)
        return [np.asarray(np.asarray(source.base_rtt_s) + delay) for source in self.sources]

    def _excess(self, probability: Reals) -> Reals:
        """Rates beyond the link's, at this probability."""
        met, rtts = self._met(probability), self._rtts(probability)
        rates = [
            np.asarray(source.count) * source.rate_pps(p, rtt)
            for source, p, rtt in zip(self.sources, met, rtts, strict=True)
        ]
        return np.asarray(sum(rates) - np.asarray(self.capacity_pps))

    def loop(self, s: Complexes, *, form: Form = "fluid") -> Complexes:
        """The open loop L(s) around the equilibrium ((6.5.20), (6.5.22)); `s` broadcasts too."""
        if form == "clocked":
            return self._clocked(s)
        at = self.equilibrium
        capacity = np.asarray(self.capacity_pps)
        settled = Settled(at.probability, at.queue_packets, capacity)
        signal = self.signal.transfer(s, settled)
        forward = np.zeros_like(s)
        back = np.zeros_like(s)
        groups = zip(self.sources, at.window_packets, at.met_probability, at.rtt_s, strict=True)
        for source, window, met, rtt in groups:
            if not source.clocked:
                continue  # what it sends depends on nothing
            slopes = source.slopes(window, met, rtt)
            count, half = np.asarray(source.count), np.exp(-rtt / 2 * s)
            met_slope = self.signal.met_slope(at.probability, scalable=source.scalable)
            marking = -slopes.of_probability * met_slope * signal * half
            waiting = slopes.of_round_trip / capacity
            if form == "paper" and isinstance(source, SbrmSource):
                waiting = waiting * signal * half
            forward = forward + count * half * window / rtt**2 * (marking - waiting) / (
                s - window / rtt * slopes.of_window
            )
            back = back + count * window / rtt**2 * half / capacity
        return np.asarray(forward / (s + back))

    def _clocked(self, s: Complexes) -> Complexes:
        """L(s) where ACKs clock the senders.

        Of what leaves the queue as much comes back a round trip later, plus what windows grew by.
        With E = e^(−R s), and φ the share of a group in what the link carries::

            b = Σ N W/(1 − E) / Σ φ/(1 − E)        of equal round trips b = Σ N W
            W' = x (g_W W + g_p p + g_R b/c)       p and b of a signal delay before

        A change of the probability at the queue is answered there after R, or after d where packets
        are marked as they leave.
        """
        at = self.equilibrium
        capacity = np.asarray(self.capacity_pps)
        signal = self.signal.transfer(s, Settled(at.probability, at.queue_packets, capacity))
        forward, shares = np.zeros_like(s), np.zeros_like(s)
        groups = zip(self.sources, at.window_packets, at.met_probability, at.rtt_s, strict=True)
        for source, window, met, rtt in groups:
            count = np.asarray(source.count)
            share = count * window / rtt / capacity
            if not source.clocked:
                shares = shares + share  # nothing comes back for what it sends
                continue
            returns = 1 / (-np.expm1(-rtt * s))
            slopes = source.slopes(window, met, rtt)
            after_s = np.asarray(source.base_rtt_s) if self.signal.marks_leaving else rtt
            answered = np.exp(-after_s * s)
            met_slope = self.signal.met_slope(at.probability, scalable=source.scalable)
            by_queue = slopes.of_probability * met_slope * signal + slopes.of_round_trip / capacity
            moves = window / rtt / (s - window / rtt * slopes.of_window)
            forward = forward - count * moves * by_queue * answered * returns
            shares = shares + share * returns
        return np.asarray(forward / shares)


def _probability(logit: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-logit)))


def _positive(value: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(value, dtype=np.float64)
    return np.asarray((array > 0) & np.isfinite(array))
