"""Several bottlenecks with any sources: where they settle, and their loop.

As `tidegate.analysis.bottleneck`, for flows over more than one link. A packet passes unsignalled
where each link lets it pass, and waits at each::

    1 − p = Π (1 − p_l),    R = d + Σ b_l/c_l    over the links l of a flow's way

A link whose sources want less than it has is not full: its queue and probability are zero. Every
link is half a round trip from the source and half a round trip from its answer, and the queues do
not smooth each other's arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.signals import Settled
from tidegate.errors import AnalysisError, NoEquilibriumError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tidegate.analysis.signals import Complexes, Signal
    from tidegate.analysis.sources import Reals, Source

_LEAST, _MOST = -30.0, 30.0
"""Logits of the probabilities that are tried."""
# Rounds in which a root is enclosed, and points of each round: to 1e-10 of a logit.
_STAGES, _POINTS = 8, 33
_SWEEPS = 400
# Sweeps after which the solution is extrapolated where their moves have one direction (the cosine
# between them), and the limit of that step in moves.
_PACES = 8
_STRAIGHT = 0.99
_FARTHEST = 1e6
_EXACT = 1e-9


@dataclass(frozen=True, kw_only=True)
class Link:
    """A queue of the network."""

    capacity_pps: float
    signal: Signal


@dataclass(frozen=True, kw_only=True)
class Route:
    """Equal sources, and the links on their way."""

    source: Source
    links: tuple[str, ...]


@dataclass(frozen=True)
class NetworkEquilibrium:
    """Where a network settles: by link, and by route."""

    queue_packets: Mapping[str, float]
    probability: Mapping[str, float]
    met_probability: tuple[float, ...]
    rtt_s: tuple[float, ...]
    rate_pps: tuple[float, ...]
    full: tuple[str, ...]
    """Links that are."""

    @property
    def window_packets(self) -> tuple[float, ...]:
        """Of one source of each route."""
        return tuple(x * rtt for x, rtt in zip(self.rate_pps, self.rtt_s, strict=True))


@dataclass(frozen=True, kw_only=True)
class Network:
    """Links by name, and who goes over them; one case, every parameter a number."""

    links: Mapping[str, Link]
    routes: tuple[Route, ...]

    @cached_property
    def equilibrium(self) -> NetworkEquilibrium:
        """One probability for each link, at which it is full, or 0 where it is not.

        Each link in turn is given the one that fills it, until all of them are (the dual problem's
        descent by coordinates). Where that goes on in small steps, as between two links of nearly
        the same rate, one step goes all the way (Aitken). With sources whose rate does not depend
        on queues that is the optimum of their utilities; with others it is a fixed point.
        """
        for route in self.routes:
            for value in vars(route.source).values():
                number_of(value)
        logits = dict.fromkeys(self.links, _LEAST)
        moves: list[NDArray[np.float64]] = []
        for _ in range(_SWEEPS):
            before = dict(logits)
            for name in self.links:
                logits[name] = self._filling(name, logits)
            if all(abs(logits[name] - before[name]) < _EXACT for name in logits):
                return self._at(logits)
            moves.append(_prices(logits) - _prices(before))
            if len(moves) == _PACES:
                ahead = _far_ahead(_prices(logits), moves[1], moves[-1])
                logits = dict(zip(logits, _logits(ahead), strict=True))
                moves.clear()
        raise NoEquilibriumError(
            "the links do not settle together", "one link with the same signal would do"
        )

    def _filling(self, name: str, logits: dict[str, float]) -> float:
        """The logit with which this link is full, the others' as they are."""
        link = self.links[name]

        # What its routes meet elsewhere stays as it is.
        here = [(r, *self._passed(r, logits, name)) for r in self.routes if name in r.links]

        def excess(logit: Reals) -> Reals:
            """What arrives beyond its rate, in packets/s."""
            load = np.zeros_like(logit)
            for route, passed, rtt_s in here:
                own, delay_s = self._at_link(route, name, logit)
                met = np.maximum(1 - passed * own, _probability(_LEAST))
                load += np.asarray(route.source.count) * route.source.rate_pps(met, rtt_s + delay_s)
            return load - link.capacity_pps

        low, high = _LEAST, _MOST
        for _ in range(_STAGES):
            between = np.linspace(low, high, _POINTS)
            wants_more = excess(between) > 0
            if not wants_more[0]:
                return _LEAST
            if wants_more[-1]:
                raise NoEquilibriumError(
                    f"at {name} the sources want more than it has, whatever its signal says",
                    "fewer of them, a smaller willingness to pay or a faster link would do",
                )
            last = int(np.flatnonzero(wants_more)[-1])
            low, high = float(between[last]), float(between[last + 1])
        logit = (low + high) / 2
        if not np.all(link.signal.reaches(_probability(logit))):
            raise NoEquilibriumError(*link.signal.unreached)
        return logit

    def _at_link(self, route: Route, name: str, logit: float | Reals) -> tuple[Reals, Reals]:
        """Share of a route's packets that pass a link unmarked, and how long they wait there."""
        link = self.links[name]
        p = np.where(logit > _LEAST, _probability(logit), 0.0)
        met = link.signal.met(p, scalable=route.source.scalable)
        return 1 - met, self._queue(name, logit) / link.capacity_pps

    def _passed(
        self, route: Route, logits: Mapping[str, float], without: str = ""
    ) -> tuple[Reals, Reals]:
        """Share that passes all its links but one, and its round trip without that one's queue."""
        share, rtt_s = np.asarray(1.0), np.asarray(route.source.base_rtt_s, dtype=np.float64)
        for name in route.links:
            if name != without:
                own, delay_s = self._at_link(route, name, logits[name])
                share, rtt_s = share * own, rtt_s + delay_s
        return share, rtt_s

    def _queue(self, name: str, logit: float | Reals) -> Reals:
        """Of a link with this logit; none where it is not full."""
        link = self.links[name]
        queue = link.signal.queue_packets(_probability(logit), np.asarray(link.capacity_pps))
        return np.where(logit > _LEAST, queue, 0.0)

    def _at(self, logits: dict[str, float]) -> NetworkEquilibrium:
        full = tuple(name for name in self.links if logits[name] > _LEAST)
        ways = [self._passed(route, logits) for route in self.routes]
        # One that meets nothing would be without bounds.
        met = [np.maximum(1 - share, _probability(_LEAST)) for share, _ in ways]
        rtts = [rtt_s for _, rtt_s in ways]
        rates = [
            number_of(route.source.rate_pps(p, rtt))
            for route, p, rtt in zip(self.routes, met, rtts, strict=True)
        ]
        if not full:
            raise NoEquilibriumError("no link is full", "more sources or slower links would do")
        return NetworkEquilibrium(
            {name: float(self._queue(name, logits[name])) for name in self.links},
            {
                name: number_of(_probability(logits[name])) if name in full else 0.0
                for name in logits
            },
            tuple(map(number_of, met)),
            tuple(map(number_of, rtts)),
            tuple(rates),
            full,
        )

    def loop(self, s: Complexes) -> Complexes:
        """The open loop L(s), a matrix over the full links for each `s`: ``(s I + B)⁻¹ F``.

        Its eigenvalues are the eigenloci; with one link it is the loop of `Bottleneck`.
        """
        at = self.equilibrium
        size = len(at.full)
        signals = np.stack([self._transfer(name, s) for name in at.full])
        capacities = np.array([self.links[name].capacity_pps for name in at.full])
        forward = np.zeros((len(s), size, size), dtype=np.complex128)
        back = np.zeros_like(forward)
        for number, route in enumerate(self.routes):
            if not route.source.clocked:
                continue
            on = np.array([name in route.links for name in at.full], dtype=np.float64)
            window, rtt = at.window_packets[number], at.rtt_s[number]
            slopes = route.source.slopes(
                np.asarray(window), np.asarray(at.met_probability[number]), np.asarray(rtt)
            )
            half = np.exp(-rtt / 2 * s)
            signalled = signals * (on * self._met_slopes(number))[:, None] * half
            waits = (on / capacities)[:, None]
            answer = (
                -number_of(slopes.of_probability) * signalled
                - number_of(slopes.of_round_trip) * waits
            )
            lag = s - window / rtt * number_of(slopes.of_window)
            count = number_of(route.source.count) * window / rtt**2
            # Rows are links at which it arrives, columns those whose queue it answers to.
            forward += (count * half / lag * answer).T[:, None, :] * on[None, :, None]
            back += (count * half * waits).T[:, None, :] * on[None, :, None]
        matrix = np.linalg.solve(s[:, None, None] * np.eye(size) + back, forward)
        return np.asarray(matrix, dtype=np.complex128)

    def _transfer(self, name: str, s: Complexes) -> Complexes:
        at, link = self.equilibrium, self.links[name]
        settled = Settled(
            np.asarray(at.probability[name]),
            np.asarray(at.queue_packets[name]),
            np.asarray(link.capacity_pps),
        )
        return link.signal.transfer(s, settled)

    def _met_slopes(self, number: int) -> NDArray[np.float64]:
        """How what a route meets changes with each full link's own probability."""
        at, route = self.equilibrium, self.routes[number]
        slopes = []
        for name in at.full:
            signal, p = self.links[name].signal, np.asarray(at.probability[name])
            scalable = route.source.scalable
            here = 1 - number_of(signal.met(p, scalable=scalable))
            others = (1 - at.met_probability[number]) / max(here, 1e-12)
            slopes.append(others * number_of(signal.met_slope(p, scalable=scalable)))
        return np.array(slopes)


def _far_ahead(
    prices: NDArray[np.float64], second: NDArray[np.float64], last: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Where moves in one direction end, of which these are known; no price falls below 0."""
    along, length = float(last @ second), float(second @ second)
    if along < _STRAIGHT * float(np.linalg.norm(last) * np.linalg.norm(second)) or not along:
        return prices
    # From one to the next, over enough of them that rounding does not matter.
    ratio = min((along / length) ** (1 / (_PACES - 2)), 1.0)
    falling = last < 0
    most = float(np.min(prices[falling] / -last[falling], initial=_FARTHEST))
    paces = min(most, ratio / (1 - ratio) if ratio < 1 else most)
    return np.asarray(np.maximum(prices + paces * last, 0.0), dtype=np.float64)


def _prices(logits: Mapping[str, float]) -> NDArray[np.float64]:
    """What links' probabilities are worth on a way, where they add up: −ln(1 − p)."""
    values = np.array(list(logits.values()))
    return np.where(values > _LEAST, np.logaddexp(0.0, values), 0.0)


def _logits(prices: NDArray[np.float64]) -> list[float]:
    least = np.log1p(np.exp(_LEAST))
    found = np.log(np.expm1(np.clip(prices, least, _MOST)))
    return [float(logit) for logit in np.where(prices > least, found, _LEAST)]


def _probability(logit: float | Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-logit)))


def number_of(value: object) -> float:
    """A number that is no array."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim:
        raise AnalysisError("a network is one case: every parameter is a number, none an array")
    return float(array)
