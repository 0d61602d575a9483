"""What models say of links whose packets are simulated beside them (chapter 6), and of ways."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.analysis import (
    AdaptiveRed,
    Bottleneck,
    DirectWindow,
    Link,
    Network,
    Pc2,
    Red,
    Reno,
    Route,
    Sbrm,
    critical_delay,
    stability,
)
from tidegate.analysis.prices import price

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

_MILLI = 1e3
# Table 6.6.1.
_KAPPA, _W_PPS, _GAMMA, _B0_PACKETS = 0.2, 20.0, 0.006, 50.0
_GUESS_S = 0.07


def settled(levels: Mapping[str, Any]) -> dict[str, float]:
    """Window, queue and critical frequency of the model, and how far beyond the critical delay.

    Levels are `tcp` (its queue is the variant's), `N`, `c_pkts_per_ms` and `d_ms`.
    """
    base_rtt_s = levels["d_ms"] / _MILLI
    bottleneck = _bottleneck(levels["tcp"], levels["N"], levels["c_pkts_per_ms"], base_rtt_s)
    at = bottleneck.equilibrium
    critical_s = _critical_s(levels["tcp"], levels["N"], levels["c_pkts_per_ms"])
    metrics = {
        "mean_window": float(at.window_packets[0]),
        "mean_queue": float(at.queue_packets),
        "critical_frequency": float(stability(bottleneck, form="paper").critical_frequency_hz),
        "critical_delay": critical_s * _MILLI,
        "beyond_critical": base_rtt_s / critical_s,
    }
    if levels["tcp"] == "SBRM":
        metrics |= _clocked(levels["N"], levels["c_pkts_per_ms"], base_rtt_s)
    return metrics


@functools.cache
def _critical_s(tcp: str, count: int, c_pkts_per_ms: float) -> float:
    bottleneck = _bottleneck(tcp, count, c_pkts_per_ms, _GUESS_S)
    return float(critical_delay(bottleneck, form="paper").factor) * _GUESS_S


def _bottleneck(tcp: str, count: int, c_pkts_per_ms: float, base_rtt_s: ArrayLike) -> Bottleneck:
    c_pps = c_pkts_per_ms * _MILLI
    if tcp == "SBRM":
        return Sbrm(
            n=count,
            c_pps=c_pps,
            d_s=base_rtt_s,
            kappa=_KAPPA,
            w_pps=_W_PPS,
            gamma_per_packet=_GAMMA,
            b0_packets=_B0_PACKETS,
        ).bottleneck
    # Table 6.7.1.
    adaptive = AdaptiveRed(min_threshold_packets=25, max_threshold_packets=75)
    signal = adaptive if tcp == "TCP Reno+a-RED" else Red()
    sources = (Reno(count=count, base_rtt_s=np.asarray(base_rtt_s)),)
    return Bottleneck(capacity_pps=c_pps, signal=signal, sources=sources)


def _clocked(count: int, c_pkts_per_ms: float, base_rtt_s: float) -> dict[str, float]:
    """SBRM where ACKs clock the senders, as they do packets' windows.

    What a window sends comes in as ACKs do, so that b = Σ W − c d at once, where (6.4.1) has b′ =
    Σ W/R − c. A mark is made as a packet leaves, and what it changes is back at the queue d later:

        L(s) = K e^(−d s)/(s + κ w/W),    K = κ c γ (1 − p)

    Its frequency is that at which noise of the marks, white in W′, swings the queue most: where
    |s + κ w/W + K e^(−d s)| is least. It is stable up to about K d = π/2.
    """
    at = _bottleneck("SBRM", count, c_pkts_per_ms, base_rtt_s).equilibrium
    pole = _KAPPA * _W_PPS / float(at.window_packets[0])
    gain = _KAPPA * c_pkts_per_ms * _MILLI * _GAMMA * (1 - float(at.probability))
    s = 1j * np.linspace(0, np.pi / base_rtt_s, 100_000)
    still = abs(s + pole + gain * np.exp(-s * base_rtt_s))
    return {
        "clocked_frequency": float(s[still.argmin()].imag) / (2 * math.pi),
        "beyond_clocked": gain * base_rtt_s / (math.pi / 2),
    }


def path_price(levels: Mapping[str, Any]) -> dict[str, float]:
    """Price of a way over three links with PC2's marks, by the share that is unmarked at its end.

    Two short flows and a long one settle; `phi` is the base of the marks.
    """
    base = levels["phi"]
    names = ("a", "b", "c")
    links = {
        name: Link(
            capacity_pps=1e3 * (i + 1),
            signal=Pc2(gamma_per_packet=0.01, target_packets=10, base=base),
        )
        for i, name in enumerate(names)
    }
    routes = tuple(
        Route(
            source=DirectWindow(count=1, base_rtt_s=0.05, willingness_pps=100, base=base),
            links=way,
        )
        for way in (names, ("a",), ("b",), ("c",))
    )
    at = Network(links=links, routes=routes).equilibrium
    asked = [float(price(np.asarray(at.probability[name]), base)) for name in names]
    return {
        "path_price": -math.log(1 - at.met_probability[0]) / math.log(base),
        "sum_of_prices": sum(asked),
        # By the queues, without any probability.
        "price_by_queues": sum(0.01 * (at.queue_packets[name] - 10) for name in names),
    }


CONTROL: Mapping[str, Callable[[Mapping[str, Any]], dict[str, float]]] = {
    "control-settled": settled,
    "path-price": path_price,
}
