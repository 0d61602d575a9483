"""How senders learn of congestion at the full links on their way: by marks, losses or prices."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.refusal import NoModelError

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped

PRICE_QUEUES = ("pc1", "pc2", "pc3")
"""AQMs that ask a price, which travels as `price_encoding` says."""
_IN_A_WORD = ("explicit", "four-bit")
"""Encodings whose prices stand in the packet beside its ECN field."""


class Signalled(Enum):
    """What a queue does to a sender's packets when it signals congestion."""

    MARKS = "marks packets"
    LOSSES = "drops packets"
    PRICES = "writes prices into packets"
    NOTHING = "signals nothing"


def signalled(mapped: Mapped, bundle: Bundle) -> Signalled:
    """By the full links on a bundle's way, which have to agree where it makes a difference."""
    links = [i for i in bundle.links if i in mapped.full_links]
    ways = {_at(mapped, i, bundle) for i in links}
    if ways == {Signalled.MARKS, Signalled.LOSSES} and not answers_to_marks_alone(bundle):
        return Signalled.LOSSES  # both are answered alike
    if len(ways) > 1:
        raise NoModelError(
            f"{mapped.key(links[0])}.ecn",
            f"of the full links on the way of {bundle.key} one {' and one '.join(_words(ways))}",
            "let all of them signal alike, by ecn = true",
        )
    return ways.pop() if ways else Signalled.LOSSES


def _words(ways: set[Signalled]) -> list[str]:
    return sorted(way.value for way in ways)


def _at(mapped: Mapped, index: int, bundle: Bundle) -> Signalled:
    link = mapped.link(index)
    capable = bool((bundle.tcp or {}).get("ecn"))
    if link["scheduler"]["kind"] == "fifo" and link["aqm"]["kind"] in PRICE_QUEUES:
        if mapped.encoding in _IN_A_WORD:
            return Signalled.PRICES
        return Signalled.MARKS if capable else Signalled.NOTHING
    if link["scheduler"]["kind"] == "fifo" and link["aqm"]["kind"] == "sbrm-queue":
        return Signalled.MARKS if capable else Signalled.NOTHING  # it never drops
    return Signalled.MARKS if link["ecn"] and capable else Signalled.LOSSES


def answers_to_marks_alone(bundle: Bundle) -> bool:
    """Whether a sender answers to marks by another law than to losses."""
    kind = (bundle.tcp or {}).get("congestion_control", {}).get("kind")
    return kind not in (None, "reno", "cubic", "linux-cubic", "cubic-2-1")


def key_of_signal(mapped: Mapped, bundle: Bundle) -> str:
    """The setting that decides how a bundle learns of congestion at the full links.

    Of a price it is the AQM; of marks that are not made, the `ecn` that is missing.
    """
    full = [i for i in bundle.links if i in mapped.full_links] or mapped.full_links
    asking = [i for i in full if mapped.link(i)["aqm"]["kind"] in PRICE_QUEUES]
    if asking:
        return f"{mapped.key(asking[0])}.aqm"
    if not (bundle.tcp or {}).get("ecn"):
        return f"{bundle.key}.tcp.ecn"
    unmarked = [i for i in full if not mapped.link(i)["ecn"]]
    return f"{mapped.key((unmarked or full)[0])}.ecn"
