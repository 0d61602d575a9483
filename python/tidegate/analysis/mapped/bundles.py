"""Flows that are alike, from a scenario's plan: a model's group of sources.

A bundle is of one user group, over the same links, with the same round trip, traffic and sender.
Links that only one user has (access, receiver_access) bound its rate and add to its round trip;
all others are links of the network.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.refusal import NoModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.scenarios.plans import Choice, Flow, Link, Plan

BITS_PER_BYTE = 8
ACK_BITS = 40 * BITS_PER_BYTE
"""An acknowledgement without options."""
ONLY_COUNT = ("mark-counter", "congestion-reporter")
"""Stages of which it makes no difference whose they are."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """Equal flows."""

    group: str
    users: int
    flows: int
    """Of all its users together."""
    links: tuple[int, ...]
    """Links of the network on their way, as indices into the plan's."""
    cap_bps: float
    """What the links that a user has for himself let through."""
    base_rtt_s: float
    """There and back without queues: propagation, and transmission on every link."""
    packet_bits: int
    traffic: Choice
    tcp: Choice | None
    stages: tuple[Choice, ...]
    """Stages of a user on its way."""
    price_base: float = math.e
    """φ, with which prices become marks."""

    @property
    def key(self) -> str:
        """Of its group in a scenario file."""
        return f"users.{self.group}"

    @property
    def flows_per_user(self) -> float:
        """How many flows a user has."""
        return self.flows / self.users

    @property
    def reference_rate_bps(self) -> float | None:
        """Reference rate of a user's activity meter, if there is one."""
        rates = [s["reference_rate_bps"] for s in self.stages if s["kind"] == "activity-meter"]
        return float(rates[0]) if rates else None


def bundles(plan: Plan, price_base: float = math.e) -> list[Bundle]:
    """All flows of a plan in bundles, in the order of the file."""
    _check_own_stages(plan)
    shared = _shared(plan)
    alike: dict[tuple[object, ...], list[Flow]] = defaultdict(list)
    known: dict[int, str] = {}
    for flow in plan["flows"]:
        # Options are one object for flows that share them.
        tcp = known.setdefault(id(flow["tcp"]), repr(flow["tcp"]))
        key = (
            plan["user_groups"][flow["user"]],
            tuple(i for i in flow["forward"] if i in shared),
            round(base_rtt_s(plan["links"], flow) * 1e9),
            _cap_bps(plan["links"], flow, shared),
            flow["packet_size_bytes"],
            repr(flow["traffic"]),
            tcp,
            repr([{**stage, "name": None} for stage in _stages(plan, flow)]),
        )
        alike[key].append(flow)
    found = (_bundle(plan, flows, shared) for flows in alike.values())
    return [replace(bundle, price_base=price_base) for bundle in found]


def base_rtt_s(links: list[Link], flow: Flow) -> float:
    """There and back: propagation, and transmission of a full packet and of its acknowledgement.

    A law's queue is of packets that wait, without the one in transmission.
    """
    packet_bits = flow["packet_size_bytes"] * BITS_PER_BYTE
    there = sum(_time_s(links[i], packet_bits) for i in flow["forward"])
    return there + sum(_time_s(links[i], ACK_BITS) for i in flow["reverse"])


def _time_s(link: Link, bits: int) -> float:
    return float(link["delay_s"] + bits / link["rate_bps"])


def _shared(plan: Plan) -> set[int]:
    """Links that data of more than one user passes, and those that are looked at."""
    users: dict[int, set[int]] = defaultdict(set)
    for flow in plan["flows"]:
        for i in flow["forward"]:
            users[i].add(flow["user"])
    return {i for i, who in users.items() if plan["links"][i]["monitored"] or len(who) > 1}


def _cap_bps(links: list[Link], flow: Flow, shared: Iterable[int]) -> float:
    own = [links[i]["rate_bps"] for i in flow["forward"] if i not in shared]
    return float(min(own, default=float("inf")))


def _stages(plan: Plan, flow: Flow) -> list[Choice]:
    return [plan["stages"][i] for attachment in flow["attachments"] for i in attachment["replicas"]]


def _check_own_stages(plan: Plan) -> None:
    """Whether each user has a meter or policer of its own, as models have it."""
    users: dict[tuple[int, int], set[int]] = defaultdict(set)
    for flow in plan["flows"]:
        group = plan["user_groups"][flow["user"]]
        for attachment in flow["attachments"]:
            for stage in attachment["replicas"]:
                users[group, stage].add(flow["user"])
    for (group, stage), who in users.items():
        kind = plan["stages"][stage]["kind"]
        if len(who) > 1 and kind not in ONLY_COUNT:
            raise NoModelError(
                f"users.{plan['groups'][group]}.shares_stages",
                f"one {kind} for all users of a group has no law here",
                "leave it out",
            )


def _bundle(plan: Plan, flows: list[Flow], shared: set[int]) -> Bundle:
    first = flows[0]
    return Bundle(
        group=plan["groups"][plan["user_groups"][first["user"]]],
        users=len({flow["user"] for flow in flows}),
        flows=len(flows),
        links=tuple(i for i in first["forward"] if i in shared),
        cap_bps=_cap_bps(plan["links"], first, shared),
        base_rtt_s=base_rtt_s(plan["links"], first),
        packet_bits=first["packet_size_bytes"] * BITS_PER_BYTE,
        traffic=first["traffic"],
        tcp=first["tcp"],
        stages=tuple(_stages(plan, first)),
    )
