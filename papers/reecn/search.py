"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Buffer, RED and the delay over the air decide Figures 8 and 9, and the text has none of the first
two and a range for the third. Every combination is run with the four mechanisms of these figures,
for 10 and 100 flows.

    python papers/reecn/search.py                 do what is missing in search.csv, write SEARCH.md
    python papers/reecn/search.py --page          write SEARCH.md alone

It may be stopped at any time and goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.results.statistics import jain_index
from tidegate.studies.page import table, write_page
from tidegate.studies.papers.experiments import load_paper
from tidegate.studies.papers.runs import native_engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.papers.factors import Override

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
RUNS = 2
CAPACITY_BPS = 50e6
BUFFERS = (50, 100, 200, 500, 1000, 2500)
THRESHOLDS = ("5 and 15", "tenth and half")
MAX_PROBABILITIES = (0.02, 0.1)
AIR_MS = (5, 50, 200)
MECHANISMS = ("DropTail", "RED", "ECN", "Re-ECN")
FLOWS = (10, 100)
METRICS = ("goodput", "fairness", "fluctuation")


@dataclass(frozen=True)
class Reading:
    """One answer to what is open."""

    buffer: int
    thresholds: str
    max_probability: float
    air_ms: int

    def overrides(self, mechanism: str) -> list[Override]:
        """What it changes."""
        low, high = (
            (5, 15) if self.thresholds == THRESHOLDS[0] else (self.buffer // 10, self.buffer // 2)
        )
        aqm = (
            f'{{ kind = "red", min_threshold = "{low} packets", max_threshold = "{high} packets", '
            f"max_probability = {self.max_probability}, weight = 0.002, gentle = true }}"
        )
        queue = "links.bottleneck"
        red = [] if mechanism == "DropTail" else [(f"{queue}.aqm", aqm)]
        return [
            (f"{queue}.buffer", f'"{self.buffer} packets"'),
            ("links.cell.delay", f'"{self.air_ms} ms"'),
            *red,
        ]


READINGS = [Reading(*one) for one in product(BUFFERS, THRESHOLDS, MAX_PROBABILITIES, AIR_MS)]
TAKEN = Reading(200, "tenth and half", 0.02, 200)
_COLUMNS = (*(one.name for one in fields(Reading)), "flows", "mechanism", *METRICS)
Row = dict[str, str]


def measured(reading: Reading, flows: int, mechanism: str) -> Row:
    """Give the means of its runs."""
    (setting,) = (
        one
        for one in load_paper("reecn").experiments["fig8"].series["tcp"].settings
        if (one.levels["n"], one.levels["mechanism"]) == (flows, mechanism)
    )
    round_trip = f'"{2 * (100 + reading.air_ms)} ms"'
    own = [(key, value.replace('"600 ms"', round_trip)) for key, value in setting.overrides]
    scenario = native_engine(setting.base, [*own, *reading.overrides(mechanism)])
    runs = np.asarray([_metrics(scenario.run(seed)) for seed in range(1, RUNS + 1)])
    means = (f"{value:.4f}" for value in runs.mean(axis=0))
    of = (*map(str, astuple(reading)), str(flows), mechanism)
    return dict(zip(_COLUMNS, (*of, *means), strict=True))


def _metrics(tables: Mapping[str, Mapping[str, Any]]) -> tuple[float, ...]:
    goodput = np.asarray(tables["flows"]["goodput_bps"], dtype=float)
    series = np.asarray(tables["group_series"]["throughput_bps"], dtype=float)
    return goodput.sum() / CAPACITY_BPS, jain_index(goodput), series.std() / CAPACITY_BPS


def read() -> list[Row]:
    """Rows that have been measured."""
    if not ROWS.is_file():
        return []
    with ROWS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def do(jobs: int) -> None:
    """Measure the rows that are missing, each written as soon as it is there."""
    done = {_key(row) for row in read()}
    wanted = [
        (reading, flows, mechanism)
        for reading, flows, mechanism in product(READINGS, FLOWS, MECHANISMS)
        if (*map(str, astuple(reading)), str(flows), mechanism) not in done
    ]
    with ROWS.open("a", encoding="utf-8", newline="") as file, ThreadPoolExecutor(jobs) as pool:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for row in pool.map(lambda one: measured(*one), wanted):
            writer.writerow(row)
            file.flush()


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in _COLUMNS[:-3])


def holds(of: dict[str, Row]) -> dict[str, bool]:
    """Which statements of Figures 8 and 9 the means have, of one reading and number of flows."""
    goodput, fairness, deviation = (
        {name: float(of[name][metric]) for name in MECHANISMS} for metric in METRICS
    )
    tail, red, ecn, re_ecn = MECHANISMS
    return {
        "RED above DropTail": goodput[tail] < goodput[red],
        "both ECN above RED": goodput[red] < min(goodput[ecn], goodput[re_ecn]),
        "ECN and Re-ECN within 5 %": abs(goodput[re_ecn] / goodput[ecn] - 1) <= 0.05,
        "DropTail varies most": deviation[tail] > max(deviation[name] for name in MECHANISMS[1:]),
        "both ECN fairer than DropTail": fairness[tail] < min(fairness[ecn], fairness[re_ecn]),
        "fairness ascends": fairness[tail] < fairness[red] < min(fairness[ecn], fairness[re_ecn]),
    }


def page() -> None:
    """Write SEARCH.md."""
    lines = []
    for reading in READINGS:
        told = []
        cells: list[str] = []
        for flows in FLOWS:
            of = {row["mechanism"]: row for row in read() if _is(row, reading, flows)}
            if len(of) < len(MECHANISMS):
                continue
            told.append(holds(of))
            cells += ["/".join(f"{float(of[name]['goodput']):.2f}" for name in MECHANISMS)]
            cells += ["/".join(f"{float(of[name]['fairness']):.2f}" for name in MECHANISMS)]
        if len(told) == len(FLOWS):
            counts = [str(sum(one.values())) for one in told]
            name = f"{reading.buffer} packets, {reading.thresholds}, "
            name += f"{reading.max_probability}, {reading.air_ms} ms"
            name = f"**{name}**" if reading == TAKEN else name
            lines.append((sum(map(int, counts)), [name, *counts, *cells]))
    lines.sort(key=lambda line: -line[0])
    head = ["reading", "held, 10", "held, 100", "goodput, 10", "fairness, 10", "goodput, 100",
            "fairness, 100"]  # fmt: skip
    write_page(FOLDER / "SEARCH.md", _HEAD + table(head, [cells for _, cells in lines]) + "\n")


def _is(row: Row, reading: Reading, flows: int) -> bool:
    return _key(row)[:-1] == (*map(str, astuple(reading)), str(flows))


_HEAD = f"""# What the paper leaves open: the whole search

Written by `papers/reecn/search.py`; `search.csv` has what was measured, the mean of {RUNS} runs
each. A reading is a buffer, RED's thresholds (in packets, or as shares of the buffer), its p_max,
and the delay over the air. A row has how many of six statements of Figures 8 and 9 its means have,
with 10 and with 100 flows, and goodput and fairness of DropTail, RED, ECN and Re-ECN. The one in
bold is taken.

"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args(arguments)
    if not order.page:
        do(order.jobs)
    page()


if __name__ == "__main__":
    main()
