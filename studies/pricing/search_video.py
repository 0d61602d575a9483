"""What other values of what section 7.3 leaves open do: all rows in search-video.csv.

What is taken follows from printed numbers, by the rule that SEARCH-video.md begins with; nothing
that is measured here chose it. A row changes one open point of it alone (qualities and updates
both), with three runs a point of Figures 7.3.4 to 7.3.6 and, where it says so, one of Figure 7.3.3.

    python studies/pricing/search_video.py           do what is missing, write the page
    python studies/pricing/search_video.py --page    write the page alone
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.runs.execution import Threads
from tidegate.studies.page import table, write_page
from tidegate.studies.load import Claim, load_study
from tidegate.studies.points import Points, fill
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.judge import judge_claim

if TYPE_CHECKING:
    from tidegate.studies.factors import Override, Setting

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search-video.csv"
BEFORE = FOLDER / "search-video-before.csv"
OVER_TIME, OVER_LOAD = "fig7.3.4", "fig7.3.3"
RUNS = {OVER_TIME: 3, OVER_LOAD: 1}
RULES = ("rule 7.3.2", "f_incr = 2.0", "random increase")
MEASURED = ("early_target", "late_target", "quality_changes", "queue_variation", "spread_of_users")
Row = dict[str, str]


@dataclass(frozen=True)
class Change:
    """One value of an open point."""

    point: str
    value: str
    more: tuple[Override, ...] = ()
    over_load: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What a row is known by."""
        return self.point, self.value

    def applied(self, setting: Setting) -> Setting:
        """Change a setting; what it sets itself stays."""
        return replace(setting, overrides=(*self.more, *setting.overrides))


def _each(key: str, value: str) -> tuple[Override, ...]:
    return tuple((f"users.{group}.traffic.{key}", value) for group in ("S1", "S2", "S3"))


def _qualities(worst: float, *better: float) -> tuple[Override, ...]:
    rates = ", ".join(f'{{ rate = "{8 * rate:g} kb/s" }}' for rate in better)
    return (*_each("rate", f'"{8 * worst:g} kb/s"'), *_each("adaptation.better", f"[{rates}]"))


def changes() -> list[Change]:
    """Give every row: what is taken, and every other value of every open point."""
    found = [Change("", "as taken", over_load=True)]
    frame = _each("adaptation.updates", '"each-frame"')
    found.append(Change("updates", "each frame", frame, over_load=True))
    for rates in ((66, 132, 264), (70, 140, 280), (60, 120, 240), (50, 100, 200),
                  (100, 200, 300), (100, 150, 200)):  # fmt: skip
        name = ", ".join(map(str, rates)) + " kB/s"
        by_the_rule = rates[0] > 62.5 and rates[2] == 2 * rates[1]
        found.append(Change("qualities", name, _qualities(*rates), over_load=by_the_rule))
        found.append(Change("qualities, each frame", name, (*_qualities(*rates), *frame)))
    others = (
        ("weight of a report", "price_weight", ("0.02", "0.5", "1.0")),
        ("a report each", "report_interval", ('"40 ms"', '"200 ms"', '"500 ms"', '"1 s"')),
        ("kappa T", "gain", ("0.0025", "0.01", "0.02")),
    )
    for point, key, values in others:
        found += [
            Change(point, value.strip('"'), _each(f"adaptation.{key}", value)) for value in values
        ]
    sizes = tuple((f"users.{group}.packet_size", '"1000 B"') for group in ("S1", "S2", "S3"))
    found.append(Change("packets of", "1000 B", sizes))
    core = ("bottleneck.rate", '"10 Mb/s"')
    slow = (core, *_qualities(12.18, 24.36, 48.72))
    found.append(Change("core of 10 Mb/s", "12.18, 24.36, 48.72 kB/s; each packet", slow))
    found.append(Change("core of 10 Mb/s", "12.18, 24.36, 48.72 kB/s; each frame", (*slow, *frame)))
    return found


class Search:
    """The paper, and what of it is measured."""

    def __init__(self) -> None:
        """Read the paper's folder."""
        self.paper = load_study("pricing")
        self.executor = Threads(1)

    def claims(self, experiment: str) -> tuple[Claim, ...]:
        """Those of one of the two figures."""
        return tuple(self.paper.experiments[experiment].claims)

    def measured(self, change: Change) -> Row:
        """Run a row's scenarios and put them to the claims."""
        row = {"point": change.point, "value": change.value}
        for experiment in (OVER_TIME, OVER_LOAD) if change.over_load else (OVER_TIME,):
            series = self.paper.experiments[experiment].series
            wanted = {
                (experiment, name): replace(own, settings=tuple(map(change.applied, own.settings)))
                for name, own in series.items()
            }
            measured = Points()
            runner = Runner(native_engine, self.paper.measures, self.executor)
            fill(measured, wanted, runner, RUNS[experiment])
            for claim in self.claims(experiment):
                row[claim.id] = judge_claim(claim, measured).verdict.value
            if experiment == OVER_TIME:
                row |= _numbers(measured)
        return row


def _numbers(measured: Points) -> Row:
    points = {
        (rule, metric): measured.matching(OVER_TIME, {"rule": rule}, metric)
        for rule in RULES
        for metric in MEASURED
    }
    return {
        f"{rule}: {metric}": f"{point.metrics[metric].mean:.4g}"
        for (rule, metric), point in points.items()
    }


def read(path: Path) -> list[Row]:
    """Rows that are there."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def do(search: Search) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    rows = {(row["point"], row["value"]): row for row in read(ROWS)}
    claims = [claim.id for name in (OVER_TIME, OVER_LOAD) for claim in search.claims(name)]
    numbers = [f"{rule}: {metric}" for rule in RULES for metric in MEASURED]
    for change in changes():
        if change.key in rows:
            continue
        rows[change.key] = search.measured(change)
        with ROWS.open("w", encoding="utf-8", newline="") as file:
            columns = ["point", "value", *claims, *numbers]
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows.values())
        sys.stderr.write(f"{change.point} {change.value}\n")


def _verdicts(row: Row, claims: tuple[Claim, ...]) -> str:
    """Give how many hold, if they were measured."""
    told = [row[claim.id] for claim in claims]
    return str(sum(verdict == "holds" for verdict in told)) if all(told) else ""


def page(search: Search) -> None:
    """Write SEARCH-video.md."""
    over_time, over_load = search.claims(OVER_TIME), search.claims(OVER_LOAD)
    rows = read(ROWS)
    taken = rows[0]
    claims = table(
        ["open point", "value", "of 7", "of 4", "claims that come out differently"],
        [
            [
                row["point"] or "**as taken**", row["value"], _verdicts(row, over_time),
                _verdicts(row, over_load),
                "; ".join(
                    f"`{claim.id}`: {row[claim.id]}"
                    for claim in (*over_time, *over_load)
                    if row[claim.id] not in ("", taken[claim.id])
                ) or "none",
            ]
            for row in rows
        ],
    )  # fmt: skip
    head = ["open point", "value"]
    for rule in RULES:
        head += [f"{rule}: target at 50 s", "at 95 s", "changes", "queue varies", "users vary"]
    columns = [f"{rule}: {metric}" for rule in RULES for metric in MEASURED]
    numbers = table(
        head,
        [[row["point"] or "**as taken**", row["value"], *(row[one] for one in columns)]
         for row in rows],
    )  # fmt: skip
    before = table(
        ["open point", "value", "of 7", "undecided"],
        [[row["point"] or "as it was", row["value"], row["held"], row["undecided"]]
         for row in read(BEFORE)],
    )  # fmt: skip
    text = _PAGE.strip().format(claims=claims, numbers=numbers, before=before)
    write_page(FOLDER / "SEARCH-video.md", f"{text}\n")


_PAGE = """
# What section 7.3 leaves open: the rule, and what other values do

Written by `studies/pricing/search_video.py`; `search-video.csv` has all rows.

## The rule

Written before anything was run with what it gives. It uses printed numbers alone: w = 20 kB/s and
0.005 of Table 7.3.1, sixty streams and 100 Mb/s of Figure 7.3.2, 100 s of Figures 7.3.4 to 7.3.6.

1. **When x is updated.** Sixty streams share 12.5 MB/s: x\\* = 208 kB/s, p\\* = w/x\\* = 0.096.
   (7.3.1) comes within 5 % of its end in 3/(κT p\\*) updates: 6,250, if 0.005 is κT. The text has
   targets that are equal and a queue that is steady "after an initial phase" of 100 s. Of the
   events at which a stream could update, a frame (25 a second: 250 s), a report (fewer) and a
   packet (139 a second of 1500 B: 45 s), only the packet allows that, and (7.3.1) "is identical
   to (4.2.1)", which is used at each packet that is acknowledged. With f_incr = 2.0 a target has
   to pass 600 kB/s for a change to the best quality, as Figure 7.3.5 has it: at most 100 B/s an
   update, 5,250 updates, 210 s by frames, 38 s by packets.
2. **Qualities.** Among 200 streams (62.5 kB/s each) those that may stop do, by f_decr = 0.95: the
   worst, q, is above 66 kB/s. "Switching between two qualities" has x\\* between two of them:
   with ratios of two, which are ours, between 2q and 4q. A frame is a datagram, 64 KiB at most,
   so that the model of films goes up to 300 kB/s: q is at most 75. From 66 to 75, 75 is taken,
   as it was before.
3. **Averages.** "rateweight" 0.1 is the weight of a report in the price. What targets go by may
   be old by a tenth of their time constant, 1/(κT p\\*) = 2,083 packets, 15 s: reports every 100
   ms, which at 0.1 are 1 s.

"100 MB/s" is read as 100 Mb/s, as the links beside it. There is another reading that fits, which
the rule does not take since the figure says 100, whatever the unit: 10 Mb/s, and the 24.36 kB/s
of section 7.2 as the middle quality ("the same MPEG-4 sources"). Sixty streams then share 20.8
kB/s at p\\* = 0.96, on RED's gentle part, and targets settle in 25 s by frames. It has two rows
below.

## What was seen before

A step a frame was taken at first, once claims had been counted for it and for a step a packet (as
0.03 a frame): over both figures nine of eleven hold with the one and eight with the other. So it
was known that what the rule gives has a claim fewer. Those rows, of three runs a point, are kept
in `search-video-before.csv`:

{before}

## What other values do

Three runs a point of Figures 7.3.4 to 7.3.6 (of 7 claims), one of Figure 7.3.3 (of 4), where it
was run; without control its films have 300 kB/s in all rows.

{claims}

What was measured: the mean target (kB/s) of one stream a source node at 45 to 55 s and at 90 to
100 s, by which it can be seen whether targets have settled; changes of quality a stream; how the
queue varies (B); how users do (over the mean).

{numbers}
"""


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write SEARCH-video.md alone")
    search = Search()
    if not parser.parse_args().page:
        do(search)
    page(search)


if __name__ == "__main__":
    main()
