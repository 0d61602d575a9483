"""PIE: its probability is deterministic once the queue is given; its verdicts are drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linux_oracle import ours
from linux_oracle.comparison import Comparison, described, expect_sum, mean, replay
from linux_oracle.traces import Departure, Record, events, generate
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from linux_oracle.kernel import Kernel
    from linux_oracle.ours import View

DISCIPLINE = "pie limit 1000 target 15ms tupdate 15ms"
TARGET_NS, BURST_NS = 15 * 10**6, 150 * 10**6
# The kernel's timer is set to 15 ticks of 1 ms and goes off at the 16th.
UPDATE_MS = 16
PARAMETERS = {
    "target_us": TARGET_NS / 1e3, "update_us": 1000 * UPDATE_MS, "burst_us": BURST_NS / 1e3,
    "mean_packet": 1514, "limit": 1001,
}  # fmt: skip
BUSY_S, EPISODE_S = 1.5, 4.0
STEEP_NS = 250 * 10**6


@dataclass
class Updates:
    """The kernel's probability, from polls in between its updates."""

    times_ns: NDArray[np.int64]
    probability: NDArray[np.float64]
    phase_ms: int

    @classmethod
    def of(cls, record: Record) -> Updates:
        """From the polls of a record, one every millisecond."""
        times = np.array([poll.at_ns for poll in record.polls])
        fixed_point = [int.from_bytes(poll.statistics[:8], "little") for poll in record.polls]
        probability = np.array(fixed_point) / 2.0**64
        changed = times[1:][np.diff(probability) != 0]
        phases = Counter((changed // 10**6 % UPDATE_MS).tolist())
        if len(phases) != 1:
            raise ResultError(f"PIE's updates are not {UPDATE_MS} ms apart: {phases}")
        return cls(times, probability, next(iter(phases)))

    def at(self, time_ns: int) -> float:
        """The probability at a time."""
        # The poll in the middle of this millisecond: updates fall on the ends.
        index = int(np.searchsorted(self.times_ns, time_ns // 10**6 * 10**6))
        return float(self.probability[min(index, len(self.probability) - 1)])


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """PIE from rest into overload, again and again."""
    load_of = (1.08, 1.15, 1.25, 1.4, 1.6)
    count = 10 if quick else 50

    def load(s: float) -> float:
        return load_of[int(s // EPISODE_S) % len(load_of)] if s % EPISODE_S < BUSY_S else 0.05

    packets = generate(4, count * EPISODE_S, load)
    record, _ = replay(kernel, DISCIPLINE, packets, poll_ms=1)
    updates = Updates.of(record)
    setup = (
        f"`{DISCIPLINE}`; {described(packets)}, {count} times {BUSY_S:g} s at a load of 108 to "
        f"160 % and {EPISODE_S - BUSY_S:g} s at 5 %"
    )
    result = Comparison("pie", "pie", "PIE, from rest into overload", setup)
    shift_ns = -updates.phase_ms % UPDATE_MS * 10**6
    view = ours.look_along(root, "pie", PARAMETERS, record, record.lost, shift_ns=shift_ns)
    theirs = np.array([updates.at(at) for at in record.arrived])
    same = np.fromiter(_before_a_rule(record, updates, view), bool, len(packets))
    _check(result, view, theirs, same)
    result.notes.append(
        f"Compared are {same.sum():,} of the {len(packets):,} packets: those that came before p "
        "was due to decay or to rise steeply. Ours has Linux's rules for both, but followed "
        "through an episode its p parts from Linux's; the cause is not found. A p of 0 on both "
        "sides is a new start."
    )
    result.notes.append(
        f"Linux is told to compute p every 15 ms and does so every {UPDATE_MS} ms: its timer is "
        "set to 15 ticks and goes off with the 16th. Ours is set to 16 ms here."
    )
    _each_on_its_own(result, kernel, root)
    return result


def _each_on_its_own(result: Comparison, kernel: Kernel, root: Path) -> None:
    """Where nobody answers the drops, each with its own random numbers."""
    packets = generate(7, 60, lambda _: 1.2)
    record, _ = replay(kernel, DISCIPLINE, packets)
    mine = ours.open_loop(root, "pie", PARAMETERS, record)
    count = len(packets)
    result.expect_close(
        "share of packets dropped at a steady load of 120 %, each on its own [%]",
        100 * len(record.lost) / count, 100 * len(mine.lost) / count, 0.05,
    )  # fmt: skip
    result.expect_close(
        "mean wait, each on its own [ms]",
        1e3 * mean(record.sojourn_s()), 1e3 * mean(mine.sojourn_s()), 0.10,
    )  # fmt: skip


def _check(
    result: Comparison, view: View, theirs: NDArray[np.float64], same: NDArray[np.bool_]
) -> None:
    relative = np.abs(view.plain - theirs) / np.maximum(theirs, 1e-12)
    for low, high, bound in ((1e-4, 1.0, 5e-4), (1e-6, 1e-4, 0.05)):
        chosen = same & (theirs > low) & (theirs <= high)
        worst = relative[chosen].max()
        result.expect(
            f"p from {low:g} to {high:g}, {chosen.sum():,} packets: largest relative difference",
            "–", f"{worst:.1e}", f"≤ {bound:g}", held=worst <= bound,
        )  # fmt: skip
    both = same & (theirs > 1e-6)
    expect_sum(result, "drops of those packets", view.signalled[both], view.own[both])


def _before_a_rule(record: Record, updates: Updates, view: View) -> Iterator[bool]:
    """For each arrival, whether p has not been due to decay or to rise steeply since it was 0."""
    phase_ns = updates.phase_ms * 10**6
    next_update, delay, delay_before = phase_ns, 0, 0
    agree = True
    for event in events(record):
        while next_update <= event.at_ns:
            calm = max(delay, delay_before) < TARGET_NS // 2
            probability = updates.at(next_update - 1)
            if probability > 0 and (calm or delay > STEEP_NS):
                agree = False
            delay_before = delay
            next_update += UPDATE_MS * 10**6
        if isinstance(event, Departure):
            delay = event.sojourn_ns if event.packets else 0
            continue
        if updates.at(event.at_ns) == 0 == view.plain[event.number]:
            agree = True
        yield agree
