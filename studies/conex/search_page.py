"""SEARCH.md: every row of the search, and what each change does to the claims."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from search import CURVES, begins_full, is_best, of_stage, whole_pages
from search_readings import (
    LITERAL,
    RATES,
    RUNS,
    RUNS_AGAIN,
    STAGES,
    TAKEN,
    reading_tasks,
)

from tidegate.studies.page import table, write_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from search import Row, Search

_BESIDES = ("held of figures 20 to 22", "undecided of these")
_STRICT_AND_MILD = [*CURVES["strict"], *CURVES["mild"]]


def page(search: Search, measured: Iterable[Row]) -> None:
    """Write SEARCH.md."""
    rows = list(measured)
    first, once = of_stage(rows, "first"), of_stage(rows, "once")
    changes = [row for row in rows if row["stage"] == "changes"]
    again = of_stage(rows, "again")
    besides = {row["reading"]: _besides(row) for row in rows if row["stage"] == "besides"}
    pages = whole_pages()
    if not is_best(TAKEN, pages):
        raise SystemExit(f"{TAKEN!r} is taken, and {pages[0]['reading']!r} has more")
    (unchanged,) = (row for row in changes if row["change"] == "nothing")
    head = ["held", "undecided", "stars", *_STRICT_AND_MILD]
    counts = {stage: len(_told(search, stage)) for stage in STAGES}
    parts = [
        _HEAD.format(runs=RUNS, rates=", ".join(map(str, RATES)), readings=len(reading_tasks())),
        _AGAIN.format(
            claims=counts["again"],
            cells=len(search.cells),
            runs=RUNS_AGAIN,
            besides=counts["besides"],
        ),
        _readings(
            [row | besides[row["reading"]] for row in again], [*head[:3], *_BESIDES, *head[3:]]
        ),
        _PAGES.format(cells=len(search.cells)),
        _readings(pages, ["held", "undecided", "stars", "not held (? undecided)"]),
        _LOST,
        _beside(search, again),
        _ONCE.format(
            claims=counts["once"],
            cells=len(search.cells),
            full=sum(begins_full(row["reading"]) for row in once),
            empty=sum(not begins_full(row["reading"]) for row in once),
        ),
        _readings(once, head),
        _BY_CLAIM.format(readings=len(once)),
        _by_claim(search, once),
        _FIRST.format(claims=counts["first"], readings=len(first)),
        _readings(first, [one for one in head if one != "stars"]),
        _CHANGES.format(claims=counts["changes"], cells=len(search.cells)),
        table(
            ["changed", *head, "claims that come out differently"],
            [[row["change"], *(row[key] for key in head), _moved(search, row, unchanged)]
             for row in changes],
        ),
        _APPLICATIONS.format(
            claims=counts["applications"],
            held=sum(unchanged[one] == "holds" for one in _told(search, "applications")),
        ),
        _applications(search, rows, unchanged),
        _BEFORE,
    ]  # fmt: skip
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    write_page(Path(__file__).with_name("SEARCH.md"), text)


def _told(search: Search, stage: str) -> list[str]:
    return [claim.id for one in search.chosen(stage) for claim in one.claims]


def _readings(rows: Sequence[Row], head: Sequence[str]) -> str:
    return table(["reading", *head], [[_name(row), *(row[key] for key in head)] for row in rows])


def _besides(row: Row) -> Row:
    """What holds of figures 20 to 22."""
    return dict(zip(_BESIDES, (row["held"], row["undecided"]), strict=True))


def _by_claim(search: Search, rows: Sequence[Row]) -> str:
    """In how many readings a claim holds that does not in all, the rarest first."""
    verdicts = {one: Counter(row[one] for row in rows if row[one]) for one in search.claims}
    shown = [one for one, counts in verdicts.items() if counts and set(counts) != {"holds"}]
    return table(
        ["claim", "holds", "undecided", "fails", "in the reading that is taken"],
        [[f"`{one}`", *(str(verdicts[one][key]) for key in ("holds", "undecided", "fails")),
          _taken(rows)[one]]
         for one in sorted(shown, key=lambda one: verdicts[one]["holds"])],
    )  # fmt: skip


def _applications(search: Search, rows: Sequence[Row], unchanged: Row) -> str:
    return table(
        ["changed", "held", "undecided", "claims that come out differently"],
        [[row["change"], row["held"], row["undecided"], _moved(search, row, unchanged)]
         for row in rows if row["stage"] == "applications"],
    )  # fmt: skip


def _beside(search: Search, rows: Sequence[Row]) -> str:
    """Claims that do not hold in the reading that is taken, by reading."""
    shown = [one for one in search.claims if _taken(rows)[one] not in ("holds", "")]
    return table(
        ["claim", *(_name(row) for row in rows)],
        [[f"`{one}`", *(row[one] for row in rows)] for one in shown],
    )


def _taken(rows: Iterable[Row]) -> Row:
    (taken,) = (row for row in rows if row["reading"] == TAKEN)
    return taken


def _name(row: Row) -> str:
    marks = {TAKEN: "**{}** (taken)", LITERAL: "**{}** (the text's own words)"}
    return marks.get(row["reading"], "{}").format(row["reading"])


def _moved(search: Search, row: Row, unchanged: Row) -> str:
    moved = [
        f"`{one}`: {row[one]}" for one in search.claims if row[one] and row[one] != unchanged[one]
    ]
    return "; ".join(moved) or "none"


_HEAD = """
# What the paper leaves open: the whole search

Written by `studies/conex/search.py`; `search.csv` has the verdict on each claim, with {runs} run a
point and filling rates of {rates} packets/s. What would need more runs to be told counts as
undecided, and a gap that has to be seen beyond its interval as not seen; stars rank the means
themselves. Behind claims and stars stands the unfairness at some filling rates (packets/s).

Six questions are asked of the policer and of what is declared, {readings} combinations in all:

- the policer stops **all** packets of a user, or **declared** ones only;
- tokens are **paid on arrival**, also by what is dropped; **paid if it passes**, where the fill
  decides that is left then; or **paid last**, where the one decides that the packet finds;
- a bucket is overdrawn as far as its probability of a drop grows, or **owes a packet** at most, the
  last one that it paid for in part, since nothing can be taken out of one that is empty: then of
  what it may drop a soft policer of d packets drops at most 1/d, a mild one 10/d, a strict one all;
- buckets are **full** or **empty at first**;
- **each loss** is declared; **each loss that ACKs tell**, and not what the timer alone finds; or
  **one loss an event**, a fast recovery or a time-out;
- a declaration goes **on new data**, or **on any data**, retransmissions included.
"""

_AGAIN = """
## Which was taken

With one run a seventh or more of the claims is undecided (below). So of those that begin with
ns-2's bucket, a full one, all within two claims of the best, and the best of each answer to who is
dropped and to how far a bucket is overdrawn, were run again at all fourteen filling rates, {runs}
times a point. They were put to {claims} claims and {cells} stars, now ranked beyond the interval of
their difference, and besides to the {besides} of figures 20 to 22, which do not decide.

How far a bucket may be overdrawn became the sixth question when the other five had been decided and
the page had been made with their answer. Two readings that owe a packet had then been put to all
claims with one run, so that it was known what this one would hold. The rule was written down before
the rest was run. That two claims more or less go on, here and to whole pages, was added later, in
sight of what these readings held (README.md).
"""

_PAGES = """
Three runs do not tell those apart that are within two claims of the best. With these the whole page
was made, all 98 claims and {cells} stars, with its thirty runs a point and, but for
figure 20 with one loss an event, ninety where these leave one open. Taken is the one with the most
claims, and then the most stars; of equal ones the first in the order of the answers above.
"""

_LOST = """
Claims that do not hold in the reading that is taken with three runs, and what they are in the
others:
"""

_ONCE = """
## Figures 7 to 19 and table IV, with one run

{claims} claims and {cells} stars: all {full} readings that begin with a full bucket, as ns-2's do,
and {empty} that begin with an empty one, none of which is taken by the rule.
"""

_BY_CLAIM = """
In how many of the {readings} a claim holds with one run that does not hold in all, the rarest
first:
"""

_FIRST = """
## Figures 7 and 8

{claims} claims; all {readings} readings.
"""

_CHANGES = """
## What each other assumption does

The reading that is taken, with one thing changed; {claims} claims of figures 7 to 22 and {cells}
stars, with one run.
"""

_APPLICATIONS = """
## Short flows and videos

What figures 20 to 22 alone rest on, changed in the same way: {claims} claims, of which {held} hold
with nothing changed. LEDBAT's target changes what is measured (README.md), and no verdict.
"""

_BEFORE = """
## An earlier search

`search_sack1.csv` has one of before: 32 readings, put to the claims of figures 7, 8 and 19 and
table IV, with the rules of ns-2's Sack1 for the sender. It asked also whether what was declared on
a lost packet is declared again, which never held more, and not which losses are declared. There a
policer that drops declared packets only, empty at first, held 17 of 23 claims and 13 stars, and the
text's own words 15 and 12.
"""
