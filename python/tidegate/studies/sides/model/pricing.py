"""Models of the congestion pricing dissertation: points that are computed by `tidegate.analysis`.

Levels are in the dissertation's units: `N` sources, `c_pkts_per_ms`, `d_ms` of base round trip;
`tcp` is one of the two that it compares, with the parameters of its table 6.6.1.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.analysis import (
    Bottleneck,
    Flow,
    Red,
    Reno,
    SbrmQueue,
    SbrmSource,
    accepted_by_probes,
    critical_delay,
    erlang_b,
    fluid,
    growth_per_s,
    optimum,
    sbrm_probability,
    sbrm_rate_bps,
    stability,
    swing_hz,
    tcp_probability,
    tcp_rate_bps,
)
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from tidegate.analysis.bottleneck import Form

RENO = "TCP Reno+RED"
# Section 6.6.1: from 50 to 102 ms in steps of 4.
GRID_S = np.arange(50, 103, 4) / 1e3
COUNTS = (20, 30, 40, 50, 60)
RATES = (8, 9, 10, 11, 12, 13, 14, 15)
_MILLI = 1e3
_SECONDS_PER_HOUR = 3600.0


def _root(f: Callable[[float], float], low: float, high: float, xtol: float = 2e-12) -> float:
    from scipy.optimize import brentq

    return float(brentq(f, low, high, xtol=xtol))


def _bottleneck(levels: Mapping[str, Any], base_rtt_s: ArrayLike) -> Bottleneck:
    capacity_pps = levels["c_pkts_per_ms"] * _MILLI
    if levels["tcp"] == RENO:
        sources = (Reno(count=levels["N"], base_rtt_s=base_rtt_s),)
        return Bottleneck(capacity_pps=capacity_pps, signal=Red(), sources=sources)
    pays = SbrmSource(
        count=levels["N"],
        base_rtt_s=base_rtt_s,
        gain=levels.get("kappa", 0.2),
        willingness_pps=levels.get("w", 20.0),
    )
    signal = SbrmQueue(
        steepness_per_packet=levels.get("gamma", 0.006), target_packets=levels.get("b0", 50.0)
    )
    return Bottleneck(capacity_pps=capacity_pps, signal=signal, sources=(pays,))


def _critical_s(levels: Mapping[str, Any], form: Form) -> float:
    case = (levels["N"], levels["c_pkts_per_ms"])
    known = _critical_of_table(levels["tcp"], form)
    return known[case] if case in known else float(_exact_s(levels, form))


@functools.cache
def _critical_of_table(tcp: str, form: Form) -> Mapping[tuple[int, int], float]:
    """Of all cases of table 6.6.2 at once, which costs as much as of a few."""
    counts, rates = np.array(COUNTS, dtype=np.float64)[:, None], np.array(RATES, dtype=np.float64)
    exact_s = _exact_s({"tcp": tcp, "N": counts, "c_pkts_per_ms": rates}, form)
    return {
        (count, rate): float(exact_s[i, j])
        for i, count in enumerate(COUNTS)
        for j, rate in enumerate(RATES)
    }


def _exact_s(levels: Mapping[str, Any], form: Form) -> NDArray[np.float64]:
    return critical_delay(_bottleneck(levels, 0.07), form=form).factor * 0.07


def critical(levels: Mapping[str, Any]) -> dict[str, float]:
    """As table 6.6.2 has it: the delay of the grid whose loop passes nearest to −1, and where.

    `side_of_the_grid` is −1 where the exact critical delay lies below the grid and 1 where above.
    """
    at = stability(_bottleneck(levels, GRID_S), form="paper")
    nearest = int(np.argmin(abs(1 / at.gain_margin - 1)))
    exact_s = _critical_s(levels, "paper")
    return {
        "critical_delay": float(GRID_S[nearest]) * _MILLI,
        "critical_frequency": float(at.critical_frequency_hz[nearest]),
        "exact_critical_delay": exact_s * _MILLI,
        "side_of_the_grid": float(exact_s > GRID_S[-1]) - float(exact_s < GRID_S[0]),
    }


def margins(levels: Mapping[str, Any]) -> dict[str, float]:
    """Margins of the loop as the dissertation has it, and its gain at frequency 0."""
    bottleneck = _bottleneck(levels, levels["d_ms"] / _MILLI)
    at = stability(bottleneck, form="paper")
    return {
        "gain_margin": float(at.gain_margin),
        # Of the loop where its gain is 1: −180° at the edge.
        "phase_deg": float(at.phase_margin_deg) - 180,
        "dc_gain": float(abs(bottleneck.loop(np.asarray(0j), form="paper"))),
        "rtt_ms": _rtt_s(levels) * _MILLI,
        # With a base round trip such that the whole is what it is at the target of table 6.6.1.
        "gain_margin_at_same_rtt": _margin_at(levels, _rtt_s({**levels, "b0": 50.0})),
    }


def _rtt_s(levels: Mapping[str, Any]) -> float:
    """Round trip with its queue."""
    return float(_bottleneck(levels, levels["d_ms"] / _MILLI).equilibrium.rtt_s[0])


def _margin_at(levels: Mapping[str, Any], rtt_s: float) -> float:
    """Gain margin where the round trip with its queue is this."""

    def missing(base_rtt_s: float) -> float:
        return float(_bottleneck(levels, base_rtt_s).equilibrium.rtt_s[0]) - rtt_s

    base_rtt_s = _root(missing, 1e-4, rtt_s)
    return float(stability(_bottleneck(levels, base_rtt_s), form="paper").gain_margin)


def fluid_or_loop(levels: Mapping[str, Any]) -> dict[str, float]:
    """Critical delay and frequency, by the linear model or by following the fluid."""
    linear_s = _critical_s(levels, "paper")
    if levels["model"] == "linear model":
        at = stability(_bottleneck(levels, linear_s), form="paper")
        frequency_hz = float(at.critical_frequency_hz)
        return {"critical_delay": linear_s * _MILLI, "critical_frequency": frequency_hz}

    def growth(base_rtt_s: float) -> float:
        return growth_per_s(_bottleneck(levels, base_rtt_s), duration_s=40)

    critical_s = _root(growth, *_around(growth, linear_s), xtol=1e-5)
    edge = fluid(_bottleneck(levels, critical_s), duration_s=40, start="near", keep_s=1e-3)
    return {
        "critical_delay": critical_s * _MILLI,
        "critical_frequency": swing_hz(edge.after(20)),
        "growth_below": growth(0.98 * critical_s),
        "growth_beyond": growth(1.02 * critical_s),
        # How far the queue still swings, after a minute, from a cold start.
        "swing_below": _swing(_bottleneck(levels, 0.9 * critical_s)),
        "swing_beyond": _swing(_bottleneck(levels, 1.1 * critical_s)),
    }


def _around(growth: Callable[[float], float], guess_s: float) -> tuple[float, float]:
    """Delays at which a swing dies out and grows, however far from the guess."""
    low_s = high_s = guess_s
    while growth(low_s) > 0:
        low_s *= 0.98
    while growth(high_s) < 0:
        high_s *= 1.02
    return low_s, high_s


def _swing(bottleneck: Bottleneck) -> float:
    queue = fluid(bottleneck, duration_s=120).after(100).queue_packets
    return float(np.ptp(queue))


def means_in_region(levels: Mapping[str, Any]) -> dict[str, float]:
    """Mean window and queue of the fluid over those of the model: worst and mean over the grid."""
    ratios = _grid_ratios(levels["tcp"], bool(levels["free_queue"]))
    chosen = ratios[ratios[:, 0] == (levels["region"] == "unstable")]
    window, queue = chosen[:, 1], chosen[:, 2]
    return {
        "cwnd_ratio": float(window.mean()),
        "queue_ratio": float(queue.mean()),
        "worst_cwnd_ratio": float(window[abs(window - 1).argmax()]),
        "worst_queue_ratio": float(queue[abs(queue - 1).argmax()]),
        "points": float(len(chosen)),
    }


@functools.cache
def _grid_ratios(tcp: str, free_queue: bool) -> NDArray[np.float64]:
    """Unstable or not, mean window and mean queue over the model's; a row a case and delay."""
    rows = []
    for count in COUNTS:
        for rate in RATES:
            levels = {"tcp": tcp, "N": count, "c_pkts_per_ms": rate}
            critical_s = _critical_s(levels, "fluid")
            for base_rtt_s in GRID_S:
                bottleneck = _bottleneck(levels, base_rtt_s)
                at = bottleneck.equilibrium
                kept = fluid(bottleneck, duration_s=160, free_queue=free_queue, step_s=2e-3)
                late = kept.after(100)
                rows.append(
                    (
                        base_rtt_s > critical_s,
                        late.window_packets[0].mean() / float(at.window_packets[0]),
                        late.queue_packets.mean() / float(at.queue_packets),
                    )
                )
    return np.array(rows, dtype=np.float64)


def steady_state(levels: Mapping[str, Any]) -> dict[str, float]:
    """Where two unequal groups on one link settle: `n_a` and `n_b` sources (table 5.5.1)."""
    reno = levels["tcp"] == RENO
    groups = [
        Reno(count=levels[f"n_{name}"], base_rtt_s=levels[f"d_{name}_ms"] / _MILLI)
        if reno
        else SbrmSource(
            count=levels[f"n_{name}"],
            base_rtt_s=levels[f"d_{name}_ms"] / _MILLI,
            willingness_pps=levels[f"w_{name}"],
        )
        for name in ("a", "b")
    ]
    signal = Red() if reno else SbrmQueue()
    capacity_pps = levels["c_pkts_per_ms"] * _MILLI
    at = Bottleneck(capacity_pps=capacity_pps, signal=signal, sources=tuple(groups)).equilibrium
    metrics = {"marking": float(at.probability), "queue": float(at.queue_packets)}
    for name, rtt_s, rate_pps in zip(("a", "b"), at.rtt_s, at.rate_pps, strict=True):
        metrics[f"rtt_{name}_s"] = float(rtt_s)
        metrics[f"rate_{name}"] = float(rate_pps)
    # What the table says of these round trips and this marking.
    inverse = sum(levels[f"n_{n}"] / metrics[f"rtt_{n}_s"] for n in ("a", "b"))
    metrics["rate_by_rtt"] = metrics["rate_a"] * metrics["rtt_a_s"] * inverse / capacity_pps
    metrics["marking_by_rtt"] = metrics["marking"] * (2 + (capacity_pps / inverse) ** 2) / 2
    metrics["queue_by_marking"] = (
        metrics["queue"]
        - 50
        - (metrics["marking"] / (0.1 / 500) if reno else -np.log1p(-metrics["marking"]) / 0.006)
    )
    return metrics


def queue_of_sources(levels: Mapping[str, Any]) -> dict[str, float]:
    """Queue of N sources whose w stays as it is."""
    at = _bottleneck(levels, 0.05).equilibrium
    return {"queue": float(at.queue_packets)}


def ten_gigabits(levels: Mapping[str, Any]) -> dict[str, float]:
    """What conventional TCP and SBRM need for a rate (section 5.6.1)."""
    rate_bps, rtt_s = levels["rate_bps"], levels["rtt_ms"] / _MILLI
    packets_per_s = rate_bps / 8 / 1500
    loss = tcp_probability(rate_bps, rtt_s=rtt_s)
    mark = sbrm_probability(rate_bps, willingness_pps=levels["w"])
    return {
        "tcp_loss": loss,
        "sbrm_mark": mark,
        "hours_between_losses": 1 / (loss * packets_per_s) / _SECONDS_PER_HOUR,
        "seconds_between_marks": 1 / (mark * packets_per_s),
    }


def claimed(levels: Mapping[str, Any]) -> dict[str, float]:
    """What SBRM and conventional TCP claim at a marking probability (Figure 5.6.1)."""
    tcp_bps = tcp_rate_bps(levels["p"], rtt_s=levels["rtt_ms"] / _MILLI)
    sbrm_bps = sbrm_rate_bps(levels["p"], willingness_pps=levels["w"])
    return {
        "tcp_bytes_per_s": tcp_bps / 8,
        "sbrm_bytes_per_s": sbrm_bps / 8,
        "sbrm_to_tcp": sbrm_bps / tcp_bps,
    }


def two_links(levels: Mapping[str, Any]) -> dict[str, float]:
    """Share of one who uses one of two equal links, beside one who uses both (Figure 3.2.2)."""
    links = {"first": float(levels["c"]), "second": float(levels["c"])}
    ways = [("first", "second"), ("first",), ("second",)]
    # With no willingness at all there is nothing to share; the limit is approached.
    weight = max(levels.get("w", 1.0), 1e-4) if levels["fairness"] == "vqm" else 1.0
    flows = [Flow(links=way, weight=weight) for way in ways]
    shares = optimum(links, flows, fairness=levels["fairness"]).rates
    return {"short": shares[1] / levels["c"], "long": shares[0] / levels["c"]}


def ideal_window(levels: Mapping[str, Any]) -> dict[str, float]:
    """Window at the optimum of the double bottleneck with `f` times its flows, over that with one.

    Of the flow whose window scales worst; round trips are without queues (section 4.3.1).
    """
    links = {"first": 12_000.0, "second": 12_000.0}
    ways = [("first",), ("second",), ("first", "second")]
    weights = (100.0, 200.0, 400.0)

    def rates(times: float) -> NDArray[np.float64]:
        flows = [Flow(links=way, weight=w, count=4 * times) for way in ways for w in weights]
        return np.asarray(optimum(links, flows).rates)

    ratios = rates(levels["f"]) / rates(1.0)
    return {"window_ratio": float(ratios[np.abs(ratios * levels["f"] - 1).argmax()])}


def sbrm_marking(levels: Mapping[str, Any]) -> dict[str, float]:
    """Probability with which SBRM marks at a queue of b packets, by the law that the loop uses."""
    signal = SbrmQueue(steepness_per_packet=levels["gamma"], target_packets=levels["b0"])
    return {"marking": float(signal.probability(np.asarray(levels["b"], dtype=np.float64)))}


def sbrm_steepness(levels: Mapping[str, Any]) -> dict[str, float]:
    """The steepness at which the marking probability at a full queue is 99 %."""

    def missing(steepness: float) -> float:
        signal = SbrmQueue(steepness_per_packet=steepness, target_packets=levels["b0"])
        return float(signal.probability(np.asarray(float(levels["q_max"])))) - 0.99

    return {"gamma": _root(missing, 1e-9, 10.0, xtol=1e-15)}


def blocking(levels: Mapping[str, Any]) -> dict[str, float]:
    """Share of calls that is lost with `servers` (section 7.2)."""
    return {"blocked": float(erlang_b(levels["servers"], levels["load"]))}


def probe_threshold(levels: Mapping[str, Any]) -> dict[str, float]:
    """The marking at which the first mark among `n_probe` probes is expected with the last of them.

    With a marking p a call lets in, in the mean, 1/p packets before the first marked one.
    """
    probes = int(levels["n_probe"])

    # Mean number of packets up to the first marked one: Σ over n of the share of n unmarked ones.
    def mean_to_first(marking: float) -> float:
        horizon = int(60 / marking)
        return 1 + sum(float(accepted_by_probes(marking, n)) for n in range(1, horizon))

    try:
        threshold = _root(lambda p: mean_to_first(p) - probes, 0.5 / probes, min(2 / probes, 1.0))
    except ValueError as error:
        raise AnalysisError(f"no threshold for {probes} probes: {error}") from error
    return {"threshold": float(threshold)}


PRICING: Mapping[str, Callable[[Mapping[str, Any]], dict[str, float]]] = {
    "pricing-critical": critical,
    "pricing-margins": margins,
    "pricing-fluid": fluid_or_loop,
    "pricing-means": means_in_region,
    "pricing-steady-state": steady_state,
    "pricing-queue": queue_of_sources,
    "pricing-ten-gigabits": ten_gigabits,
    "pricing-claimed": claimed,
    "pricing-two-links": two_links,
    "pricing-ideal-window": ideal_window,
    "pricing-marking": sbrm_marking,
    "pricing-steepness": sbrm_steepness,
    "pricing-blocking": blocking,
    "pricing-probes": probe_threshold,
}
