"""Who is policed at which filling rate, and what he then gets.

Customers share a bottleneck; a policer charges each with the congestion that they cause, ``p X``
packets a second, and lets them cause r. Where it charges packets by the queue's probability p
(AFCP, AICP with ``charge = "aqm"``), who would cause more gets ``r/p``, whatever their flows. Where
it charges what was dropped or marked (ICP), p is the share of such packets, which spacing makes
another than RED's own probability::

    Σ min(X_i(p), r_i/p) = c

Where what the policer drops is declared and charged as well (ConEx), a policed sender's ``p X``
goes with √p and *rises* with p: dropping more empties the bucket faster, and there is no inner
equilibrium before the window is at its minimum. Then only who is policed can be computed, from the
equilibrium without policers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.errors import NoEquilibriumError

if TYPE_CHECKING:
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Reals, Source

_HALVINGS = 200
_LEAST, _MOST = -30.0, 30.0


@dataclass(frozen=True, kw_only=True)
class Customer:
    """`count` equal customers, each with the flows of `source` and its own bucket."""

    count: float
    source: Source
    """Of one customer."""
    fill_pps: float
    """Congestion that a customer may cause, in packets/s."""


@dataclass(frozen=True, kw_only=True)
class PolicedLink:
    """A link on which each customer has a bucket of congestion (AFCP, ICP)."""

    capacity_pps: float
    signal: Signal
    customers: tuple[Customer, ...]
    depth_packets: float
    charges_signals: bool = False
    """Whether customers pay for packets that were dropped or marked (ICP), not by probability."""

    @property
    def equilibrium(self) -> Policed:
        """Rates; see `policed_shares`."""
        return policed_shares(
            self.customers,
            capacity_pps=self.capacity_pps,
            signal=self.signal,
            charges_signals=self.charges_signals,
        )


@dataclass(frozen=True)
class Policed:
    """Where customers settle: an entry for each group of them."""

    queue_packets: float
    probability: float
    rate_pps: tuple[float, ...]
    """Of a customer."""
    causes_pps: tuple[float, ...]
    """Congestion that one would cause unpoliced at this probability, in packets/s."""
    policed: tuple[bool, ...]


def policed_shares(
    customers: tuple[Customer, ...],
    *,
    capacity_pps: float,
    signal: Signal,
    charges_signals: bool = False,
) -> Policed:
    """Rates where each packet is charged with the queue's probability, or signals as they fall.

    Two customers with one and with five CUBIC flows at 10 Mb/s, who may cause 300 B/s (CPQ, table
    II): both are policed, so that both get half of the link.

    >>> from tidegate.analysis import Cubic, Red
    >>> red = Red(min_threshold_packets=60, max_threshold_packets=115, max_probability=0.0012)
    >>> flows = [Cubic(count=n, base_rtt_s=0.1) for n in (5, 1)]
    >>> customers = tuple(Customer(count=1, source=one, fill_pps=0.2) for one in flows)
    >>> found = policed_shares(customers, capacity_pps=1e7 / 12_000, signal=red)
    >>> found.policed, [round(rate, 1) for rate in found.rate_pps], round(found.probability, 6)
    ((True, True), [416.7, 416.7], 0.00048)
    """

    def charge(probability: Reals) -> float:
        """What a packet costs."""
        met = signal.met(probability, scalable=False)
        return float(met if charges_signals else probability)

    def rates(probability: Reals) -> tuple[list[float], list[float]]:
        """What customers get, and what they would take."""
        delay_s = float(signal.queue_packets(probability, np.asarray(capacity_pps))) / capacity_pps
        wants = [
            _wants_pps(customer.source, signal, probability, delay_s) for customer in customers
        ]
        bounds = [customer.fill_pps / charge(probability) for customer in customers]
        return [min(x, most) for x, most in zip(wants, bounds, strict=True)], wants

    def excess(logit: float) -> float:
        got, _ = rates(_probability(logit))
        return sum(c.count * x for c, x in zip(customers, got, strict=True)) - capacity_pps

    low, high = _LEAST, _MOST
    if excess(low) < 0 or excess(high) > 0:
        raise NoEquilibriumError(
            "customers do not fill the link, or want more than it has whatever its signal says",
            "other numbers of flows, or another rate of the link, would do",
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    probability = _probability((low + high) / 2)
    if not np.all(signal.reaches(probability)):
        raise NoEquilibriumError(*signal.unreached)
    got, wants = rates(probability)
    causes = [charge(probability) * x for x in wants]
    return Policed(
        float(signal.queue_packets(probability, np.asarray(capacity_pps))),
        float(probability),
        tuple(got),
        tuple(causes),
        tuple(c > customer.fill_pps for c, customer in zip(causes, customers, strict=True)),
    )


def _wants_pps(source: Source, signal: Signal, probability: Reals, delay_s: float) -> float:
    met = signal.met(probability, scalable=source.scalable)
    rtt_s = np.asarray(source.base_rtt_s) + delay_s
    return float(np.asarray(source.count) * source.rate_pps(met, rtt_s))


def _probability(logit: float) -> Reals:
    return np.asarray(1 / (1 + np.exp(-logit)))
