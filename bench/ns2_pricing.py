"""NewReno in two networks of the congestion pricing thesis, in ns-2 and here.

    .venv/bin/python bench/ns2_pricing.py [--seeds N]

Prints a table of what both measure with drop-tail and RED in the double bottleneck, with RED in the
single one with flows in both directions, with timestamps and without: how far two links are used,
what is lost, the queue of the first, and time-outs by flow; means with 95 % intervals over as many
seeds. Flows of the double bottleneck begin within a tenth of a second, and RED drops above its
upper threshold, as ns-2's does. Takes five minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

import ns2
import ns2_mobile

if TYPE_CHECKING:
    from tidegate.studies.runner import Simulation

CORE = {
    "r0-r1": "bottleneck", "r1-r2": "cell",
    "bottleneck": "bottleneck", "bottleneck.reverse": "cell",
}  # fmt: skip
"""The two links that are watched in either network, and what `ns2_mobile` calls them."""
NUMBERS = ("link 1 [%]", "link 2 [%]", "lost 1 [%]", "lost 2 [%]", "queue 1", "time-outs")
SECONDS = 60.0
GROUPS = [f"{path}-{pays}" for path in ("I", "II", "III") for pays in (100, 200, 400)]
STARTS = [(f"users.{group}.start", '{ from = "0 s", to = "100 ms" }') for group in GROUPS]
"""That chance decides."""
NETWORKS = (("table5.4.1", "variants", STARTS), ("table5.6.2", "greedy", []))
"""Experiment, series and what is changed."""

Numbers = dict[str, float]


def settings(plan: dict[str, Any]) -> str:
    """A scenario as `ns2_network.tcl` reads it."""
    links = [{**link, "name": CORE.get(link["name"], link["name"])} for link in plan["links"]]
    tcp = plan["flows"][0]["tcp"]
    return (
        ns2_mobile.settings({**plan, "links": links}, "Newreno")
        + f"set readings {SECONDS}\n"
        + f"Agent/TCP set timestamps_ {int(tcp['timestamps'])}\n"
        + "Agent/TCP/Newreno instproc init args {\n"
        + f"    eval $self next $args; $self set ssthresh_ {tcp['initial_ssthresh']}\n"
        + f"    $self set tcpTick_ {tcp['quirks']['rtt_tick_s']}\n"
        + "}\n"
    )


def in_ns2(plan: dict[str, Any], seed: int) -> Numbers:
    """What a run of ns-2 measures."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.tcl"
        file.write_text(settings(plan), encoding="utf-8")
        command = [ns2.PROGRAM, str(ns2_mobile.SCRIPT), str(file), str(seed)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    last = [line for line in run.stdout.splitlines() if line.startswith("[")][-1]
    (end,) = json.loads(last)
    watched = [CORE[link["name"]] for link in plan["links"] if link["name"] in CORE]
    rates = [link["rate_bps"] for link in plan["links"] if link["name"] in CORE]
    readings = dict(zip(watched, zip(rates, end["links"], strict=True), strict=True))
    of_both = [readings[name] for name in ("bottleneck", "cell")]
    used = [8 * reading[2] / SECONDS / rate for rate, reading in of_both]
    lost = [reading[1] / reading[0] for _, reading in of_both]
    timeouts = fmean(count for _, count in end["flows"])
    return numbers(used, lost, of_both[0][1][3] / SECONDS, timeouts)


def here(simulation: Simulation, seed: int) -> Numbers:
    """What a run of ours does."""
    tables = simulation.run(seed)
    links = tables["links"]
    at = [list(links["name"]).index(name) for name in CORE if name in list(links["name"])]
    drops = [links["drops_full"][i] + links["drops_aqm"][i] for i in at]
    used = [links["utilization"][i] for i in at]
    lost = [dropped / links["arrivals"][i] for dropped, i in zip(drops, at, strict=True)]
    return numbers(
        used, lost, links["mean_backlog_packets"][at[0]], fmean(tables["flows"]["timeouts"])
    )


def numbers(used: list[float], lost: list[float], queue: float, timeouts: float) -> Numbers:
    """By their names, shares in per cent."""
    shares = [100 * share for share in (*used, *lost)]
    return dict(zip(NUMBERS, (*shares, queue, timeouts), strict=True))


def main() -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="runs of each (6 or more)")
    options = parser.parse_args()
    if not ns2.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 1
    seeds = range(1, options.seeds + 1)
    print("| queue | timestamps | in | " + " | ".join(NUMBERS) + " |")
    print("|---" * (3 + len(NUMBERS)) + "|")
    paper = load_study("pricing")
    for experiment, series, changes in NETWORKS:
        for setting in paper.experiments[experiment].series[series].settings:
            levels = " ".join(str(level) for level in setting.levels.values())
            if "NewReno" not in levels:
                continue
            overrides = [
                (key, value.replace(", hard_drop = false", "")) for key, value in setting.overrides
            ]
            for timestamps in ("true", "false"):
                stamps = ("tcp.timestamps", timestamps)
                more = [*ns2_mobile.OF_AGENT["Newreno"], *changes, stamps]
                simulation = native_engine(setting.base, [*overrides, *more])
                plan = simulation.plan()
                found = {
                    "ns-2": [in_ns2(plan, seed) for seed in seeds],
                    "tidegate": [here(simulation, seed) for seed in seeds],
                }
                for name, runs in found.items():
                    cells = [ns2_mobile.cell([run[number] for run in runs]) for number in NUMBERS]
                    print("| " + " | ".join([levels, timestamps, name, *cells]) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
