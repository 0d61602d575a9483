"""What is open, the answers that are asked, and what each changes in the paper's scenarios."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.studies.papers.factors import Override, Setting


@dataclass(frozen=True)
class Reading:
    """One answer to what is open. The policer is in fair shares of a flow, and seconds of its r."""

    buffer: int = 200
    thresholds: str = "tenth and half"
    p_max: float = 0.05
    air_ms: str = "50"
    rate: float = 1.0
    depth_s: float = 16.0
    start_s: float = 16.0
    routers: int = 2
    length_s: int = 100
    start_within_s: float = 1.0

    @property
    def red(self) -> str:
        """RED, as a scenario has it."""
        low, high = (round(share * self.buffer) for share in _SHARES[self.thresholds])
        return (
            f'{{ kind = "red", min_threshold = "{low} packets", max_threshold = "{high} packets", '
            f"max_probability = {self.p_max}, {_OF_NS2} }}"
        )

    @property
    def round_trip_ms(self) -> int:
        """Without queues, over a wired link more than there are routers; the middle of several."""
        return 2 * (self.routers + 1) * 20 + self.delays_ms[0] + self.delays_ms[-1]

    @property
    def shortest_ms(self) -> int:
        """The shortest of several."""
        return 2 * ((self.routers + 1) * 20 + self.delays_ms[0])

    @property
    def delays_ms(self) -> list[int]:
        """Over the air: one, or the shortest and the longest."""
        return [int(one) for one in self.air_ms.split(" to ")]

    @property
    def unequal(self) -> bool:
        """Whether clients have several delays over the air."""
        return len(self.delays_ms) > 1

    def __str__(self) -> str:
        """In words."""
        return (
            f"{self.routers} routers, {self.buffer} packets, {self.thresholds}, {self.p_max}, "
            f"{self.air_ms} ms, r {self.rate:g}, D {self.depth_s:g} s, b_start {self.start_s:g} s, "
            f"{self.length_s} s, starts in {self.start_within_s:g} s"
        )

    def timed(self, text: str) -> str:
        """A scenario's text, or a part of it, with this run's length and starts."""
        tenth = self.length_s / 10
        for name, before, now in (
            ("warm_up", TAKEN.length_s / 10, tenth),
            ("duration", TAKEN.length_s * 0.9, tenth * 9),
            ("start", TAKEN.length_s / 2, tenth * 5),
            ("to", TAKEN.start_within_s, self.start_within_s),
        ):
            text = text.replace(f'{name} = "{before:g} s"', f'{name} = "{now:g} s"')
        return text


_OF_NS2 = 'weight = 0.00024, spacing = "wait", gentle = true, marks_below = 0.1'
"""RED's rules that the paper leaves to its simulator, for packets of 1500 bytes (red.cc)."""
_SHARES = {
    "tenth and quarter": (0.1, 0.25),
    "tenth and half": (0.1, 0.5),
    "tenth and whole": (0.1, 1.0),
}
"""RED's thresholds, in shares of the buffer."""
GRID = {
    "buffer": (50, 100, 200, 500, 1000, 2500),
    "thresholds": ("tenth and quarter", "tenth and half", "tenth and whole"),
    "p_max": (0.02, 0.05, 0.1),
    "air_ms": ("5", "50", "200", "5 to 200"),
}
ROUTERS = (4, 2)
OF_TEXT = 2
"""Delays side by side are asked with these routers alone."""
RATES = (1.0, 1.5, 3.0)
"""Of tokens, in fair shares of a flow."""
BUCKETS_S = ((16.0, 16.0), (16.0, 1.0), (16.0, 0.16), (4.0, 4.0), (4.0, 0.16))
"""How much a bucket holds at most and at first, in seconds of r."""
OF_NETWORKS = ((1.0, 16.0, 16.0), (1.5, 16.0, 16.0))
"""Rates and buckets with which networks are told apart."""
OF_UNEQUAL = ((3.0, 16.0, 16.0),)
"""The same where clients are not equally far."""
LENGTHS_S = (20, 40, 60, 80, 100)
STARTS_S = (0.1, 1.0, 3.0, 10.0)
"""Of runs, and the time within which all flows start, which is over before anything is measured."""
TAKEN = Reading()
"""What base.toml has."""

_RED = "links.bottleneck.aqm"
_FULL_TCP_ALONE: list[Override] = [
    ("tcp.inflation_after_timeout", "false"),
    ("tcp.progress_ends_backoff", "false"),
]
OF_ONE_WAY: list[Override] = [
    *_FULL_TCP_ALONE,
    ("tcp.limited_transmit", "true"),
    ("tcp.loss_to_one", "true"),
    ("tcp.rtt_through_recovery", "true"),
    ("tcp.jitter_per_burst", "true"),
]
"""Rules of ns-2's one-way agents that base.toml has FullTCP's in place of."""
OF_LINUX: list[Override] = [
    *_FULL_TCP_ALONE,
    ("tcp.loss_recovery", '"rack"'),
    ("tcp.limited_transmit", "true"),
]
# What base.toml assumes besides, each changed alone.
CHANGES: dict[str, list[Override]] = {
    "RED's weight 0.002": [(f"{_RED}.weight", "0.002")],
    "RED's weight 0.00008, ns-2's for packets of 500 bytes": [(f"{_RED}.weight", "0.00008")],
    "RED's signals independent": [(f"{_RED}.spacing", '"geometric"')],
    "RED's signals uniformly spaced": [(f"{_RED}.spacing", '"uniform"')],
    "RED drops all from q_max on": [(f"{_RED}.gentle", "false")],
    "RED marks at any probability": [(f"{_RED}.marks_below", "1.0")],
    "RED by size, for packets of 500 bytes": [(f"{_RED}.mean_packet", '"500 B"')],
    "window of two segments under ECN": [("tcp.ecn_to_one", "false"), ("tcp.ecn_backoff", "false")],
    "initial window of 10": [("tcp.initial_window", "10")],
    "delayed ACKs": [("tcp.delayed_ack", '"100 ms"')],
    "smallest time-out 1 s": [("tcp.min_rto", '"1 s"')],
    "ns-2's one-way NewReno": [
        ("tcp.loss_recovery", '"newreno"'),
        ("tcp.recovery_within_mark", "true"),
        ("tcp.deflate_below_threshold", "true"),
        *OF_ONE_WAY,
    ],
    "ns-2's one-way SACK": [("tcp.loss_recovery", '"sack"'), *OF_ONE_WAY],
    "today's Linux": [("profile", '"linux"'), *OF_LINUX],
    "packets of 576 bytes, FullTCP's": [("packet_size", '"576 B"')],
    "packets of 576 bytes, and RED and hosts as ns-2's": [
        ("packet_size", '"576 B"'),
        ("host_jitter", '"off"'),
        (f"{_RED}.mean_packet", '"500 B"'),
        (f"{_RED}.weight", "0.00008"),
    ],
    "hosts do not jitter, as in ns-2": [("host_jitter", '"off"')],
    "all is measured, from the first request on": [("warm_up", '"0 s"'), ("duration", '"100 s"')],
}
READ_OTHERWISE: dict[str, tuple[str, str]] = {
    "policer counts each mark": ("", 'signals = "each"'),
    "policer discards": ("", 'sanction = "discard"'),
    "positive tokens": ("", 'tokens = "positive"'),
}
"""Keys of the policer that are changed alone."""


@dataclass(frozen=True)
class Task:
    """One row: a reading, in a stage, with something changed."""

    stage: str
    reading: Reading
    change: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from other rows."""
        return (self.stage, *map(str, astuple(self.reading)), self.change)

    def applied(self, setting: Setting, experiment: str) -> Setting:
        """The setting with this in place of what paper.toml and base.toml have."""
        reading = self.reading
        base: list[Override] = [
            ("links.cell.delay", f'"{0 if reading.unequal else reading.air_ms} ms"'),
            ("links.bottleneck.buffer", f'"{reading.buffer} packets"'),
            (_RED, reading.red),
            ("users.clients.ingress", _POLICER),
        ]
        known = dict(setting.overrides).get(_RED, "red")
        changed = [
            (key, value)
            for key, value in CHANGES.get(self.change, [])
            if not key.startswith(_RED) or "red" in known
        ]
        if reading.unequal:
            base.append(("receiver_access", _SIDE_BY_SIDE))
        # A duration of its own is that of a run of which all is measured.
        whole = f'"{reading.length_s} s"'
        own_times = (
            (key, whole if key == "duration" else reading.timed(value))
            for key, value in (*setting.overrides, *changed)
        )
        given = [*base, *own_times]
        # The greedy flow of figure 7 sends twice what comes in.
        greedy = f'rate = "{10 * reading.rate / TAKEN.rate:g} Mb/s"'
        given = [(key, value.replace('rate = "10 Mb/s"', greedy)) for key, value in given]
        own = tuple((key, self._policers(value, experiment)) for key, value in given)
        scenario = reading.timed(wired(setting.base, reading.routers))
        return replace(setting, base=scenario, overrides=own)

    def _policers(self, value: str, experiment: str) -> str:
        """All policers of a value as this reading has them; the rates of figure 5 stay."""
        reading = self.reading
        by_rate = 1.0 if experiment == "fig5" else reading.rate / TAKEN.rate
        by_depth = reading.rate * reading.depth_s / (TAKEN.rate * TAKEN.depth_s)
        at_first = reading.start_s / reading.depth_s
        more = READ_OTHERWISE.get(self.change, ("", ""))[1]
        name = more.split(" = ")[0]

        def as_read(found: re.Match[str]) -> str:
            own = found[0]
            own = re.sub(r'fill_rate = "(\d+) kb/s"', _scaled("fill_rate", "kb/s", by_rate), own)
            for key in ("depth", "initial"):
                own = re.sub(rf'{key} = "(\d+) kB"', _scaled(key, "kB", by_depth), own)
            own = own if experiment == "fig7" else _begun(own, at_first)
            measured = reading.unequal and "by-user" not in own
            round_trip = (
                f'"{reading.shortest_ms} ms", measures = true'
                if measured
                else f'"{reading.round_trip_ms} ms"'
            )
            own = re.sub(r'"\d+ ms"', round_trip, own)
            own = re.sub(rf', {name} = "\w+"', "", own) if more else own
            return own.replace(" }", f", {more} }}") if more else own

        return re.sub(r'\{ kind = "re-ecn-policer"[^{}]*\}', as_read, value)


def wired(base: str, routers: int) -> str:
    """Give a scenario with so many routers between gateway and eNodeB."""
    above, below = _WIRES[routers]
    bare = re.sub(r"\[links\.(?!bottleneck\]|cell\])[^\[]*", "", base)
    at, beyond = (bare.index(f"[links.{name}]") for name in ("bottleneck", "cell"))
    links = ("".join(map(_wire, ends)) for ends in (above, below))
    return f"{bare[:at]}{next(links)}{bare[at:beyond]}{next(links)}{bare[beyond:]}"


def _wire(ends: str) -> str:
    start, end = ends.split("-")
    return (
        f'[links.{ends.lower()}]\nfrom = "{start}"\nto = "{end}"\n'
        'rate = "100 Mb/s"\ndelay = "20 ms"\nbottleneck = false\n\n'
    )


_WIRES = {4: (["G1-R4", "R4-R3"], ["R2-R1", "R1-N"]), 2: (["G1-R3"], ["R2-N"])}
"""Links before the bottleneck, from R3 to R2, and behind it."""


def _scaled(name: str, unit: str, factor: float) -> str | re.Match[str]:
    return lambda found: f'{name} = "{round(factor * int(found[1]))} {unit}"'  # type: ignore[return-value]


def _begun(policer: str, share: float) -> str:
    """A policer whose bucket holds a share of its depth at first."""
    depth = re.search(r'depth = "(\d+) kB"', policer)
    if not depth:
        raise ValueError(policer)
    bare = re.sub(r', initial = "\d+ kB"', "", policer)
    return bare.replace(" }", f', initial = "{round(share * int(depth[1]))} kB" }}')


_POLICER = (
    '[{ kind = "re-ecn-policer", fill_rate = "5000 kb/s", depth = "10000 kB", '
    'round_trip = "220 ms" }]'
)


_SIDE_BY_SIDE = '{ rate = "100 Mb/s", delay = ["5 ms", "54 ms", "102 ms", "151 ms", "200 ms"] }'
"""Links of clients that have the text's range side by side, the five of an eNodeB in equal steps.
A policer measures each flow's round trip then, at least the shortest; a user's is the middle."""
