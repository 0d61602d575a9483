"""SEARCH.md: every row of the search, and what each change does to the claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search import (
    AGAIN,
    BEST,
    CHANGED,
    FIGURES,
    FOLDER,
    NETWORKS,
    RUNS,
    SHOWN,
    TIMES,
    change_tasks,
    of_stage,
    read,
    reading_of,
    score,
)
from search_readings import TAKEN

from tidegate.studies.page import table, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search import Row, Search


def page(search: Search) -> None:
    """Write SEARCH.md."""
    measured = read(search.engine)
    rows = list(measured.values())
    networks, times, figures, again = (
        sorted(of_stage(rows, stage), key=score, reverse=True)
        for stage in (NETWORKS, TIMES, FIGURES, AGAIN)
    )
    # What was changed in a reading that was taken before stays in search.csv alone.
    own = (measured[task.key] for task in change_tasks())
    changes = sorted(own, key=score, reverse=True)
    (base,) = (row for row in changes if reading_of(row) == TAKEN and not row["change"])
    claims = [claim.id for one in search.experiments(CHANGED) for claim in one.claims]
    names = {stage: ", ".join(one.name for one in search.experiments(stage)) for stage in RUNS}
    head = ["held", "parts", *SHOWN]
    parts = [
        _HEAD.format(engine=search.engine, networks=names[NETWORKS], runs=RUNS, best=BEST),
        table(["network", *head], [[_name(row), *_numbers(row, head)] for row in networks]),
        _TIMES,
        table(["reading", *head], [[_name(row), *_numbers(row, head)] for row in times]),
        _FIGURES.format(claims=len(search.claims), runs=RUNS, best=BEST),
        table(["reading", *head], [[_name(row), *_numbers(row, head)] for row in figures]),
        _AGAIN.format(runs=RUNS),
        table(["reading", *head], [[_name(row), *_numbers(row, head)] for row in again]),
        _CHANGES.format(names=names[CHANGED], claims=len(claims)),
        table(
            ["changed", *head, "claims that come out differently"],
            [
                [row["change"] or _name(row), *_numbers(row, head), _moved(row, base, claims)]
                for row in changes
            ],
        ),
    ]
    write_page(FOLDER / "SEARCH.md", "\n\n".join(part.strip() for part in parts) + "\n")


def _name(row: Row) -> str:
    reading = reading_of(row)
    return f"**{reading}** (taken)" if reading == TAKEN else str(reading)


def _numbers(row: Row, names: Sequence[str]) -> list[str]:
    return [row[name] for name in names]


def _moved(row: Row, base: Row, claims: Sequence[str]) -> str:
    moved = [f"`{one}`: {row[one]}" for one in claims if row[one] != base[one]]
    return "; ".join(moved) or "none"


_HEAD = """
# What the paper leaves open: the whole search

Written by `studies/re-ecn/search.py` with engine {engine}; `search.csv` has the verdict on each
claim. Where a row has `a/b/c/d`, these are DropTail, RED, ECN and Re-ECN, with 10 or 100 flows.
Means are judged and not intervals: what is held here may be undecided in RESULTS.md. *Held* counts
claims, *parts* is the share of what claims ask for that holds. `search_whole_runs.csv` has the
search of before, in which runs were measured from their first second on, with fewer networks, four
of which were put to all figures; `search_uniform.csv` the one before that. README.md tells what
they found.

## Networks

Routers, buffer, RED's thresholds and p_max, and the delay over the air: {networks}. Where clients
are not equally far ("5 to 200 ms", with two routers) the five of an eNodeB have delays in equal
steps. A flow's tokens, r, are one and one and a half fair shares, three where delays differ. All
else of RED is ns-2's by default: gentle, signals that wait for each other, a weight of 0.00024, and
no marks from a probability of 0.1 on, but it counts packets of 1500 bytes, where ns-2's default is
bytes, for packets of 500 (the last table has both). Runs have 100 s, of which the first ten are not
measured, and flows start within the first. Those that hold as many claims as the
{best[networks]}th go on.
"""

_TIMES = """
## Other times

The text has neither how long a run is nor when flows start. These are the networks that go on, with
runs of 20 to 100 s, of which the first tenth is not measured, and flows that start within 0.1 s to
10 s, but not after the first tenth. The beginning is the first tenth, the end the last three, and
an attack begins in the middle. Of all rows so far the eight with the most claims held go on; of
several, those with the larger share of parts, and whoever has as much as the last of them. Others
with as many claims go on with their own policer.
"""

_FIGURES = """
## All figures

The best networks with each rate of tokens r, in fair shares of a flow, and each bucket: how much
it holds at most (D) and at first (b_start), in seconds of r. They are put to all {claims} claims
of figures 5 to 13, with {runs[figures]} runs a point. The {best[figures]} with the most claims held
go on; of several, those with the larger share of parts, and whoever has as much as the last.

The search was done several times, each time with more that was asked (README.md). So some networks
have all policers here that are not among the eight any more.
"""

_AGAIN = """
## The best again

With {runs[again]} runs a point, and judged with their intervals, as RESULTS.md is: what is not
decided is not held. Taken is the one with the most claims held; of several, the one with the larger
share of parts.
"""

_CHANGES = """
## What each assumption does

What is taken, with one thing changed: {names}, {claims} claims.
"""
