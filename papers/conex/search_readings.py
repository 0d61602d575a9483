"""What the search asks: readings of the policer and of declarations, and all else assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.studies.papers.factors import Override, Setting

LONG_LIVED = (
    "baseline", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
    "fig14", "fig15", "fig16", "fig17", "fig18", "fig19", "table4",
)  # fmt: skip
SHORT_AND_VIDEO = ("fig20", "fig21", "fig22")
STAGES = {
    "first": ("baseline", "fig8"),
    "once": LONG_LIVED,
    "again": LONG_LIVED,
    "besides": SHORT_AND_VIDEO,
    "changes": (*LONG_LIVED, *SHORT_AND_VIDEO),
    "applications": SHORT_AND_VIDEO,
}
"""What readings are put to."""
RATES = (1, 3, 5, 10, 20, 45, 90, 180)
ALL_RATES = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 90, 120, 180)
RUNS = 1
RUNS_AGAIN = 3
"""Runs a point of those that are run again, and are put to figures 20 to 22 besides."""
POLICER = {
    "drops": ("all", "declared"),
    "tokens": ("on arrival", "if it passes", "last"),
    "floor": ("", '"1 packets"'),
    "initial": ("", '"0 packets"'),
}
TOKENS: dict[str, tuple[Override, ...]] = {
    "on arrival": (("charge_dropped", "true"),),
    "if it passes": (("charge_dropped", "false"),),
    "last": (("charge_dropped", "false"), ("judged", '"as-found"')),
}
SENDER = {
    "losses": ("each", "reported", "event"),
    "carrier": ("new-data", "any"),
}
TAKEN = "declared, paid last, owes a packet, full at first, each loss that ACKs tell, on new data"
LITERAL = "all, paid on arrival, full at first, each loss, on any data"
WORDS = {
    ("tokens", "on arrival"): "paid on arrival",
    ("tokens", "if it passes"): "paid if it passes",
    ("tokens", "last"): "paid last",
    ("floor", ""): "",
    ("floor", '"1 packets"'): "owes a packet",
    ("initial", ""): "full at first",
    ("initial", '"0 packets"'): "empty at first",
    ("losses", "each"): "each loss",
    ("losses", "reported"): "each loss that ACKs tell",
    ("losses", "event"): "one loss an event",
    ("carrier", "new-data"): "on new data",
    ("carrier", "any"): "on any data",
}

# What base.toml assumes besides, each changed alone.
CHANGES: dict[str, list[Override]] = {
    "nothing": [],
    "ns-2's Sack1 as sender": [
        ("tcp.loss_recovery", '"sack"'),
        ("tcp.limited_transmit_by_count", "true"),
        ("tcp.loss_to_one", "true"),
        ("tcp.after_timeout", '"go-back-n"'),
        ("tcp.rearm_on_each_ack", "false"),
        ("tcp.rtt_on_each_ack", "false"),
        ("tcp.damp_rtt_falls", "false"),
        ("tcp.window_reduction", '"immediate"'),
        ("tcp.ecn_to_one", "true"),
        ("tcp.max_rto", '"64 s"'),
    ],
    "time-outs as RFC 6298: duplicates do not start the timer anew": [
        ("tcp.rearm_on_each_ack", "false")
    ],
    "buckets empty at first": [("initial", '"0 packets"')],
    "floor of the bucket 0": [("floor", '"0 packets"')],
    "floor of the bucket ten depths": [("floor", '"450 packets"')],
    "RED's signals independent of each other": [("bottleneck.aqm.spacing", '"geometric"')],
    "RED's signals evenly spaced": [("bottleneck.aqm.spacing", '"uniform"')],
    "RED's weight 0.00004, ns-2's for packets of 500 bytes": [("bottleneck.aqm.weight", "0.00004")],
    "RED's weight 0.002, Floyd and Jacobson's": [("bottleneck.aqm.weight", "0.002")],
    "RED's weight 0.02": [("bottleneck.aqm.weight", "0.02")],
    "no time stamps": [("tcp.timestamps", "false")],
    "delayed ACKs": [("tcp.delayed_ack", '"100 ms"')],
    "smallest time-out 1 s": [("tcp.min_rto", '"1 s"')],
    "initial window 1": [("tcp.initial_window", "1")],
    "initial window 10": [("tcp.initial_window", "10")],
    "profile of today's Linux": [("profile", '"linux"')],
    "windows come down at once": [("tcp.window_reduction", '"immediate"')],
    "the same, to one segment under ECN, as ns-2's Sack1": [
        ("tcp.window_reduction", '"immediate"'),
        ("tcp.ecn_to_one", "true"),
    ],
    "CUBIC of RFC 9438, which keeps 0.7 of its window": [("tcp.congestion_control", '"cubic"')],
    "a loss is three below the highest sacked segment": [("tcp.loss_threshold", "3")],
    "round trips of ACKs of new data alone": [("tcp.rtt_on_each_ack", "false")],
    "RED by size, for packets of 1500 bytes": [("bottleneck.aqm.mean_packet", '"1500 B"')],
    "RED by size, for packets of 500 bytes, ns-2's": [("bottleneck.aqm.mean_packet", '"500 B"')],
}
# Sections V and VI: what they assume besides, each changed alone.
APPLICATIONS: dict[str, tuple[str, str]] = {
    "other traffic 85 Mb/s": ('rate = "90 Mb/s"', 'rate = "85 Mb/s"'),
    "other traffic 81 Mb/s": ('rate = "90 Mb/s"', 'rate = "81 Mb/s"'),
    **{
        f"other traffic in packets of {size} bytes": (
            'rate = "90 Mb/s" }',
            f'rate = "90 Mb/s" }}, packet_size = "{size} B"',
        )
        for size in (210, 500)
    },
    "LEDBAT's target 60 ms": ('target = "25 ms"', 'target = "60 ms"'),
    "LEDBAT's target 100 ms": ('target = "25 ms"', 'target = "100 ms"'),
}
_POLICER_KEYS = ("drops", "charge_dropped", "judged", "floor", "initial")


@dataclass(frozen=True)
class Task:
    """One row: how the policer and its senders are read, and what else is changed."""

    reading: str
    change: str
    policer: tuple[Override, ...]
    others: tuple[Override, ...]
    swap: tuple[str, str] = ("", "")
    """What stands in values of settings, and what takes its place."""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from other rows."""
        return self.reading, self.change

    def applied(self, setting: Setting) -> Setting:
        """The setting with this in place of what paper.toml and base.toml have."""
        changed = tuple(
            (key, self._policer(value) if key.endswith(".ingress") else value.replace(*self.swap))
            for key, value in setting.overrides
        )
        return replace(setting, overrides=(*self.others, *changed))

    def _policer(self, entry: str) -> str:
        """One that polices as this has it; one that only counts stays."""
        own = "".join(f", {key} = {value}" for key, value in self.policer)
        return entry if "observe" in entry else _bare(entry).replace(" }]", f"{own} }}]")


def _bare(entry: str) -> str:
    """A policer as paper.toml has it, without the keys that are searched."""
    parts = entry.removesuffix(" }]").split(", ")
    return ", ".join(part for part in parts if part.split(" = ")[0] not in _POLICER_KEYS) + " }]"


def reading_tasks() -> list[Task]:
    """Every combination of readings."""
    return [_task(*answers) for answers in _asked()]


def _asked() -> Iterator[tuple[str, ...]]:
    return product(*POLICER.values(), *SENDER.values())


def _task(drops: str, tokens: str, floor: str, initial: str, losses: str, carrier: str) -> Task:
    sender = f'{{ kind = "per-signal", losses = "{losses}", carrier = "{carrier}" }}'
    told = [drops, WORDS["tokens", tokens], WORDS["floor", floor], WORDS["initial", initial]]
    told += [WORDS["losses", losses], WORDS["carrier", carrier]]
    name = ", ".join(word for word in told if word)
    policer = [("drops", f'"{drops}"'), *TOKENS[tokens]]
    policer += [("floor", floor)] if floor else []
    policer += [("initial", initial)] if initial else []
    return Task(name, "", tuple(policer), (("tcp.conex", sender),))


def change_tasks() -> list[Task]:
    """What was taken, with one assumption changed."""
    taken = _taken()
    return [_changed(taken, change, keys) for change, keys in CHANGES.items()]


def application_tasks() -> list[Task]:
    """What was taken, with one thing changed that figures 20 to 22 alone rest on."""
    return [replace(_taken(), change=name, swap=swap) for name, swap in APPLICATIONS.items()]


def _taken() -> Task:
    (taken,) = (task for task in reading_tasks() if task.reading == TAKEN)
    return taken


def _changed(task: Task, change: str, keys: Sequence[Override]) -> Task:
    """A reading in which keys have other values."""
    names = {key for key, _ in keys}
    kept = [one for one in task.policer if one[0] not in names]
    own = [one for one in keys if one[0] in _POLICER_KEYS]
    others = [one for one in keys if one[0] not in _POLICER_KEYS]
    return replace(task, change=change, policer=(*kept, *own), others=(*task.others, *others))
