"""The view `fluid`: how windows and queue move, from a cold start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.fluid import Trajectory, fluid, swing_hz
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views.answer import Answer, Rows, Value
from tidegate.analysis.views.common import FLUID_ASSUMPTIONS, mapped_bottleneck, strained
from tidegate.analysis.views.stability import check_has_loop
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from tidegate.analysis.bottleneck import Bottleneck
    from tidegate.analysis.mapped.network import Mapped

_DURATION_S = 100.0
# The second half is what it comes to.
_LATER_S = 50.0
_SETTLED = 0.02
"""A queue whose largest distance from its mean is a smaller share of it has settled."""


def answer(mapped: Mapped) -> Answer:
    """100 s from windows of one packet and an empty queue; the numbers are of the second half."""
    bottleneck = mapped.bottleneck
    check_has_loop(mapped, bottleneck)
    _check_has_fluid(mapped, bottleneck)
    course = fluid(bottleneck, duration_s=_DURATION_S)
    later = course.after(_LATER_S)
    queue = later.queue_packets
    settles = bool(np.ptp(queue) <= 2 * _SETTLED * max(float(queue.mean()), 1.0))
    values: dict[str, Value] = {
        "settles": settles,
        "mean_queue_packets": float(queue.mean()),
        "min_queue_packets": float(queue.min()),
        "max_queue_packets": float(queue.max()),
        "swing_hz": None if settles else _swing_hz(later),
    }
    groups: Rows = [
        {
            "group": bundle.group,
            "mean_window_packets": float(window.mean()),
            "min_window_packets": float(window.min()),
            "max_window_packets": float(window.max()),
        }
        for bundle, window in zip(mapped.through, later.window_packets, strict=True)
    ]
    warnings = list(strained(mapped, bottleneck))
    if queue.min() <= 0:
        warnings.append("the queue runs empty, where the link idles; the fluid keeps it at zero")
    return Answer(
        model="fluid of one bottleneck, (6.4.1) to (6.4.7), delays follow the queue",
        mapped=mapped_bottleneck(mapped, bottleneck),
        assumptions=(*FLUID_ASSUMPTIONS[:2], "from windows of one packet and an empty queue"),
        warnings=tuple(warnings),
        values=values,
        tables={"groups": groups},
        drawn=course,
    )


def _swing_hz(trajectory: Trajectory) -> float | None:
    try:
        return swing_hz(trajectory)
    except AnalysisError:
        return None


def _check_has_fluid(mapped: Mapped, bottleneck: Bottleneck) -> None:
    """Prices have none yet."""
    nearest = "its equilibrium and loop are computed; SBRM by its queue has a fluid"
    if bottleneck.signal.law is None:
        kind = mapped.link(mapped.full_link)["aqm"]["kind"]
        key = mapped.key(mapped.full_link)
        raise NoModelError(f"{key}.aqm", f"{kind} has no fluid", nearest)
    for bundle, source in zip(mapped.through, bottleneck.sources, strict=True):
        if source.law is None:
            raise NoModelError(
                f"{bundle.key}.tcp.congestion_control", "prices have no fluid", nearest
            )
