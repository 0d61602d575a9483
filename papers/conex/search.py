"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Which losses are declared, on which packet, who is dropped, when tokens are taken and how full a
bucket is at first are not in the paper's text, or contradict the figures that it draws
(README.md). So every combination of readings is put to the claims of figures 7 and 8, with one run
a point; the best of each way to police, and some beside them, to those of figures 7 to 19 and table
IV, where the most claims that hold are looked for, and then the most stars that are the paper's. A
few claims more or less say nothing with one run, which leaves a quarter undecided: for each answer
to who is dropped the best that begins with ns-2's own bucket, a full one, is run again at all
filling rates, three times a point, and the better one is taken. With it each other assumption of
base.toml is then changed alone.

With one run there is no interval, so that stars here rank the means themselves.

    python papers/conex/search.py                 do what is missing in search.csv, write SEARCH.md
    python papers/conex/search.py --jobs 1        with one core
    python papers/conex/search.py --page          write SEARCH.md alone

It may be stopped at any time and goes on where it was. Rows of another engine, one that forwards or
drops other packets in a short run, are measured again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.runs.execution import Threads
from tidegate.studies.page import table, write_page
from tidegate.studies.papers.experiments import Paper, load_paper
from tidegate.studies.papers.points import Points, fill
from tidegate.studies.papers.runs import Runner, native_engine
from tidegate.studies.papers.stars import award
from tidegate.studies.papers.study import wanted_series
from tidegate.studies.papers.verdicts import judge_cell, judge_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tidegate.studies.papers.experiments import Experiment, Series
    from tidegate.studies.papers.factors import Override, Setting

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
STAGES = {
    "first": ("baseline", "fig8"),
    "changes": ("baseline", "fig8", "fig19", "table4"),
    "last": (
        "baseline", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
        "fig14", "fig15", "fig16", "fig17", "fig18", "fig19", "table4",
    ),
}  # fmt: skip
"""What readings are put to."""
STAGES["again"] = STAGES["last"]
RATES = (1, 3, 5, 10, 20, 45, 90, 180)
ALL_RATES = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 90, 120, 180)
DECIDED = {"again": (3, ALL_RATES)}
"""Runs a point and filling rates, where a stage has others."""
RUNS = 1
SHOWN = {"strict": (1, 3, 10, 45, 180), "mild": (1, 3, 10, 45, 180)}
CURVES = [f"{policer} r={r}" for policer, rates in SHOWN.items() for r in rates]
HEAD = ("engine", "stage", "reading", "change", "held", "undecided", "stars")
Row = dict[str, str]
Key = tuple[str, str, str]
"""Stage, reading and change."""

POLICER = {
    "drops": ("all", "declared"),
    "tokens": ("on arrival", "if it passes", "last"),
    "initial": ("", '"0 packets"'),
}
TOKENS: dict[str, tuple[Override, ...]] = {
    "on arrival": (("charge_dropped", "true"),),
    "if it passes": (("charge_dropped", "false"),),
    "last": (("charge_dropped", "false"), ("judged", '"as-found"')),
}
SENDER = {
    "losses": ("each", "told", "event"),
    "carrier": ("new-data", "any"),
}
TAKEN = "declared, paid if it passes, full at first, each loss that ACKs tell, on new data"
PUT_TO_ALL = (
    TAKEN,
    "declared, paid if it passes, empty at first, each loss that ACKs tell, on new data",
    "declared, paid if it passes, full at first, one loss an event, on new data",
    "all, paid last, full at first, each loss that ACKs tell, on new data",
)
"""The best of the first stage, and it with one answer changed; the best that stops all packets,
with ns-2's bucket."""
AGAIN = (TAKEN, PUT_TO_ALL[3])
"""The best with ns-2's bucket, of those that drop declared packets and of those that drop all."""
LITERAL = "all, paid on arrival, full at first, each loss, on any data"
WORDS = {
    ("tokens", "on arrival"): "paid on arrival",
    ("tokens", "if it passes"): "paid if it passes",
    ("tokens", "last"): "paid last",
    ("initial", ""): "full at first",
    ("initial", '"0 packets"'): "empty at first",
    ("losses", "each"): "each loss",
    ("losses", "told"): "each loss that ACKs tell",
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
    "window of one segment under ECN, ns-2's Sack1": [("tcp.ecn_to_one", "true")],
    "no time stamps": [("tcp.timestamps", "false")],
    "delayed ACKs": [("tcp.delayed_ack", '"100 ms"')],
    "smallest time-out 1 s": [("tcp.min_rto", '"1 s"')],
    "initial window 1": [("tcp.initial_window", "1")],
    "initial window 10": [("tcp.initial_window", "10")],
    "profile of today's Linux": [("profile", '"linux"')],
}
_POLICER_KEYS = ("drops", "charge_dropped", "judged", "floor", "initial")


@dataclass(frozen=True)
class Task:
    """One row: how the policer and its senders are read, and what else is changed."""

    reading: str
    change: str
    policer: tuple[Override, ...]
    others: tuple[Override, ...]

    @property
    def key(self) -> Key:
        """What tells it from other rows."""
        return self.reading, self.change

    def applied(self, setting: Setting) -> Setting:
        """The setting with this in place of what paper.toml and base.toml have."""
        changed = tuple(
            (key, self._policer(value) if key.endswith(".entry") else value)
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
    found = []
    for drops, tokens, initial, losses, carrier in product(*POLICER.values(), *SENDER.values()):
        sender = f'{{ kind = "per-signal", losses = "{losses}", carrier = "{carrier}" }}'
        told = [drops, WORDS["tokens", tokens], WORDS["initial", initial]]
        name = ", ".join([*told, WORDS["losses", losses], WORDS["carrier", carrier]])
        policer = [("drops", f'"{drops}"'), *TOKENS[tokens]]
        policer += [("initial", initial)] if initial else []
        found.append(Task(name, "", tuple(policer), (("tcp.conex", sender),)))
    return found


def change_tasks() -> list[Task]:
    """What was taken, with one assumption changed."""
    (taken,) = (task for task in reading_tasks() if task.reading == TAKEN)
    found = []
    for change, keys in CHANGES.items():
        own = tuple(one for one in keys if one[0] in _POLICER_KEYS)
        others = tuple(one for one in keys if one[0] not in _POLICER_KEYS)
        policer = (*taken.policer, *own)
        found.append(Task(taken.reading, change, policer, (*taken.others, *others)))
    return found


class Search:
    """The paper, and the engine that is searched with."""

    def __init__(self, jobs: int | None) -> None:
        """Read the paper's folder."""
        self.paper: Paper = load_paper("conex")
        self.executor = Threads(jobs)
        self.engine = self._fingerprint()
        self.runner = Runner(native_engine, self.paper.measures, self.executor)
        whole = self.chosen("last")
        self.claims = [claim.id for one in whole for claim in one.claims]
        self.cells = [cell.id for one in whole for cell in one.cells]
        self.columns = [*HEAD, *CURVES, *self.claims, *self.cells]

    def chosen(self, stage: str) -> list[Experiment]:
        """What a stage puts readings to."""
        return [self.paper.experiments[name] for name in STAGES[stage]]

    def measured(self, stage: str, task: Task) -> Row:
        """Run a row's scenarios and put them to the claims."""
        chosen = self.chosen(stage)
        runs, rates = DECIDED.get(stage, (RUNS, RATES))
        wanted = {
            key: replace(series, settings=tuple(map(task.applied, _some(series.settings, rates))))
            for key, series in wanted_series(self.paper, chosen, []).items()
            if key[1] != "worded"
        }
        measured = Points()
        fill(measured, _with_runs(wanted, runs), self.runner, None)
        if "table4" in STAGES[stage]:
            stars = award(measured.exact() if runs == 1 else measured, wanted)
            measured.points["table4", "stars"] = stars.series(("table4", "stars"))
        claims = {
            claim.id: judge_claim(claim, measured).verdict.value
            for one in chosen
            for claim in one.claims
        }
        cells = {cell.id: judge_cell(cell, measured) for one in chosen for cell in one.cells}
        row = dict.fromkeys(self.columns, "")
        row |= zip(HEAD[:4], (self.engine, stage, *task.key), strict=True)
        row |= {
            "held": str(sum(verdict == "holds" for verdict in claims.values())),
            "undecided": str(sum(verdict == "undecided" for verdict in claims.values())),
            "stars": str(sum(verdict.within for verdict in cells.values())),
        }
        row |= {
            f"{point.levels['policer']} r={point.levels['r']}":
            f"{point.metrics['unfairness'].mean:.3g}"
            for point in measured.series(("fig8", "tcp"))
            if point.levels["r"] in SHOWN.get(str(point.levels["policer"]), ())
        }  # fmt: skip
        return row | claims | {name: f"{one.ours.mean:g}" for name, one in cells.items()}

    def _fingerprint(self) -> str:
        """Give a few letters that change when the engine does anything else with these packets."""
        digest = hashlib.sha256()
        settings = self.paper.experiments["fig8"].series["tcp"].settings
        for task in reading_tasks():
            setting = task.applied(settings[2])
            short = [*setting.overrides, ("duration", '"2 s"')]
            tables = native_engine(setting.base, short).run(1)
            digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        return digest.hexdigest()[:8]


def _some(settings: Iterable[Setting], rates: Sequence[int]) -> list[Setting]:
    """Those with the filling rates that the search looks at."""
    return [one for one in settings if one.levels.get("r", rates[0]) in rates]


def _with_runs(
    wanted: Mapping[tuple[str, str], Series], runs: int
) -> dict[tuple[str, str], Series]:
    return {
        key: replace(series, replications=min(series.replications, runs))
        for key, series in wanted.items()
        if series.stars is None
    }


def read(engine: str) -> dict[Key, Row]:
    """Rows that this engine has measured."""
    if not ROWS.is_file():
        return {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"] == engine]
    return {(row["stage"], row["reading"], row["change"]): row for row in rows}


def write(rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Write all rows in place of what is there."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def do(search: Search) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    rows = read(search.engine)
    readings = reading_tasks()
    measure(search, "first", readings, rows)
    chosen = {*PUT_TO_ALL, *best_of_each_way(of_stage(rows.values(), "first"))}
    measure(search, "last", [task for task in readings if task.reading in chosen], rows)
    measure(search, "again", [task for task in readings if task.reading in AGAIN], rows)
    measure(search, "changes", change_tasks(), rows)


def of_stage(rows: Iterable[Row], stage: str) -> list[Row]:
    """The rows of a stage, the best first."""
    return sorted((row for row in rows if row["stage"] == stage), key=score, reverse=True)


def best_of_each_way(rows: Iterable[Row]) -> list[str]:
    """The first reading of each way to police: who is dropped, and when tokens are taken."""
    found: dict[str, str] = {}
    for row in rows:
        drops, tokens, *_ = row["reading"].split(", ")
        found.setdefault(f"{drops}, {tokens}", row["reading"])
    return list(found.values())


def measure(search: Search, stage: str, tasks: Sequence[Task], rows: dict[Key, Row]) -> None:
    """Measure the rows of a stage that are missing."""
    missing = [task for task in tasks if (stage, *task.key) not in rows]
    for number, task in enumerate(missing, start=1):
        rows[stage, *task.key] = search.measured(stage, task)
        write(rows.values(), search.columns)
        sys.stderr.write(f"\r{stage}: {number} of {len(missing)} rows")
    sys.stderr.write("\n")


def score(row: Row) -> tuple[int, int]:
    """Claims held, and then stars that are the paper's."""
    return int(row["held"]), int(row["stars"])


def is_best(reading: str, rows: Sequence[Row]) -> bool:
    """Whether no other reading, the best of which comes first, holds more."""
    return score(rows[0]) == next(score(row) for row in rows if row["reading"] == reading)


def page(search: Search) -> None:
    """Write SEARCH.md: every row, and what each change does to the claims."""
    rows = list(read(search.engine).values())
    first, last = of_stage(rows, "first"), of_stage(rows, "last")
    changes = [row for row in rows if row["stage"] == "changes"]
    again = of_stage(rows, "again")
    if not is_best(TAKEN, again):
        raise SystemExit(f"{TAKEN!r} is taken, and {again[0]['reading']!r} has more")
    (unchanged,) = (row for row in changes if row["change"] == "nothing")
    head = ["held", "undecided", "stars", *CURVES]
    counts = {stage: len(_told(search, stage)) for stage in STAGES}
    parts = [
        _HEAD.format(runs=RUNS, rates=", ".join(map(str, RATES)), readings=len(reading_tasks())),
        _AGAIN.format(claims=counts["again"], cells=len(search.cells), runs=DECIDED["again"][0]),
        _readings(again, head),
        _LOST,
        _beside(search, again),
        _LAST.format(claims=counts["last"], cells=len(search.cells)),
        _readings(last, head),
        _beside(search, last),
        _FIRST.format(claims=counts["first"], readings=len(first), of=len(reading_tasks())),
        _readings(first, [one for one in head if one != "stars"]),
        _CHANGES.format(claims=counts["changes"], cells=len(search.cells)),
        table(
            ["changed", *head, "claims that come out differently"],
            [[row["change"], *(row[key] for key in head), _moved(row, unchanged, search.claims)]
             for row in changes],
        ),
        _BEFORE,
    ]  # fmt: skip
    write_page(FOLDER / "SEARCH.md", "\n\n".join(part.strip() for part in parts) + "\n")


def _told(search: Search, stage: str) -> list[str]:
    return [claim.id for one in search.chosen(stage) for claim in one.claims]


def _readings(rows: Sequence[Row], head: Sequence[str]) -> str:
    return table(["reading", *head], [[_name(row), *(row[key] for key in head)] for row in rows])


def _beside(search: Search, rows: Sequence[Row]) -> str:
    """Claims that do not hold in the reading taken, by reading."""
    (taken,) = (row for row in rows if row["reading"] == TAKEN)
    open_in_taken = [one for one in search.claims if taken[one] != "holds"]
    return table(
        ["claim", *(_name(row) for row in rows)],
        [[f"`{one}`", *(row[one] for row in rows)] for one in open_in_taken],
    )


def _name(row: Row) -> str:
    marks = {TAKEN: "**{}** (taken)", LITERAL: "**{}** (the text's own words)"}
    return marks.get(row["reading"], "{}").format(row["reading"])


def _moved(row: Row, taken: Row, claims: Sequence[str]) -> str:
    moved = [f"`{one}`: {row[one]}" for one in claims if row[one] != taken[one]]
    return "; ".join(moved) or "none"


_HEAD = """
# What the paper leaves open: the whole search

Written by `papers/conex/search.py`; `search.csv` has the verdict on each claim, with {runs} run a
point and filling rates of {rates} packets/s. What would need more runs to be told counts as
undecided, and a gap that has to be seen beyond its interval as not seen; stars rank the means
themselves. Behind claims and stars stands the unfairness at some filling rates (packets/s).

Five questions are asked of the policer and of what is declared, {readings} combinations in all:

- the policer stops **all** packets of a user, or **declared** ones only;
- tokens are **paid on arrival**, also by what is dropped; **paid if it passes**, where the fill
  decides that is left then; or **paid last**, where the one decides that the packet finds;
- buckets are **full** or **empty at first**;
- **each loss** is declared; **each loss that ACKs tell**, and not what the timer alone finds; or
  **one loss an event**, a fast recovery or a time-out;
- a declaration goes **on new data**, or **on any data**, retransmissions included.
"""

_AGAIN = """
## Which was taken

With one run the best readings are two claims apart, and a quarter of the claims is undecided (the
next table). So the best that drops declared packets only and the best that drops all, of those that
begin with ns-2's bucket, a full one, were run again at all fourteen filling rates, {runs} times a
point. They were put to {claims} claims and {cells} stars, now ranked beyond the interval of their
difference. Taken is the one with the most claims, and then the most stars. (*declared, paid last*,
which differs in the order of looking and taking, has with one run the same verdict on every claim.)
"""

_LAST = """
## Figures 7 to 19 and table IV, with one run

{claims} claims and {cells} stars: the best of the first stage, the best of each way to police (who
is dropped, and when tokens are taken), and of two of them the same with ns-2's bucket.
"""

_LOST = """
Claims that do not hold in the reading that is taken, and what they are in the others:
"""

_FIRST = """
## Figures 7 and 8

{claims} claims; {readings} of the {of} readings have been measured.
"""

_CHANGES = """
## What each other assumption does

The reading that is taken, with one thing changed; {claims} claims of figures 7, 8, 19 and table IV,
and {cells} stars.
"""

_BEFORE = """
## An earlier search

`search_sack1.csv` has one of before: 32 readings, put to the claims of figures 7, 8 and 19 and
table IV, with the rules of ns-2's Sack1 for the sender. It asked also whether what was declared on
a lost packet is declared again, which never held more, and not which losses are declared. There a
policer that drops declared packets only, empty at first, held 17 of 23 claims and 13 stars, and the
text's own words 15 and 12.
"""


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args()
    search = Search(order.jobs)
    if not order.page:
        do(search)
    page(search)


if __name__ == "__main__":
    main()
