"""Adaptive RED: max_p follows the average, and is deterministic once the queue is given."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from linux_oracle import ours, red
from linux_oracle.comparison import Comparison, described, expect_sum, replay
from linux_oracle.traces import generate, swinging
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from linux_oracle.kernel import Kernel
    from linux_oracle.ours import View
    from linux_oracle.traces import Record

# The kernel's timer is set to 500 ticks of 1 ms; such long ones go off at multiples of 8.
INTERVAL_MS = 504
MAX_P_ATTRIBUTE = 3


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """RED with the option ``adaptive`` on a load that swings between 101 % and 121 %."""
    discipline = f"{red.DISCIPLINE} adaptive"
    packets = generate(6, 40 if quick else 120, swinging(1.11, 0.1, 40))
    record, said = replay(kernel, discipline, packets, poll_ms=1)
    setup = f"`{discipline}`; {described(packets)} at a load of 101 to 121 %"
    result = Comparison("adaptive-red", "adaptive-red", "Adaptive RED", setup)
    times, max_p = _max_p(record)
    phase = _phase_ms(times[1:][np.diff(max_p) != 0])
    # Until the first packet comes it has adapted to the empty queue.
    start = {"max_p": max_p[0], "interval_us": 1000 * INTERVAL_MS}
    parameters = {**red.parameters_of(said), **start}
    view = ours.look_along(
        root, "adaptive-red", parameters, record, record.lost,
        shift_ns=-phase % INTERVAL_MS * 10**6,
    )  # fmt: skip
    view = as_linux(view)
    theirs = max_p[np.searchsorted(times, np.array(record.arrived) // 10**6 * 10**6)]
    apart = np.abs(view.more[0] / theirs - 1)
    values = len(set(max_p.tolist()))
    result.expect(
        f"packets that found max_p more than 0.1 % apart; it took {values} values from "
        f"{max_p.min():.3f} to {max_p.max():.3f}", "–",
        f"{(apart > 1e-3).sum():,} of {len(packets):,}", "≤ 1 %", held=(apart > 1e-3).mean() < 0.01,
    )  # fmt: skip
    passed = int((~view.signalled[view.forced]).sum())
    result.expect(
        "packets at avg ≥ max_th that are passed", f"{passed} of {view.forced.sum():,}", 0, "≤ 1 %",
        held=passed <= 0.01 * view.forced.sum(),
    )  # fmt: skip
    expected = red.linux_spacing(view, red.MIN_B)
    early = ~view.forced
    expect_sum(result, "early drops", view.signalled[early], expected[early])
    result.notes.append(
        f"Linux adapts every {INTERVAL_MS} ms, where 500 are meant: its timers of that length go "
        "off at multiples of 8 ms. Ours is set to that here. Nor is Linux's gentle, as ours always "
        "is: what it drops at max_th and above is not early."
    )
    result.notes.append(
        "Untouched, Linux 6.12 does not adapt at all where today's `tc` asks for it: `tc` sets the "
        "option in an attribute, and the kernel starts its timer by a field that only older "
        "versions of `tc` filled in. The kernel here looks at the attribute."
    )
    return result


def as_linux(view: View) -> View:
    """With every packet at max_th and above forced: Linux's adaptive RED is not gentle, ours is.

    Early signals, below max_th, do not depend on it.
    """
    return view._replace(forced=view.state >= red.MAX_B)


def _max_p(record: Record) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Times, and the option that the kernel changes by itself."""
    values = []
    for poll in record.polls:
        at, found = 0, None
        while at < len(poll.options):
            length, kind = struct.unpack_from("<HH", poll.options, at)
            if kind == MAX_P_ATTRIBUTE:
                (found,) = struct.unpack_from("<I", poll.options, at + 4)
            at += (length + 3) // 4 * 4
        if found is None:
            raise ResultError("RED does not tell its max_p")
        values.append(found / 2.0**32)
    return np.array([poll.at_ns for poll in record.polls]), np.array(values)


def _phase_ms(changed_ns: NDArray[np.int64]) -> int:
    phases = Counter((changed_ns // 10**6 % INTERVAL_MS).tolist())
    phase, count = phases.most_common(1)[0]
    if count < 0.99 * phases.total():
        raise ResultError(f"max_p does not change every {INTERVAL_MS} ms: {phases}")
    return int(phase)
