"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Who is dropped, whether a dropped declaration costs its token and is made again, which packet
carries it, and how full a bucket is at first are not in the paper's text, or contradict the figures
that it draws (README.md). So
every combination of readings is put to the claims of a few experiments, with one run a point. Taken
is the one with the most claims that hold and stars that are the paper's; of several, the one with
more claims. With it each other assumption of base.toml is then changed alone.

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

from tidegate.results.statistics import Estimate
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

    from tidegate.studies.papers.experiments import Series
    from tidegate.studies.papers.factors import Override, Setting

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
EXPERIMENTS = ("baseline", "fig8", "fig19", "table4")
RATES = (1, 3, 5, 10, 20, 45, 90, 180)
RUNS = 1
SHOWN = {"strict": (1, 3, 10, 45, 180), "mild": (1, 3, 10, 45, 180)}
CURVES = [f"{policer} r={r}" for policer, rates in SHOWN.items() for r in rates]
HEAD = ("engine", "reading", "change", "held", "undecided", "stars")
Row = dict[str, str]
Key = tuple[str, str]
"""Reading and change."""

POLICER = {
    "drops": ("all", "declared"),
    "charge_dropped": ("true", "false"),
    "initial": ("", '"0 packets"'),
}
SENDER = {
    "carrier": ("new-data", "any"),
    "repeats_lost": ("false", "true"),
}
TAKEN = "declared, dropped ones are free, empty at first, on new data, once"
LITERAL = "all, dropped ones cost, full at first, on any data, once"
WORDS = {
    ("charge_dropped", "true"): "dropped ones cost",
    ("charge_dropped", "false"): "dropped ones are free",
    ("initial", ""): "full at first",
    ("initial", '"0 packets"'): "empty at first",
    ("carrier", "new-data"): "on new data",
    ("carrier", "any"): "on any data",
    ("repeats_lost", "false"): "once",
    ("repeats_lost", "true"): "again where lost",
}

# What base.toml assumes besides, each changed alone.
CHANGES: dict[str, list[Override]] = {
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
_POLICER_KEYS = ("drops", "charge_dropped", "floor", "initial")


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
    for drops, charge, initial, carrier, repeats in product(*POLICER.values(), *SENDER.values()):
        sender = f'{{ kind = "per-signal", carrier = "{carrier}", repeats_lost = {repeats} }}'
        told = [drops, WORDS["charge_dropped", charge], WORDS["initial", initial]]
        name = ", ".join([*told, WORDS["carrier", carrier], WORDS["repeats_lost", repeats]])
        policer = [("drops", f'"{drops}"'), ("charge_dropped", charge)]
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
        self.chosen = [self.paper.experiments[name] for name in EXPERIMENTS]
        self.claims = [claim.id for one in self.chosen for claim in one.claims]
        self.cells = [cell.id for one in self.chosen for cell in one.cells]
        self.columns = [*HEAD, *CURVES, *self.claims, *self.cells]

    def measured(self, task: Task) -> Row:
        """Run a row's scenarios and put them to the claims."""
        wanted = {
            key: replace(series, settings=tuple(map(task.applied, _some(series.settings))))
            for key, series in wanted_series(self.paper, self.chosen, []).items()
            if key[1] != "worded"
        }
        runner = Runner(native_engine, self.paper.measures, self.executor)
        measured = Points()
        fill(measured, _with_runs(wanted), runner, None)
        stars = award(_means(measured), wanted)
        measured.points["table4", "stars"] = stars.series(("table4", "stars"))
        claims = {
            claim.id: judge_claim(claim, measured).verdict.value
            for one in self.chosen
            for claim in one.claims
        }
        cells = {cell.id: judge_cell(cell, measured) for one in self.chosen for cell in one.cells}
        row = dict(zip(HEAD[:3], (self.engine, *task.key), strict=True))
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
        for task in (*reading_tasks(), *change_tasks()):
            setting = task.applied(settings[2])
            short = [*setting.overrides, ("duration", '"2 s"')]
            tables = native_engine(setting.base, short).run(1)
            digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        return digest.hexdigest()[:8]


def _means(measured: Points) -> Points:
    """Give the same as if each mean were exact."""
    return Points(
        {
            key: [
                replace(
                    point,
                    metrics={name: Estimate(one.mean) for name, one in point.metrics.items()},
                )
                for point in points
            ]
            for key, points in measured.points.items()
        }
    )


def _some(settings: Iterable[Setting]) -> list[Setting]:
    """Those with the filling rates that the search looks at."""
    return [one for one in settings if one.levels.get("r", RATES[0]) in RATES]


def _with_runs(wanted: Mapping[tuple[str, str], Series]) -> dict[tuple[str, str], Series]:
    return {
        key: replace(series, replications=min(series.replications, RUNS))
        for key, series in wanted.items()
        if series.stars is None
    }


def read(engine: str) -> dict[Key, Row]:
    """Rows that this engine has measured."""
    if not ROWS.is_file():
        return {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"] == engine]
    return {(row["reading"], row["change"]): row for row in rows}


def write(rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Write all rows in place of what is there."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def do(search: Search, wanted: Sequence[Task]) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    rows = read(search.engine)
    missing = [task for task in wanted if task.key not in rows]
    for number, task in enumerate(missing, start=1):
        rows[task.key] = search.measured(task)
        write(rows.values(), search.columns)
        sys.stderr.write(f"\r{number} of {len(missing)} rows")
    sys.stderr.write("\n")


def score(row: Row) -> tuple[int, int]:
    """Claims held and stars that are the paper's, and then claims alone."""
    held = int(row["held"])
    return held + int(row["stars"]), held


def page(search: Search) -> None:
    """Write SEARCH.md: every row, and what each change does to the claims."""
    rows = read(search.engine).values()
    head = ["held", "undecided", "stars", *CURVES]
    readings = sorted((row for row in rows if not row["change"]), key=score, reverse=True)
    changes = [row for row in rows if row["change"]]
    taken = readings[0]
    if taken["reading"] != TAKEN:
        raise SystemExit(f"{TAKEN!r} is taken, and {taken['reading']!r} has more")
    parts = [
        _HEAD.format(
            runs=RUNS, rates=", ".join(map(str, RATES)), names=", ".join(EXPERIMENTS),
            claims=len(search.claims), cells=len(search.cells),
        ),
        table(["reading", *head], [[_name(row), *(row[key] for key in head)] for row in readings]),
        _CHANGES,
        table(
            ["changed", *head, "claims that come out differently"],
            [[row["change"], *(row[key] for key in head), _moved(row, taken, search.claims)]
             for row in changes],
        ),
    ]  # fmt: skip
    write_page(FOLDER / "SEARCH.md", "\n\n".join(part.strip() for part in parts) + "\n")


def _name(row: Row) -> str:
    marks = {TAKEN: "**{}** (taken)", LITERAL: "**{}** (the text's own words)"}
    return marks.get(row["reading"], "{}").format(row["reading"])


def _moved(row: Row, taken: Row, claims: Sequence[str]) -> str:
    moved = [f"`{one}`: {row[one]}" for one in claims if row[one] != taken[one]]
    return "; ".join(moved) or "none"


_HEAD = """
# What the paper leaves open: the whole search

Written by `papers/conex/search.py`; `search.csv` has the verdict on each claim. Experiments:
{names}, with {runs} run a point and filling rates of {rates} packets/s. What would need more runs
to be told counts as undecided, and a gap that has to be seen beyond its interval as not seen; stars
rank the means themselves. A row has how many of their {claims} claims hold and are undecided, how
many of the {cells} stars are the paper's, and the unfairness at some filling rates (packets/s).

## How the policer is read

Whether it stops all packets of a user or declared ones only; whether a dropped declaration costs
its token; whether buckets are full or empty at first; whether a declaration goes on the next packet
with new data or on any, retransmissions included; and whether what was declared on a lost packet is
declared again.

Taken is the reading with the most claims and stars; of several, the one with more claims.
"""

_CHANGES = """
## What each other assumption does

The reading that is taken, with one thing changed.
"""


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args()
    search = Search(order.jobs)
    if not order.page:
        do(search, [*reading_tasks(), *change_tasks()])
    page(search)


if __name__ == "__main__":
    main()
