"""Why packets differ from the equilibrium of links that tell nobody apart."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.analysis.accuracy.measured import measured
from tidegate.analysis.prices import Pc1, TcpRm, VegasCp
from tidegate.analysis.sources import Aimd, Cubic, Reno, SbrmSource, Scalable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.analysis.bottleneck import Bottleneck, Equilibrium
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.network import NetworkEquilibrium
    from tidegate.analysis.sources import Source

# The thresholds separate scenarios within 10 % of the rates and 20 % of the queue from the others
# in the study's random sample.
_SWINGS = 1.0
"""Gain margins below it swing."""
_SMALL = {Scalable: 3.2, TcpRm: 3.2}
_SMALL_WINDOW = 2.0
_SAW_OF_ONE = {Reno: 0.45, Scalable: 0.45, Cubic: 0.2}
"""Queue over window, below which the saw of a flow alone empties the queue."""
_SAW_OF_MANY = {Reno: 0.15, Scalable: 0.15, Cubic: 0.08}
"""The same for several, times the root of their number."""
_LESS_SIGNALS, _SHORTER = 0.7, 0.77
"""A queue that 30 % fewer signals make shorter than this share of it."""
_ROUND_TRIPS = 1.3
"""Ratio of round trips from which on it matters how rates go by them."""
_SMOOTH_WINDOW, _SMOOTH_FLOWS = 6.0, 4
_TIMES = 2.5
"""So many warm-ups a single group's settling may take; with several groups, one."""


class Cause(NamedTuple):
    """One reason, of a kind whose deviations have been measured."""

    kind: str
    key: str
    """In the scenario file."""
    what: str

    def __str__(self) -> str:
        """As a warning: where, what, and by how much."""
        known = measured().get(self.kind)
        return f"{self.key}: {self.what}" + (f"; {known}" if known else "")

    def to_dict(self) -> dict[str, object]:
        """As in the JSON output."""
        known = measured().get(self.kind)
        said = {"kind": self.kind, "key": self.key, "what": self.what}
        return {**said, **(asdict(known) if known else {})}


@dataclass(frozen=True)
class Senders:
    """Bundles that meet at a link, or all of a network, with their laws and where they settle."""

    bundles: Sequence[Bundle]
    sources: Sequence[Source]
    windows: tuple[float, ...]
    met: tuple[float, ...]
    rtt_s: tuple[float, ...]

    @classmethod
    def of(
        cls,
        bundles: Sequence[Bundle],
        sources: Sequence[Source],
        at: Equilibrium | NetworkEquilibrium,
    ) -> Senders:
        """With their equilibrium."""
        numbers = (at.window_packets, at.met_probability, at.rtt_s)
        return cls(bundles, sources, *(tuple(map(float, values)) for values in numbers))

    @property
    def clocked(self) -> list[int]:
        """Those that answer to congestion, as indices."""
        return [i for i, source in enumerate(self.sources) if source.clocked]

    @property
    def flows(self) -> int:
        """How many answer to it."""
        return sum(self.bundles[i].flows for i in self.clocked)


def of_bottleneck(
    key: str,
    bottleneck: Bottleneck,
    senders: Senders,
    *,
    gain_margin: float,
    warm_up_s: float,
    mark_limit: float | None = None,
) -> list[Cause]:
    """Every cause at one link.

    Parameters
    ----------
    key
        Of the link's table in the scenario file.
    bottleneck, senders
        The model, and who it is of.
    gain_margin
        Of the loop of these senders; NaN counts as ample.
    warm_up_s
        After how long the simulation is measured.
    mark_limit
        Probability from which on the queue drops and does not mark (PIE), if there is one.
    """
    found = of_senders(senders, warm_up_s=warm_up_s)
    moves = any(not isinstance(senders.sources[i], VegasCp) for i in senders.clocked)
    if moves and gain_margin < _SWINGS:
        found.insert(0, swings(key, gain_margin))
    if isinstance(bottleneck.signal, Pc1):
        what = "PC1 keeps whatever queue it comes to, which goes by the start and by chance"
        found.append(Cause("pc1", f"{key}.aqm", what))
    found += _idles(key, bottleneck, senders)
    if any(isinstance(source, Aimd | Scalable) for source in senders.sources):
        found += _steep(key, bottleneck)
    if mark_limit is not None:
        found += _drops(key, senders, mark_limit)
    return found


def swings(key: str, gain_margin: float) -> Cause:
    """The queue does not stay where it settles."""
    what = (
        f"the queue swings (gain margin {gain_margin:.2g}), so that means are not the equilibrium"
    )
    return Cause("swings", key, what)


def of_senders(senders: Senders, *, warm_up_s: float) -> list[Cause]:
    """Causes that lie in who sends, whatever the links."""
    return [
        *_small(senders),
        *_laws(senders),
        *_round_trips(senders),
        *_slow(senders, warm_up_s),
    ]


def _small(senders: Senders) -> Iterable[Cause]:
    for i in senders.clocked:
        source, window = senders.sources[i], senders.windows[i]
        limit = next((w for law, w in _SMALL.items() if isinstance(source, law)), _SMALL_WINDOW)
        if window < limit:
            what = (
                f"a window of {window:.2g} packets is below {limit:g}, where timers and whole "
                "packets, not the law, set the rate"
            )
            yield Cause("small-windows", senders.bundles[i].key, what)


def _laws(senders: Senders) -> Iterable[Cause]:
    laws = {type(senders.sources[i]) for i in senders.clocked}
    if len(laws) < 2:
        return
    names = sorted({_sender(senders.bundles[i]) for i in senders.clocked})
    what = (
        f"senders of several laws ({', '.join(names)}) share the link, and how much each has of it "
        "goes by the shape of their saws, which the laws' means leave out"
    )
    yield Cause("several-laws", senders.bundles[senders.clocked[0]].key, what)


def _sender(bundle: Bundle) -> str:
    return str((bundle.tcp or {})["congestion_control"]["kind"])


def _round_trips(senders: Senders) -> Iterable[Cause]:
    """Of those whose rates go by them; Vegas/CP moves once a round trip, however far it is off."""
    by_rtt = [
        i
        for i in senders.clocked
        if not isinstance(senders.sources[i], SbrmSource) or isinstance(senders.sources[i], VegasCp)
    ]
    rtts = [senders.rtt_s[i] for i in by_rtt]
    if len(rtts) < 2 or max(rtts) / min(rtts) < _ROUND_TRIPS:
        return
    few = senders.flows <= _SMOOTH_FLOWS or min(senders.windows[i] for i in by_rtt) < _SMOOTH_WINDOW
    if few or any(isinstance(senders.sources[i], Scalable | VegasCp) for i in by_rtt):
        low, high = (1e3 * end(rtts) for end in (min, max))
        what = (
            f"round trips of {low:.3g} and {high:.3g} ms meet, and with few flows, windows below "
            f"{_SMOOTH_WINDOW:g} packets or answers in proportion to marks the rates do not go by "
            "1/R as in the law"
        )
        yield Cause("round-trips", senders.bundles[by_rtt[0]].key, what)


def _slow(senders: Senders, warm_up_s: float) -> Iterable[Cause]:
    """Laws that take longer to come to their rate than is waited for."""
    moves = [i for i in senders.clocked if not isinstance(senders.sources[i], VegasCp)]
    times = [(_settles_s(senders, i), i) for i in moves]
    longest, slowest = max(times, default=(0.0, 0))
    allowed = warm_up_s * (1 if len(senders.clocked) > 1 else _TIMES)
    if longest > allowed:
        what = (
            f"its rate comes nearer to the equilibrium by a factor e in {longest:.3g} s, and the "
            f"measurement begins after {warm_up_s:.3g} s"
        )
        yield Cause("slow", senders.bundles[slowest].key, what)


def _settles_s(senders: Senders, i: int) -> float:
    """Time constant of a window whose signal stays: 1/(x |g_W|)."""
    window, met, rtt = (
        np.asarray(values[i]) for values in (senders.windows, senders.met, senders.rtt_s)
    )
    falls = -float(senders.sources[i].slopes(window, met, rtt).of_window)
    rate = float(window / rtt)
    return 1 / (rate * falls) if falls > 0 else 0.0


def _idles(key: str, bottleneck: Bottleneck, senders: Senders) -> Iterable[Cause]:
    """The saws of the windows are larger than the queue."""
    queue = float(bottleneck.equilibrium.queue_packets)
    shares = _SAW_OF_ONE if senders.flows == 1 else _SAW_OF_MANY
    for i in senders.clocked:
        share = next((s for law, s in shares.items() if isinstance(senders.sources[i], law)), 0.0)
        saw = share * math.sqrt(senders.flows) * senders.windows[i]
        if queue < saw:
            what = (
                f"a queue of {queue:.3g} packets is short beside the saws of {senders.flows} flows "
                f"with windows of {senders.windows[i]:.3g}, and runs empty"
            )
            yield Cause("short-queue", key, what)
            return


def _steep(key: str, bottleneck: Bottleneck) -> Iterable[Cause]:
    at = bottleneck.equilibrium
    queue = float(at.queue_packets)
    with_fewer = float(
        bottleneck.signal.queue_packets(
            _LESS_SIGNALS * at.probability, np.asarray(bottleneck.capacity_pps)
        )
    )
    if with_fewer < _SHORTER * queue:
        what = (
            "a saw gets its mean window from up to 30 % fewer signals than the law says, and the "
            f"queue of {queue:.3g} packets goes by that: {with_fewer:.3g} packets with 30 % fewer"
        )
        yield Cause("steep-queue", key, what)


def _drops(key: str, senders: Senders, mark_limit: float) -> Iterable[Cause]:
    """PIE drops ECN-capable packets where it is above its mark_limit (RFC 8033, section 5.1)."""
    for i in senders.clocked:
        pays = isinstance(senders.sources[i], SbrmSource) and len(senders.clocked) > 1
        needs_marks = pays or isinstance(senders.sources[i], Scalable)
        if needs_marks and senders.met[i] > mark_limit:
            what = (
                f"PIE drops, and does not mark, from a probability of {100 * mark_limit:g} % on, "
                f"and here it is {100 * senders.met[i]:.0f} %; {_sender(senders.bundles[i])} "
                "answers to that by another law"
            )
            yield Cause("drops-for-marks", key, what)
            return
