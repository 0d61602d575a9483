"""A scenario on a Linux kernel in virtual time: its TCP, and its own queue at the bottleneck.

The kernel is that of ``tools/linux-oracle``. All of the delay is on the way back, where it shapes
nothing: a netem for each group of users.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tidegate.errors import ResultError, UsageError
from tidegate.studies.fidelity.measures import ratio
from tidegate.studies.oracle.comparison import ABOVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidegate._native import Scenario
    from tidegate.scenarios import plans
    from tidegate.studies.oracle.kernel import Kernel

HEADER_B = 14
"""Of Ethernet, which the kernel's device and queues count and a scenario does not."""
PACKET_BYTES = 1500
"""Of all scenarios here."""
# No multiple of a packet's time or of a usual round trip.
POLL_NS = 9_700_000
FIRST_PORT = 6000
COMMON = {
    "tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304",
    "tcp_no_metrics_save": "1",
}  # fmt: skip
COUNTERS = {"retransmits": ("Tcp", "RetransSegs"), "timeouts": ("TcpExt", "TCPTimeouts")}


def nanoseconds(time_s: float) -> int:
    """A time as the agent reads it.

    >>> nanoseconds(0.0015)
    1500000
    """
    return round(time_s * 1e9)


class Flow(NamedTuple):
    """A flow of the kernel, as its agent reads it."""

    namespace: str
    control: str
    start_ns: int
    size_bytes: int
    pause_ns: int


class Group(NamedTuple):
    """A group of users."""

    name: str
    users: int
    flows: list[plans.Flow]

    @property
    def tcp(self) -> plans.Choice:
        """Options of all its flows."""
        options = self.flows[0]["tcp"]
        assert options is not None, "UDP is refused"  # noqa: S101
        return options


@dataclass(frozen=True)
class Plan:
    """What of a scenario the kernel is told."""

    content: plans.Plan

    @classmethod
    def of(cls, scenario: Scenario) -> Plan:
        """Read a scenario.

        Raises
        ------
        UsageError
            If the kernel here has nothing like it.
        """
        plan = cls(scenario.plan())
        plan.check()
        return plan

    @property
    def bottleneck(self) -> plans.Link:
        """The link of that name; the first one if it is no dumbbell, which is refused."""
        links = self.content["links"]
        return next((link for link in links if link["name"] == "bottleneck"), links[0])

    @property
    def rate_bps(self) -> int:
        """Of the bottleneck, as the scenario counts."""
        return self.bottleneck["rate_bps"]

    def framed(self, size: float) -> int:
        """A rate or a size with Ethernet headers, as the kernel counts."""
        return round(size * (PACKET_BYTES + HEADER_B) / PACKET_BYTES)

    def check(self) -> None:
        """Refuse what would be left out in silence."""
        sizes = {flow["packet_size_bytes"] for flow in self.content["flows"]}
        if self.bottleneck["name"] != "bottleneck" or sizes != {PACKET_BYTES}:
            raise UsageError("the kernel in virtual time plays dumbbells with packets of 1500 B")
        changed = self.bottleneck["rate_changes"] or self.bottleneck["ecn_marks_all"]
        if changed or self.bottleneck["differentiation"]["kind"] != "none":
            raise UsageError("the kernel's queues have no differentiation and a constant rate")
        for group in self.groups():
            traffic = group.flows[0]["traffic"]
            given = {key for key, value in traffic.items() if value is not None}
            fixed = traffic.get("pause_distribution") in {None, "fixed"}
            known = {"kind", "size_bytes", "pause_s", "pause_distribution"}
            if traffic["kind"] not in {"greedy", "transfer"} or given - known or not fixed:
                raise UsageError(
                    f"users.{group.name}.traffic: the kernel in virtual time has no {traffic}"
                )
        self.discipline()

    def round_trip_ns(self, group: Group) -> int:
        """Of an empty network."""
        access = self.content["links"][group.flows[0]["forward"][0]]
        return 2 * (nanoseconds(self.bottleneck["delay_s"]) + nanoseconds(access["delay_s"]))

    def groups(self) -> Iterator[Group]:
        """All groups, in the order of the scenario."""
        owners = self.content["user_groups"]
        for index, name in enumerate(self.content["groups"]):
            flows = [flow for flow in self.content["flows"] if owners[flow["user"]] == index]
            yield Group(name, owners.count(index), flows)

    def flows(self, seed: int) -> list[Flow]:
        """All flows, in the order of the scenario."""
        draw = random.Random(seed).uniform  # noqa: S311
        found = []
        for index, group in enumerate(self.groups()):
            control = group.tcp["congestion_control"]["kind"]
            for flow in group.flows:
                traffic = flow["traffic"]
                first, last = nanoseconds(flow["start_from_s"]), nanoseconds(flow["start_to_s"])
                pause_s = traffic.get("pause_s")
                # Without a pause there is one transfer: the next is never due.
                pause = 2**62 if pause_s is None else nanoseconds(pause_s)
                size = traffic.get("size_bytes") or 0
                found.append(Flow(f"s{index}", control, round(draw(first, last)), size, pause))
        return found

    def discipline(self) -> str:
        """What ``tc`` puts in front of the bottleneck: the mechanism, as Linux has it."""
        queue = self.bottleneck
        # A buffer counts the packet in transmission, the kernel's limits do not.
        limit = (queue["buffer_packets"] or queue["buffer_bytes"] or 0) - 1
        ecn = "ecn" if queue["ecn"] else "noecn"
        scheduler = queue["scheduler"]
        if scheduler["kind"] == "fq-codel":
            return (
                f"fq_codel limit {limit} flows {scheduler['flows']} quantum "
                f"{scheduler['quantum_bytes']} {_codel(scheduler)} {ecn}"
            )
        aqm = queue["aqm"] if scheduler["kind"] == "fifo" else scheduler
        match aqm["kind"]:
            case "drop-tail":
                return f"pfifo limit {limit}"
            case "codel":
                return f"codel limit {limit} {_codel(aqm)} {ecn}"
            case "pie":
                return (
                    f"pie limit {limit} target {_us(aqm['target_s'])} tupdate "
                    f"{_us(aqm['update_interval_s'])} {ecn}"
                )
            case "red" if not aqm["gentle"]:
                return self._red(limit, aqm)
        raise UsageError(f"the kernel in virtual time has no {aqm['kind']} as asked for")

    def _red(self, limit: int, aqm: Mapping[str, Any]) -> str:
        low, high = (
            self.framed(aqm[f"{key}_bytes"] or aqm[f"{key}_packets"] * PACKET_BYTES)
            for key in ("min_threshold", "max_threshold")
        )
        frame = self.framed(PACKET_BYTES)
        bursts = range(low // frame, 10 * (high // frame))
        fitting = (b for b in bursts if red_weight(low, b, frame) == aqm["weight"])
        if (burst := next(fitting, None)) is None:
            raise UsageError(f"tc has no burst for which RED's weight is {aqm['weight']}")
        # A probability of 1 does not fit into the kernel's 32 bits.
        probability = min(aqm["max_probability"], 1 - 1e-9)
        marks = " ecn" if self.bottleneck["ecn"] else ""
        return (
            f"red limit {limit * frame} min {low} max {high} avpkt {frame} burst {burst} "
            f"probability {probability:.9f} bandwidth {self.framed(self.rate_bps) // 1000}kbit"
            f"{marks}"
        )

    def commands(self) -> str:
        """What sets the network up and runs the agent."""
        frame = self.framed(PACKET_BYTES)
        lines = [
            "ip netns add d", "ip link set link1 netns d", "echo 1 >/proc/sys/net/ipv4/ip_forward",
            "ip addr add 10.2.0.1/24 dev link0",
            f"ip link set link0 up gso_max_segs 1 gso_max_size {frame}",
            "ip -n d addr add 10.2.0.2/24 dev link1", "ip -n d link set link1 up",
            "ip -n d route add default via 10.2.0.1", _sysctls("d", {**COMMON, "tcp_ecn": "1"}),
        ]  # fmt: skip
        for index, group in enumerate(self.groups()):
            delay_us = self.round_trip_ns(group) // 1000
            host, net, ecn = f"s{index}", f"10.1.{index}", group.tcp["ecn"]
            lines += [
                f"ip netns add {host}",
                f"ip link add r{index} type veth peer name e netns {host}",
                f"ip addr add {net}.1/24 dev r{index}", f"ip link set r{index} up",
                f"ip -n {host} addr add {net}.2/24 dev e",
                f"ip -n {host} link set e up gso_max_segs 1 gso_max_size {frame}",
                f"ip -n {host} route add default via {net}.1",
                f"tc qdisc add dev r{index} root netem limit 100000 delay {delay_us}us",
                _sysctls(host, {**COMMON, "tcp_ecn": str(int(ecn))}),
            ]  # fmt: skip
        discipline = self.discipline()
        warm_up, duration = (nanoseconds(self.content[key]) for key in ("warm_up_s", "duration_s"))
        kind = discipline.split(maxsplit=1)[0]
        lines += [
            f"tc qdisc add dev link0 root handle 1: {ABOVE}",
            f"tc qdisc add dev link0 parent 1:1 handle 10: {discipline}",
            f'"$AGENT" play flows measured {kind} {warm_up} {duration} {POLL_NS}',
            "tc -s -d qdisc show dev link0",
        ]
        return "\n".join(lines) + "\n"


def run(kernel: Kernel, scenario: Scenario, seed: int) -> dict[str, Any]:
    """Play a scenario; returns the numbers of `measures.of_run` that the kernel tells."""
    plan = Plan.of(scenario)
    options = {
        "rate_bps": plan.framed(plan.rate_bps), "seed": seed,
        "loss": round(plan.bottleneck["loss"] * 2**32),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        job = Path(name)
        lines = [" ".join(map(str, flow)) for flow in plan.flows(seed)]
        (job / "flows").write_text("\n".join(lines) + "\n", encoding="ascii")
        kernel.run(job, plan.commands(), seed=seed, options=options)
        return {"seed": seed, **numbers(plan, Measured.read(job / "measured"))}


@dataclass
class Measured:
    """What the agent wrote; counts are those of the measured time."""

    by_flow: dict[int, list[int]] = field(default_factory=dict)
    """By flow: packets, bytes, marks, packets lost on the wire, bytes lost there."""
    drops: int = 0
    grown: int = 0
    """Packets by which the queue has grown."""
    mean_waiting: float = 0.0
    transfers: list[tuple[int, float]] = field(default_factory=list)
    """Flow, and time [s]."""
    counters: dict[str, int] = field(default_factory=dict)
    """Of all senders."""

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Read the agent's output."""
        self = cls()
        headings: list[str] = []
        for line in path.read_text(encoding="ascii").splitlines():
            what, *words = line.split()
            if what == "t":
                self.transfers.append((int(words[0]), int(words[2]) / 1e9))
            elif what == "q":
                self.mean_waiting = int(words[1]) / int(words[0])
            else:
                # What has been counted by the end, less what had been by the beginning.
                sign, rest = (1 if words[0] == "1" else -1), words[1:]
                if what == "s":
                    port, *counts = map(int, rest)
                    old = self.by_flow.get(port - FIRST_PORT, [0] * len(counts))
                    self.by_flow[port - FIRST_PORT] = [
                        a + sign * b for a, b in zip(old, counts, strict=True)
                    ]
                elif what == "k":
                    self.drops += sign * int(rest[0])
                    self.grown += sign * int(rest[1])
                elif rest[2].lstrip("-").isdigit():
                    self._count(sign, dict(zip(headings, rest[1:], strict=True)))
                else:
                    headings = rest[1:]
        if not self.by_flow:
            raise ResultError("the kernel's agent has measured nothing")
        return self

    def _count(self, sign: int, values: dict[str, str]) -> None:
        for name, (table, counter) in COUNTERS.items():
            if f"{table}:" in values and counter in values:
                self.counters[name] = self.counters.get(name, 0) + sign * int(values[counter])


def numbers(plan: Plan, measured: Measured) -> dict[str, Any]:
    """Of a run, by the names of `measures`."""
    seconds = plan.content["duration_s"]
    rates, per_user, completion, first = [], {}, None, 0
    for name, users, own in plan.groups():
        flows = len(own)
        rate = [
            8 * (counts[1] - counts[4]) / seconds
            for flow in range(first, first + flows)
            for counts in [measured.by_flow.get(flow, [0] * 5)]
        ]
        took = [s for flow, s in measured.transfers if first <= flow < first + flows]
        if took and completion is None:
            completion = float(np.mean(took))
        per_user[name] = sum(rate) / users
        rates += rate
        first += flows
    sent, size, marks, lost, _ = np.sum(list(measured.by_flow.values()), axis=0).tolist()
    arrivals = sent + measured.drops + measured.grown
    utilization = 8 * size / seconds / plan.rate_bps
    between = ratio(np.array(list(per_user.values())), np.array(rates))
    return {
        "ratio": None if np.isnan(between) else between,
        "utilization": utilization,
        "queue_packets": measured.mean_waiting + utilization,
        "loss_ratio": (measured.drops + lost) / arrivals,
        "mark_ratio": marks / arrivals,
        "completion_s": completion,
        **measured.counters,
        **{f"throughput_bps.{name}": value for name, value in per_user.items()},
    }


def red_weight(low: int, burst: int, frame: int) -> float:
    """The weight of RED's average that ``tc`` takes for a burst; 0: none.

    >>> red_weight(30_000, 30, 1500) == 2**-4, red_weight(30_280, 34, 1514) == 2**-5
    (True, True)
    """
    room = burst + 1 - low / frame
    powers = (2.0**-log for log in range(1, 32))
    fitting = (w for w in powers if 1 <= room <= (1 - (1 - w) ** burst) / w)
    return next(fitting, 0.0)


def _codel(aqm: Mapping[str, Any]) -> str:
    return f"target {_us(aqm['target_s'])} interval {_us(aqm['interval_s'])}"


def _us(time_s: float) -> str:
    return f"{nanoseconds(time_s) // 1000}us"


def _sysctls(namespace: str, values: Mapping[str, str]) -> str:
    written = "; ".join(f"echo {v} >/proc/sys/net/ipv4/{k}" for k, v in values.items())
    return f"nsenter --net=/run/netns/{namespace} bash -c '{written}'"
