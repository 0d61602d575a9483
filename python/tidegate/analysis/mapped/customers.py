"""Customers with adaptive flows, for links that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.customers import CustomerGroup
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.padhye import Padhye
from tidegate.analysis.sources import Cubic, Reno

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped


def tcp_users(mapped: Mapped, bundle: Bundle) -> CustomerGroup:
    """Users of a bundle, which send by Padhye's formula at the loss of their packets."""
    mapped.check_unpoliced(bundle)
    law = mapped.source(bundle)
    if not isinstance(law, Reno | Cubic):
        constant = bundle.traffic["kind"] == "cbr"
        raise NoModelError(
            f"{bundle.key}.{'traffic' if constant else 'tcp.congestion_control'}",
            "shares under differentiation have a model where all users follow Reno's law, or "
            "all send at constant rates",
            'the nearest is traffic = "greedy" with reno for everybody',
        )
    tcp = bundle.tcp or {}
    flows = Padhye(
        count=bundle.flows_per_user,
        base_rtt_s=bundle.base_rtt_s,
        packets_per_ack=2.0 if tcp.get("delayed_ack_s") is not None else 1.0,
        min_rto_s=tcp.get("min_rto_s", 0.2),
    )
    reference_bps = bundle.reference_rate_bps
    reference_pps = None if reference_bps is None else reference_bps / mapped.packet_bits
    return CustomerGroup(count=bundle.users, flows=flows, reference_pps=reference_pps)


def cubic_warnings(mapped: Mapped) -> tuple[str, ...]:
    """Padhye's formula is Reno's."""
    return tuple(
        f"{bundle.key}: CUBIC is taken for Reno, which it is where windows are small"
        for bundle in mapped.through
        if isinstance(mapped.source(bundle), Cubic)
    )
