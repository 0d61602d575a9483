"""A scenario as the models see it: bundles of flows, links, and which of them are full."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.analysis.bottleneck import Bottleneck
from tidegate.analysis.mapped.bundles import Bundle, bundles
from tidegate.analysis.mapped.dualpi2 import dual_queues
from tidegate.analysis.mapped.hearing import key_of_signal, signalled
from tidegate.analysis.mapped.optimum import max_min_loads_bps
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.mapped.signals import signal_of
from tidegate.analysis.mapped.sources import source_of
from tidegate.analysis.network import Link as NetworkLink
from tidegate.analysis.network import Network, Route
from tidegate.errors import NoEquilibriumError

if TYPE_CHECKING:
    from tidegate._native import Scenario
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Source
    from tidegate.scenarios.plans import Link, Plan

# Stages that neither drop nor mark.
_LOOK_ON = ("activity-meter", "mark-counter", "congestion-reporter")
# What they do is looked at where the equilibrium without them is known.
_DECLARED = ("conex-policer", "conex-auditor")
# A link that is used to less than this share is not full.
_FULL = 1 - 1e-6


@dataclass(frozen=True)
class Mapped:
    """A scenario's network in the words of models."""

    scenario: Scenario

    @cached_property
    def plan(self) -> Plan:
        """Every default filled in, in SI units."""
        return self.scenario.plan()

    @cached_property
    def encoding(self) -> str | None:
        """How prices travel, if they do."""
        kind = self._price_encoding.get("kind")
        return None if kind is None else str(kind)

    @cached_property
    def _price_encoding(self) -> dict[str, Any]:
        found: dict[str, Any] = tomllib.loads(self.scenario.to_toml()).get("price_encoding", {})
        return found

    @cached_property
    def price_base(self) -> float:
        """φ, with which prices become marks; e where prices are explicit (any base serves)."""
        encoding = self._price_encoding
        if encoding.get("kind") == "maximum":
            raise NoModelError(
                "price_encoding",
                "the largest price of a way has no law here, since prices do not add up",
                'the nearest is { kind = "explicit" }',
            )
        return float(encoding.get("base", math.e))

    @cached_property
    def bundles(self) -> list[Bundle]:
        """Groups of equal flows."""
        found = bundles(self.plan, self.price_base)
        if not found:
            raise NoModelError("users", "nobody sends", "give a group at least one flow")
        users = tomllib.loads(self.scenario.to_toml()).get("users", {})
        weighed = next((name for name, one in users.items() if one.get("weight", 1) != 1), None)
        if weighed is not None:
            raise NoModelError(
                f"users.{weighed}.weight", "no model here weighs users", "the nearest is 1 for all"
            )
        return found

    @cached_property
    def links(self) -> list[int]:
        """Links of the network that data passes, as indices into the plan's, in its order."""
        return sorted({i for bundle in self.bundles for i in bundle.links})

    def link(self, index: int) -> Link:
        """A link by its index."""
        return self.plan["links"][index]

    def key(self, index: int) -> str:
        """Where a link stands in the scenario file."""
        tables = tomllib.loads(self.scenario.to_toml())
        name = self.link(index)["name"].removesuffix(".reverse")
        if name in tables.get("links", {}):
            return f"links.{name}"
        if "mobile" in tables and name != "bottleneck":
            return "mobile.radio" if name.startswith("cell") else "mobile.wired"
        if "mobile" in tables:
            return "mobile"
        return "parking_lot" if "parking_lot" in tables else "bottleneck"

    @cached_property
    def packet_bits(self) -> int:
        """Size of everybody's packets, which models count in."""
        sizes = {bundle.packet_bits for bundle in self.bundles}
        if len(sizes) > 1:
            largest = max(sizes)
            other = next(bundle for bundle in self.bundles if bundle.packet_bits != largest)
            raise NoModelError(
                f"{other.key}.packet_size",
                "models count packets of one size, and here are several",
                f"set it to {largest // 8} B for everybody",
            )
        return sizes.pop()

    @cached_property
    def full_links(self) -> list[int]:
        """Links that are full under max-min shares."""
        loads = max_min_loads_bps(self)
        return [i for i in self.links if loads[i] >= _FULL * self.link(i)["rate_bps"]]

    @cached_property
    def full_link(self) -> int:
        """The one link that is full."""
        if not self.full_links:
            raise NoModelError(
                self.key(self.links[0]) + ".rate",
                "no link is full, so that nothing has to be shared",
                "a lower rate, or more flows, would fill it",
            )
        if len(self.full_links) > 1:
            names = ", ".join(self.link(i)["name"] for i in self.full_links)
            raise NoModelError(
                self.key(self.full_links[1]) + ".rate",
                f"several links are full ({names}), and this model is of one",
                "the optimum, the equilibrium and the verdict on stability are of any network",
            )
        return self.full_links[0]

    @property
    def capacity_pps(self) -> float:
        """Of the full link, in packets/s."""
        return self.link(self.full_link)["rate_bps"] / self.packet_bits

    @property
    def through(self) -> list[Bundle]:
        """Who passes the full link."""
        return [bundle for bundle in self.bundles if self.full_link in bundle.links]

    @cached_property
    def bottleneck(self) -> Bottleneck:
        """The full link with those who pass it, without differentiation."""
        self._check_model(self.full_link)
        sources = tuple(self.source(bundle) for bundle in self.through)
        bottleneck = self._bottleneck_of(sources)
        try:
            windows = bottleneck.equilibrium.window_packets
        except NoEquilibriumError as error:
            raise self._unsettled(self.full_link, error) from None
        for bundle, source, window in zip(self.through, bottleneck.sources, windows, strict=True):
            _check_window(bundle, source, float(window))
        return bottleneck

    def source(self, bundle: Bundle) -> Source:
        """The law of a bundle's flows, by what the full links on its way signal."""
        return source_of(bundle, signalled(self, bundle), key_of_signal(self, bundle))

    def _bottleneck_of(self, sources: tuple[Source, ...]) -> Bottleneck:
        link, capacity_pps = self.link(self.full_link), self.capacity_pps
        if link["scheduler"]["kind"] == "dualpi2":
            return dual_queues(link, self.key(self.full_link), sources, self.packet_bits)
        signal = self._signal(self.full_link)
        return Bottleneck(capacity_pps=capacity_pps, signal=signal, sources=sources)

    @cached_property
    def network(self) -> Network:
        """All links that have a law, and everybody; those that are full must have one."""
        routes = tuple(self._route(bundle) for bundle in self.bundles)
        used = {name for route in routes for name in route.links}
        links = {}
        for i in self.links:
            if self.link(i)["name"] in used:
                capacity_pps = self.link(i)["rate_bps"] / self.packet_bits
                links[self.link(i)["name"]] = NetworkLink(
                    capacity_pps=capacity_pps, signal=self._signal(i)
                )
        network = Network(links=links, routes=routes)
        try:
            windows = network.equilibrium.window_packets
        except NoEquilibriumError as error:
            raise self._unsettled(self.full_links[0], error) from None
        for bundle, route, window in zip(self.bundles, routes, windows, strict=True):
            _check_window(bundle, route.source, window)
        return network

    def _route(self, bundle: Bundle) -> Route:
        """Over links that are full, or have a law and may be."""
        way = [i for i in bundle.links if i in self.full_links or self._has_law(i)]
        if not set(way) & set(self.full_links):
            raise NoModelError(
                f"{bundle.key}.flows",
                "no link on its way is full, so that nothing holds it",
                "give it a way over a full link",
            )
        for i in way:
            self._check_model(i)
        return Route(source=self.source(bundle), links=tuple(self.link(i)["name"] for i in way))

    def _has_law(self, index: int) -> bool:
        try:
            self._check_model(index)
            self._signal(index)
        except NoModelError:
            return False
        return True

    def _signal(self, index: int) -> Signal:
        return signal_of(self.link(index), self.key(index), self.packet_bits, self.price_base)

    def _check_model(self, index: int) -> None:
        """Whether a link and those who pass it are as this model has them."""
        self.check_plain(index)
        kind = self.link(index)["differentiation"]["kind"]
        if kind != "none":
            raise NoModelError(
                f"{self.key(index)}.differentiation",
                f"{kind} gives each user its own probability, for which this model has no law",
                'set its kind to "none"',
            )
        for bundle in self.bundles:
            if index in bundle.links:
                self.check_unpoliced(bundle)

    def _unsettled(self, index: int, error: NoEquilibriumError) -> NoModelError:
        return NoModelError(f"{self.key(index)}.aqm", error.reason, error.nearest)

    def check_plain(self, index: int) -> None:
        """Whether a link is as models have it: constant, without losses of its own, one queue."""
        link, key = self.link(index), self.key(index)
        if link["rate_changes"]:
            raise NoModelError(
                f"{key}.rate_changes", "models are of a constant rate", "leave them out"
            )
        for trace, quantity in (("rate_trace_repeats", "rate"), ("delay_trace_repeats", "delay")):
            if link[trace] is not None:  # type: ignore[literal-required]
                raise NoModelError(
                    f"{key}.{quantity}", f"models are of a constant {quantity}",
                    "write its mean in place of the trace",
                )  # fmt: skip
        if link["loss"]:
            raise NoModelError(f"{key}.loss", "losses on the wire have no law here", "set it to 0")
        for wire in ("duplicate", "jitter", "reorder"):
            if link[wire]:
                raise NoModelError(
                    f"{key}.{wire}", "models are of a wire that only delays", "leave it out"
                )
        if link["scheduler"]["kind"] not in ("fifo", "dualpi2"):
            raise NoModelError(
                f"{key}.scheduler",
                f"{link['scheduler']['kind']} has queues of its own for flows or customers",
                "its optimum by max-min is computed; for the rest, leave it out",
            )
        stages = [*link["ingress"], *link["egress"]]
        if any(stage["kind"] not in _LOOK_ON for stage in stages):
            raise NoModelError(
                f"{key}.ingress", "stages at a link have no law here", "leave it out"
            )

    def check_unpoliced(self, bundle: Bundle) -> None:
        """Whether nothing on a user's way drops or marks but queues, or who declares congestion."""
        for stage in bundle.stages:
            if stage["kind"] not in (*_LOOK_ON, *_DECLARED):
                raise NoModelError(
                    f"{bundle.key}.ingress",
                    f"{stage['kind']} drops or marks by a law that this model does not have",
                    "leave it out",
                )


def _check_window(bundle: Bundle, source: Source, window: float) -> None:
    if source.clocked and window < 1:
        raise NoModelError(
            f"{bundle.key}.flows",
            f"a window of {window:.2g} packets is below one, where no law holds",
            "fewer flows, a longer round trip or a faster link would do",
        )
