"""What models say of TCP on queues: where it settles, and by how much its loop may grow.

Levels may be arrays, which make a map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.analysis import (
    AbcOverTcp,
    AicpA,
    AicpB,
    AicpOverTcp,
    Bottleneck,
    CustomerGroup,
    DualQueues,
    Padhye,
    Pi2,
    Pie,
    PiecewiseLinear,
    Red,
    Reno,
    Scalable,
    abc_stability,
    aicp_stability,
    stability,
    stable_delays,
)
from tidegate.analysis.abc_loop import own_margins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PACKET_BITS = 12_000
_MILLI = 1e-3
_QUEUES = {"red": Red(), "pie": Pie(), "dualpi2": Pi2()}


def reno_on_queue(levels: Mapping[str, Any]) -> dict[str, Any]:
    """Gain margin, mean window and marks of `flows` on a `queue`, at `rate_mbps`, `base_rtt_ms`."""
    link = reno_link(levels)
    at = link.equilibrium
    return {
        "gain_margin": stability(link).gain_margin,
        "window_packets": at.window_packets[0],
        "marked_share": at.met_probability[0],
    }


def reno_delays(levels: Mapping[str, Any]) -> dict[str, float]:
    """Ranges of base round trips in which the same is stable, in milliseconds."""
    link = reno_link({**levels, "base_rtt_ms": 1})
    ranges = stable_delays(link, smallest=1, largest=1000)
    named: dict[str, float] = {}
    for number, (low_ms, high_ms) in enumerate(ranges, 1):
        named |= {f"stable_from_{number}_ms": low_ms, f"stable_to_{number}_ms": high_ms}
    return named


def reno_link(levels: Mapping[str, Any]) -> Bottleneck:
    """Give `flows` of Reno on a `queue`."""
    return Bottleneck(
        capacity_pps=np.asarray(levels["rate_mbps"]) * 1e6 / _PACKET_BITS,
        signal=_QUEUES[levels["queue"]],
        sources=(
            Reno(count=levels["flows"], base_rtt_s=np.asarray(levels["base_rtt_ms"]) * _MILLI),
        ),
    )


def classic_and_scalable(levels: Mapping[str, Any]) -> dict[str, float]:
    """Rates of `flows` of Reno and as many scalable ones, and margins, in one queue and in two."""
    sources = tuple(
        law(count=levels["flows"], base_rtt_s=levels["base_rtt_ms"] * _MILLI)
        for law in (Reno, Scalable)
    )
    capacity_pps = levels["rate_mbps"] * 1e6 / _PACKET_BITS
    metrics: dict[str, float] = {}
    for kind, name in ((Bottleneck, "one_queue"), (DualQueues, "two_queues")):
        link = kind(capacity_pps=capacity_pps, signal=Pi2(), sources=sources)
        classic, scalable = (float(pps) * _PACKET_BITS / 1e6 for pps in link.equilibrium.rate_pps)
        metrics |= {
            f"{name}_classic_mbps": classic,
            f"{name}_scalable_mbps": scalable,
            f"{name}_gain_margin": float(stability(link).gain_margin),
        }
    return metrics


_LAWS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "paper": ((11, 0.0), (17, 0.01), (24, 1.0)),
    "calm": ((0, 0.0), (2000, 1.0)),
}
# Two accesses of 0.1 ms each way, and 1500 bytes sent at 10 Mb/s and twice at 100 Mb/s.
_OTHER_RTT_S = 0.4e-3 + 1.2e-3 + 0.24e-3


def abc_over_tcp(levels: Mapping[str, Any]) -> dict[str, float]:
    """Where `u_0` users of ten flows and `u_1` of one settle on the ABC paper's link, and margins.

    Levels `gamma`, `inertia_s` and `law` are the paper's own if they are missing.
    """
    link = _abc_link(levels)
    at = link.equilibrium
    heavy, light = at.throughput_pps
    flows = link.customers[1]
    return {
        "model_ratio": heavy / light,
        "model_queue_packets": at.queue_packets,
        "model_window_packets": at.offered_pps[1]
        * flows.rtt_s(at.queue_packets, link.capacity_pps),
        "joint_margin": abc_stability(link).joint.gain_margin,
        "users_margin": _users_margin(link),
    }


def abc_users(levels: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest margin of the same users against each other alone."""
    names = [name for name in levels if isinstance(levels[name], np.ndarray)]
    margin = np.vectorize(
        lambda *values: _users_margin(
            _abc_link({**levels, **dict(zip(names, values, strict=True))})
        )
    )
    return {"users_margin": margin(*(levels[name] for name in names))}


def _abc_link(levels: Mapping[str, Any]) -> AbcOverTcp:
    base_rtt_s = 2 * levels["D_b_ms"] / 1e3 + _OTHER_RTT_S
    return AbcOverTcp(
        capacity_pps=1e7 / _PACKET_BITS,
        signal=PiecewiseLinear(points=_LAWS[levels.get("law", "paper")]),
        customers=tuple(
            CustomerGroup(
                count=count,
                flows=Padhye(count=flows, base_rtt_s=base_rtt_s),
                reference_pps=0.05e6 / _PACKET_BITS,
            )
            for count, flows in ((levels["u_0"], 10), (levels["u_1"], 1))
        ),
        gamma=float(levels.get("gamma", 3)),
        inertia_s=float(levels.get("inertia_s", 0.6)),
    )


def _users_margin(link: AbcOverTcp) -> float:
    return min(margin.gain_margin for margin in own_margins(link) if margin is not None)


_MIN_PACKETS, _MAX_PACKETS = 60.0, 115.0


def aicp_over_tcp(levels: Mapping[str, Any]) -> dict[str, float]:
    """Where a customer of five flows and one of one settle under AICP, and their margin.

    Levels are `variant`, `fill_bytes_per_s` and RED's `red_max_probability`.
    """
    most = levels["red_max_probability"]
    thresholds = AicpA(min_threshold=_MIN_PACKETS, max_threshold=_MAX_PACKETS, max_probability=most)
    link = AicpOverTcp(
        capacity_pps=1e7 / _PACKET_BITS,
        signal=Red(
            min_threshold_packets=_MIN_PACKETS,
            max_threshold_packets=_MAX_PACKETS,
            max_probability=most,
            weight=0.008,
        ),
        customers=tuple(
            CustomerGroup(count=1, flows=Reno(count=flows, base_rtt_s=0.1)) for flows in (5, 1)
        ),
        policing=thresholds if levels["variant"] == "aicp-a" else AicpB(),
        fill_pps=levels["fill_bytes_per_s"] / (_PACKET_BITS / 8),
    )
    at = link.equilibrium
    return {
        "model_p": at.probability,
        "model_heavy_fill": at.state[0],
        "model_light_fill": at.state[1],
        "model_heavy_pps": at.throughput_pps[0],
        "model_light_pps": at.throughput_pps[1],
        "model_queue_packets": at.queue_packets,
        "gain_margin": aicp_stability(link)[0].gain_margin,
    }


LOOPS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "reno-on-queue": reno_on_queue,
    "reno-delays": reno_delays,
    "classic-and-scalable": classic_and_scalable,
    "abc-over-tcp": abc_over_tcp,
    "abc-users": abc_users,
    "aicp-over-tcp": aicp_over_tcp,
}
