"""Differentiations and stages that police: who is charged for what."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.policers import Customer, PolicedLink

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped

POLICING = ("afcp", "icp")
"""Differentiations that charge customers for congestion."""


def customers(mapped: Mapped) -> tuple[Customer, ...]:
    """Who passes the full link, each with a bucket of the link's differentiation."""
    link = mapped.link(mapped.full_link)
    fill_pps = link["differentiation"]["fill_rate_bps"] / mapped.packet_bits
    return tuple(_customer(mapped, bundle, fill_pps) for bundle in mapped.through)


def policed_link(mapped: Mapped) -> PolicedLink:
    """The full link with its customers' buckets."""
    link, key = mapped.link(mapped.full_link), mapped.key(mapped.full_link)
    mapped.check_plain(mapped.full_link)
    return PolicedLink(
        capacity_pps=mapped.capacity_pps,
        signal=signal_of(link, key, mapped.packet_bits),
        customers=customers(mapped),
        depth_packets=link["differentiation"]["depth_bytes"] * 8 / mapped.packet_bits,
        charges_signals=link["differentiation"]["kind"] == "icp",
    )


def _customer(mapped: Mapped, bundle: Bundle, fill_pps: float) -> Customer:
    mapped.check_unpoliced(bundle)
    source = replace(mapped.source(bundle), count=bundle.flows_per_user)
    return Customer(count=bundle.users, source=source, fill_pps=fill_pps)


def fill_of_stage_pps(bundle: Bundle) -> float | None:
    """What a bundle's users may declare, in packets/s, if a ConEx policer stands on their way."""
    for stage in bundle.stages:
        if stage["kind"] == "conex-policer":
            in_packets = stage["fill_rate_packets_per_s"]
            return float(in_packets or (stage["fill_rate_bps"] or 0) / bundle.packet_bits)
    return None


def declared_pps(mapped: Mapped) -> list[float]:
    """Congestion that a user of each bundle declares where no user is policed, packets/s."""
    at = mapped.bottleneck.equilibrium
    return [
        float(p * rate) * bundle.flows_per_user
        for bundle, p, rate in zip(mapped.through, at.met_probability, at.rate_pps, strict=True)
    ]


def check_not_policed(mapped: Mapped) -> None:
    """Where what a policer drops is declared as well, only those have a law who are not policed."""
    for bundle, declares in zip(mapped.through, declared_pps(mapped), strict=True):
        fill = fill_of_stage_pps(bundle)
        if fill is not None and declares > fill:
            raise NoModelError(
                f"{bundle.key}.ingress.fill_rate",
                f"without policers a user declares {declares:.4g} packets/s, more than the "
                f"{fill:.4g} allowed, so the user is policed; what is dropped is declared as "
                "well and empties the bucket faster, and nothing settles before the window is at "
                "its minimum",
                f"from {declares:.4g} packets/s on no user is policed, and there is an equilibrium",
            )
