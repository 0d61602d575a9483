"""Search over what the paper leaves open: search.csv has all that was measured, SEARCH.md its gist.

Buffer, thresholds and p_max, the delay over the air and the policer's bucket decide the figures,
and the text has none of them but the delay, for which it has a range: all clients have one of it,
or they have the range side by side. Between an eNodeB and the gateway the text has two routers,
where the paper's figure 4 draws four. What is not searched is as
in the simulator that the paper names: the sender is ns-2's FullTCP, which the authors extended, and
all else of RED is what ns-2 has by default (gentle, signals that wait for each other, a weight by
the link's rate, marks up to a probability of 0.1), but for its bytes: ours counts packets of 1500.

1. Networks are put to the claims of the figures that they decide: 6, 8, 9 and 10, with runs of 100
   s and flows that start within the first. A flow's tokens are one and one and a half fair shares;
   three where clients are not equally far, since near ones have more than others.
2. Those that hold as many of them as the eighth are put to the same figures with other times: runs
   of 20 to 100 s, of which the first tenth is not measured, the beginning is the first tenth, the
   end the last three, and an attack begins in the middle; and flows that start within 0.1 to 10 s.
3. The eight of both stages that hold the most claims, and then the largest share of their parts,
   are put to all figures, with three rates of tokens and five buckets each. Others that hold as
   many claims as the eighth are put to them with their own policer.
4. The eight of these that hold the most claims, and then parts, are run again, thirty times a point
   and judged with intervals, as the page is, and whoever holds as much as the last. Taken is the
   one with the most claims held; of several, that with the larger share of parts.
5. With it each other assumption is changed alone.

There are five runs a point else, as the paper has, where means are judged, and not intervals.
search_whole_runs.csv has the search of before, in which runs were measured from their first second
on, and search_uniform.csv the one before that, in which signals were spaced uniformly;
search_576.csv has networks for packets of 576 bytes (README.md).

    python studies/re-ecn/search.py                 do what is missing in search.csv, write SEARCH.md
    python studies/re-ecn/search.py --jobs 1        with one core
    python studies/re-ecn/search.py --page          write SEARCH.md alone

It may be stopped at any time and goes on where it was. Rows of another engine, one that forwards or
drops other packets in a short run, are measured again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from search_readings import (
    BUCKETS_S,
    CHANGES,
    GRID,
    LENGTHS_S,
    OF_NETWORKS,
    OF_TEXT,
    OF_UNEQUAL,
    RATES,
    READ_OTHERWISE,
    ROUTERS,
    STARTS_S,
    TAKEN,
    Reading,
    Task,
)

from tidegate.runs.execution import Threads
from tidegate.studies.load import Paper, load_study
from tidegate.studies.points import Points, fill
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.wanted import wanted_series
from tidegate.studies.judge import judge_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.studies.load import Experiment
    from tidegate.studies.reads import Read

FOLDER = Path(__file__).parent
ROWS = FOLDER / "search.csv"
NETWORKS, TIMES, FIGURES, AGAIN, CHANGED = "networks", "times", "figures", "again", "changed"
"""Stages: some figures alone, these with other times, all figures, the best again, and one thing
changed of them."""
EXPERIMENTS = {
    NETWORKS: ("fig6", "fig8", "fig9", "fig10"),
    TIMES: ("fig6", "fig8", "fig9", "fig10"),
    CHANGED: ("fig8", "fig9", "fig11", "fig12"),
}
RUNS = {NETWORKS: 5, TIMES: 5, FIGURES: 5, AGAIN: 30, CHANGED: 5}
BEST = {NETWORKS: 8, FIGURES: 8}
"""So many of a stage get into the next, and who is as good as the last."""
SHOWN = [f"{metric} {n}" for metric in ("goodput", "fairness") for n in (10, 100)]
Row = dict[str, str]
_PROBE = Reading(1000, "tenth and half", 0.02, "50", 1.0, 16.0, 16.0, 4)
"""What tells engines apart, whatever is taken."""

_KEYS = [one.name for one in fields(Reading)]
HEAD = ("engine", "stage", *_KEYS, "change", "held", "parts")


def _timed(read: Read, length_s: int) -> Read:
    """What is read at the same tenths of a run of another length."""
    share = length_s / TAKEN.length_s
    where = {
        name: {
            # Seconds of a series are told by their ends.
            end: (limit - 1) * share + 1 if (name, end) == ("time_s", "min") else limit * share
            for end, limit in limits.items()
        }
        if name in ("time_s", "start_s")
        else limits
        for name, limits in read.where.items()
    }
    return replace(read, where=where)


class Search:
    """The paper, and the engine that is searched with."""

    def __init__(self, jobs: int | None) -> None:
        """Read the paper's folder."""
        self.paper: Paper = load_study("re-ecn")
        self.threads = Threads(jobs)
        self.runners: dict[int, Runner] = {}
        self.engine = self._fingerprint()
        self.claims = [claim.id for one in self.experiments(FIGURES) for claim in one.claims]
        self.columns = [*HEAD, *SHOWN, *self.claims]

    def experiments(self, stage: str) -> list[Experiment]:
        """What a stage looks at; formulas depend on nothing that is searched."""
        every = [one for one in self.paper.experiments if one != "functions"]
        names = EXPERIMENTS.get(stage, every)
        return [self.paper.experiments[name] for name in names]

    def runner(self, length_s: int) -> Runner:
        """What does runs of a length, and reads their beginning, end and attack."""
        if length_s not in self.runners:
            measures = self.paper.measures
            reads = {name: _timed(read, length_s) for name, read in measures.reads.items()}
            self.runners[length_s] = Runner(
                native_engine, replace(measures, reads=reads), self.threads
            )
        return self.runners[length_s]

    def measured(self, task: Task) -> Row:
        """Run a row's scenarios and put their means to the claims."""
        chosen = self.experiments(task.stage)
        wanted = {
            key: replace(
                series,
                settings=tuple(task.applied(setting, key[0]) for setting in series.settings),
                replications=RUNS[task.stage],
            )
            for key, series in wanted_series(self.paper, chosen, []).items()
        }
        measured = Points()
        fill(measured, wanted, self.runner(task.reading.length_s), None)
        judged = measured if task.stage == AGAIN else measured.exact()
        verdicts = {claim.id: judge_claim(claim, judged) for one in chosen for claim in one.claims}
        parts = [one.held for verdict in verdicts.values() for _, one in verdict.findings]
        row = dict(zip(HEAD, (self.engine, *task.key), strict=False))
        row |= {
            "held": str(sum(verdict.held for verdict in verdicts.values())),
            "parts": f"{sum(parts) / len(parts):.3f}",
        }
        row |= {
            column: "/".join(
                f"{point.metrics[metric].mean:.2f}"
                for point in measured.series(("fig8", "tcp"))
                if point.levels["n"] == int(n)
            )
            for column in SHOWN
            for metric, n in [column.split()]
        }
        return row | {name: "holds" if one.held else "-" for name, one in verdicts.items()}

    def _fingerprint(self) -> str:
        """Give a few letters that change when the engine does anything else with these packets."""
        digest = hashlib.sha256()
        for setting in self.paper.experiments["fig8"].series["tcp"].settings:
            applied = Task(NETWORKS, _PROBE).applied(setting, "fig8")
            short = [*applied.overrides, ("warm_up", '"0 s"'), ("duration", '"5 s"')]
            tables = native_engine(applied.base, short).run(1)
            digest.update(repr(list(tables["flows"]["throughput_bps"])).encode())
        return digest.hexdigest()[:8]


def network_tasks() -> list[Task]:
    """Every network, with each policer that tells them apart."""
    readings = [
        replace(Reading(*one), routers=routers)  # type: ignore[arg-type]
        for routers in ROUTERS
        for one in product(*GRID.values())
    ]
    return [
        Task(NETWORKS, replace(one, rate=rate, depth_s=depth_s, start_s=start_s))
        for one in readings
        if one.routers == OF_TEXT or not one.unequal
        for rate, depth_s, start_s in (OF_UNEQUAL if one.unequal else OF_NETWORKS)
    ]


def time_tasks(rows: Iterable[Row]) -> list[Task]:
    """Networks that hold as many claims as the eighth, with every other length and start."""
    best = best_of(rows, NETWORKS)
    least = min(int(row["held"]) for row in best)
    readings = [reading_of(row) for row in of_stage(rows, NETWORKS) if int(row["held"]) >= least]
    others = [
        (length_s, within)
        for length_s, within in product(LENGTHS_S, STARTS_S)
        if within <= length_s / 10 and (length_s, within) != (100, 1.0)
    ]
    return [
        Task(TIMES, replace(one, length_s=length_s, start_within_s=within))
        for one in readings
        for length_s, within in others
    ]


def figure_tasks(rows: Iterable[Row]) -> list[Task]:
    """The best networks, each with every rate of tokens and every bucket."""
    best = best_of(rows, NETWORKS, TIMES)
    least = min(int(row["held"]) for row in best)
    alike = [row for row in of_stage(rows, NETWORKS, TIMES) if int(row["held"]) == least]
    found = [
        Task(FIGURES, replace(reading_of(row), rate=rate, depth_s=depth_s, start_s=start_s))
        for row in best
        for rate in RATES
        for depth_s, start_s in BUCKETS_S
    ]
    # A network may be there with both policers of the first stage.
    return list(dict.fromkeys([*found, *(Task(FIGURES, reading_of(row)) for row in alike)]))


def again_tasks(rows: Iterable[Row]) -> list[Task]:
    """The best of all figures."""
    return [Task(AGAIN, reading_of(row)) for row in best_of(rows, FIGURES)]


def best_of(rows: Iterable[Row], *stages: str) -> list[Row]:
    """The best of stages, and all that are as good as the last of them."""
    own = of_stage(rows, *stages)
    least = sorted(map(score, own), reverse=True)[BEST[stages[0]] - 1]
    return [row for row in own if score(row) >= least]


def first_of(rows: Iterable[Row]) -> Reading:
    """What the rule takes."""
    return reading_of(max(of_stage(rows, AGAIN), key=score))


def change_tasks() -> list[Task]:
    """What is taken, with one thing changed: of the grid, of the policer, and of the rest."""
    neighbours = [
        replace(TAKEN, **{name: level})
        for name, levels in GRID.items()
        for level in levels
        if level != getattr(TAKEN, name)
    ]
    neighbours += [replace(TAKEN, routers=one) for one in ROUTERS if one != TAKEN.routers]
    neighbours += [replace(TAKEN, length_s=one) for one in LENGTHS_S if one != TAKEN.length_s]
    neighbours += [
        replace(TAKEN, start_within_s=one)
        for one in STARTS_S
        if one != TAKEN.start_within_s and one <= TAKEN.length_s / 10
    ]
    neighbours += [replace(TAKEN, rate=rate) for rate in RATES if rate != TAKEN.rate]
    neighbours += [
        replace(TAKEN, depth_s=depth_s, start_s=start_s)
        for depth_s, start_s in BUCKETS_S
        if (depth_s, start_s) != (TAKEN.depth_s, TAKEN.start_s)
    ]
    found = [Task(CHANGED, reading) for reading in (TAKEN, *neighbours)]
    return found + [Task(CHANGED, TAKEN, change) for change in (*CHANGES, *READ_OTHERWISE)]


def of_stage(rows: Iterable[Row], *stages: str) -> list[Row]:
    """Rows of some stages."""
    return [row for row in rows if row["stage"] in stages]


def reading_of(row: Row) -> Reading:
    """What a row's columns say."""
    return Reading(
        int(row["buffer"]), row["thresholds"], float(row["p_max"]), row["air_ms"],
        float(row["rate"]), float(row["depth_s"]), float(row["start_s"]), int(row["routers"]),
        int(row["length_s"]), float(row["start_within_s"]),
    )  # fmt: skip


def score(row: Row) -> tuple[int, float]:
    """Claims held, and then the share of their parts that hold."""
    return int(row["held"]), float(row["parts"])


def read(engine: str) -> dict[tuple[str, ...], Row]:
    """Rows that this engine has measured."""
    if not ROWS.is_file():
        return {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"] == engine]
    return {tuple(row[name] for name in ("stage", *_KEYS, "change")): row for row in rows}


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


def main() -> None:
    """Search, as far as it is not done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; default: cores")
    parser.add_argument("--page", action="store_true", help="write SEARCH.md alone")
    order = parser.parse_args()
    search = Search(order.jobs)
    if not order.page:
        do(search, network_tasks())
        do(search, time_tasks(read(search.engine).values()))
        do(search, figure_tasks(read(search.engine).values()))
        do(search, again_tasks(read(search.engine).values()))
        first = first_of(read(search.engine).values())
        if first != TAKEN:
            sys.exit(f"the rule takes {first}; base.toml and Reading have {TAKEN}")
        do(search, change_tasks())
    from search_page import page

    page(search)


if __name__ == "__main__":
    main()
