"""Traces of arrivals, and what became of the packets."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

RATE_BPS = 10_000_000
NS_PER_BYTE = 8 * 10**9 // RATE_BPS
# Multiples of 8 bytes: transmission then takes a multiple of 256 ns, the tick of the guest's clock.
LENGTHS = (1496, 1496, 1000, 576, 64)
CE = 3


class Packet(NamedTuple):
    """A packet to be sent."""

    at_ns: int
    length: int
    """Bytes, Ethernet header included."""
    flow: int
    ecn: int
    """The ECN field: 0 for Not-ECT, 2 for ECT(0)."""


def generate(
    seed: int,
    seconds: float,
    load: Callable[[float], float],
    *,
    flows: int = 4,
    ecn_share: float = 0,
) -> list[Packet]:  # fmt: skip
    """Packets at exponential gaps; ``load`` of the time [s] is relative to the link's rate.

    A share of the packets is ECN-capable.
    """
    rng = random.Random(seed)
    mean_ns = sum(LENGTHS) / len(LENGTHS) * NS_PER_BYTE
    packets, now_ns = [], 0.0
    while now_ns < seconds * 1e9:
        now_ns += rng.expovariate(1) * mean_ns / load(now_ns / 1e9)
        ecn = 2 if rng.random() < ecn_share else 0
        packets.append(Packet(int(now_ns), rng.choice(LENGTHS), rng.randrange(flows), ecn))
    return packets


def swinging(mean: float, swing: float, period_s: float) -> Callable[[float], float]:
    """A load that swings about its mean."""
    return lambda s: mean + swing * math.sin(2 * math.pi * s / period_s)


class Poll(NamedTuple):
    """What a discipline said of itself."""

    at_ns: int
    statistics: bytes
    options: bytes


@dataclass
class Record:
    """What became of a trace's packets. Times in ns since the trace began."""

    packets: Sequence[Packet]
    arrived: list[int]
    departed: dict[int, int] = field(default_factory=dict)
    """When the transmitter took each packet that was not lost."""
    marked: set[int] = field(default_factory=set)
    polls: list[Poll] = field(default_factory=list)

    @property
    def lost(self) -> set[int]:
        """Numbers of the packets that never left."""
        return set(range(len(self.packets))) - self.departed.keys()

    def sojourn_s(self) -> list[float]:
        """How long the packets that left have waited, by number."""
        return [(at - self.arrived[i]) / 1e9 for i, at in sorted(self.departed.items())]


def read(path: Path, packets: Sequence[Packet]) -> Record:
    """Read what the agent wrote."""
    record = Record(packets, [0] * len(packets))
    with path.open(encoding="ascii") as lines:
        for line in lines:
            what, *fields = line.split()
            if what == "a":
                record.arrived[int(fields[0])] = int(fields[1])
            elif what == "d":
                number = int(fields[0])
                record.departed[number] = int(fields[1])
                if int(fields[2]) == CE:
                    record.marked.add(number)
            else:
                own, options = (bytes.fromhex(text.strip("-")) for text in fields[4:6])
                record.polls.append(Poll(int(fields[0]), own, options))
    return record


class Arrival(NamedTuple):
    """What a packet finds. Without it and the packet in transmission."""

    number: int
    at_ns: int
    packets: int
    queued_bytes: int
    idle_ns: int


class Departure(NamedTuple):
    """A packet that leaves the queue for the transmitter, and what it leaves behind."""

    number: int
    at_ns: int
    sojourn_ns: int
    packets: int


def events(record: Record) -> Iterator[Arrival | Departure]:
    """Replay a first-come-first-served queue that drops at arrival."""
    waiting: deque[int] = deque()
    queued_bytes = free_ns = 0
    for number, (packet, at_ns) in enumerate(zip(record.packets, record.arrived, strict=True)):
        while waiting and record.departed[waiting[0]] <= at_ns:
            head = waiting.popleft()
            left_ns = record.departed[head]
            queued_bytes -= record.packets[head].length
            free_ns = left_ns + record.packets[head].length * NS_PER_BYTE
            yield Departure(head, left_ns, left_ns - record.arrived[head], len(waiting))
        idle_ns = 0 if waiting else max(0, at_ns - free_ns)
        yield Arrival(number, at_ns, len(waiting), queued_bytes, idle_ns)
        if number in record.departed:
            waiting.append(number)
            queued_bytes += packet.length
