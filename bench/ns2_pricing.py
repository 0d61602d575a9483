"""NewReno in the double bottleneck of the congestion pricing thesis, in ns-2 and here.

    .venv/bin/python bench/ns2_pricing.py [--seeds N]

Prints a table of what both measure with drop-tail and RED, with timestamps and without: how far the
two core links are used, what is lost, and time-outs by flow; means with 95 % intervals over as many
seeds. Flows begin within a tenth of a second, and RED drops above its upper threshold, as ns-2's
does. Takes three minutes on one core.
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

from tidegate.studies.papers.experiments import load_paper
from tidegate.studies.papers.runs import native_engine

import ns2
import ns2_mobile

if TYPE_CHECKING:
    from tidegate.studies.papers.runs import Simulation

CORE = {"r0-r1": "bottleneck", "r1-r2": "cell"}
"""The two links that are watched, and what `ns2_mobile` calls them."""
NUMBERS = ("link 1 [%]", "link 2 [%]", "lost 1 [%]", "lost 2 [%]", "time-outs")
SECONDS = 60.0
GROUPS = [f"{path}-{pays}" for path in ("I", "II", "III") for pays in (100, 200, 400)]
OF_NS2 = [
    *ns2_mobile.OF_AGENT["Newreno"],
    *((f"users.{group}.start", '{ from = "0 s", to = "100 ms" }') for group in GROUPS),
]
"""NewReno's rules in it, and starts that chance decides."""

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
    rates = [link["rate_bps"] for link in plan["links"] if link["name"] in CORE]
    used = [8 * end["links"][i][2] / SECONDS / rates[i] for i in range(2)]
    lost = [end["links"][i][1] / end["links"][i][0] for i in range(2)]
    timeouts = fmean(count for _, count in end["flows"])
    return numbers(used, lost, timeouts)


def here(simulation: Simulation, seed: int) -> Numbers:
    """What a run of ours does."""
    tables = simulation.run(seed)
    links = tables["links"]
    at = [list(links["name"]).index(name) for name in CORE]
    drops = [links["drops_full"][i] + links["drops_aqm"][i] for i in at]
    used = [links["utilization"][i] for i in at]
    lost = [dropped / links["arrivals"][i] for dropped, i in zip(drops, at, strict=True)]
    return numbers(used, lost, fmean(tables["flows"]["timeouts"]))


def numbers(used: list[float], lost: list[float], timeouts: float) -> Numbers:
    """By their names, shares in per cent."""
    shares = [100 * share for share in (*used, *lost)]
    return dict(zip(NUMBERS, (*shares, timeouts), strict=True))


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
    paper = load_paper("congestion_pricing")
    for setting in paper.experiments["table5.4.1"].series["variants"].settings:
        variant = str(setting.levels["tcp_variant"])
        if "NewReno" not in variant:
            continue
        overrides = [
            (key, value.replace(", hard_drop = false", "")) for key, value in setting.overrides
        ]
        for timestamps in ("true", "false"):
            more = [*OF_NS2, ("tcp.timestamps", timestamps)]
            simulation = native_engine(setting.base, [*overrides, *more])
            plan = simulation.plan()
            found = {
                "ns-2": [in_ns2(plan, seed) for seed in seeds],
                "tidegate": [here(simulation, seed) for seed in seeds],
            }
            for name, runs in found.items():
                cells = [ns2_mobile.cell([run[number] for run in runs]) for number in NUMBERS]
                print("| " + " | ".join([variant, timestamps, name, *cells]) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
