"""CoDel: nothing is random, so it is compared packet by packet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linux_oracle import ours
from linux_oracle.comparison import Comparison, described, mean, percentile, replay
from linux_oracle.traces import generate, swinging

if TYPE_CHECKING:
    from pathlib import Path

    from linux_oracle.kernel import Kernel
    from linux_oracle.traces import Record

DISCIPLINE = "codel limit 1000 target 5ms interval 100ms"
PARAMETERS = {"target_us": 5e3, "interval_us": 1e5, "max_packet": 1514, "limit": 1001}
# The record has no order within a tick of 256 ns.
ORDER_NOTE = (
    "Where a packet arrived and a transmission began within one tick of 256 ns, the record does "
    "not tell which came first: the transmission, but for {} of these ticks, where only the other "
    "order fits."
)


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """CoDel that drops, on a load that swings about the link's rate."""
    return _compare(kernel, root, quick=quick, ecn=False)


def compare_ecn(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """CoDel that marks: half of the packets are ECN-capable."""
    return _compare(kernel, root, quick=quick, ecn=True)


def _compare(kernel: Kernel, root: Path, *, quick: bool, ecn: bool) -> Comparison:
    discipline = f"{DISCIPLINE} {'ecn' if ecn else 'noecn'}"
    packets = generate(5, 30 if quick else 120, swinging(1.0, 0.1, 5), ecn_share=0.5)
    record, _ = replay(kernel, discipline, packets)
    setup = f"`{discipline}`; {described(packets)} at a load of 90 to 110 %"
    if ecn:
        setup += ", half of them ECN-capable"
    name, title = ("codel-ecn", "CoDel, marking") if ecn else ("codel", "CoDel, dropping")
    result = Comparison(name, "codel", title, setup)
    linux, flipped = ours.order_within_ticks(
        root, "codel", {**PARAMETERS, "linux": 1}, record, ecn=ecn
    )
    if flipped:
        result.notes.append(ORDER_NOTE.format(flipped))
    compare_packets(result, record, linux, "Linux's arithmetic")
    rfc = ours.open_loop(root, "codel", {**PARAMETERS, "linux": 0}, record, ecn=ecn)
    compare_as_a_whole(result, record, rfc, "the RFC's arithmetic", ecn=ecn)
    return result


def compare_packets(result: Comparison, record: Record, mine: Record, whose: str) -> None:
    """Which packets were lost or marked, and when the others left."""
    for what, theirs, own in (
        ("dropped", record.lost, mine.lost), ("marked", record.marked, mine.marked),
    ):  # fmt: skip
        if not theirs and not own:
            continue
        differing = len(theirs ^ own)
        result.expect(
            f"packets {what}, ours by {whose}", f"{len(theirs):,}",
            f"{len(own):,}, {differing} of all differ", "≤ 0.2 % of them",
            held=differing <= 0.002 * len(theirs),
        )  # fmt: skip
    both = record.departed.keys() & mine.departed.keys()
    apart = [abs(record.departed[number] - mine.departed[number]) for number in both]
    late = sum(ns > 10_000 for ns in apart)
    result.expect(
        f"packets that leave more than 10 µs apart, ours by {whose}", "–",
        f"{late:,} of {len(both):,}", "≤ 0.1 %", held=late <= 1e-3 * len(both),
    )  # fmt: skip


def compare_as_a_whole(
    result: Comparison, record: Record, mine: Record, whose: str, *, ecn: bool = False
) -> None:
    """How many are signalled, and how long packets wait."""
    sides = (record, mine)
    theirs, own = (100 * len(side.lost | side.marked) / len(record.packets) for side in sides)
    what = "signalled" if ecn else "dropped"
    result.expect_close(f"packets {what}, ours by {whose} [%]", theirs, own, 0.05)
    theirs, own = (1e3 * mean(side.sojourn_s()) for side in sides)
    result.expect_close(f"mean wait, ours by {whose} [ms]", theirs, own, 0.1)
    theirs, own = (1e3 * percentile(side.sojourn_s(), 0.95) for side in sides)
    result.expect_close(f"wait that 95 % do not exceed, ours by {whose} [ms]", theirs, own, 0.1)
