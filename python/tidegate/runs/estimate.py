"""How long a sweep will take, before it runs.

The packets that pass the bottlenecks are those of links that are never idle, which is the most that
there can be. How many of them this machine simulates in a second is measured by a short run of one
point.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidegate.results.tables import numbers, run_tables
from tidegate.runs.progress import duration
from tidegate.scenarios.reading import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate._native import Scenario

LONG_S = 30.0
"""A sweep that is expected to take longer is announced."""
_PILOT_PACKETS = 100_000
_LEAST_S = 1e-3
_HEADER_BYTES = 40


@dataclass(frozen=True)
class Estimate:
    """What a sweep takes at most."""

    points: int
    runs: int
    packets: float
    """Of all runs, at the bottlenecks."""
    packets_per_s: float
    """Simulated on one core."""
    jobs: int

    @property
    def seconds(self) -> float:
        """Time of waiting."""
        return self.packets / self.packets_per_s / min(self.jobs, max(self.runs, 1))

    def __str__(self) -> str:
        cores = f"{self.jobs} threads" if self.jobs > 1 else "one thread"
        return (
            f"{self.runs} runs of {self.points} points, {self.packets / 1e6:.3g} million packets at"
            f" the bottlenecks at most: about {duration(self.seconds)} on {cores}"
        )


def estimate(points: Sequence[tuple[Scenario, int]], jobs: int) -> Estimate:
    """Estimate the time of points, each with its number of runs, on a number of threads."""
    packets = np.array([packets_of(scenario) for scenario, _ in points])
    runs = np.array([count for _, count in points])
    middle = int(np.argsort(packets)[len(packets) // 2])
    speed = _measured(points[middle][0])
    return Estimate(len(points), int(runs.sum()), float((packets * runs).sum()), speed, jobs)


def packets_of(scenario: Scenario) -> float:
    """Packets that leave the bottlenecks in a run, if these are never idle."""
    plan = scenario.plan()
    sizes = [flow["packet_size_bytes"] for flow in plan["flows"]]
    size_bits = 8.0 * max(float(np.mean(sizes)) if sizes else 1500.0, _HEADER_BYTES)
    rate_bps = sum(float(rate) for _, rate, _ in scenario.bottlenecks)
    return rate_bps * (scenario.warm_up_s + scenario.duration_s) / size_bits


def _measured(scenario: Scenario) -> float:
    """Packets at the bottlenecks that a core simulates in a second."""
    whole_s = scenario.warm_up_s + scenario.duration_s
    part_s = whole_s * min(1.0, _PILOT_PACKETS / max(packets_of(scenario), 1.0))
    short = [("warm_up", '"0 s"'), ("duration", f'"{max(part_s, _LEAST_S):.9f} s"')]
    pilot = parse(scenario.to_toml(), short)
    started = time.perf_counter()
    tables = run_tables(pilot.run(pilot.seed), pilot)
    took_s = time.perf_counter() - started
    links = tables["links"].filter(tables["links"]["monitored"])
    passed = float(numbers(links, "departures").sum())
    # A run without packets says nothing about the speed.
    return max(passed, 1_000.0) / max(took_s, 1e-6)
