"""RED: the kernel's random numbers are its own, so verdicts are compared as probabilities.

Our RED looks along at the kernel's queue and says for each packet with which probability it would
be signalled, given the kernel's own past. If both have the same average and the same p_b, the
kernel's signals minus the sum of these probabilities is a martingale: over many packets it is
normally distributed with the sum of p (1 − p) as its variance.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from linux_oracle import ours
from linux_oracle.comparison import Comparison, described, expect_sum, mean, replay
from linux_oracle.traces import generate, swinging
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from linux_oracle.kernel import Kernel
    from linux_oracle.ours import View
    from linux_oracle.traces import Record

MIN_B, MAX_B, MAX_P = 60_000, 180_000, 0.1
DISCIPLINE = (
    f"red limit 1000000 min {MIN_B} max {MAX_B} avpkt 1000 burst 100 probability {MAX_P} "
    "bandwidth 10mbit"
)
BINS = 5
LOW_MIN_B, LOW_MAX_B = 15_000, 45_000
TICKS_PER_US = 15.625


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """RED that drops, at a load that swings between 101 % and 117 %."""
    packets = generate(1, 40 if quick else 120, swinging(1.09, 0.08, 20))
    record, said = replay(kernel, DISCIPLINE, packets)
    setup = f"`{DISCIPLINE}`; {described(packets)} at a load of 101 to 117 %"
    result = Comparison("red", "red", "RED, dropping", setup)
    parameters = parameters_of(said)
    view = ours.look_along(root, "red", parameters, record, record.lost)
    _check_probabilities(result, view)
    mine = ours.open_loop(root, "red", {**parameters, "limit": 1e6}, record)
    _check_own_path(result, record, mine)
    result.notes.append(
        "The expected number of signals is from our average and our p_b, spaced as Linux spaces: "
        "the first packet after a signal has count 1 and p_a = p_b, so that at a constant p_b = "
        "1/n gaps are uniform on 1 to n, as in the text of the 1993 paper. Ours counts one more "
        "(its algorithm, and ns-2's), so that gaps are uniform on 1 to n − 1 and signals more "
        "frequent by a share of p_b; when each is on its own, the queue is accordingly somewhat "
        "shorter."
    )
    return result


def compare_ecn(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """RED that marks: half of the packets are ECN-capable."""
    discipline = f"{DISCIPLINE} ecn harddrop"
    packets = generate(2, 40 if quick else 120, swinging(1.03, 0.03, 20), ecn_share=0.5)
    record, said = replay(kernel, discipline, packets)
    setup = (
        f"`{discipline}`; {described(packets)}, half of them ECN-capable, at a load of 100 to 106 %"
    )
    result = Comparison("red-ecn", "red", "RED, marking", setup)
    signalled = record.marked | record.lost
    view = ours.look_along(root, "red", parameters_of(said), record, signalled)
    _check_probabilities(result, view)
    forced = set(np.flatnonzero(view.forced).tolist())
    capable = {i for i, packet in enumerate(packets) if packet.ecn}
    wrong = len(record.marked - capable) + len((record.lost & capable) - forced)
    wrong += len(record.marked & forced)
    result.expect(
        "ECN-capable packets are marked below max_th and dropped above, others dropped",
        f"{len(record.marked):,} marks, {len(record.lost):,} drops", f"{wrong} otherwise",
        "≤ 0.1 %", held=wrong <= 1e-3 * len(signalled),
    )  # fmt: skip
    return result


def parameters_of(said: str) -> dict[str, float]:
    """Ours, with the weight that tc has chosen."""
    if not (found := re.search(r"ewma (\d+)", said)):
        raise ResultError(f"tc does not tell RED's weight: {said}")
    weight = 2.0 ** -int(found[1])
    return {
        "min": MIN_B, "max": MAX_B, "max_p": MAX_P, "weight": weight, "gentle": 0,
        "packet_ns": 800_000,
    }  # fmt: skip


def _check_probabilities(result: Comparison, view: View) -> None:
    """Signals by zone of the average, and in bins of p_b."""
    calm = view.state < MIN_B
    for zone, chosen, right in (("< min_th", calm, 0), ("≥ max_th", view.forced, 1)):
        wrong = int((view.signalled[chosen] != right).sum())
        # Linux's average is a whole number, and may be on the other side of a threshold.
        result.expect(
            f"packets at avg {zone} that are {'passed' if right else 'signalled'}",
            f"{wrong} of {chosen.sum():,}", 0, "≤ 1 %", held=wrong <= 0.01 * chosen.sum(),
        )  # fmt: skip
    expected = linux_spacing(view, MIN_B)
    edges = np.linspace(0, MAX_P, BINS + 1)
    for low, high in pairwise(edges):
        chosen = (view.plain > low) & (view.plain <= high) & ~view.forced
        what = f"signals at p_b from {low:.2f} to {high:.2f}, {chosen.sum():,} packets"
        expect_sum(result, what, view.signalled[chosen], expected[chosen])


def linux_spacing(view: View, min_th: float) -> NDArray[np.float64]:
    """Probability of a signal from our p_b by Linux's rule of spacing, given what happened before.

    Linux draws U in [0, 1) once a gap and signals at the first packet with count · p_b ≥ U; the
    count is 1 for the packet after a signal, and 0 for the first one above min_th.
    """
    probability = view.forced.astype(float)
    count, reached = -1, 0.0
    for i, p_b in enumerate(view.plain):
        if view.state[i] < min_th or view.forced[i]:
            count = -1
            continue
        count += 1
        if count == 0:
            reached = 0.0
            continue
        level = min(1.0, count * p_b)
        if level > reached:
            probability[i] = (level - reached) / (1 - reached)
            reached = level
        if view.signalled[i]:
            count, reached = 0, 0.0
    return probability


def _check_own_path(result: Comparison, record: Record, mine: Record) -> None:
    """The same arrivals, each with its own random numbers and its own spacing."""
    count = len(record.packets)
    result.expect_close(
        "share of packets dropped, each on its own [%]",
        100 * len(record.lost) / count, 100 * len(mine.lost) / count, 0.02,
    )  # fmt: skip
    result.expect_close(
        "mean wait, each on its own [ms]",
        1e3 * mean(record.sojourn_s()), 1e3 * mean(mine.sojourn_s()), 0.05,
    )  # fmt: skip


def compare_idle(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """RED whose queue runs empty once a second."""
    discipline = (
        f"red limit 1000000 min {LOW_MIN_B} max {LOW_MAX_B} avpkt 1000 burst 100 "
        f"probability {MAX_P} bandwidth 10mbit"
    )
    packets = generate(3, 40 if quick else 120, lambda _: 1.12)
    packets = [packet for packet in packets if packet.at_ns % 10**9 < 0.8e9]
    record, said = replay(kernel, discipline, packets)
    setup = (
        f"`{discipline}`; {described(packets)}, 0.8 s of each at a load of 112 %, 0.2 s without any"
    )
    result = Comparison("red-idle", "red", "RED, idle times", setup)
    parameters = {**parameters_of(said), "min": LOW_MIN_B, "max": LOW_MAX_B}
    weight = parameters["weight"]

    def as_linux(idle_ns: int) -> int:
        """The idle time [ns] after which ours has decayed as far, at a packet a µs."""
        missed = math.log(linux_decay(idle_ns, weight)) / math.log(1 - weight)
        return round(max(0.0, missed - 1) * 1e3)

    def look(idle: Callable[[int], int], **changed: float) -> View:
        return ours.look_along(
            root, "red", {**parameters, **changed}, record, record.lost, idle=idle
        )

    view = look(as_linux, packet_ns=1000)
    early, expected = ~view.forced, linux_spacing(view, LOW_MIN_B)
    result.expect_close(
        "early drops, our average told of Linux's decay over idle times",
        float(view.signalled[early].sum()), expected[early].sum(), 0.08, "{:,.0f}",
    )  # fmt: skip
    view = look(int)
    early, expected = ~view.forced, linux_spacing(view, LOW_MIN_B)
    times = ", ".join(
        f"{ms} ms: {linux_decay(ms * 10**6, weight):.2f} and {(1 - weight) ** (ms / 0.8):.2f}"
        for ms in (10, 100, 200, 500)
    )
    result.notes.append(
        "What remains of the average after an idle time, in Linux by the table that `tc` has made "
        f"for it, in ours by the paper's power of the weight: {times}. In its first "
        f"{1e-6 * 2 ** _cell(weight):.2f} s Linux's falls on a straight line, to no less than a "
        "half. Nor does it take in the empty queue that the packet finds which ends the idle "
        "time, as ours does even where it is told Linux's decay: hence a bound wider than chance. "
        f"Judged by our own decay, Linux would have dropped {expected[early].sum():,.0f} packets "
        f"early here, where it dropped {view.signalled[early].sum():,}."
    )
    return result


def _cell(weight: float) -> int:
    """log₂ of the length of a cell of the table; made for ticks of 64 ns, read as µs."""
    per_tick = -math.log(1 - weight) / (1000 * 0.8 * TICKS_PER_US)
    return next(cell for cell in range(32) if 31 / per_tick / 2**cell < 512)


def linux_decay(idle_ns: int, weight: float) -> float:
    """What Linux leaves of the average after an idle time, for packets of 1000 B at 10 Mb/s."""
    cell = _cell(weight)
    per_tick = -math.log(1 - weight) / (1000 * 0.8 * TICKS_PER_US)
    idle_us = min(idle_ns // 1000, 255 << cell)
    shift = min(31, round((idle_us >> cell << cell) * per_tick))
    return 2.0**-shift if shift else max(0.5, 1 - idle_us / 2**cell)
