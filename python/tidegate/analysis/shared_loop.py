"""What the loops of all links that tell customers apart have in common: senders and queue.

Windows move by their source's law and are at the queue half a round trip later; a loss is with the
source another half later, and what is lost does not wait: ``Q' = Σ X_i (1 − p_i) − c``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tidegate.analysis.signals import Settled

if TYPE_CHECKING:
    from tidegate.analysis.customers import CustomerGroup, Shared
    from tidegate.analysis.signals import Complexes, Signal

J = np.complex128(1j)
# Angular frequencies at which loops cross, by the longest and the shortest round trip.
_LOWEST, _HIGHEST = 1e-3, 40.0


class SharedLink(Protocol):
    """A link with its customers, and where it settles."""

    @property
    def capacity_pps(self) -> float:
        """Its rate, in packets/s."""
        ...

    @property
    def signal(self) -> Signal:
        """Of its queue, before customers are treated differently."""
        ...

    @property
    def customers(self) -> tuple[CustomerGroup, ...]:
        """Who shares it."""
        ...

    @property
    def equilibrium(self) -> Shared:
        """Where it settles."""
        ...


@dataclass(frozen=True)
class Answers:
    """What changes when the probability that a group meets does; the last axis is that group."""

    rates: Complexes
    """Of a customer of each group, where they are at the queue: [frequency, group, group]."""
    probability: Complexes
    """The queue's own: [frequency, group]."""


def answers(link: SharedLink, s: Complexes) -> Answers:
    """How rates and queue answer to the probabilities that groups meet."""
    at = link.equilibrium
    counts = np.array([each.count for each in link.customers])
    offered, loss = np.array(at.offered_pps), np.array(at.loss)
    parts = [sender(link, group, s) for group in range(len(counts))]
    by_loss = np.stack([part.by_loss for part in parts], axis=-1)
    by_queue = np.stack([part.by_queue for part in parts], axis=-1)
    into = counts * ((1 - loss) * by_loss - offered)
    queue = into / (s - by_queue @ (counts * (1 - loss)))[:, None]
    rates = np.eye(len(parts)) * by_loss[:, None, :] + by_queue[:, :, None] * queue[:, None, :]
    values = (at.probability, at.queue_packets, link.capacity_pps)
    slope = link.signal.transfer(s, Settled(*(np.asarray(value) for value in values)))
    return Answers(rates, slope[:, None] * queue)


def band(link: SharedLink) -> dict[str, float]:
    """Angular frequencies among which crossings lie."""
    queue = link.equilibrium.queue_packets
    rtts = [each.rtt_s(queue, link.capacity_pps) for each in link.customers]
    return {"lowest": _LOWEST / max(rtts), "highest": _HIGHEST / min(rtts)}


@dataclass(frozen=True)
class Sender:
    """How a customer's rate, where it is at the queue, changes."""

    by_loss: Complexes
    """Derivative with respect to the probability that its packets meet."""
    by_queue: Complexes
    """Derivative with respect to the queue, whose delay is part of the round trip."""


def sender(link: SharedLink, group: int, s: Complexes) -> Sender:
    """Of one customer of a group."""
    at, customers = link.equilibrium, link.customers[group]
    rtt = np.asarray(customers.rtt_s(at.queue_packets, link.capacity_pps))
    flows = float(customers.flows.count)  # type: ignore[arg-type]
    rate = at.offered_pps[group] / flows
    window = np.asarray(rate * rtt)
    slopes = customers.flows.slopes(window, np.asarray(at.loss[group]), rtt)
    moves = rate / (s - rate * slopes.of_window)
    half = np.exp(-s * rtt / 2)
    by_round_trip = moves * slopes.of_round_trip / rtt - window / rtt**2
    return Sender(
        by_loss=np.asarray(flows / rtt * moves * slopes.of_probability * half**2),
        by_queue=np.asarray(flows * by_round_trip * half / link.capacity_pps),
    )
