"""A bottleneck as a fluid, in time: does it settle, and what if not?

The equations of `tidegate.analysis.bottleneck`, not linearised, with delays that follow the queue:
(6.4.1) to (6.4.7) of the pricing dissertation. The linear loop and the fluid are each other's
proof: the swing around the equilibrium begins to grow at the critical delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tidegate import _native
from tidegate.analysis.models import bottleneck_of
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pyarrow as pa

    from tidegate.analysis.bottleneck import Bottleneck
    from tidegate.analysis.models import Model
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Reals, Source

Start = Literal["cold", "near"]
"""`cold`: windows of one packet and an empty queue. `near`: at the equilibrium, slightly off."""

_NEAR = 1e-4
# A swing that has decayed to this is rounding noise.
_NOISE = 1e-9
# What fits into some hundred megabytes.
_MOST_STEPS = 1e7


@dataclass(frozen=True)
class Trajectory:
    """What a fluid did: arrays over time, `window_packets` with a row for each group."""

    time_s: Reals
    queue_packets: Reals
    probability: Reals
    window_packets: Reals

    @property
    def table(self) -> pa.Table:
        """A row for each moment: time, queue, probability, and the window of each group."""
        import pyarrow as pa

        columns = {
            "time_s": self.time_s,
            "queue_packets": self.queue_packets,
            "probability": self.probability,
        }
        windows = {f"window_{i}_packets": w for i, w in enumerate(self.window_packets)}
        return pa.table({**columns, **windows})

    def plot(self, folder: str | os.PathLike[str], title: str = "fluid") -> list[Path]:
        """Draw queue and windows in the beginning, and the spectrum of the second half."""
        from pathlib import Path

        from tidegate.analysis.figures import draw_course

        return draw_course(self, title, Path(folder))

    def after(self, time_s: float) -> Trajectory:
        """What came later."""
        later = self.time_s >= time_s
        return Trajectory(
            self.time_s[later],
            self.queue_packets[later],
            self.probability[later],
            self.window_packets[:, later],
        )


def fluid(
    model: Model,
    *,
    duration_s: float = 100.0,
    start: Start = "cold",
    free_queue: bool = False,
    step_s: float | None = None,
    keep_s: float = 0.01,
) -> Trajectory:
    """Follow a bottleneck whose parameters are numbers.

    Parameters
    ----------
    model
        A bottleneck, a model of it, or a scenario.
    free_queue
        Let the queue fall below zero, as the dissertation's own simulation did (section 6.7.1).
    step_s
        Of the integration; by default 1 ms, or a fortieth of the shortest base round trip if that
        is less.
    keep_s
        Distance of the moments that are kept.

    Raises
    ------
    AnalysisError
        Where a parameter is an array, a law has no fluid, or a step jumps over the shortest delay.
    """
    bottleneck = bottleneck_of(model)
    shortest_s = min(_number(source.base_rtt_s) for source in bottleneck.sources)
    step_s = step_s or min(1e-3, shortest_s / 40)
    if step_s > 0 and duration_s / step_s > _MOST_STEPS:
        raise AnalysisError(
            f"{duration_s:g} s in steps of {step_s:g} s, a fortieth of the shortest round trip, "
            f"are more than {_MOST_STEPS:.0e}; a shorter duration would do, or longer round trips"
        )
    at = bottleneck.equilibrium
    windows = [1.0] * len(bottleneck.sources)
    queue = probability = 0.0
    if start == "near":
        windows = [float(window) * (1 + _NEAR) for window in at.window_packets]
        queue, probability = float(at.queue_packets), float(at.probability)
    try:
        time, queues, probabilities, window = _native.fluid(
            _number(bottleneck.capacity_pps),
            _signal(bottleneck.signal),
            [_source(source) for source in bottleneck.sources],
            windows,
            queue,
            probability,
            duration_s=duration_s,
            step_s=step_s,
            keep_every=max(1, round(keep_s / step_s)),
            free_queue=free_queue,
        )
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    return Trajectory(time, queues, probabilities, window.reshape(len(time), -1).T)


def growth_per_s(bottleneck: Bottleneck, *, duration_s: float = 60.0) -> float:
    """Rate g at which a small swing of the queue grows as e^(gt), or dies out if negative.

    Read off the peaks of a trajectory that begins near the equilibrium, from 20 round trips on,
    while they are small and above rounding noise.
    """
    settled_s = 20 * max(float(rtt_s) for rtt_s in bottleneck.equilibrium.rtt_s)
    kept = fluid(bottleneck, duration_s=duration_s, start="near", keep_s=1e-3).after(settled_s)
    swing = kept.queue_packets - float(bottleneck.equilibrium.queue_packets)
    size = abs(swing)
    inner = size[1:-1]
    peaks = np.flatnonzero((inner >= size[:-2]) & (inner > size[2:])) + 1
    limit = 0.05 * float(bottleneck.equilibrium.queue_packets)
    peaks = peaks[(size[peaks] > _NOISE) & (size[peaks] < limit)]
    if len(peaks) < 4:
        raise AnalysisError(
            "the queue does not swing long enough to tell a growth rate; follow it for longer"
        )
    slope, _ = np.polyfit(kept.time_s[peaks], np.log(size[peaks]), 1)
    return float(slope)


def swing_hz(trajectory: Trajectory) -> float:
    """Frequency of the queue's swing: how often it passes its mean on the way up."""
    swing = trajectory.queue_packets - trajectory.queue_packets.mean()
    up = np.flatnonzero((swing[:-1] < 0) & (swing[1:] >= 0))
    if len(up) < 2:
        raise AnalysisError("the queue does not swing")
    # Where on the straight line between two moments it passes.
    part = swing[up] / (swing[up] - swing[up + 1])
    step = trajectory.time_s[1] - trajectory.time_s[0]
    passed = trajectory.time_s[up] + part * step
    return float((len(passed) - 1) / (passed[-1] - passed[0]))


def _signal(signal: Signal) -> tuple[str, list[float]]:
    if signal.law is None:
        raise AnalysisError(f"{type(signal).__name__} has no fluid; its loop and equilibrium do")
    return signal.law, [_number(value) for value in signal.numbers()]


def _source(source: Source) -> _native._Sources:
    if source.law is None:
        raise AnalysisError(f"{type(source).__name__} has no fluid; its loop and equilibrium do")
    return {
        "law": source.law,
        "count": _number(source.count),
        "base_rtt_s": _number(source.base_rtt_s),
        "parameters": [_number(value) for value in source.numbers()],
    }


def _number(value: object) -> float:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim:
        raise AnalysisError("a fluid is of one case: every parameter is a number, none an array")
    return float(array)
