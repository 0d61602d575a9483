"""A bottleneck as a fluid, in time: does it settle, and what if not?

The equations of `tidegate.analysis.bottleneck`, not linearised, with delays that follow the queue:
(6.4.1) to (6.4.7) of the pricing dissertation; so for several bottlenecks, DualPI2's two queues,
ABC's meters and AFCP's buckets. The linear loop and the fluid are each other's proof: the swing
around the equilibrium begins to grow at the critical delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tidegate import _native
from tidegate.analysis.abc_tcp import AbcOverTcp
from tidegate.analysis.models import bottleneck_of
from tidegate.analysis.network import Network
from tidegate.analysis.policers import PolicedLink
from tidegate.analysis.written import State, written
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.analysis.models import Model
    from tidegate.analysis.sources import Reals
    from tidegate.analysis.written import Followed, Written

Start = Literal["cold", "near"]
"""`cold`: windows of one packet and an empty queue. `near`: at the equilibrium, slightly off."""

_NEAR = 1e-4
# A swing that has decayed to this is rounding noise.
_NOISE = 1e-9
# What fits into some hundred megabytes.
_MOST_STEPS = 1e7


@dataclass(frozen=True)
class Trajectory:
    """What a fluid did: arrays over time, `window_packets` with a row for each group.

    `queue_packets` and `probability` are of the link, or have a row for each of several.
    """

    time_s: Reals
    queue_packets: Reals
    probability: Reals
    window_packets: Reals
    known: Reals
    """What is known of a customer of each group: ABC's activity, a bucket's tokens; else 0."""

    @property
    def table(self) -> pa.Table:
        """A row for each moment: time, queues, probabilities, and the window of each group."""
        import pyarrow as pa

        columns = {"time_s": self.time_s}
        if self.queue_packets.ndim == 1:
            columns |= {"queue_packets": self.queue_packets, "probability": self.probability}
        else:
            columns |= {f"queue_{i}_packets": q for i, q in enumerate(self.queue_packets)}
            columns |= {f"probability_{i}": p for i, p in enumerate(self.probability)}
        columns |= {f"window_{i}_packets": w for i, w in enumerate(self.window_packets)}
        return pa.table(columns)

    @property
    def queues(self) -> Reals:
        """A row for each link, also where there is one."""
        return np.atleast_2d(self.queue_packets)

    def after(self, time_s: float) -> Trajectory:
        """What came later."""
        later = self.time_s >= time_s
        return Trajectory(
            self.time_s[later],
            self.queue_packets[..., later],
            self.probability[..., later],
            self.window_packets[:, later],
            self.known[:, later],
        )


def fluid(
    model: Model | Followed,
    *,
    duration_s: float = 100.0,
    start: Start = "cold",
    free_queue: bool = False,
    step_s: float | None = None,
    keep_s: float = 0.01,
) -> Trajectory:
    """Follow links and sources whose parameters are numbers.

    Parameters
    ----------
    model
        A bottleneck, a model of it, a scenario, a network of several, or a link that tells
        customers apart.
    free_queue
        Let queues fall below zero, as the dissertation's own simulation did (section 6.7.1).
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
    followed = _followed(model)
    followed.equilibrium  # noqa: B018 - raises if there is none, before anything is integrated
    asked = written(followed)
    shortest_s = min(source["base_rtt_s"] for source in asked.sources)
    if not shortest_s > 0:
        raise AnalysisError(f"a base round trip of {shortest_s:g} s has to be above 0")
    step_s = step_s or min(1e-3, shortest_s / 40)
    if step_s > 0 and duration_s / step_s > _MOST_STEPS:
        raise AnalysisError(
            f"{duration_s:g} s in steps of {step_s:g} s, a fortieth of the shortest round trip, "
            f"are more than {_MOST_STEPS:.0e}; a shorter duration would do, or longer round trips"
        )
    begins = asked.settled() if start == "near" else _cold(asked)
    shift = 1 + _NEAR if start == "near" else 1.0
    try:
        time, queues, probabilities, windows, known = _native.fluid(
            asked.links,
            asked.sources,
            {
                "windows": [window * shift for window in begins.windows],
                "queues": begins.queues,
                "probabilities": begins.probabilities,
                "known": begins.known,
                "mean_known": begins.mean_known,
            },
            duration_s=duration_s,
            step_s=step_s,
            keep_every=max(1, round(keep_s / step_s)),
            free_queue=free_queue,
        )
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    of_links = [column.reshape(len(time), -1).T for column in (queues, probabilities)]
    if len(asked.links) == 1 and not isinstance(followed, Network):
        of_links = [rows[0] for rows in of_links]
    of_groups = [column.reshape(len(time), -1).T for column in (windows, known)]
    return Trajectory(time, *of_links, *of_groups)


def _followed(model: Model | Followed) -> Followed:
    if isinstance(model, Network | AbcOverTcp | PolicedLink):
        return model
    return bottleneck_of(model)


def _cold(asked: Written) -> State:
    nothing = [0.0] * len(asked.links)
    groups = len(asked.sources)
    return State([1.0] * groups, nothing, nothing, [asked.cold_known] * groups, 0.0, [])


def growth_per_s(model: Followed, *, duration_s: float = 60.0) -> float:
    """Rate g at which a small swing of the queue grows as e^(gt), or dies out if negative.

    Read off the peaks of a trajectory that begins near the equilibrium, from 20 round trips on,
    while they are small and above rounding noise; of several queues, of the longest.
    """
    at = written(model).settled()
    followed = fluid(model, duration_s=duration_s, start="near", keep_s=1e-3)
    tail = followed.after(20 * max(at.rtts_s))
    longest = int(np.argmax(at.queues))
    settled = at.queues[longest]
    swing = tail.queues[longest] - settled
    size = abs(swing)
    inner = size[1:-1]
    peaks = np.flatnonzero((inner >= size[:-2]) & (inner > size[2:])) + 1
    peaks = peaks[(size[peaks] > _NOISE) & (size[peaks] < 0.05 * settled)]
    if len(peaks) < 4:
        raise AnalysisError(
            "the queue does not swing long enough to tell a growth rate; follow it for longer"
        )
    slope, _ = np.polyfit(tail.time_s[peaks], np.log(size[peaks]), 1)
    return float(slope)


def swing_hz(trajectory: Trajectory, link: int = 0) -> float:
    """Frequency of a queue's swing: how often it passes its mean on the way up."""
    swing = trajectory.queues[link] - trajectory.queues[link].mean()
    up = np.flatnonzero((swing[:-1] < 0) & (swing[1:] >= 0))
    if len(up) < 2:
        raise AnalysisError("the queue does not swing")
    # Where on the straight line between two moments it passes.
    part = swing[up] / (swing[up] - swing[up + 1])
    step = trajectory.time_s[1] - trajectory.time_s[0]
    passed = trajectory.time_s[up] + part * step
    return float((len(passed) - 1) / (passed[-1] - passed[0]))
