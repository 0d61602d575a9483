"""Why packets differ from the equilibrium of links that treat all users alike."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.analysis.accuracy.measured import measured
from tidegate.analysis.mapped.hearing import Signalled, signalled
from tidegate.analysis.prices import Pc1, Pc3, TcpRm, VegasCp
from tidegate.analysis.signals import SbrmQueue, Settled
from tidegate.analysis.sources import Aimd, Cubic, Reno, SbrmSource, Scalable
from tidegate.analysis.two_queues import DualQueues

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.analysis.bottleneck import Bottleneck, Equilibrium
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.network import NetworkEquilibrium
    from tidegate.analysis.signals import Signal
    from tidegate.analysis.sources import Source

# The thresholds separate scenarios within 10 % of the rates and 20 % of the queue from the others
# in the study's random sample.
_SWINGS = 1.0
"""Gain margins below it swing."""
_SMALL = {Scalable: 4.0, TcpRm: 3.2, SbrmSource: 2.7}
_SMALL_WINDOW = 2.0
_SAW = {Reno: (0.45, 0.43, 0.15), Scalable: (0.45, 0.25, 0.15), Cubic: (0.2, 0.12, 0.08)}
"""Queue over window and the root of the number of flows, below which saws empty the queue: of one
flow, of two, and of more."""
_FEWER_SIGNALS, _CONSTANT = 0.7, 0.95
"""30 % fewer signals leave a queue that does not go by them longer than this share of it."""
_SHORTER = {Aimd: 0.77, Scalable: 0.77, TcpRm: 0.85}
"""And one that is steep shorter than these, by whose saws there may be as many fewer."""
_MANY_LOSSES = 0.07
_FULL = 0.75
"""Share of the buffer that a mean queue may have, for its swings to fit in."""
_ROUND_TRIPS = 1.3
"""Ratio of round trips from which on it matters how rates go by them."""
_SMOOTH_WINDOW, _SMOOTH_FLOWS, _SMOOTH_PAYING_FLOWS = 6.0, 4, 6
_OF_TWO_QUEUES = {"several-laws": "coupled-queues"}
"""What is measured apart for DualPI2 with both of its queues."""
_TIMES = 2.5
"""Number of warm-ups that a single group's settling may take; with several groups, one."""


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
        entry = {"kind": self.kind, "key": self.key, "what": self.what}
        return {**entry, **(asdict(known) if known else {})}


@dataclass(frozen=True)
class Senders:
    """Bundles that meet at a link, or all of a network, with their laws and where they settle."""

    bundles: Sequence[Bundle]
    sources: Sequence[Source]
    windows: tuple[float, ...]
    met: tuple[float, ...]
    rtt_s: tuple[float, ...]
    signals: tuple[Signalled, ...]

    @classmethod
    def of(
        cls,
        mapped: Mapped,
        bundles: Sequence[Bundle],
        sources: Sequence[Source],
        at: Equilibrium | NetworkEquilibrium,
    ) -> Senders:
        """With their equilibrium, and how they learn of congestion."""
        windows, met, rtt_s = (
            tuple(map(float, values))
            for values in (at.window_packets, at.met_probability, at.rtt_s)
        )
        signals = tuple(signalled(mapped, bundle) for bundle in bundles)
        return cls(bundles, sources, windows, met, rtt_s, signals)

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
    smooth = isinstance(bottleneck.signal, SbrmQueue)
    found = of_senders(senders, warm_up_s=warm_up_s, marks_smoothly=smooth)
    moves = any(not isinstance(senders.sources[i], VegasCp) for i in senders.clocked)
    if moves and gain_margin < _SWINGS:
        found.insert(0, swings(key, gain_margin))
    if isinstance(bottleneck, DualQueues):
        found = [cause._replace(kind=_OF_TWO_QUEUES.get(cause.kind, cause.kind)) for cause in found]
    if isinstance(bottleneck.signal, Pc1):
        what = "PC1 keeps whatever queue it comes to, which goes by the start and by chance"
        found.append(Cause("pc1", f"{key}.aqm", what))
    found += _idles(key, bottleneck, senders)
    at = bottleneck.equilibrium
    settled = Settled(at.probability, at.queue_packets, np.asarray(bottleneck.capacity_pps))
    found += of_signal(key, bottleneck.signal, settled, senders)
    if mark_limit is not None:
        found += _drops(key, senders, mark_limit)
    return found


def swings(key: str, gain_margin: float) -> Cause:
    """The queue does not stay where it settles."""
    what = (
        f"the queue swings (gain margin {gain_margin:.2g}), so that means are not the equilibrium"
    )
    return Cause("swings", key, what)


def of_senders(senders: Senders, *, warm_up_s: float, marks_smoothly: bool = False) -> list[Cause]:
    """Causes that lie in who sends, whatever the links, but whether they mark as SBRM's queue."""
    return [
        *_small(senders),
        *_laws(senders),
        *_round_trips(senders, marks_smoothly=marks_smoothly),
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


def _round_trips(senders: Senders, *, marks_smoothly: bool) -> Iterable[Cause]:
    """Of those whose rates go by them; Vegas/CP moves once a round trip, however far it is off.

    SBRM's do not, but of few flows on other queues than its own, whose marks go by bursts.
    """
    few_pay = senders.flows <= _SMOOTH_PAYING_FLOWS and not marks_smoothly
    by_rtt = [
        i
        for i in senders.clocked
        if not isinstance(senders.sources[i], SbrmSource)
        or isinstance(senders.sources[i], VegasCp)
        or few_pay
    ]
    rtts = [senders.rtt_s[i] for i in by_rtt]
    if len(rtts) < 2 or max(rtts) / min(rtts) < _ROUND_TRIPS:
        return
    few = senders.flows <= _SMOOTH_FLOWS or min(senders.windows[i] for i in by_rtt) < _SMOOTH_WINDOW
    if few or any(isinstance(senders.sources[i], Scalable | SbrmSource) for i in by_rtt):
        low, high = (1e3 * end(rtts) for end in (min, max))
        what = (
            f"round trips of {low:.3g} and {high:.3g} ms meet, and with few flows, windows below "
            f"{_SMOOTH_WINDOW:g} packets or answers in proportion to marks the rates do not go by "
            "them as in the law"
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
    which = min(senders.flows, 3) - 1
    for i in senders.clocked:
        shares = (s[which] for law, s in _SAW.items() if isinstance(senders.sources[i], law))
        saw = next(shares, 0.0) * math.sqrt(senders.flows) * senders.windows[i]
        if queue < saw:
            what = (
                f"a queue of {queue:.3g} packets is short beside the saws of {senders.flows} flows "
                f"with windows of {senders.windows[i]:.3g}, and runs empty"
            )
            yield Cause("short-queue", key, what)
            return


def of_signal(key: str, signal: Signal, at: Settled, senders: Senders) -> list[Cause]:
    """Causes that come of how a queue goes by its signals."""
    fewer = _FEWER_SIGNALS * at.probability
    queue, with_fewer = float(at.queue_packets), float(signal.queue_packets(fewer, at.capacity_pps))
    found = []
    shares = [
        share
        for source in senders.sources
        for law, share in _SHORTER.items()
        if isinstance(source, law)
    ]
    if with_fewer < max(shares, default=0.0) * queue:
        what = (
            "a saw gets its mean window from up to 30 % fewer signals than the law says, and the "
            f"queue of {queue:.3g} packets goes by that: {with_fewer:.3g} packets with 30 % fewer"
        )
        found.append(Cause("steep-queue", key, what))
    if with_fewer < _CONSTANT * queue:
        found += _many_losses(senders)
    if isinstance(signal, Pc3) and any(isinstance(one, VegasCp) for one in senders.sources):
        what = "Vegas/CP moves by whole segments, and PC3's price by each of them: the queue swings"
        found.append(Cause("vegas-cp-on-pc3", key, what))
    return found


def full_buffer(key: str, queue: float, buffer: float) -> list[Cause]:
    """The mean queue may fit into the buffer where its swings do not; both in packets."""
    if queue <= _FULL * buffer:
        return []
    fits = "leaves little room in" if queue <= buffer else "does not fit into"
    what = f"a queue of {queue:.0f} packets {fits} a buffer of {buffer:.0f}"
    return [Cause("full-buffer", f"{key}.buffer", what)]


def _many_losses(senders: Senders) -> Iterable[Cause]:
    for i in senders.clocked:
        if senders.signals[i] is Signalled.LOSSES and senders.met[i] > _MANY_LOSSES:
            what = (
                f"one packet in {1 / senders.met[i]:.1f} is lost, which takes time-outs that the "
                "law does not have, so that fewer losses and a shorter queue do"
            )
            yield Cause("many-losses", senders.bundles[i].key, what)


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
