"""What the integrator in `crates/fluid` is asked to follow, from each kind of model.

`written` gives links, sources and the state at the equilibrium; a model that has no equilibrium
begins cold, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tidegate.analysis.abc_tcp import AbcOverTcp
from tidegate.analysis.network import Network
from tidegate.analysis.policers import PolicedLink
from tidegate.analysis.two_queues import DualQueues
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate import _native
    from tidegate.analysis.bottleneck import Bottleneck
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Source

Followed: TypeAlias = "Bottleneck | Network | AbcOverTcp | PolicedLink"
"""What has a fluid: one bottleneck, several, or one that tells customers apart."""


@dataclass(frozen=True)
class State:
    """Where a fluid is: an entry for each link, or for each group of sources."""

    windows: list[float]
    queues: list[float]
    probabilities: list[float]
    known: list[float]
    """What a link knows of a customer: ABC's activity, the tokens in a bucket."""
    mean_known: float
    rtts_s: list[float]


@dataclass(frozen=True)
class Written:
    """A model as the integrator takes it, and how its equilibrium is found."""

    links: list[_native._Queue]
    sources: list[_native._Sources]
    settled: Callable[[], State]
    cold_known: float = 0.0
    """What is known of a customer at first."""


def written(model: Followed) -> Written:
    """Put a model in the integrator's words."""
    if isinstance(model, Network):
        return _network(model)
    if isinstance(model, AbcOverTcp):
        return _abc(model)
    if isinstance(model, PolicedLink):
        return _policed(model)
    return _bottleneck(model)


def _bottleneck(model: Bottleneck) -> Written:
    def settled() -> State:
        at = model.equilibrium
        none = [0.0] * len(model.sources)
        queue = at.queue_packets
        if isinstance(model, DualQueues):
            queue = model.classic_queue_packets
        return State(
            [float(window) for window in at.window_packets],
            [float(queue)], [float(at.probability)], none, 0.0,
            [float(rtt_s) for rtt_s in at.rtt_s],
        )  # fmt: skip

    policy = model.policy if isinstance(model, DualQueues) else ("alike", [])
    link = _link(model.capacity_pps, model.signal, policy)
    return Written([link], [_source(source) for source in model.sources], settled)


def _network(model: Network) -> Written:
    names = list(model.links)

    def settled() -> State:
        at = model.equilibrium
        return State(
            list(at.window_packets),
            [at.queue_packets[name] for name in names],
            [at.probability[name] for name in names],
            [0.0] * len(model.routes), 0.0, list(at.rtt_s),
        )  # fmt: skip

    links = [_link(link.capacity_pps, link.signal, ("alike", [])) for link in model.links.values()]
    sources = [
        _source(route.source, route=[names.index(name) for name in route.links])
        for route in model.routes
    ]
    return Written(links, sources, settled)


def _abc(model: AbcOverTcp) -> Written:
    def settled() -> State:
        at = model.equilibrium
        rtts = [each.rtt_s(at.queue_packets, model.capacity_pps) for each in model.customers]
        windows = [
            offered / number(each.flows.count) * rtt_s
            for offered, each, rtt_s in zip(at.offered_pps, model.customers, rtts, strict=True)
        ]
        queues, probabilities = [at.queue_packets], [at.probability]
        return State(windows, queues, probabilities, list(at.state), at.mean_state, rtts)

    policy = ("abc", [model.gamma, model.inertia_s, model.activity_weight])
    sources = [
        _source(each.flows, customers=each.count, granted_pps=each.reference_pps or 0.0)
        for each in model.customers
    ]
    return Written([_link(model.capacity_pps, model.signal, policy)], sources, settled)


def _policed(model: PolicedLink) -> Written:
    def settled() -> State:
        raise AnalysisError(
            "a policed user has an equilibrium of rates, and no small swing around it: its bucket "
            "is empty; a cold start would do"
        )

    link = _link(model.capacity_pps, model.signal, ("afcp", [model.depth_packets]))
    sources = [
        _source(each.source, customers=each.count, granted_pps=each.fill_pps)
        for each in model.customers
    ]
    return Written([link], sources, settled, cold_known=model.depth_packets)


def _link(
    capacity_pps: object, signal: Signal, policy: tuple[str, Sequence[float]]
) -> _native._Queue:
    if signal.law is None:
        raise AnalysisError(f"{type(signal).__name__} has no fluid; its loop and equilibrium do")
    says = (signal.law, [number(value) for value in signal.numbers()])
    return {"capacity_pps": number(capacity_pps), "signal": says, "policy": policy}


def _source(
    source: Source,
    *,
    route: list[int] | None = None,
    customers: float = 1.0,
    granted_pps: float = 0.0,
) -> _native._Sources:
    if source.law is None:
        raise AnalysisError(f"{type(source).__name__} has no fluid; its loop and equilibrium do")
    flows = number(source.count)
    return {
        "law": source.law,
        "count": flows * customers,
        "base_rtt_s": number(source.base_rtt_s),
        "parameters": [number(value) for value in source.numbers()],
        "route": [0] if route is None else route,
        "flows": flows,
        "granted_pps": granted_pps,
    }


def number(value: object) -> float:
    """A parameter of a fluid, which is of one case."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim:
        raise AnalysisError("a fluid is of one case: every parameter is a number, none an array")
    return float(array)
