"""FQ-CoDel: nothing but the hash is random, so it is compared packet by packet."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from linux_oracle import ours
from linux_oracle.codel import ORDER_NOTE, compare_as_a_whole, compare_packets
from linux_oracle.comparison import Comparison, described, replay
from linux_oracle.traces import LENGTHS, NS_PER_BYTE, Packet

if TYPE_CHECKING:
    from pathlib import Path

    from linux_oracle.kernel import Kernel

PARAMETERS = {"quantum": 1514, "target_us": 5e3, "interval_us": 1e5}
# Share of the link that each flow asks for: two are greedy, two sparse.
SHARES = (0.6, 0.35, 0.2, 0.1, 0.02, 0.005)


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """Six flows of very different rates that come and go, and room for all."""
    return _compare(kernel, root, quick=quick, limit=10_240)


def compare_overflow(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """The same flows, and room for a hundred packets: the longest queue loses."""
    return _compare(kernel, root, quick=quick, limit=100)


def _compare(kernel: Kernel, root: Path, *, quick: bool, limit: int) -> Comparison:
    discipline = f"fq_codel limit {limit} flows 1024 quantum 1514 target 5ms interval 100ms noecn"
    packets = _trace(20 if quick else 100)
    record, _ = replay(kernel, discipline, packets)
    shares = ", ".join(f"{100 * share:g}" for share in SHARES)
    setup = (
        f"`{discipline}`; {described(packets)} of six flows at {shares} % of the link, each off "
        "for a while now and then"
    )
    small = limit < 1000
    name = "fq-codel-overflow" if small else "fq-codel"
    title = "FQ-CoDel, a small buffer" if small else "FQ-CoDel"
    result = Comparison(name, "fq-codel", title, setup)
    parameters = {**PARAMETERS, "limit": limit + 1}
    linux, flipped = ours.order_within_ticks(root, "fq-codel", {**parameters, "linux": 1}, record)
    compare_packets(result, record, linux, "Linux's arithmetic")
    order, own = (sorted(side.departed, key=side.departed.__getitem__) for side in (record, linux))
    moved = sum(a != b for a, b in zip(order, own, strict=False))
    result.expect(
        "packets out of the kernel's order of service", "–", f"{moved:,} of {len(order):,}",
        "≤ 0.1 %", held=moved <= 1e-3 * len(order),
    )  # fmt: skip
    if flipped:
        result.notes.append(ORDER_NOTE.format(flipped))
    rfc = ours.open_loop(root, "fq-codel", {**parameters, "linux": 0}, record)
    compare_as_a_whole(result, record, rfc, "the RFC's arithmetic")
    return result


def _trace(seconds: float) -> list[Packet]:
    """Packets of the flows; each is on for 0.5 to 4 s, and off for up to a second."""
    mean_ns = sum(LENGTHS) / len(LENGTHS) * NS_PER_BYTE
    packets = []
    for flow, share in enumerate(SHARES):
        rng = random.Random(f"fq-codel {flow}")
        now_ns, on_until_ns = 0.0, rng.uniform(0.5e9, 4e9)
        while now_ns < seconds * 1e9:
            now_ns += rng.expovariate(1) * mean_ns / share
            if now_ns > on_until_ns:
                now_ns += rng.uniform(0, 1e9)
                on_until_ns = now_ns + rng.uniform(0.5e9, 4e9)
            packets.append(Packet(int(now_ns), rng.choice(LENGTHS), flow, 0))
    return sorted(packets)
