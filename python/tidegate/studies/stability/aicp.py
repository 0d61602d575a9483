"""AICP over TCP: its model beside simulations."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from tidegate.analysis import AicpA, AicpB, AicpOverTcp, CustomerGroup, Red, Reno, aicp_stability
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import running
from tidegate.studies.page import table
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.analysis import LociMargin
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

BASE = "studies/stability/aicp.toml"
RESULTS = "studies/stability/aicp.csv"
_PACKET_BYTES = 1500
_MIN_PACKETS, _MAX_PACKETS = 60.0, 115.0
_FLOWS = (5, 1)
"""Of the heavy and the light one."""
_MEASURED = ("heavy_pps", "light_pps", "queue_packets", "queue_sd_packets")
_RUNS = 2


@dataclass(frozen=True)
class Policer:
    """A variant with its bucket."""

    kind: str
    fill_bytes_per_s: int
    red_max_probability: float

    @cached_property
    def link(self) -> AicpOverTcp:
        """The model."""
        most = self.red_max_probability
        thresholds = AicpA(
            min_threshold=_MIN_PACKETS, max_threshold=_MAX_PACKETS, max_probability=most
        )
        signal = Red(
            min_threshold_packets=_MIN_PACKETS,
            max_threshold_packets=_MAX_PACKETS,
            max_probability=most,
            weight=0.008,
        )
        customers = tuple(
            CustomerGroup(count=1, flows=Reno(count=flows, base_rtt_s=0.1)) for flows in _FLOWS
        )
        return AicpOverTcp(
            capacity_pps=1e7 / 8 / _PACKET_BYTES,
            signal=signal,
            customers=customers,
            policing=thresholds if self.kind == "aicp-a" else AicpB(),
            fill_pps=self.fill_bytes_per_s / _PACKET_BYTES,
        )

    @property
    def margin(self) -> LociMargin:
        """Of both customers together."""
        return aicp_stability(self.link)[0]

    def scenario(self, root: Path) -> Scenario:
        """The scenario."""
        policing = {
            "kind": self.kind,
            "fill_rate": f"{self.fill_bytes_per_s} B/s",
            "depth": "225 kB",
            "charge": "aqm",
        }
        settings = {
            "bottleneck.differentiation": policing,
            "bottleneck.aqm.max_probability": self.red_max_probability,
        }
        return load_scenario(root / BASE, set=settings)


POLICERS = (
    Policer("aicp-a", 300, 0.01),
    Policer("aicp-a", 3000, 0.01),
    Policer("aicp-b", 300, 0.0012),
    Policer("aicp-b", 300, 0.01),
    Policer("aicp-b", 3000, 0.01),
)


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """What each customer gets through, and the backlog after the warm-up."""
    import pyarrow.compute as pc

    rates = tables["flows"].group_by("group").aggregate([("throughput_bps", "sum")])
    pps = {
        f"{row['group']}_pps": row["throughput_bps_sum"] / 8 / _PACKET_BYTES
        for row in rates.to_pylist()
    }
    series = tables["link_series"]
    late = pc.greater_equal(series["time_s"], scenario.plan()["warm_up_s"])
    backlog = series.filter(late)["backlog_packets"]
    queue = {
        "queue_packets": pc.mean(backlog).as_py(),
        "queue_sd_packets": pc.stddev(backlog).as_py(),
    }
    return {**pps, **queue}


def simulate(root: Path) -> None:
    """Simulate all and keep the means."""
    seeds = range(1, _RUNS + 1)
    trials = [Trial(policer.scenario(root), seeds, of_run) for policer in POLICERS]
    runs = running.simulate(trials, Threads(), lambda _done, _all: None)
    with (root / RESULTS).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kind", "fill_bytes_per_s", "red_max_probability", *_MEASURED])
        for policer, found in zip(POLICERS, runs, strict=True):
            means = [f"{fmean(run[name] for run in found):.5g}" for name in _MEASURED]
            rows.writerow(
                [policer.kind, policer.fill_bytes_per_s, policer.red_max_probability, *means]
            )


def kept(root: Path) -> dict[Policer, dict[str, float]]:
    """What was simulated."""
    with (root / RESULTS).open(encoding="utf-8", newline="") as file:
        return {
            Policer(row["kind"], int(row["fill_bytes_per_s"]), float(row["red_max_probability"])): {
                name: float(row[name]) for name in _MEASURED
            }
            for row in csv.DictReader(file)
        }


def results_table(root: Path) -> str:
    """The model beside what was simulated."""
    rows = []
    for policer, found in kept(root).items():
        at = policer.link.equilibrium
        heavy, light = at.throughput_pps
        rows.append(
            [
                policer.kind.replace("aicp", "AICP"),
                f"{policer.fill_bytes_per_s}",
                f"{policer.red_max_probability:g}",
                f"{at.probability:.2g}",
                " / ".join(f"{fill:.2f}" for fill in at.state),
                f"{heavy:.0f} / {light:.0f}",
                f"{found['heavy_pps']:.0f} / {found['light_pps']:.0f}",
                f"{at.queue_packets:.0f}",
                f"{found['queue_packets']:.0f} ± {found['queue_sd_packets']:.0f}",
                f"{policer.margin.gain_margin:.2g}",
            ]
        )
    head = [
        "variant", "r [B/s]", "RED's p_max", "p", "fills", "packets/s, model", "simulated",
        "queue, model", "simulated", "gain margin",
    ]  # fmt: skip
    return table(head, rows, numbers_from=1)
