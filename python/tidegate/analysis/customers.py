"""Customers of a link that tells them apart: what mechanisms of congestion management act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from tidegate.analysis.sources import Source


@dataclass(frozen=True, kw_only=True)
class CustomerGroup:
    """`count` equal customers, each with the flows of `flows` (whose count is of one customer).

    `reference_pps` is the rate that one is assigned, in packets/s, where the mechanism has such.
    """

    count: float
    flows: Source
    reference_pps: float | None = None

    def offered_pps(self, loss: float, rtt_s: float) -> float:
        """What one customer sends at a probability of loss and a round trip."""
        return float(self.flows.count) * float(self.flows.rate_pps(loss, rtt_s))  # type: ignore[arg-type]

    def rtt_s(self, queue_packets: float, capacity_pps: float) -> float:
        """Round trip with that queue."""
        return float(self.flows.base_rtt_s) + queue_packets / capacity_pps  # type: ignore[arg-type]


@dataclass(frozen=True)
class Shared:
    """Where a link that tells customers apart settles; tuples have an entry for each group."""

    queue_packets: float
    probability: float
    """Of the queue's own law, before customers are treated differently."""
    loss: tuple[float, ...]
    """Probability with which a customer's packets are signalled."""
    offered_pps: tuple[float, ...]
    """Of one customer."""
    state: tuple[float, ...]
    """What the mechanism knows of a customer: ABC's activity, a policer's fill from 0 to 1."""
    mean_state: float
    """Mean over the packets that arrive."""

    @property
    def throughput_pps(self) -> tuple[float, ...]:
        """What one customer of each group gets through."""
        return tuple(x * (1 - p) for x, p in zip(self.offered_pps, self.loss, strict=True))


def number(value: object, what: str) -> float:
    """A parameter of a model that is of one case."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise AnalysisError(f"{what} is {value!r}, and has to be one number") from None
