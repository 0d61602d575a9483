"""The cases: a queue, a link, flows and a round trip, each as a scenario and as a model."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.analysis import Bottleneck, Pi2, Pie, Red, Reno, Stability, stability
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from tidegate._native import Scenario
    from tidegate.analysis import Signal

FOLDER = "studies/stability"
PACKET_BITS = 12_000
ACCESS_RTT_MS = 0.2
"""Of base.toml: 0.1 ms each way."""
SIGNALS: Mapping[str, Signal] = {"red": Red(), "pie": Pie(), "dualpi2": Pi2()}
"""The models of the queues of cases.toml."""
TITLES: Mapping[str, str] = {"red": "RED", "pie": "PIE", "dualpi2": "DualPI2"}


@dataclass(frozen=True)
class Case:
    """One of them; numbers in the units of cases.toml."""

    queue: str
    rate_mbps: int
    flows: int
    base_rtt_ms: int

    @cached_property
    def bottleneck(self) -> Bottleneck:
        """The model."""
        return model(self.queue, self.rate_mbps, self.flows, self.base_rtt_ms)

    @cached_property
    def stability(self) -> Stability:
        """What the model says."""
        return stability(self.bottleneck)

    @property
    def gain_margin(self) -> float:
        """By what the loop gain may grow; below 1 it swings."""
        return float(self.stability.gain_margin)

    def scenario(self, base: Path, changes: Mapping[str, Any]) -> Scenario:
        """The scenario, with what cases.toml changes for the queue."""
        settings = {f"bottleneck.{key}": value for key, value in changes["bottleneck"].items()}
        settings["bottleneck.rate"] = f"{self.rate_mbps} Mb/s"
        settings["bottleneck.delay"] = f"{(self.base_rtt_ms - ACCESS_RTT_MS) / 2:g} ms"
        settings["users.all.count"] = self.flows
        return load_scenario(base, set=settings)


def model(queue: str, rate_mbps: ArrayLike, flows: ArrayLike, base_rtt_ms: ArrayLike) -> Bottleneck:
    """Reno on a link with this queue; arrays make a map."""
    import numpy as np

    capacity_pps = np.asarray(rate_mbps) * 1e6 / PACKET_BITS
    sources = (Reno(count=flows, base_rtt_s=np.asarray(base_rtt_ms) / 1e3),)
    return Bottleneck(capacity_pps=capacity_pps, signal=SIGNALS[queue], sources=sources)


def read(root: Path) -> dict[Case, Scenario]:
    """All cases of a checkout, with their scenarios."""
    folder = root / FOLDER
    plan = tomllib.loads((folder / "cases.toml").read_text(encoding="utf-8"))
    queues = plan["queues"]
    base = folder / "base.toml"
    return {case: case.scenario(base, queues[case.queue]["set"]) for case in _cases(plan)}


def _cases(plan: Mapping[str, Any]) -> Iterator[Case]:
    for queue in plan["queues"]:
        for rate_mbps, flows in plan["links"]:
            for base_rtt_ms in plan["base_rtt_ms"]:
                yield Case(queue, rate_mbps, flows, base_rtt_ms)
