"""ABC over TCP: users with meters and adaptive flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.abc_tcp import AbcOverTcp
from tidegate.analysis.mapped.customers import tcp_users
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of

if TYPE_CHECKING:
    from tidegate.analysis.customers import CustomerGroup
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped


def abc_over_tcp(mapped: Mapped) -> AbcOverTcp:
    """The full link with its users: each sends by Padhye's formula, in a meter's view."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    meters = [s for b in mapped.through for s in b.stages if s["kind"] == "activity-meter"]
    users = tuple(_metered(mapped, bundle) for bundle in mapped.through)
    return AbcOverTcp(
        capacity_pps=mapped.capacity_pps,
        signal=signal_of(link, key, mapped.packet_bits),
        customers=users,
        gamma=link["differentiation"]["gamma"],
        inertia_s=meters[0]["inertia_s"],
        activity_weight=link["differentiation"]["activity_weight"],
    )


def _metered(mapped: Mapped, bundle: Bundle) -> CustomerGroup:
    if bundle.reference_rate_bps is None:
        raise NoModelError(
            f"{bundle.key}.meter", "without a meter there is no activity", "give it one"
        )
    return tcp_users(mapped, bundle)
