"""The network of the re-ECN paper's figure 8 in ns-2 and here: drop-tail, RED and RED with ECN.

    .venv/bin/python bench/ns2_mobile.py [--seeds N] [--agent Newreno]

Prints a table of what both measure with ten and with a hundred flows, means with 95 % intervals
over as many seeds. Takes about three minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

import ns2
import peers

if TYPE_CHECKING:
    from tidegate.studies.runner import Simulation

SCRIPT = Path(__file__).with_name("ns2_network.tcl")
MECHANISMS = ("DropTail", "RED", "ECN")
NETWORK = [
    ("warm_up", '"0 s"'),
    ("duration", '"100 s"'),
    ("links.cell.delay", '"90 ms"'),
    ("links.bottleneck.buffer", '"1000 packets"'),
    (
        "links.bottleneck.aqm",
        (
            '{ kind = "red", min_threshold = "100 packets", max_threshold = "500 packets", '
            "max_probability = 0.02, weight = 0.002, gentle = true, marks_below = 0.1 }"
        ),
    ),
]
"""In which slow start overshoots by hundreds of packets, whatever the paper's page has."""
OF_AGENT = {
    "FullTcp": [
        ("tcp.loss_recovery", '"reno"'),
        ("tcp.quirks.repeated_recovery", "true"),
        ("tcp.quirks.inflation_after_timeout", "true"),
        ("tcp.quirks.progress_ends_backoff", "true"),
        ("tcp.limited_transmit", "false"),
        ("tcp.quirks.loss_to_one", "false"),
        ("tcp.quirks.rtt_through_recovery", "false"),
        ("tcp.quirks.jitter_per_burst", "false"),
    ],
    "Newreno": [
        ("tcp.loss_recovery", '"newreno"'),
        ("tcp.retransmit_at_once", "true"),
        ("tcp.rearm_on_partial_acks", "false"),
        ("tcp.quirks.recovery_within_mark", "true"),
        ("tcp.quirks.deflate_below_threshold", "true"),
        ("tcp.quirks.inflation_after_timeout", "false"),
        ("tcp.quirks.progress_ends_backoff", "false"),
        ("tcp.limited_transmit", "true"),
        ("tcp.quirks.loss_to_one", "true"),
        ("tcp.quirks.rtt_through_recovery", "true"),
        ("tcp.quirks.jitter_per_burst", "true"),
    ],
}
"""The rules of agents of ns-2, whatever the paper's page has."""
NUMBERS = ("goodput", "first 10 s", "last 30 s", "fairness", "loss [%]", "time-outs")

Numbers = dict[str, float]


def jain(rates: list[float]) -> float:
    """Jain's index."""
    return sum(rates) ** 2 / len(rates) / sum(rate * rate for rate in rates)


def settings(plan: dict[str, Any], agent: str) -> str:
    """A scenario as `ns2_network.tcl` reads it."""
    links = []
    for link in plan["links"]:
        aqm, (first, last) = link["aqm"], link["ends"]
        red = "{}"
        if aqm["kind"] == "red":
            keys = ("min_threshold_packets", "max_threshold_packets", "max_probability", "weight")
            parts = [*(aqm[key] for key in keys), int(aqm["gentle"])]
            parts += [int(aqm["spacing"] == "wait"), aqm["marks_below"] or 0]
            red = "{" + " ".join(str(part) for part in parts) + "}"
        parts = [first, last, link["rate_bps"], link["delay_s"], link["buffer_packets"], red]
        links.append("{" + " ".join(str(part) for part in [*parts, int(link["ecn"])]) + "}")
    flows, by_number = [], plan["links"]
    for flow in plan["flows"]:
        ends = by_number[flow["forward"][0]]["ends"][0], by_number[flow["forward"][-1]]["ends"][1]
        between = f"{flow['start_from_s']} {flow['start_to_s']}"
        flows.append(f"{{{ends[0]} {ends[1]} {agent} {between}}}")
    of = plan["flows"][0]
    names = [link["name"] for link in by_number]
    variables = {
        "nodes": 1 + max(end for link in by_number for end in link["ends"]),
        "links": "{" + " ".join(links) + "}",
        "watched": f"{{{names.index('bottleneck')} {names.index('cell')}}}",
        "flows": "{" + " ".join(flows) + "}",
        "initial_window": of["tcp"]["initial_window"],
        "packet_bytes": of["packet_size_bytes"],
        "jitter_s": of["host_jitter_s"],
        "ecn": int(of["tcp"]["ecn"]),
        "readings": "{10 70 100}",
        "back_s": one_way_s(plan) if agent == "FullTcp" else 0,
    }
    return "".join(f"set {name} {value}\n" for name, value in variables.items())


def one_way_s(plan: dict[str, Any]) -> float:
    """How long an ACK is on its way, where nothing queues."""
    flow = plan["flows"][0]
    return sum(plan["links"][number]["delay_s"] for number in flow["forward"])


def in_ns2(plan: dict[str, Any], agent: str, seed: int) -> Numbers:
    """What a run of ns-2 measures."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.tcl"
        file.write_text(settings(plan, agent), encoding="utf-8")
        command = [ns2.PROGRAM, str(SCRIPT), str(file), str(seed)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("[")]
    early, later, end = json.loads(lines[-1])
    sent = [8 * reading["links"][1][2] / 50e6 for reading in (early, later, end)]
    arrivals, drops, *_ = end["links"][0]
    # A sink counts headers, too.
    payload = 1 if agent == "FullTcp" else 1460 / 1500
    rates = [8 * arrived * payload / 100 for arrived, _ in end["flows"]]
    values = sum(rates) / 50e6, sent[0] / 10, (sent[2] - sent[1]) / 30, jain(rates)
    timeouts = fmean(count for _, count in end["flows"])
    return dict(zip(NUMBERS, (*values, 100 * drops / arrivals, timeouts), strict=True))


def here(simulation: Simulation, seed: int) -> Numbers:
    """What a run of ours does."""
    tables = simulation.run(seed)
    flows, series, links = tables["flows"], tables["group_series"], tables["links"]
    rates = [float(rate) for rate in flows["goodput_bps"]]
    at = list(links["name"]).index("bottleneck")
    drops = sum(links[name][at] for name in ("drops_full", "drops_aqm"))
    by_second = list(zip(series["time_s"], series["throughput_bps"], strict=True))
    early = sum(bps for time, bps in by_second if time <= 10) / 10 / 50e6
    late = fmean(bps for time, bps in by_second if time >= 71) / 50e6
    values = sum(rates) / 50e6, early, late, jain(rates)
    loss, timeouts = 100 * drops / links["arrivals"][at], fmean(flows["timeouts"])
    return dict(zip(NUMBERS, (*values, loss, timeouts), strict=True))


def cell(values: list[float]) -> str:
    """Mean and 95 % interval."""
    half = peers.half_width_95(values) if stdev(values) else 0.0
    return f"{fmean(values):.4f} ± {half:.4f}"


def main() -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each (6 or more)")
    parser.add_argument("--agent", choices=OF_AGENT, default="FullTcp", help="of ns-2")
    options = parser.parse_args()
    if not ns2.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 1
    seeds = range(1, options.seeds + 1)
    print("| flows | | in | " + " | ".join(NUMBERS) + " |")
    print("|---" * (3 + len(NUMBERS)) + "|")
    for setting in load_study("re-ecn").experiments["fig8"].series["tcp"].settings:
        levels = dict(setting.levels)
        if levels["mechanism"] not in MECHANISMS:
            continue
        given = [*NETWORK, *setting.overrides, *OF_AGENT[options.agent]]
        simulation = native_engine(setting.base, given)
        plan = simulation.plan()
        found = {
            "ns-2": [in_ns2(plan, options.agent, seed) for seed in seeds],
            "tidegate": [here(simulation, seed) for seed in seeds],
        }
        for name, runs in found.items():
            cells = [cell([run[number] for run in runs]) for number in NUMBERS]
            row = [str(levels["n"]), str(levels["mechanism"]), name, *cells]
            print("| " + " | ".join(row) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
