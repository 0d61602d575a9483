"""The view `fluid`: how windows and queue move, from a cold start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.fluid import Trajectory, fluid, swing_hz
from tidegate.analysis.mapped.abc import abc_over_tcp
from tidegate.analysis.mapped.policers import policed_link
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views.answer import Answer, Rows, Value
from tidegate.analysis.views.common import (
    FLUID_ASSUMPTIONS,
    form_of,
    mapped_bottleneck,
    mapped_network,
    strained,
    strained_network,
)
from tidegate.analysis.views.sharing import ABC_ASSUMPTIONS, mapped_abc, mapped_policed
from tidegate.analysis.views.stability import check_has_loop, check_laws
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.analysis.bottleneck import Bottleneck
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.written import Followed

_DURATION_S = 100.0
# The second half is what it comes to.
_LATER_S = 50.0
_SETTLED = 0.02
"""A queue whose largest distance from its mean is a smaller share of it has settled."""
_COLD = "from windows of one packet and an empty queue"


def answer(mapped: Mapped) -> Answer:
    """100 s from windows of one packet and empty queues; the numbers are of the second half."""
    if len(mapped.full_links) > 1:
        return _of_a_network(mapped)
    kind = mapped.link(mapped.full_link)["differentiation"]["kind"]
    if kind == "abc":
        return _of_abc(mapped)
    if kind == "afcp":
        return _of_afcp(mapped)
    return _of_one_bottleneck(mapped)


def _of_one_bottleneck(mapped: Mapped) -> Answer:
    bottleneck = mapped.bottleneck
    check_has_loop(mapped, bottleneck)
    trajectory = _followed(mapped, bottleneck)
    return Answer(
        model="fluid of one bottleneck, (6.4.1) to (6.4.7), delays follow the queue",
        mapped=mapped_bottleneck(mapped, bottleneck),
        assumptions=(*FLUID_ASSUMPTIONS[:2], _COLD),
        warnings=(
            *strained(mapped, bottleneck),
            *_runs_empty(trajectory),
            *_without_ack_clock(bottleneck),
        ),
        values=_of_queue(trajectory.after(_LATER_S), 0),
        tables={"groups": _groups(mapped.through, trajectory)},
        drawn=trajectory,
    )


def _without_ack_clock(bottleneck: Bottleneck) -> tuple[str, ...]:
    """Where the verdict on stability is of another loop than the fluid's."""
    if form_of(bottleneck) != "clocked":
        return ()
    warning = (
        "the fluid lets windows send W/R whatever ACKs come back, and swings from shorter round "
        "trips on than packets do; the view stability has the loop with the ACK clock"
    )
    return (warning,)


def _of_a_network(mapped: Mapped) -> Answer:
    network = mapped.network
    sources = [route.source for route in network.routes]
    check_laws(mapped.bundles, sources, network.equilibrium)
    trajectory = _followed(mapped, network)
    later = trajectory.after(_LATER_S)
    links: Rows = [
        {"link": name, **_of_queue(later, number)} for number, name in enumerate(network.links)
    ]
    return Answer(
        model="fluid of several bottlenecks, (6.4.1) to (6.4.7) for each, 1 − p = Π (1 − p_l)",
        mapped=mapped_network(mapped, network),
        assumptions=(
            *FLUID_ASSUMPTIONS[:2],
            "each link is half a round trip from the source, and does not smooth what goes on",
            _COLD,
        ),
        warnings=(
            *strained_network(mapped, network, network.equilibrium),
            *_runs_empty(trajectory),
        ),
        values={"settles": all(bool(row["settles"]) for row in links)},
        tables={"groups": _groups(mapped.bundles, trajectory), "links": links},
        drawn=trajectory,
    )


def _of_abc(mapped: Mapped) -> Answer:
    model = abc_over_tcp(mapped)
    trajectory = _followed(mapped, model)
    groups = _groups(mapped.through, trajectory)
    for row, activity in zip(groups, trajectory.after(_LATER_S).known, strict=True):
        row["mean_activity"] = float(activity.mean())
    return Answer(
        model="fluid of ABC over TCP: A' = (X 2^(−A)/R − 1)/I, what is lost does not wait",
        mapped=mapped_abc(mapped, model),
        assumptions=(*ABC_ASSUMPTIONS, _COLD),
        warnings=_runs_empty(trajectory),
        values=_of_queue(trajectory.after(_LATER_S), 0),
        tables={"groups": groups},
        drawn=trajectory,
    )


def _of_afcp(mapped: Mapped) -> Answer:
    model = policed_link(mapped)
    trajectory = _followed(mapped, model)
    groups = _groups(mapped.through, trajectory)
    for row, fill in zip(groups, trajectory.after(_LATER_S).known, strict=True):
        row["policed"] = bool(fill.min() <= 0)
    return Answer(
        model="fluid of AFCP: a bucket a customer, f' = r − p X, who has none gets r/p through",
        mapped=mapped_policed(mapped),
        assumptions=(*FLUID_ASSUMPTIONS[:2], f"{_COLD}, with full buckets"),
        warnings=_runs_empty(trajectory),
        values=_of_queue(trajectory.after(_LATER_S), 0),
        tables={"groups": groups},
        drawn=trajectory,
    )


def _followed(mapped: Mapped, model: Followed) -> Trajectory:
    try:
        return fluid(model, duration_s=_DURATION_S)
    except AnalysisError as error:
        raise NoModelError(
            mapped.key(mapped.full_links[0]) + ".aqm",
            str(error),
            "its equilibrium is computed; red with reno has a fluid",
        ) from None


def _of_queue(later: Trajectory, link: int) -> dict[str, Value]:
    queue = later.queues[link]
    settles = bool(np.ptp(queue) <= 2 * _SETTLED * max(float(queue.mean()), 1.0))
    return {
        "settles": settles,
        "mean_queue_packets": float(queue.mean()),
        "min_queue_packets": float(queue.min()),
        "max_queue_packets": float(queue.max()),
        "swing_hz": None if settles else _swing_hz(later, link),
    }


def _groups(bundles: Sequence[Bundle], trajectory: Trajectory) -> Rows:
    return [
        {
            "group": bundle.group,
            "mean_window_packets": float(window.mean()),
            "min_window_packets": float(window.min()),
            "max_window_packets": float(window.max()),
        }
        for bundle, window in zip(bundles, trajectory.after(_LATER_S).window_packets, strict=True)
    ]


def _runs_empty(trajectory: Trajectory) -> tuple[str, ...]:
    if trajectory.after(_LATER_S).queues.max(axis=0).min() > 0:
        return ()
    return ("the queue runs empty, where the link idles; the fluid keeps it at zero",)


def _swing_hz(trajectory: Trajectory, link: int) -> float | None:
    try:
        return swing_hz(trajectory, link)
    except AnalysisError:
        return None
