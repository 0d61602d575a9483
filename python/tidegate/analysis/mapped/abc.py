"""ABC over TCP: users with meters and adaptive flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.abc_tcp import AbcOverTcp
from tidegate.analysis.customers import CustomerGroup
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.mapped.sources import source_of
from tidegate.analysis.padhye import Padhye
from tidegate.analysis.sources import Cubic, Reno

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped


def abc_over_tcp(mapped: Mapped) -> AbcOverTcp:
    """The full link with its users: each sends by Padhye's formula, in a meter's view."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    meters = [s for b in mapped.through for s in b.stages if s["kind"] == "activity-meter"]
    users = tuple(_users(mapped, bundle) for bundle in mapped.through)
    return AbcOverTcp(
        capacity_pps=mapped.capacity_pps,
        signal=signal_of(link, key, mapped.packet_bits),
        customers=users,
        gamma=link["differentiation"]["gamma"],
        inertia_s=meters[0]["inertia_s"],
        activity_weight=link["differentiation"]["activity_weight"],
    )


def _users(mapped: Mapped, bundle: Bundle) -> CustomerGroup:
    mapped.check_unpoliced(bundle)
    reference_bps = bundle.reference_rate_bps
    if reference_bps is None:
        raise NoModelError(
            f"{bundle.key}.meter", "without a meter there is no activity", "give it one"
        )
    law = source_of(bundle)
    if not isinstance(law, Reno | Cubic):
        constant = bundle.traffic["kind"] == "cbr"
        raise NoModelError(
            f"{bundle.key}.{'traffic' if constant else 'tcp.congestion_control'}",
            "how users share with ABC is known where all go by Reno's law, or all send at constant "
            "rates",
            'the nearest is traffic = "greedy" with reno for everybody',
        )
    per_ack = 2.0 if (bundle.tcp or {}).get("delayed_ack_s") is not None else 1.0
    flows = Padhye(
        count=bundle.flows_per_user,
        base_rtt_s=bundle.base_rtt_s,
        packets_per_ack=per_ack,
        min_rto_s=(bundle.tcp or {}).get("min_rto_s", 0.2),
    )
    reference_pps = reference_bps / mapped.packet_bits
    return CustomerGroup(count=bundle.users, flows=flows, reference_pps=reference_pps)


def doubts_about_cubic(mapped: Mapped) -> tuple[str, ...]:
    """Padhye's formula is Reno's."""
    return tuple(
        f"{bundle.key}: CUBIC is taken for Reno, which it is where windows are small"
        for bundle in mapped.through
        if isinstance(source_of(bundle), Cubic)
    )
