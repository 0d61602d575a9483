"""DualPI2 with classic and scalable flows: models of one queue and of two beside simulations."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from tidegate.analysis import Bottleneck, DualQueues, Pi2, Reno, Scalable, stability
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import running
from tidegate.studies.page import table
from tidegate.studies.running import Trial
from tidegate.studies.stability.cases import ACCESS_RTT_MS, PACKET_BITS
from tidegate.studies.stability.verdicts import of_run as of_queue

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

BASE = "studies/stability/base.toml"
RESULTS = "studies/stability/mixed.csv"
RATE_MBPS, FLOWS = 100, 25
"""So many of each."""
_LAWS = Reno, Scalable
_CAPACITY_PPS = RATE_MBPS * 1e6 / PACKET_BITS
_BASE_RTT_MS = (10, 40, 70, 110, 160, 240)
_RUNS = 3
_MEASURED = ("classic_mbps", "scalable_mbps", "utilization", "queue_packets", "queue_sd_packets")


@dataclass(frozen=True)
class Mix:
    """Reno and Prague, as many of each, at a base round trip."""

    base_rtt_ms: int

    @cached_property
    def link(self) -> DualQueues:
        """The model."""
        sources = tuple(law(count=FLOWS, base_rtt_s=self.base_rtt_ms / 1e3) for law in _LAWS)
        return DualQueues(capacity_pps=_CAPACITY_PPS, signal=Pi2(), sources=sources)

    @property
    def gain_margin(self) -> float:
        """Of the model."""
        return float(stability(self.link).gain_margin)

    @property
    def together(self) -> Bottleneck:
        """The same with all in one queue."""
        return Bottleneck(
            capacity_pps=_CAPACITY_PPS, signal=self.link.signal, sources=self.link.sources
        )

    def scenario(self, root: Path) -> Scenario:
        """The scenario."""
        settings = {
            "bottleneck.delay": f"{(self.base_rtt_ms - ACCESS_RTT_MS) / 2:g} ms",
            "bottleneck.scheduler": {"kind": "dualpi2"},
            "users.all.count": FLOWS,
        }
        added = {
            "users.scalable.count": FLOWS,
            "users.scalable.start": {"from": "0 s", "to": "5 s"},
            "users.scalable.tcp.congestion_control": "prague",
        }
        return load_scenario(root / BASE, set=settings, add=added)


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """A flow's rate of each kind, and what the queues together did."""
    flows = tables["flows"].group_by("group").aggregate([("throughput_bps", "mean")])
    mbps = {row["group"]: row["throughput_bps_mean"] / 1e6 for row in flows.to_pylist()}
    rates = {"classic_mbps": mbps["all"], "scalable_mbps": mbps["scalable"]}
    return {**rates, **of_queue(scenario, tables)}


def simulate(root: Path) -> None:
    """Simulate all and keep the means."""
    mixes = [Mix(base_rtt_ms) for base_rtt_ms in _BASE_RTT_MS]
    trials = [Trial(mix.scenario(root), range(1, _RUNS + 1), of_run) for mix in mixes]
    runs = running.simulate(trials, Threads(), lambda _done, _all: None)
    with (root / RESULTS).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["base_rtt_ms", *_MEASURED])
        for mix, found in zip(mixes, runs, strict=True):
            means = [f"{fmean(run[name] for run in found):.5g}" for name in _MEASURED]
            rows.writerow([mix.base_rtt_ms, *means])


def kept(root: Path) -> dict[Mix, dict[str, float]]:
    """What was simulated."""
    with (root / RESULTS).open(encoding="utf-8", newline="") as file:
        return {
            Mix(int(row["base_rtt_ms"])): {name: float(row[name]) for name in _MEASURED}
            for row in csv.DictReader(file)
        }


def results_table(root: Path) -> str:
    """The model beside what was simulated."""
    rows = []
    for mix, found in kept(root).items():
        rows.append(
            [
                f"{mix.base_rtt_ms}",
                _rates(mix.together),
                _rates(mix.link),
                f"{found['classic_mbps']:.2f} / {found['scalable_mbps']:.2f}",
                f"{float(stability(mix.together).gain_margin):.2f}",
                f"{mix.gain_margin:.2f}",
                f"{found['queue_sd_packets'] / found['queue_packets']:.2f}",
                f"{found['utilization']:.4f}",
            ]
        )
    head = [
        "base RTT [ms]", "Reno / Prague [Mb/s], one queue", "two queues", "simulated",
        "gain margin, one queue", "two queues", "spread", "utilisation",
    ]  # fmt: skip
    return table(head, rows, numbers_from=0)


def _rates(link: Bottleneck) -> str:
    return " / ".join(f"{float(x) * PACKET_BITS / 1e6:.2f}" for x in link.equilibrium.rate_pps)
