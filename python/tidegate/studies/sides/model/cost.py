"""What a packet costs: processor time in the network without hosts, and memory at the edge.

The network gets the same full packets of all users, in random order, at 1.1 times the rate of the
bottleneck. What it takes to build the network is the difference of a long and a short run. Times
depend on the machine, and vary with what else it does: the middle of several measurements is taken.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.sides.model.formulas import Formulas, ScenarioWith

_LOAD = 1.1
_WARM_UP_PACKETS, _PACKETS = 100_000, 400_000
_NO_MECHANISM = (
    ("bottleneck.aqm", '{ kind = "drop-tail" }'),
    ("bottleneck.scheduler", '{ kind = "fifo" }'),
    ("bottleneck.differentiation", '{ kind = "none" }'),
    ("bottleneck.ecn", "false"),
)


def packet_cost(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """Processor time of a packet [ns], with and without the mechanism; memory at the edge [B].

    Without the mechanism the bottleneck is a drop-tail link, and what stands at the edge stays.
    """
    whole, edge = scenario(()), scenario(_NO_MECHANISM)
    times = [(_packet_ns(whole), _packet_ns(edge)) for _ in range(levels["repetitions"])]
    return {
        "cpu_ns": statistics.median(one for one, _ in times),
        "cpu_without_mechanism_ns": statistics.median(one for _, one in times),
        "edge_state_per_customer_bytes": whole.edge_state_bytes() / len(whole.user_groups),
    }


def _packet_ns(scenario: Formulas) -> float:
    """Processor time of this thread for a packet [ns]."""
    marks = [time.thread_time_ns()]
    for packets in (_WARM_UP_PACKETS, _WARM_UP_PACKETS + _PACKETS):
        scenario.drive(packets, _LOAD)
        marks.append(time.thread_time_ns())
    return ((marks[2] - marks[1]) - (marks[1] - marks[0])) / _PACKETS
