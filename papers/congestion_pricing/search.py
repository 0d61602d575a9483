"""Search over what the dissertation leaves open: search.csv has all rows, SEARCH.md their gist.

Each open point of the scenarios is changed alone, one value a row, with three runs a point. A row
is put to the cells and claims of its network: table 5.4.1 and Figure 4.3.6 (double bottleneck),
tables 4.4.3 and 5.2.2 and what is said of few flows (parking lot), tables 5.6.1 and 5.6.2 (single
bottleneck), table 5.6.3 (web pages). What the text says is taken,
whatever comes of it. Where it says nothing, and nothing else of the dissertation does, the value
with the most cells within and claims that hold is taken.

    python papers/congestion_pricing/search.py            do what is missing, write SEARCH.md
    python papers/congestion_pricing/search.py --page     write SEARCH.md alone

It may be stopped at any time and goes on where it was. Rows of another engine, one that forwards or
drops other packets in a short run of every setting, are measured again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.runs.execution import Threads
from tidegate.studies.page import table, write_page
from tidegate.studies.papers.experiments import Cell, Claim, Experiment, Paper, load_paper
from tidegate.studies.papers.points import Points, fill
from tidegate.studies.papers.runs import Runner, native_engine
from tidegate.studies.papers.selection import needs
from tidegate.studies.papers.verdicts import judge_cell, judge_claim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.papers.factors import Override, Setting

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
RUNS = 3
NETWORKS = {
    "double bottleneck": ("table5.4.1", "fig4.3.6"),
    "parking lot": ("table4.4.3", "table5.2.2", "fig4.4.3"),
    "single bottleneck": ("table5.6.1", "table5.6.2"),
    "web pages": ("table5.6.3",),
}
HEAD = ("engine", "network", "point", "value", "cells", "held", "undecided")
Row = dict[str, str]
Key = tuple[str, str, str]
"""Network, open point and value."""

RED = (
    'min_threshold = "2 packets", max_threshold = "20 packets", max_probability = 0.02, '
    "hard_drop = false"
)
SOURCES = ("direct-window", "vegas-cp", "sbrm")
GROUPS = ("S1-S4", "S4-S1", "S2-S5", "S5-S2", "S3-S6", "S6-S3")
_NO_HARD_DROP = "weight = 0.02, hard_drop = false }"
PASS_BY_AND_WAIT: tuple[tuple[str, str], ...] = (
    ("tcp.ecn_in_slow_start", "false"),
    ("tcp.min_rto", '"1 s"'),
)
TWO_TICKS = ("least time-out", "2 ms, two ticks of the clock")
NO_THRESHOLD = ("tcp.initial_ssthresh", "1000")
SEGMENTS_64 = (("tcp.window_limit", '"61440 B"'),)
"""Of section 2.3.1, 960 bytes in each."""
LOT = 'kind = "vegas-cp", willingness_to_pay = 20000, history = 50, slow_start = false'


@dataclass(frozen=True)
class Change:
    """One value of an open point: words of the scenarios that stand for others, and more keys."""

    network: str
    point: str
    value: str
    words: tuple[tuple[str, str], ...] = ()
    more: tuple[Override, ...] = ()
    who: tuple[str, ...] = ()
    """Levels that it is about; default: all."""

    @property
    def key(self) -> Key:
        """What tells it from other rows."""
        return self.network, self.point, self.value

    def applied(self, setting: Setting) -> Setting:
        """The setting with this value in it."""
        if self.who and not set(self.who) & set(map(str, setting.levels.values())):
            return setting
        base, overrides = setting.base, setting.overrides
        for old, new in self.words:
            base = base.replace(old, new)
            overrides = tuple((key, value.replace(old, new)) for key, value in overrides)
        return replace(setting, base=base, overrides=(*overrides, *self.more))


def _red(
    low: int, high: int, most: str, more: str = ", hard_drop = false"
) -> tuple[tuple[str, str]]:
    thresholds = f'min_threshold = "{low} packets", max_threshold = "{high} packets"'
    return ((RED, f"{thresholds}, max_probability = {most}{more}"),)


def _double() -> list[Change]:
    name, found = "double bottleneck", []
    red = {
        "5 to 15 packets, 1/10": _red(5, 15, "0.1"),
        "5 to 30 packets, 1/50": _red(5, 30, "0.02"),
        "5 to 50 packets, 1/10": _red(5, 50, "0.1"),
        "5 to 15 packets, 1/50": _red(5, 15, "0.02"),
        "10 to 30 packets, 1/50": _red(10, 30, "0.02"),
        "30 to 90 packets, 1/5, weight 0.02 (section 5.6.4's)": _red(
            30, 90, "0.2", ", weight = 0.02, hard_drop = false"
        ),
        "2 to 20 packets, 1/50, gentle": _red(2, 20, "0.02", ", gentle = true, hard_drop = false"),
        "2 to 20 packets, 1/50, drops above": _red(2, 20, "0.02", ""),
        "2 to 20 packets, 1/50, weight 0.02": _red(
            2, 20, "0.02", ", hard_drop = false, weight = 0.02"
        ),
    }
    found += [Change(name, "RED", value, words) for value, words in red.items()]
    found += [
        Change(name, "drop-tail", f"{room} packets", (('"35 packets"', f'"{room} packets"'),))
        for room in (20, 30, 40, 50, 100, 300)
    ]
    without = {
        kind: ((f'kind = "{kind}",', f'kind = "{kind}", slow_start = false,'),) for kind in SOURCES
    }
    found += [
        Change(name, "slow start", "none for EPF", without["direct-window"]),
        Change(name, "slow start", "none for VQM", without["sbrm"], who=("VQM",)),
        Change(name, "slow start", "none for SBRM", without["sbrm"], who=("SBRM",)),
        Change(name, "slow start", "none for REM", without["vegas-cp"]),
        Change(
            name, "slow start", "none", tuple(word for words in without.values() for word in words)
        ),
    ]
    found.append(
        Change(
            name, "slow start", "EPF's ends when more is asked than is paid",
            ((', slow_start_ends_with = "threshold"', ""),),
        )
    )  # fmt: skip
    found.append(Change(name, "slow-start threshold", "none", more=(NO_THRESHOLD,)))
    found.append(Change(name, "largest window", "64 segments", more=SEGMENTS_64))
    found.append(Change(name, *TWO_TICKS, more=(("tcp.min_rto", '"2 ms"'),)))
    found += [
        Change(name, "kappa", value, (("kappa = 0.01", f"kappa = {value}"),))
        for value in ("0.003", "0.03", "0.1")
    ]
    by_mark = (('kind = "sbrm",', 'kind = "direct-window", price = "mark",'),)
    encoding = (("price_encoding", '{ kind = "maximum" }'),)
    found.append(Change(name, "SBRM's source", "(4.2.3) on marks", by_mark, encoding, ("SBRM",)))
    per_second = tuple((f"to_pay = {w}000", f"to_pay = {w}") for w in (1, 2, 4))
    found.append(Change(name, "REM's w", "per second", per_second, who=("REM",)))
    found += [
        Change(name, "REM's history", f"{n} packets", (("history = 50", f"history = {n}"),))
        for n in (20, 100)
    ]
    jitter = (("host_jitter", '"auto"'),)
    return [*found, Change(name, "jitter of hosts", "a packet's time", more=jitter)]


def _lot() -> list[Change]:
    name = "parking lot"
    direct = 'kind = "direct-window", willingness_to_pay = 20000, kappa = {}, largest_step = 1.0'
    sources = [
        Change(
            name, "EPF's source", f"direct window update, kappa {kappa}",
            ((LOT, f"{direct.format(kappa)}, slow_start = false"),), who=("EPF",),
        )
        for kappa in ("0.01", "0.1")
    ]  # fmt: skip
    begins = "tcp.congestion_control.slow_start"
    return [
        *sources,
        Change(name, "slow start", "EPF's too", more=((begins, "true"),), who=("EPF",)),
        Change(
            name, "slow start", "none for REM", more=((begins, "false"),),
            who=("REM 1 bit", "REM 4 bit"),
        ),
        Change(
            name, "slow-start threshold", "none", more=(NO_THRESHOLD,),
            who=("REM 1 bit", "REM 4 bit"),
        ),
        Change(name, *TWO_TICKS, more=(("tcp.min_rto", '"2 ms"'),)),
        Change(name, "largest window", "64 segments", more=SEGMENTS_64),
        Change(name, "alpha", "0.0023", (("alpha = 0.002", "alpha = 0.0023"),)),
        Change(
            name, "rate", "by the shortest round trip",
            (('"vegas-cp",', '"vegas-cp", rate_by = "least-rtt",'),),
        ),
        Change(name, "jitter of hosts", "a packet's time", more=(("host_jitter", '"auto"'),)),
    ]  # fmt: skip


def _single() -> list[Change]:
    name = "single bottleneck"
    in_bytes = {"300 packets": "450 kB", "90 packets": "135 kB", "30 packets": "45 kB"}
    words = tuple((f'"{old}"', f'"{new}"') for old, new in in_bytes.items())
    sample = ((', round_trip = "smoothed"', ""),)
    fine = (("tcp.quirks.rtt_tick", '"1 ms"'),)
    from_the_right = ("S4-S1", "S5-S2", "S6-S3")
    at_once = tuple((f"users.{group}.start", '"0 s"') for group in GROUPS)
    return [
        Change(name, "what a queue counts", "bytes, 1500 for a packet", words),
        Change(name, "clock", "exact", sample, fine),
        Change(name, "clock", "exact, smoothed", more=(("tcp.quirks.rtt_tick", '"off"'),)),
        Change(name, "ECE", "each mark told (AccECN)", more=(("tcp.feedback", '"accurate"'),)),
        Change(
            name, "above RED's upper threshold", "drops", ((_NO_HARD_DROP, "weight = 0.02 }"),)
        ),
        *_marks_and_time_outs(name),
        _least_window(name),
        *_delayed(name, ("40 ms", "100 ms", "200 ms")),
        Change(name, "least window", "one segment at a mark", more=(("tcp.ecn_to_one", "true"),)),
        Change(
            name, "bidirectional flows", "one flow a path from the right",
            more=tuple((f"users.{group}.flows", "1") for group in from_the_right),
        ),
        Change(name, "bidirectional flows", "ACKs alone from the right", _without(from_the_right)),
        Change(name, "flows begin", "all at once", more=at_once),
        Change(name, "measured from", "1 s, for 60 s", more=(("warm_up", '"1 s"'),)),
        Change(name, "measured from", "20 s", more=(("warm_up", '"20 s"'),)),
        Change(name, "jitter of hosts", "none", more=(("host_jitter", '"off"'),)),
    ]  # fmt: skip


def _without(groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
    text = (FOLDER / "single-bottleneck.toml").read_text(encoding="utf-8")
    heads = tuple(f"[users.{group}]" for group in groups)
    return tuple((block, "") for block in text.split("\n\n") if block.startswith(heads))


def _delayed(network: str, times: Sequence[str]) -> list[Change]:
    return [
        Change(
            network, "ACKs", f"every second segment, or after {time}",
            more=(("tcp.delayed_ack", f'"{time}"'),),
        )
        for time in times
    ]  # fmt: skip


def _least_window(network: str) -> Change:
    words = ((', round_trip = "smoothed"', ', round_trip = "smoothed", least_window = 2'),)
    return Change(network, "TCP/RM's least window", "two segments, as NewReno's", words)


def _marks_and_time_outs(network: str) -> list[Change]:
    pass_by, second = PASS_BY_AND_WAIT
    return [
        Change(network, "marks in slow start", "pass by", more=(pass_by,)),
        Change(network, "least time-out", "1 s (RFC 2988)", more=(second,)),
        Change(
            network, "marks in slow start", "pass by, least time-out 1 s", more=(pass_by, second)
        ),
        Change(network, "slow-start threshold", "none", more=(NO_THRESHOLD,)),
        Change(network, "slow start", "to the first loss", more=(pass_by, NO_THRESHOLD)),
        Change(
            network, "slow start", "to the first loss, least time-out 1 s",
            more=(*PASS_BY_AND_WAIT, NO_THRESHOLD),
        ),
    ]  # fmt: skip


def _pages() -> list[Change]:
    name = "web pages"

    def each(key: str, value: str) -> tuple[Override, ...]:
        return tuple((f"users.{group}.{key}", value) for group in GROUPS)

    def read(words: str) -> tuple[Override, ...]:
        return each("traffic", f'{{ kind = "pages", {words} }}')

    twice = each("flows", "200")
    at_once = read('within = "at-once"')
    return [
        Change(name, "200 flows", "200 in either direction", more=twice),
        Change(name, "objects within", "at once", more=at_once),
        Change(name, "objects within", "at once, 200 in either direction", more=(*at_once, *twice)),
        Change(name, "request", "1 B", more=read('within = "in-turn", request = "1 B"')),
        Change(name, "largest window", "64 KiB", more=(("tcp.window_limit", '"65536 B"'),)),
        Change(
            name, "clock", "exact", ((', round_trip = "smoothed"', ""),),
            (("tcp.quirks.rtt_tick", '"1 ms"'),),
        ),
        Change(name, "ECE", "each mark told (AccECN)", more=(("tcp.feedback", '"accurate"'),)),
        *_marks_and_time_outs(name),
        Change(
            name, "slow start", "to the first loss, first and least time-out 1 s",
            more=(*PASS_BY_AND_WAIT, NO_THRESHOLD, ("tcp.initial_rto", '"1 s"')),
        ),
        _least_window(name),
        Change(
            name, "slow start",
            "to the first loss, least time-out 1 s, TCP/RM's least window two",
            _least_window(name).words, (*PASS_BY_AND_WAIT, NO_THRESHOLD),
        ),
        *_delayed(name, ("100 ms",)),
    ]  # fmt: skip


def changes() -> list[Change]:
    """What is taken, and every other value of every open point."""
    taken = [Change(network, "", "as taken") for network in NETWORKS]
    return [*taken, *_double(), *_lot(), *_single(), *_pages()]


class Search:
    """The paper, and the engine that is searched with."""

    def __init__(self, jobs: int | None) -> None:
        """Read the paper's folder."""
        self.paper: Paper = load_paper("congestion_pricing")
        self.executor = Threads(jobs)
        self.runner = Runner(native_engine, self.paper.measures, self.executor)
        self.engines = {network: self._fingerprint(network) for network in NETWORKS}
        self.claims = [claim.id for network in NETWORKS for claim in self.claims_of(network)]
        self.cells = [cell.id for network in NETWORKS for cell in self.cells_of(network)]
        self.columns = [*HEAD, *self.claims, *self.cells]

    def claims_of(self, network: str) -> list[Claim]:
        """Those that need nothing but the network's own series."""
        names = NETWORKS[network]
        return [
            claim
            for one in self._experiments(network)
            for claim in one.claims
            if all(key[0] in names for part in claim.parts for key, _ in needs(part, one.name))
        ]

    def measured(self, change: Change) -> Row:
        """Run a row's scenarios and put them to cells and claims."""
        network = change.network
        wanted = {
            (one.name, name): replace(
                series,
                settings=tuple(map(change.applied, series.settings))
                if series.simulated
                else series.settings,
            )
            for one in self._experiments(network)
            for name, series in one.series.items()
        }  # fmt: skip
        measured = Points()
        fill(measured, wanted, self.runner, RUNS)
        claims = {
            claim.id: judge_claim(claim, measured).verdict.value
            for claim in self.claims_of(network)
        }
        cells = {cell.id: judge_cell(cell, measured) for cell in self.cells_of(network)}
        row = dict(zip(HEAD[:4], (self.engines[network], *change.key), strict=True))
        row |= {
            "cells": str(sum(verdict.within for verdict in cells.values())),
            "held": str(sum(verdict == "holds" for verdict in claims.values())),
            "undecided": str(sum(verdict == "undecided" for verdict in claims.values())),
        }
        return row | claims | {name: f"{one.ours.mean:.4g}" for name, one in cells.items()}

    def _experiments(self, network: str) -> list[Experiment]:
        return [self.paper.experiments[name] for name in NETWORKS[network]]

    def cells_of(self, network: str) -> list[Cell]:
        """All printed numbers of a network."""
        return [cell for one in self._experiments(network) for cell in one.cells]

    def _fingerprint(self, network: str) -> str:
        """Give a few letters that change when the engine does anything else with its packets."""
        digest = hashlib.sha256()
        # Flows of Figure 4.3.6 begin by then as well; elsewhere some begin after 20 s.
        there = NETWORKS[network]
        names = [name for name in there if name.startswith("table")] or there
        series = [one for name in names for one in self.paper.experiments[name].series.values()]
        settings = [setting for one in series for setting in one.settings]
        short = (("sample_interval", '"off"'), ("duration", '"0.2 s"'))
        for change in [change for change in changes() if change.network == network]:
            for setting in map(change.applied, settings if network != "parking lot" else []):
                tables = native_engine(setting.base, [*setting.overrides, *short]).run(1)
                digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        for setting in settings if network == "parking lot" else []:
            tables = native_engine(setting.base, setting.overrides).run(1)
            digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        return digest.hexdigest()[:8]


def read(engines: Mapping[str, str]) -> dict[Key, Row]:
    """Rows that this engine has measured, by what it does in each network."""
    if not ROWS.is_file():
        return {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"] == engines[row["network"]]]
    return {(row["network"], row["point"], row["value"]): row for row in rows}


def write(rows: Mapping[Key, Row], columns: Sequence[str]) -> None:
    """Write all rows in place of what is there."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


def do(search: Search, wanted: Sequence[Change]) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    rows = read(search.engines)
    missing = [change for change in wanted if change.key not in rows]
    for number, change in enumerate(missing, start=1):
        rows[change.key] = search.measured(change)
        write(rows, search.columns)
        sys.stderr.write(f"\r{number} of {len(missing)} rows")
    sys.stderr.write("\n")


def page(search: Search) -> None:
    """Write SEARCH.md: what each value does to the cells and claims of its network."""
    rows = read(search.engines)
    parts = [_HEAD.format(runs=RUNS)]
    for network in NETWORKS:
        taken = rows[network, "", "as taken"]
        claims = [claim.id for claim in search.claims_of(network)]
        cells = [cell.id for cell in search.cells_of(network)]
        head = ["open point", "value", f"cells of {len(cells)}", f"claims of {len(claims)}"]
        own = [row for (name, _, _), row in rows.items() if name == network]
        parts += [
            f"## {network.capitalize()}",
            table(
                [*head, "claims that come out differently"],
                [
                    [
                        row["point"] or "**as taken**", row["value"], row["cells"], row["held"],
                        _moved(row, taken, claims),
                    ]
                    for row in own
                ],
            ),
        ]  # fmt: skip
    write_page(FOLDER / "SEARCH.md", "\n\n".join(part.strip() for part in parts) + "\n")


def _moved(row: Row, taken: Row, claims: Sequence[str]) -> str:
    moved = [f"`{one}`: {row[one]}" for one in claims if row[one] != taken[one]]
    return "; ".join(moved) or "none"


_HEAD = """
# What the dissertation leaves open: the whole search

Written by `papers/congestion_pricing/search.py`; `search.csv` has every cell's value and the
verdict on each claim. Each open point is changed alone, with {runs} runs a point, so that what
would need more runs counts as undecided. How many of the network's cells are then within, how many
of its claims hold, and which come out differently from what is taken. What the text says is taken
whatever comes of it; the scenarios' heads have the reasons. Drop-tail's room, of which
it says nothing, was taken before this search, and is kept: 30 packets have as many
cells and one claim more, the order on core link 2.
RED's settings are those with the most cells within and claims that hold. They were searched anew
in November 2026, when RED came to mark every packet above its upper threshold, as section 2.4.3
says: up to then it was gentle, and 5 to 15 packets were taken. TCP/RM's clock has the 100 ms of the
original's, of which section 5.6.4 tells; up to
November 2026 it was exact here, against the rule, since section 5.6.3 asks for time stamps.
Whether receivers delay ACKs section 5.6.4 does not tell, and section 5.6.2 says what follows "if no
Delayed-ACK algorithm is used". Tables 5.6.1 and 5.6.2 have more claims with delayed ACKs.
They are not taken, since section 5.7 says of SBRM and TCP/RM that "every segment is to be
acknowledged", which is read as section 2.3 puts it, where with delayed ACKs "generally only every
second segment is acknowledged". These rows came last, as did those on what comes from the right
without data of its own, on flows that begin at once and on where the measurement begins: all were
tried in sight of the counts, and 5.7's sentence was found after that.

Queues of the single bottleneck count packets, as the text has them; up to November 23, 2026, bytes
stood for them, and this search judged occupancies in bytes whatever a queue counted. The row in
bytes has its occupancy in packets now, ACKs among them. Objects within a page are fetched in turn
since then, by the rule above: at once, no cell is within. What marks do in slow start, and the
least time-out, were added last, in sight of the numbers: they
explain and are not taken. The slow-start threshold of 32 segments is section 2.3.2's, and was
taken before any run with it; there was none before. A least time-out of two ticks, which
section 2.4.4 tells of the old clock of 500 ms, was to be taken likewise, and is not, since the
text prints no resolution of its time stamps and section 4.3.1 compares "without the influence of
retransmissions and timeouts": that was decided after its run, which has fewer cells and claims.
Delays are the queue over the link's rate; up to November 23, 2026 they were packets' own.
"""


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args()
    search = Search(order.jobs)
    if not order.page:
        do(search, changes())
    page(search)


if __name__ == "__main__":
    main()
