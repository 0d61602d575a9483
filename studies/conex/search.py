"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Which losses are declared, on which packet, who is dropped, when tokens are taken, how far a bucket
may be overdrawn and how full it is at first are not in the paper's text, or contradict the figures
that it draws (README.md). So every combination of readings is put to the claims of figures 7 and 8
with one run a point, and all that begin with ns-2's own bucket, a full one, to those of figures 7
to 19 and table IV, where the most claims that hold are looked for, and then the most stars that are
the paper's. A few claims more or less say nothing with one run, which leaves a seventh or more
open: all within two claims of the best, and the best for each answer to who is dropped and to how
far a bucket may be overdrawn, are run again at all filling rates, three times a point, and put to
figures 20 to 22 besides, which does not count. With each that is within two claims of the best of
these the whole page is made (`tidegate reproduce conex --report` with that in base.toml), all 98
claims by thirty runs; search_more.csv has what it held, and the best is taken. With it each other
assumption of base.toml is then changed alone, and so is what figures 20 to 22 rest on.

With one run there is no interval, so that stars here rank the means themselves.

    python studies/conex/search.py                 do what is missing in search.csv, write SEARCH.md
    python studies/conex/search.py --jobs 1        with one core
    python studies/conex/search.py --page          write SEARCH.md alone

It may be stopped at any time and goes on where it was. Rows of another engine, one that forwards or
drops other packets in a short run, are measured again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from search_readings import (
    ALL_RATES,
    RATES,
    RUNS,
    RUNS_AGAIN,
    SHORT_AND_VIDEO,
    STAGES,
    WORDS,
    Task,
    application_tasks,
    change_tasks,
    reading_tasks,
)

from tidegate.runs.execution import Threads
from tidegate.studies.verdict import Verdict
from tidegate.studies.errors import ReproductionError
from tidegate.studies.load import Paper, load_study
from tidegate.studies.points import Points, fill
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.rankings import with_rankings
from tidegate.studies.wanted import wanted_series
from tidegate.studies.judge import judge_cell, judge_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tidegate.studies.load import Claim, Experiment, Series

ROWS = Path(__file__).parent / "search.csv"
MORE = Path(__file__).parent / "search_more.csv"
_SHOWN_RATES = (1, 3, 10, 45, 180)
CURVES = {
    policer: [f"{policer} r={r}" for r in _SHOWN_RATES] for policer in ("strict", "mild", "soft")
}
"""Columns with the unfairness of figure 8, by policer."""
HEAD = ("engine", "stage", "reading", "change", "held", "undecided", "stars")
NEAR = 2
"""Claims by which few runs do not tell readings apart."""
Row = dict[str, str]
Key = tuple[str, str, str]
"""Stage, reading and change."""


class Search:
    """The paper, and the engine that is searched with."""

    def __init__(self, jobs: int | None) -> None:
        """Read the paper's folder."""
        self.paper: Paper = load_study("conex")
        self.executor = Threads(jobs)
        self.engine = self._fingerprint()
        self.runner = Runner(native_engine, self.paper.measures, self.executor)
        whole = self.chosen("changes")
        self.claims = [claim.id for one in whole for claim in one.claims]
        self.cells = [cell.id for one in whole for cell in one.cells]
        curves = [name for names in CURVES.values() for name in names]
        self.columns = [*HEAD, *curves, *self.claims, *self.cells]

    def chosen(self, stage: str) -> list[Experiment]:
        """What a stage puts readings to."""
        return [self.paper.experiments[name] for name in STAGES[stage]]

    def measured(self, stage: str, task: Task) -> Row:
        """Run a row's scenarios and put them to the claims."""
        chosen = self.chosen(stage)
        runs = RUNS_AGAIN if stage in ("again", "besides") else RUNS
        wanted = {
            (figure, name): replace(
                series,
                settings=tuple(
                    task.applied(setting)
                    for setting in series.settings
                    if setting.levels.get("r", RATES[0]) in _rates(stage, figure)
                ),
            )
            for (figure, name), series in wanted_series(self.paper, chosen, []).items()
            if name != "worded"
        }
        measured = Points()
        fill(measured, _with_runs(wanted, runs), self.runner, None)
        if "table4" in STAGES[stage]:
            stars = with_rankings(measured.exact() if runs == 1 else measured, wanted)
            measured.points["table4", "stars"] = stars.series(("table4", "stars"))
        claims = {claim.id: _verdict(claim, measured) for one in chosen for claim in one.claims}
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
            for point in measured.points.get(("fig8", "tcp"), ())
            if point.levels["r"] in _SHOWN_RATES
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


def _verdict(claim: Claim, measured: Points) -> str:
    """Whether a claim holds, as none does of what there is none, such as the end of a video."""
    try:
        return judge_claim(claim, measured).verdict.value
    except ReproductionError:
        return Verdict.FAILED.value


def _rates(stage: str, figure: str) -> tuple[int, ...]:
    """Filling rates that a stage looks at, in packets/s."""
    return ALL_RATES if stage == "again" or figure in SHORT_AND_VIDEO else RATES


def _with_runs(
    wanted: Mapping[tuple[str, str], Series], runs: int
) -> dict[tuple[str, str], Series]:
    return {
        key: replace(series, replications=min(series.replications, runs))
        for key, series in wanted.items()
        if series.ranking is None
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
    measure(search, "once", [task for task in readings if begins_full(task.reading)], rows)
    again = to_run_again(of_stage(rows.values(), "once"))
    for stage in ("again", "besides"):
        measure(search, stage, [task for task in readings if task.reading in again], rows)
    measure(search, "changes", change_tasks(), rows)
    measure(search, "applications", application_tasks(), rows)


def of_stage(rows: Iterable[Row], stage: str) -> list[Row]:
    """The rows of a stage, the best first; of equal ones that which is asked first."""
    asked = {task.reading: place for place, task in enumerate(reading_tasks())}
    own = sorted(
        (row for row in rows if row["stage"] == stage), key=lambda row: asked[row["reading"]]
    )
    return sorted(own, key=score, reverse=True)


def to_run_again(rows: Sequence[Row]) -> list[str]:
    """Of those with a full bucket the first by who is dropped and what is owed, and near ones."""
    found: dict[tuple[str, bool], str] = {}
    full = [row for row in rows if begins_full(row["reading"])]
    for row in full:
        found.setdefault((row["reading"].split(", ")[0], _owes(row)), row["reading"])
    return list(dict.fromkeys([*found.values(), *near_best(full)]))


def begins_full(reading: str) -> bool:
    """Whether its buckets are full at first, as ns-2's are."""
    return WORDS["initial", ""] in reading


def near_best(rows: Sequence[Row]) -> list[str]:
    """The best, which comes first, and those that few runs cannot tell from it."""
    return [row["reading"] for row in rows if int(row["held"]) >= int(rows[0]["held"]) - NEAR]


def whole_pages() -> list[Row]:
    """What held of all claims where the page was made with a reading, the best first."""
    with MORE.open(encoding="utf-8", newline="") as file:
        return of_stage(csv.DictReader(file), "page")


def _owes(row: Row) -> bool:
    return WORDS["floor", '"1 packets"'] in row["reading"]


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


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args()
    search = Search(order.jobs)
    if not order.page:
        do(search)
    from search_page import page

    page(search, read(search.engine).values())


if __name__ == "__main__":
    main()
