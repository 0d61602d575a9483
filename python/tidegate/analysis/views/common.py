"""What several views say of a bottleneck: what it was mapped to, where laws are strained."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.accuracy import causes
from tidegate.analysis.accuracy.causes import Senders
from tidegate.analysis.eigenloci import network_stability
from tidegate.analysis.mapped.sources import source_warnings, window_limit_packets
from tidegate.analysis.signals import Settled
from tidegate.analysis.sources import SbrmSource
from tidegate.analysis.stability import stability
from tidegate.analysis.two_queues import DualQueues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.analysis.accuracy.causes import Cause
    from tidegate.analysis.bottleneck import Bottleneck, Equilibrium, Form
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.network import Network, NetworkEquilibrium
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Source
    from tidegate.analysis.views.answer import Value

FLUID_ASSUMPTIONS = (
    "flows without end whose windows are smooth, with an ACK for each packet",
    "signals come one by one, half a round trip before their sender learns of them",
    "the queue neither runs empty nor over",
)
_NEARLY_ALL = 0.5
_WITHOUT_ACK_CLOCK = 1 / 1.6


def mapped_bottleneck(mapped: Mapped, bottleneck: Bottleneck) -> dict[str, Value]:
    """Capacity, signal and groups in the model's own units."""
    found: dict[str, Value] = {
        "link": mapped.link(mapped.full_link)["name"],
        "capacity_pps": mapped.capacity_pps,
        "packet_bytes": mapped.packet_bits // 8,
        "signal": _signal(bottleneck.signal),
    }
    for bundle, source in zip(mapped.through, bottleneck.sources, strict=True):
        name = type(source).__name__
        found[f"group {bundle.group}"] = (
            f"{bundle.flows} × {name}, base round trip {1e3 * bundle.base_rtt_s:.4g} ms"
        )
    return found


def mapped_network(mapped: Mapped, network: Network) -> dict[str, Value]:
    """The same of several links."""
    found: dict[str, Value] = {"packet_bytes": mapped.packet_bits // 8}
    for name, link in network.links.items():
        found[f"link {name}"] = f"{link.capacity_pps:.5g} packets/s, {_signal(link.signal)}"
    for bundle, route in zip(mapped.bundles, network.routes, strict=True):
        found[f"group {bundle.group}"] = (
            f"{bundle.flows} × {type(route.source).__name__}, base round trip "
            f"{1e3 * bundle.base_rtt_s:.4g} ms, over {', '.join(route.links)}"
        )
    return found


def _signal(signal: Signal) -> str:
    """Its kind and parameters, in as many digits as people read."""
    parameters = (f"{field.name}={_plain(getattr(signal, field.name))}" for field in fields(signal))
    return f"{type(signal).__name__}({', '.join(parameters)})"


def _plain(value: object) -> str:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{value:.6g}" if is_number else str(value)


def strained(mapped: Mapped, bottleneck: Bottleneck) -> tuple[str, ...]:
    """Where the laws of one bottleneck are at their edge."""
    at = bottleneck.equilibrium
    found = strained_windows(mapped.through, bottleneck.sources, at)
    if isinstance(bottleneck, DualQueues):
        found = (*found, *_starved(mapped, bottleneck))
    if any(isinstance(source, SbrmSource) for source in bottleneck.sources):
        found = (*found, *_pays(bottleneck))
    return (*found, *_queue(mapped, bottleneck))


def form_of(bottleneck: Bottleneck) -> Form:
    """The loop of the packets' kind: of SBRM and its kin that with the ACK clock.

    Their signal goes by the queue of the moment, so that the lag of the queue counts, which the ACK
    clock takes away: with SBRM packets are calm up to a round trip 1.6 times that of (6.5.21).
    Others' averages and integrals are slow beside it.
    """
    pays = any(isinstance(source, SbrmSource) for source in bottleneck.sources)
    return "clocked" if pays else "fluid"


def inexact(mapped: Mapped, bottleneck: Bottleneck) -> tuple[Cause, ...]:
    """Why packets may settle elsewhere than the model of one bottleneck, and by how much."""
    link = mapped.link(mapped.full_link)
    pie = link["scheduler"]["kind"] == "fifo" and link["aqm"]["kind"] == "pie"
    found = causes.of_bottleneck(
        mapped.key(mapped.full_link),
        bottleneck,
        Senders.of(mapped, mapped.through, bottleneck.sources, bottleneck.equilibrium),
        gain_margin=float(stability(bottleneck, form=form_of(bottleneck)).gain_margin),
        warm_up_s=mapped.plan["warm_up_s"],
        mark_limit=link["aqm"]["mark_limit"] if pie else None,
    )
    queue = float(bottleneck.equilibrium.queue_packets)
    return (*found, *full_buffer(mapped, mapped.full_link, queue))


def full_buffer(mapped: Mapped, index: int, queue_packets: float) -> list[Cause]:
    """Of a link with this mean queue."""
    link = mapped.link(index)
    room = link["buffer_packets"] or (link["buffer_bytes"] or 0) * 8 / mapped.packet_bits
    return causes.full_buffer(mapped.key(index), queue_packets, float(room))


def inexact_network(mapped: Mapped, network: Network) -> tuple[Cause, ...]:
    """The same of several bottlenecks."""
    sources, at = [route.source for route in network.routes], network.equilibrium
    senders = Senders.of(mapped, mapped.bundles, sources, at)
    found = causes.of_senders(senders, warm_up_s=mapped.plan["warm_up_s"])
    for i in mapped.links:
        name = mapped.link(i)["name"]
        if name in at.full:
            numbers = (at.probability[name], at.queue_packets[name])
            here = (*map(np.asarray, numbers), np.asarray(network.links[name].capacity_pps))
            found += causes.of_signal(
                mapped.key(i), network.links[name].signal, Settled(*here), senders
            )
            found += full_buffer(mapped, i, at.queue_packets[name])
    margin = float(network_stability(network).gain_margin)
    # With the ACK clock, which has no loop here, SBRM's margins are 1.6 times as large.
    pays = any(isinstance(source, SbrmSource) for source in sources)
    if margin < (_WITHOUT_ACK_CLOCK if pays else 1):
        found.insert(0, causes.swings(mapped.key(mapped.full_links[0]), margin))
    return tuple(dict.fromkeys(found))


def strained_network(mapped: Mapped, network: Network, at: NetworkEquilibrium) -> tuple[str, ...]:
    """Where the laws of several bottlenecks are at their edge."""
    found = strained_windows(mapped.bundles, [route.source for route in network.routes], at)
    return (*found, *_in_one_queue(mapped, network))


def strained_windows(
    bundles: Sequence[Bundle], sources: Sequence[Source], at: Equilibrium | NetworkEquilibrium
) -> tuple[str, ...]:
    """Where windows are too small or too large for the laws."""
    found: list[str] = []
    windows = map(float, at.window_packets)
    for bundle, source, window in zip(bundles, sources, windows, strict=True):
        found += source_warnings(bundle, source)
        limit = window_limit_packets(bundle)
        if source.clocked and limit and window > limit:
            found.append(
                f"{bundle.key}: a window of {window:.3g} packets is more than its receiver allows "
                f"({limit:.3g})"
            )
    return tuple(found)


def _in_one_queue(mapped: Mapped, network: Network) -> list[str]:
    found: list[str] = []
    for i in mapped.links:
        passing = [route for route in network.routes if mapped.link(i)["name"] in route.links]
        coupled = mapped.link(i)["scheduler"]["kind"] == "dualpi2"
        if coupled and any(route.source.scalable for route in passing):
            found.append(
                f"{mapped.key(i)}.scheduler: on a way over several full links, scalable flows are "
                "taken to wait in one queue with all others; that they wait in one of their own is "
                "in the model of a single link"
            )
    return list(dict.fromkeys(found))


def _starved(mapped: Mapped, link: DualQueues) -> list[str]:
    share, most = float(link.scalable_pps) / mapped.capacity_pps, 1 - link.classic_share
    if share <= most:
        return []
    found = (
        f"{mapped.key(mapped.full_link)}.scheduler: scalable flows would get {100 * share:.0f} % "
        f"of the link, and are held to {100 * most:.0f} % while others wait: no model has that"
    )
    return [found]


def _pays(bottleneck: Bottleneck) -> list[str]:
    p = float(bottleneck.equilibrium.probability)
    near = f"Σw is {100 * p:.0f} % of what the link carries: nearly every packet is marked"
    return [near] if p > _NEARLY_ALL else []


def _queue(mapped: Mapped, bottleneck: Bottleneck) -> list[str]:
    key = mapped.key(mapped.full_link)
    queue = float(bottleneck.equilibrium.queue_packets)
    found = list(bottleneck.signal.strained(queue))
    if queue < 1:
        found.append(f"{key}: a queue of {queue:.2g} packets runs empty again and again")
    return found
