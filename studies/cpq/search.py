"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Rate and round-trip time are not searched: 2 MB in 2.05 s on an empty link (table III, the smallest
time with ICP) give 10 Mb/s and 100 ms. Searched are RED's parameters, which all mechanisms share,
and the readings of each mechanism. A row is one mechanism, in one reading, on one RED, over all ten
intervals: mechanisms do not meet in any run, so that a set for all of them is a sum of rows.

A row's score is the number of its cells that lie within the page's tolerance *and* can be told from
what plain RED has in their place; a mechanism that does nothing scores nothing. Rows are first
screened by tables II and III and two of the deployments of tables IVa and IVb; the best REDs get
the rest, those that are best for single mechanisms for these alone.

    python studies/cpq/search.py                 do what is missing in search.csv, write SEARCH.md
    python studies/cpq/search.py --jobs 1        with one core
    python studies/cpq/search.py --page          write SEARCH.md alone

It may be stopped at any time and goes on where it was. Rows of another engine, one that forwards or
drops other packets in a short run of every mechanism, are measured again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegate.results.statistics import Estimate
from tidegate.runs.execution import Threads
from tidegate.studies.load import Cell, Paper, load_study
from tidegate.studies.runner import native_engine
from tidegate.studies.judge import CellVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tidegate.studies.factors import Override, Setting

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
LINKS = ("bottleneck", "second", "third", "fourth")
BDP_PACKETS = 83
TABLES = {"table2": "II", "table3": "III", "table4a": "IVa", "table4b": "IVb"}
SCREENED = ("1-3", "all")
Place = tuple[str, str, str]
"""Experiment, deployment (or nothing) and metric of a cell."""
Row = dict[str, str]


class Red(NamedTuple):
    """RED's parameters; thresholds in packets."""

    min_th: int
    max_th: int
    max_p: float
    weight: float
    spacing: str

    def overrides(self) -> list[Override]:
        """Give all four links this RED, and a buffer that it never fills."""
        aqm = (
            f'{{ kind = "red", min_threshold = "{self.min_th} packets", '
            f'max_threshold = "{self.max_th} packets", max_probability = {self.max_p:g}, '
            f'weight = {self.weight:g}, spacing = "{self.spacing}" }}'
        )
        return [
            change
            for link in LINKS
            for change in (
                (f"links.{link}.aqm", aqm),
                (f"links.{link}.buffer", f'"{4 * self.max_th} packets"'),
            )
        ]


@dataclass(frozen=True)
class Task:
    """One row to be measured."""

    red: Red
    mechanism: str
    reading: str
    whole: bool
    """With all deployments, not the screened ones alone."""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from other rows."""
        return (*map(text_of, self.red), self.mechanism, self.reading)


TAKEN = Red(60, 115, 0.0012, 0.008, "geometric")
CHANGES: dict[str, list[Any]] = {
    "max_p": [0.0003, 0.0006, 0.0024, 0.005, 0.01, 0.02, 0.05],
    "min_th": [42, 83],
    "max_th": [83, 180],
    "weight": [0.002, 0.016],
    "spacing": ["uniform"],
}
GRID = {
    "max_p": [0.0003, 0.003, 0.02],
    "thresholds": [(42, 83), (60, 180)],
    "weight": [0.002],
}
_BOOLS = ("false", "true")
READINGS: dict[str, dict[str, str]] = {
    "RED": {"": '{ kind = "none" }'},
    "DRR": {},
    "ICP-step": {"": '{ kind = "icp", curve = "step" }'},
    **{
        f"ICP-{curve}": {
            f"start {start:g}": f'{{ kind = "icp", curve = "{curve}", start = {start:g} }}'
            for start in (0.0043, 0.25, 1.0)
        }
        for curve in ("slope", "squared")
    },
    "AFCP-a": {"": '{ kind = "afcp", variant = "a" }'},
    "AFCP-b": {"": '{ kind = "afcp", variant = "b" }'},
    "AICP-a": {
        f"charge {charge}, {'all' if dropped == 'true' else 'forwarded'} packets":
        f'{{ kind = "aicp-a", charge = "{charge}", charge_dropped = {dropped} }}'
        for charge, dropped in product(("own", "aqm"), _BOOLS)
    },
    "AICP-b": {
        f"charge {charge}, {'all' if dropped == 'true' else 'forwarded'} packets, "
        f"{'in congestion' if only == 'true' else 'always'}":
        f'{{ kind = "aicp-b", charge = "{charge}", charge_dropped = {dropped}, '
        f"only_in_congestion = {only} }}"
        for charge, dropped, only in product(("aqm", "own"), _BOOLS, _BOOLS)
    },
}  # fmt: skip


# Readings that are looked at where max_p alone is changed. Exploration with the engine of November
# 2026: charged by RED's plain probability, AICP-a cannot be told from RED in table II at any max_p;
# charged by its own, AICP-b neither; and policing without congestion leaves the link idle.
FEW = {
    "start 1",
    *(name for name in READINGS["AICP-a"] if "charge aqm" in name),
    *(name for name in READINGS["AICP-b"] if "charge own" in name or "always" in name),
}


class Search:
    """Paper, published cells and the engine that is searched with."""

    def __init__(self) -> None:
        """Read the paper's folder."""
        self.paper: Paper = load_study("cpq")
        self.cells: dict[str, dict[Place, Cell]] = {}
        for experiment in TABLES:
            for cell in self.paper.experiments[experiment].cells:
                mechanism = str(cell.levels["mechanism"])
                place = (experiment, str(cell.levels.get("cpq_positions", "")), cell.metric)
                self.cells.setdefault(mechanism, {})[place] = cell
        self.places = list(dict.fromkeys(place for of in self.cells.values() for place in of))
        self.engine = self._fingerprint()

    def measured(self, task: Task) -> Row:
        """Run a row's scenarios, all ten intervals of each."""
        found: dict[Place, Estimate] = {}
        for experiment, setting in self._settings(task):
            position = str(setting.levels.get("cpq_positions", ""))
            scenario = native_engine(self.paper.base, self._overrides(task, setting))
            run = self.paper.measures.keep(scenario, scenario.run(scenario.seed))
            metrics = self.paper.measures.of([run])
            # Tables IVa and IVb are of the same runs.
            names = ("table4a", "table4b") if experiment == "table4a" else (experiment,)
            for place in self.places:
                if place[0] in names and place[1] == position and place[2] in metrics:
                    found[place] = metrics[place[2]]
        row = dict(zip(HEAD, (self.engine, *task.key), strict=True))
        row |= {column_of(place): "" for place in self.places}
        row |= {f"{column_of(place)} ±": "" for place in self.places}
        for place, value in found.items():
            row[column_of(place)] = f"{value.mean:.5g}"
            row[f"{column_of(place)} ±"] = f"{value.ci95:.3g}"
        return row

    def judged(self, row: Row, red: Row) -> dict[Place, CellVerdict]:
        """Put a row to the paper's cells, beside the row of plain RED with the same parameters."""
        found = {}
        baseline = self.paper.baseline
        same_as = baseline.same_as if baseline else {}
        for place, cell in self.cells[row["mechanism"]].items():
            if not row[column_of(place)]:
                continue
            experiment, position, metric = place
            bare = (experiment, "none" if position else "", metric)
            apart = (experiment, position, same_as.get(metric, metric))
            bare_apart = (experiment, bare[1], apart[2])
            ours, plain = value_of(row, apart), value_of(red, bare_apart)
            found[place] = CellVerdict(
                cell,
                value_of(row, place),
                None,
                without=value_of(red, bare),
                differs=ours.differs(plain),
            )
        return found

    def _settings(self, task: Task) -> Iterator[tuple[str, Setting]]:
        for experiment in ("table2", "table3", "table4a"):
            for series in self.paper.experiments[experiment].series.values():
                for setting in series.settings:
                    position = setting.levels.get("cpq_positions")
                    wanted = task.whole or position in (None, "none", *SCREENED)
                    if setting.levels["mechanism"] == task.mechanism and wanted:
                        yield experiment, setting

    def _overrides(self, task: Task, setting: Setting) -> list[Override]:
        """The setting's own, with the reading in place of the mechanism that the page has."""
        reading = READINGS[task.mechanism][task.reading]
        changed = [
            (key, reading if key.endswith(".differentiation") and '"none"' not in value else value)
            for key, value in setting.overrides
        ]
        return [*task.red.overrides(), *changed]

    def _fingerprint(self) -> str:
        """Give a few letters that change when the engine does anything else with these packets."""
        digest = hashlib.sha256()
        short = ("intervals", '{ count = 2, length = "20 s" }')
        for mechanism, readings in READINGS.items():
            for reading in readings:
                for experiment, setting in self._settings(Task(TAKEN, mechanism, reading, False)):
                    if experiment == "table4a" and setting.levels["cpq_positions"] != "all":
                        continue
                    overrides = self._overrides(Task(TAKEN, mechanism, reading, False), setting)
                    tables = native_engine(self.paper.base, [*overrides, short]).run(1)
                    digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        return digest.hexdigest()[:8]


HEAD = ("engine", *Red._fields, "mechanism", "reading")


def changed() -> list[Red]:
    """What was taken, and the same with one thing changed."""
    others = [(name, one) for name, levels in CHANGES.items() for one in levels]
    return [TAKEN, *(TAKEN._replace(**{name: one}) for name, one in others)]


def reds() -> list[Red]:
    """What was taken, the same with one thing changed, and a grid."""
    found = changed()
    found += [
        Red(low, high, max_p, weight, "geometric")
        for max_p, (low, high), weight in product(*GRID.values())
    ]
    return list(dict.fromkeys(found))


def tasks(of: Iterable[Red], *, whole: bool) -> list[Task]:
    """Every mechanism on these REDs, in each of its readings where max_p alone is changed."""
    return [
        Task(red, mechanism, reading, whole)
        for red in of
        for mechanism, readings in READINGS.items()
        for reading in readings
        if reading not in FEW or (not whole and red._replace(max_p=TAKEN.max_p) == TAKEN)
    ]


def read(engine: str) -> dict[tuple[str, ...], Row]:
    """Rows that this engine has measured; of one that was measured twice the more complete."""
    if not ROWS.is_file():
        return {}
    found: dict[tuple[str, ...], Row] = {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = tuple(row[name] for name in HEAD[1:])
            if row.get("engine") == engine and _filled(row) >= _filled(found.get(key, {})):
                found[key] = row
    return found


def write(rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Write all rows in place of what is there."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def do(search: Search, wanted: Sequence[Task], jobs: int | None) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    rows = read(search.engine)
    columns = [*HEAD, *(c + end for place in search.places for c in [column_of(place)]
                        for end in ("", " ±"))]  # fmt: skip
    write(rows.values(), columns)
    missing = [task for task in wanted if not _has(rows.get(task.key), search, task)]
    with ROWS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        work = Threads(jobs).work(missing, search.measured)
        for done, (_, outcome) in enumerate(work, start=1):
            if isinstance(outcome, Exception):
                raise outcome
            writer.writerow(outcome)
            file.flush()
            sys.stderr.write(f"\r{done} of {len(missing)} rows")
    sys.stderr.write("\n")
    write(read(search.engine).values(), columns)


def _has(row: Row | None, search: Search, task: Task) -> bool:
    if row is None:
        return False
    whole = all(row[column_of(place)] for place in search.cells.get(task.mechanism, {}))
    return whole or not task.whole


def _filled(row: Mapping[str, str]) -> int:
    return sum(bool(text) for text in row.values())


def column_of(place: Place) -> str:
    """Give the name of a cell's column in search.csv."""
    experiment, position, metric = place
    return " ".join(part for part in (TABLES[experiment], position, metric) if part)


def value_of(row: Row, place: Place) -> Estimate:
    """Give what a row has of a cell; NaN where it was not run."""
    column = column_of(place)
    if not row.get(column):
        return Estimate(math.nan)
    return Estimate(float(row[column]), float(row[f"{column} ±"]), 10)


def text_of(value: object) -> str:
    """Write a parameter as it stands in search.csv."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    parser.add_argument("--only", default="", help="these mechanisms, such as AICP-a,AICP-b")
    order = parser.parse_args()
    search = Search()
    only = order.only.split(",") if order.only else list(READINGS)
    if not order.page:
        screened = [t for t in tasks(reds(), whole=False) if t.mechanism in ("RED", *only)]
        do(search, screened, order.jobs)
    from search_page import best_reds, write_page

    if not order.page and not order.only:
        best = best_reds(search, read(search.engine).values())
        whole = [
            task
            for task in tasks(best, whole=True)
            if best[task.red] is None or task.mechanism in best[task.red]
        ]
        do(search, whole, order.jobs)
    write_page(search, list(read(search.engine).values()))


if __name__ == "__main__":
    main()
