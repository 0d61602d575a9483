"""DualPI2 with both of its queues: Classic and Scalable senders on one link (RFC 9332).

Scalable packets wait in a queue of their own, which is served first, and is next to empty while
there is anybody Classic: what these leave of the link is served to the Classic queue::

    b' = y_C − (c − y_L),    q = b/(c − y_L)              y what arrives, q the Classic delay
    p′ = ∫ α/T (q − q₀) dt + β q                          on Classic packets p′², on Scalable K p′
    R_C = d + q,    R_L = d

So their equilibrium has the delay q₀ in Classic round trips alone. In the loop, more Scalable
packets make the Classic queue longer twice: they take of its service what they bring, and what
waits there waits longer for it::

    δq (c_C s + B_C) = δy_C + (1 + q₀ s) δy_L,    c_C = c − y_L,    B_C as in (6.5.20)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.bottleneck import Bottleneck, Form
from tidegate.analysis.signals import Settled

if TYPE_CHECKING:
    from tidegate.analysis.signals import Complexes
    from tidegate.analysis.sources import Reals

_UNIT = np.asarray(1.0)


@dataclass(frozen=True, kw_only=True)
class DualQueues(Bottleneck):
    """A link with DualPI2, whose signal is a `Pi2`, and sources of both kinds.

    With one kind alone it is a `Bottleneck`: Classic ones with `Pi2`, Scalable ones with the ramp.

    >>> from tidegate.analysis import Pi2, Reno, Scalable
    >>> both = Reno(count=10, base_rtt_s=0.02), Scalable(count=10, base_rtt_s=0.02)
    >>> link = DualQueues(capacity_pps=1e4, signal=Pi2(), sources=both)
    >>> [round(float(rtt), 3) for rtt in link.equilibrium.rtt_s]
    [0.035, 0.02]
    """

    classic_share: float = 0.1
    """Of the link, for Classic packets while both wait."""
    ramp_start_s: float = 0.8e-3
    ramp_range_s: float = 0.4e-3

    @property
    def policy(self) -> tuple[str, list[float]]:
        """As the fluid takes it."""
        return "two-queues", [self.classic_share, self.ramp_start_s, self.ramp_range_s]

    def _rtts(self, probability: Reals) -> list[Reals]:
        delay = self._queue_packets(probability) / np.asarray(self.capacity_pps)
        return [
            np.asarray(np.asarray(source.base_rtt_s) + (0 * delay if source.scalable else delay))
            for source in self.sources
        ]

    @property
    def scalable_pps(self) -> Reals:
        """y_L: what Scalable sources send in equilibrium."""
        groups = zip(self.sources, self.equilibrium.rate_pps, strict=True)
        return np.asarray(sum(np.asarray(s.count) * x for s, x in groups if s.scalable))

    @property
    def classic_queue_packets(self) -> Reals:
        """b: what waits in the Classic queue, q₀ at what is left to it."""
        delay = self.equilibrium.queue_packets / np.asarray(self.capacity_pps)
        return np.asarray(delay * (np.asarray(self.capacity_pps) - self.scalable_pps))

    def loop(self, s: Complexes, *, form: Form = "fluid") -> Complexes:  # noqa: ARG002 - one form
        """The open loop L(s), of p′: see the module."""
        at = self.equilibrium
        # Of p′ by the delay: a link of one packet a second has as many packets as seconds.
        controls = self.signal.transfer(s, Settled(at.probability, at.queue_packets, _UNIT))
        delay = at.queue_packets / np.asarray(self.capacity_pps)
        answers, back = np.zeros_like(s), np.zeros_like(s)
        groups = zip(self.sources, at.window_packets, at.met_probability, at.rtt_s, strict=True)
        for source, window, met, rtt in groups:
            if not source.clocked:
                continue
            slopes = source.slopes(window, met, rtt)
            sends = np.asarray(source.count) * window / rtt**2
            half = np.exp(-rtt / 2 * s)
            moves = sends * half / (s - window / rtt * slopes.of_window)
            met_slope = self.signal.met_slope(at.probability, scalable=source.scalable)
            answer = -moves * slopes.of_probability * met_slope * half
            if source.scalable:
                answers = answers + (1 + delay * s) * answer
            else:
                answers = answers + answer
                back = back + sends * half - moves * slopes.of_round_trip
        left = np.asarray(self.capacity_pps) - self.scalable_pps
        return np.asarray(controls * answers / (left * s + back))
