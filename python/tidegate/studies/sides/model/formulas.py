"""The engine's own functions on single packets, as points of an experiment.

A paper's formula is put to the code that simulations run, with the parameters of the paper's
scenario: a model here takes the levels of a point and a function that gives the scenario with
changes to it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tidegate.analysis import (
    Meter,
    burst_bytes_for_one_more,
    cbr_trace,
    policer_probability,
    quality_of_experience,
    red_probability,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate.analysis import Trace
    from tidegate.studies.factors import Override

_MEGA = 1e6
PACKET_BYTES = 1500
# How near to its stationary value an activity counts as there (the ε of section 4.1).
_SETTLED = 0.05
_BURST_PACKETS = 10_000
# More packets than any bucket of these papers pays for.
_MANY = 2_000_000


class Formulas(Protocol):
    """What the engine tells of a scenario without running it; see `tidegate._native`."""

    def meter_activities(self, times_s: Sequence[float]) -> list[float]:
        """Activities that the first meter gives to full packets sent at these times [s]."""
        ...

    @property
    def user_groups(self) -> list[int]:
        """The group of each user, by its number."""
        ...

    def drive(self, packets: int, load: float) -> int:
        """Offer full packets at a multiple of the link's rate, without hosts."""
        ...

    def edge_state_bytes(self) -> int:
        """Memory of what stands in front of the users [B]."""
        ...

    def afcp_forwarded(self, p: float, dropped: bool, limit: int) -> int:
        """Packets in a row that AFCP lets through from a full bucket."""
        ...

    def aicp_a_stretch(self, fill: float) -> float:
        """By what AICP-a multiplies RED's thresholds."""
        ...

    def aicp_b_probability(self, fill: float, p: float) -> float:
        """AICP-b's drop probability."""
        ...

    def red_probabilities(self, averages: Sequence[float]) -> list[float]:
        """RED's probability at these average queues."""
        ...

    def conex_policer_probabilities(self, fills: Sequence[float]) -> list[float]:
        """The first ConEx policer's drop probability at these fills, in multiples of its depth."""
        ...

    def re_ecn_allowed(self, p: float) -> float:
        """What the first re-ECN policer allows [B/s]."""
        ...

    def re_ecn_change(self, elapsed_s: float, p: float) -> float:
        """By how many bytes a packet changes the first re-ECN policer's fill."""
        ...

    def re_ecn_change_by_positive(self, elapsed_s: float, p: float) -> float:
        """By how many bytes a positive packet does."""
        ...

    def re_ecn_dropped_share(self, balance: float, packets: float) -> float:
        """The share that a re-ECN dropper drops of a flow with this balance."""
        ...

    def window_after(self, cwnd: float, acks: float, marked: float, rtt_s: float) -> float:
        """Window of the first flow's sender after these ACKs [packets]."""
        ...

    def path_price(self, sent: float, received: float, marked: float) -> float:
        """What a sender of datagrams takes for the price of a path."""
        ...


class ScenarioWith(Protocol):
    """Gives the paper's scenario with changes to it, after those of the point itself."""

    def __call__(self, overrides: Sequence[Override], /) -> Formulas:
        """Read it."""
        ...


def meter_trace(levels: Mapping[str, Any], *, burst_packets: int = 0) -> Trace:
    """Give a CBR sender through a meter: R_r, R_t [Mbit/s], I [s], B_KB [kB], stop_s [s].

    By the recursion in `tidegate.analysis`, for figures and for the times of packets.
    """
    meter = Meter(
        reference_rate_bps=levels["R_r"] * _MEGA,
        inertia_s=levels["I"],
        burst_allowance_bytes=levels.get("B_KB", 0) * 1e3,
    )
    return cbr_trace(
        meter,
        rate_bps=levels["R_t"] * _MEGA,
        stop_s=levels["stop_s"],
        burst_packets=burst_packets,
    )


def _metered(levels: Mapping[str, Any], scenario: ScenarioWith, *, burst_packets: int = 0) -> Trace:
    """Give the same sender through the engine's meter."""
    trace = meter_trace(levels, burst_packets=burst_packets)
    activities = scenario(_meter(levels)).meter_activities(trace.time_s.tolist())
    return replace(trace, activity=np.asarray(activities))


def activity_meter(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """Give what figures 1 and 2 show of the meter."""
    trace = _metered(levels, scenario)
    activity = trace.activity
    stationary = math.log2(levels["R_t"] / levels["R_r"])
    steps = np.diff(activity)
    sent_s = trace.time_s.tolist()
    meter = scenario(_meter(levels))

    def activity_at(time_s: float) -> float:
        """Of a packet after a silence."""
        return meter.meter_activities([*sent_s, time_s])[-1]

    silent_s = _first_zero(activity_at, sent_s[-1], sent_s[-1] + 2 * levels["I"] * stationary + 1)
    decay_s = silent_s - levels["stop_s"]
    return {
        "onset_s": trace.onset_s,
        "stationary_activity": float(activity[-1]),
        "decay_s": decay_s,
        "midway_activity": activity_at(levels["stop_s"] + decay_s / 2),
        "rise_s": trace.time_to_reach_s(stationary - _SETTLED),
        "second_packet_activity": float(activity[1]),
        "largest_jump": float(np.abs(steps).max()),
        "largest_fall": float(np.maximum(0.0, -steps).max()),
        "reference_rate_times_inertia_bytes": levels["R_r"] * _MEGA * levels["I"] / 8,
    }


def activity_burst(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """Bytes that a settled sender has to send at once to lift the activity by one."""
    trace = _metered(levels, scenario, burst_packets=_BURST_PACKETS)
    before = trace.activity.size - _BURST_PACKETS
    raised = np.flatnonzero(trace.activity >= trace.activity[before] + 1.0)
    return {
        "burst_bytes": float(raised[0] - before) * PACKET_BYTES if raised.size else math.nan,
        "closed_form_bytes": burst_bytes_for_one_more(
            rate_bps=levels["R_t"] * _MEGA,
            reference_rate_bps=levels["R_r"] * _MEGA,
            inertia_s=levels["I"],
        ),
    }


def afcp_drain(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """Tokens that a packet costs: a full bucket over the packets in a row that it pays for.

    `aqm` says what becomes of them, "passes" or "drops"; what costs nothing is never refused.
    """
    forwarded = scenario(()).afcp_forwarded(levels["p"], levels["aqm"] == "drops", _MANY)
    free = forwarded == _MANY
    return {"drained_bytes": 0.0 if free else levels["depth_bytes"] / forwarded}


def red_marking(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """What RED marks where its average queue is `avg` packets."""
    return {"marking_probability": float(red_probability(scenario(()), levels["avg"])[0])}


def conex_policing(levels: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float]:
    """What the ConEx policer drops where its bucket of `d` packets has `fill` packets."""
    share = levels["fill"] / levels["d"]
    return {"drop_probability": float(policer_probability(scenario(()), share)[0])}


def video_experience(levels: Mapping[str, Any], _: ScenarioWith) -> dict[str, float]:
    """How a video is liked that stalled `N` times for `L` seconds."""
    return {"qoe": float(quality_of_experience(levels["L"], levels["N"]))}


def _meter(levels: Mapping[str, Any]) -> list[Override]:
    meter = "users.ug0.meter"
    return [
        (f"{meter}.reference_rate", f"{levels['R_r'] * _MEGA:.0f} b/s"),
        (f"{meter}.inertia", f"{levels['I']} s"),
        (f"{meter}.burst_allowance", f"{levels.get('B_KB', 0) * 1000:.0f} B"),
    ]


def _first_zero(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that only falls is zero for the first time, to a microsecond."""
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) > 0 else (low, middle)
    return high


FORMULAS: Mapping[str, Callable[[Mapping[str, Any], ScenarioWith], dict[str, float]]] = {
    "activity-meter": activity_meter,
    "activity-burst": activity_burst,
    "afcp-drain": afcp_drain,
    "red-marking": red_marking,
    "conex-policing": conex_policing,
    "video-experience": video_experience,
}
