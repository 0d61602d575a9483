"""What is measured, defined once: what a name stands for, and how each ratio is made.

All code that shows or compares one of these takes it from here; ``docs/results.md`` repeats the
meanings, and a test holds it to that. The counts come from the engine
(``crates/simulator/src/output.rs``) or, of real Linux, from the same network and the hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

LINK_DROPS = ("drops_full", "drops_aqm", "drops_wire", "drops_policer")
"""Columns of the table of links that together are all of its drops."""


@dataclass(frozen=True)
class Definition:
    """What a metric means."""

    metric: str
    """Its name in tables."""
    word: str
    """Its name for people."""
    meaning: str
    made_of: str = ""
    """The columns it is made of, as a formula; empty where it is a column of the engine's own."""
    short: str = ""
    """What a share is a share of, in few words."""


DEFINITIONS = (
    Definition(
        "throughput_bps", "throughput",
        "bits on the wire that left the flow's last link per second: headers, connection requests "
        "and duplicates included",
    ),
    Definition(
        "goodput_bps", "goodput",
        "payload that arrived in order, each byte once; above the throughput only if data from "
        "before the measurement is put in order within it",
    ),
    Definition(
        "loss_ratio", "lost",
        "packets lost by the network, of those lost or delivered",
        "losses / (losses + packets_delivered)",
        "of the packets that arrived or were lost",
    ),
    Definition(
        "mark_ratio", "marked",
        "packets that arrived with CE, of those delivered",
        "marks / packets_delivered",
        "of those that arrived",
    ),
    Definition(
        "retransmit_ratio", "retransmitted",
        "retransmissions, needed or spurious, of the packets sent",
        "retransmits / packets_sent",
        "of those sent",
    ),
    Definition(
        "mean_slowdown", "slowdown",
        "completion time of a finished transfer over its time on an empty path: two round trips "
        "and the transmission on the slowest link; mean",
        "completion_s / empty_path_s",
    ),
    Definition(
        "p95_queueing_delay_s", "p95 queueing delay",
        "95th percentile of what the one-way delay of a packet that arrived has beyond that over "
        "an empty path",
    ),
    Definition(
        "drop_ratio", "dropped",
        "packets that a link did not pass on, ACKs included, for any reason (buffer, AQM, policer, "
        "wire)",
        "drops / (drops + departures - drops_wire)",
        "of the packets, ACKs included, that left or were dropped",
    ),
)  # fmt: skip
"""All quantities whose meaning is listed. Packets of a flow are those of its sender: data,
UDP and connection requests, first and repeated ones, but no ACKs."""


def legend(metrics: list[str]) -> str:
    """What the shares among some metrics are shares of, in a line.

    >>> legend(["throughput_bps", "loss_ratio", "retransmit_ratio"])
    'lost: of the packets that arrived or were lost; retransmitted: of those sent'
    """
    used = [one for one in DEFINITIONS if one.short and one.metric in metrics]
    return "; ".join(f"{one.word}: {one.short}" for one in used)


def flow_ratios(total: Callable[[str], NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Shares of packets lost, marked, retransmitted; `total` gives counts by column's name."""
    delivered, losses = total("packets_delivered"), total("losses")
    return {
        "loss_ratio": ratio(losses, losses + delivered),
        "mark_ratio": ratio(total("marks"), delivered),
        "retransmit_ratio": ratio(total("retransmits"), total("packets_sent")),
    }


def drop_ratio(column: Callable[[str], Any]) -> NDArray[Any]:
    """Share of packets that links dropped; `column` gives a count, or nothing if it is not known.

    Where departures are events, a packet may leave before the measurement and be lost on the wire
    within it, so that losses on the wire can be one more than departures.
    """
    known = {name: column(name) for name in LINK_DROPS}
    drops = np.sum([count for count in known.values() if count is not None], axis=0)
    wire = 0 if known["drops_wire"] is None else known["drops_wire"]
    passed = np.maximum(np.asarray(column("departures"), dtype=float) - wire, 0)
    return ratio(drops, drops + passed)


def ratio(part: ArrayLike, whole: ArrayLike) -> NDArray[Any]:
    """Divide, NaN where there is nothing to divide by.

    >>> ratio([1, 0], [4, 0]).tolist()
    [0.25, nan]
    """
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
