"""CPU time of the analysis, beside what it may take: a line each, and 1 as exit code beyond."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tidegate.analysis import (
    Bottleneck,
    Flow,
    RenoRed,
    SbrmQueue,
    SbrmSource,
    erlang_b,
    fluid,
    optimum,
    stability_map,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
RED = RenoRed(n=30, c_pps=10e3, d_s=0.07)


def a_map() -> None:
    """200 by 200 cases."""
    delays, rates = np.geomspace(0.02, 0.2, 200), np.geomspace(3e3, 3e4, 200)
    stability_map(RED, base_rtt_s=delays, capacity_pps=rates)


def fluid_of(groups: int) -> None:
    """100 s."""
    sources = tuple(
        SbrmSource(count=2, base_rtt_s=0.03 + 0.005 * i, willingness_pps=10) for i in range(groups)
    )
    fluid(Bottleneck(capacity_pps=1e4, signal=SbrmQueue(), sources=sources), duration_s=100)


def network() -> None:
    """200 flows over 50 links."""
    random = np.random.default_rng(1)
    links = {f"l{i}": float(random.uniform(50, 500)) for i in range(50)}
    ways = [random.choice(50, random.integers(1, 5), replace=False) for _ in range(200)]
    flows = [Flow(links=tuple(f"l{i}" for i in way)) for way in ways]
    optimum(links, flows)


def command() -> None:
    """All views of a scenario, from the shell."""
    program = Path(sys.executable).with_name("tidegate")
    options = ("analyse", ROOT / "scenarios/s2-red-ecn.toml", "--format", "json", "--quiet")
    subprocess.run([program, *options], check=True, capture_output=True)


CASES: list[tuple[str, float, Callable[[], None]]] = [
    ("map of 200 x 200", 2.0, a_map),
    ("fluid of 100 s, one group", 0.2, lambda: fluid_of(1)),
    ("fluid of 100 s, 20 groups", 1.0, lambda: fluid_of(20)),
    ("optimum of 200 flows over 50 links", 0.1, network),
    ("Erlang-B for 20,000 servers", 0.1, lambda: erlang_b(20_000, 20_000.0)),
    ("tidegate analyse from the shell", 1.5, command),
]


def cpu_s() -> float:
    """Of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> int:
    """Each once to warm up, then the least of three."""
    slow = 0
    for name, limit_s, work in CASES:
        work()
        took = []
        for _ in range(3):
            before = cpu_s()
            work()
            took.append(cpu_s() - before)
        slow += min(took) > limit_s
        sys.stdout.write(f"{name:40} {min(took):7.3f} s   at most {limit_s:g} s\n")
    return int(slow > 0)


if __name__ == "__main__":
    raise SystemExit(main())
