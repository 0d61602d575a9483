"""ABC over TCP: its model beside table 2 of the paper, our simulations, and a calmer queue."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from tidegate.analysis import (
    AbcMargins,
    AbcOverTcp,
    CustomerGroup,
    Padhye,
    PiecewiseLinear,
    Shared,
    abc_stability,
)
from tidegate.analysis.abc_loop import own_margins
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import running
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

BASE = "studies/abc/base.toml"
TABLE2 = "studies/abc/expected/table2_differentiation_factor.csv"
TABLE3 = "studies/abc/expected/table3_activity_inertia.csv"
RESULTS = "studies/stability/abc.csv"
LAWS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "paper": ((11, 0.0), (17, 0.01), (24, 1.0)),
    "calm": ((0, 0.0), (2000, 1.0)),
}
"""The queue's law (11) of the paper, and one that rises so slowly that nothing swings."""
CAPACITY_PPS = 1e7 / 12_000
REFERENCE_PPS = 0.05e6 / 12_000
FLOWS = (10, 1)
_RUNS = 10
# Two accesses of 0.1 ms each way, and 1500 bytes sent at 10 Mb/s and twice at 100 Mb/s.
_OTHER_RTT_S = 0.4e-3 + 1.2e-3 + 0.24e-3
_MEASURED = ("ratio", "queue_packets", "queue_sd_packets", "utilization")


@dataclass(frozen=True)
class Cell:
    """A set-up of the paper, in its units."""

    delay_ms: int
    heavy: int
    light: int
    gamma: float = 3.0
    inertia_s: float = 0.6
    law: str = "paper"

    @cached_property
    def link(self) -> AbcOverTcp:
        """The model: users with ten flows and with one."""
        return link_of(
            self.delay_ms / 1e3, (self.heavy, self.light), self.gamma, self.inertia_s, self.law
        )

    @property
    def equilibrium(self) -> Shared:
        """Where the model settles."""
        return self.link.equilibrium

    @property
    def ratio(self) -> float:
        """T_R: throughput of a heavy user over that of a light one."""
        heavy, light = self.equilibrium.throughput_pps
        return heavy / light

    @cached_property
    def margins(self) -> AbcMargins:
        """Of its loop."""
        return abc_stability(self.link)

    def scenario(self, root: Path) -> Scenario:
        """The paper's, with this queue."""
        settings: dict[str, object] = {
            "bottleneck.delay": f"{self.delay_ms} ms",
            "users.ug0.count": self.heavy,
            "users.ug1.count": self.light,
            "bottleneck.differentiation.gamma": self.gamma,
            "sample_interval": "20 ms",
        }
        if self.law != "paper":
            points = [list(point) for point in LAWS[self.law]]
            aqm = {"kind": "piecewise-linear", "points": points, "count_transmission": True}
            settings |= {"bottleneck.aqm": aqm, "bottleneck.buffer": "2000 packets"}
        return load_scenario(root / BASE, set=settings)


def link_of(
    delay_s: float, users: tuple[float, float], gamma: float, inertia_s: float, law: str = "paper"
) -> AbcOverTcp:
    """The paper's link, of this delay one way, with as many heavy and light users."""
    base_rtt_s = 2 * delay_s + _OTHER_RTT_S
    return AbcOverTcp(
        capacity_pps=CAPACITY_PPS,
        signal=PiecewiseLinear(points=LAWS[law]),
        customers=tuple(
            CustomerGroup(
                count=count,
                flows=Padhye(count=flows, base_rtt_s=base_rtt_s),
                reference_pps=REFERENCE_PPS,
            )
            for count, flows in zip(users, FLOWS, strict=True)
        ),
        gamma=gamma,
        inertia_s=inertia_s,
    )


def published(root: Path, table: str) -> dict[Cell, float]:
    """Throughput ratios that the paper prints, γ = 0 included."""
    with (root / table).open(encoding="utf-8", newline="") as file:
        return {_cell(row): float(row["value"]) for row in csv.DictReader(file)}


def _cell(row: Mapping[str, str]) -> Cell:
    gamma, inertia_s = float(row.get("gamma", 3)), float(row.get("inertia_s", 0.6))
    return Cell(int(row["D_b_ms"]), int(row["u_0"]), int(row["u_1"]), gamma, inertia_s)


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """Ratio of throughputs; mean and standard deviation of the backlog after the warm-up."""
    import pyarrow.compute as pc

    flows = (
        tables["flows"]
        .group_by("group")
        .aggregate([("throughput_bps", "sum"), ("user", "count_distinct")])
    )
    of_user = {
        row["group"]: row["throughput_bps_sum"] / row["user_count_distinct"]
        for row in flows.to_pylist()
    }
    [link] = [row for row in tables["links"].to_pylist() if row["monitored"]]
    series = tables["link_series"]
    late = pc.greater_equal(series["time_s"], scenario.plan()["warm_up_s"])
    backlog = series.filter(late)["backlog_packets"]
    return {
        "ratio": of_user["ug0"] / of_user["ug1"],
        "queue_packets": pc.mean(backlog).as_py(),
        "queue_sd_packets": pc.stddev(backlog).as_py(),
        "utilization": link["utilization"],
    }


def simulate(root: Path) -> None:
    """Simulate table 2 with the paper's law and with a calm one, and keep the means."""
    cells = list(_simulated(root))
    trials = [Trial(cell.scenario(root), range(1, _RUNS + 1), of_run) for cell in cells]
    runs = running.simulate(trials, Threads(), lambda _done, _all: None)
    with (root / RESULTS).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["law", "D_b_ms", "u_0", "u_1", "gamma", *_MEASURED])
        for cell, found in zip(cells, runs, strict=True):
            means = [f"{fmean(run[name] for run in found):.5g}" for name in _MEASURED]
            what = [cell.law, cell.delay_ms, cell.heavy, cell.light, f"{cell.gamma:g}"]
            rows.writerow([*what, *means])


def _simulated(root: Path) -> Iterator[Cell]:
    for law in LAWS:
        for cell in published(root, TABLE2):
            yield Cell(cell.delay_ms, cell.heavy, cell.light, cell.gamma, law=law)


def kept(root: Path) -> dict[Cell, dict[str, float]]:
    """What was simulated: means over the runs, by cell."""
    with (root / RESULTS).open(encoding="utf-8", newline="") as file:
        return {
            Cell(
                int(row["D_b_ms"]),
                int(row["u_0"]),
                int(row["u_1"]),
                float(row["gamma"]),
                law=row["law"],
            ): {name: float(row[name]) for name in _MEASURED}
            for row in csv.DictReader(file)
        }


def near(value: float, want: float) -> bool:
    """As `reproduce` has it of a ratio: within 10 %, or 0.1."""
    return bool(abs(value - want) <= max(0.1 * want, 0.1))


def own_margin(link: AbcOverTcp) -> float:
    """The smallest margin of users against each other, which is what ABC adds to a queue."""
    return min(margin.gain_margin for margin in own_margins(link) if margin is not None)
