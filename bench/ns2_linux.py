"""ns-2's Agent/TCP/Linux and the sender of the ConEx paper's page: random losses and marks, RED.

    .venv/bin/python bench/ns2_linux.py [--seeds N]

Prints a table of what both measure, means over as many seeds, with their range. Takes about ten
minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

import ns2

SCRIPT = Path(__file__).with_name("ns2_linux.tcl")
NUMBERS = ("packets/s", "time-outs/s", "lost [%]", "marked [%]", "queue [ms]")
SENDERS = {
    "cubic": '{ kind = "cubic", growth = "linux-2.6.22" }',
    "compound": '{ kind = "compound", whole_segments = true }',
}
RED = {"thresh": 83, "maxthresh": 833, "p_max": 1.0, "weight": 0.00012}


@dataclass(frozen=True)
class Case:
    """A network."""

    name: str
    controller: str
    flows: int
    seconds: int
    loss: float = 0.0
    marks: float = 0.0
    red: bool = False
    ecn: bool = False


CASES = [
    *(
        Case(f"{loss:.0%} lost", "cubic", 20, 400, loss=loss)
        for loss in (0.01, 0.02, 0.05, 0.1, 0.2)
    ),
    *(
        Case(f"{marks:.0%} marked", controller, 20, 200, marks=marks, ecn=True)
        for controller in SENDERS
        for marks in (0.02, 0.05, 0.1, 0.2, 0.3)
    ),
    *(
        Case(f"RED, {'ECN' if ecn else 'no ECN'}", controller, 450, 100, red=True, ecn=ecn)
        for controller in SENDERS
        for ecn in (False, True)
    ),
]
"""A round trip of 100 ms without queues; RED is the paper's, with its 450 flows on 100 Mb/s."""


def in_ns2(case: Case, seed: int) -> list[float]:
    """What a run of ns-2 measures."""
    red = "{" + " ".join(str(value) for value in RED.values()) + "}" if case.red else "{}"
    variables = {
        "controller": case.controller, "flows": case.flows, "rate": "100Mb" if case.red else "1Gb",
        "round_trip_s": 0.1, "buffer": 833, "red": red, "ecn": int(case.ecn), "loss": case.loss,
        "marks": case.marks, "duration_s": case.seconds, "until_s": 0.3, "window": 44,
        "initial_window": 2, "packet_bytes": 1500, "jitter_s": 0,
    }  # fmt: skip
    text = "".join(f"set {name} {value}\n" for name, value in variables.items())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.tcl"
        file.write_text(text, encoding="utf-8")
        command = [ns2.PROGRAM, str(SCRIPT), str(file), str(seed)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    # The agent prints, too, and its lines may be cut by ours.
    found = re.search(r"\[[-+\d., e]+\]", run.stdout)
    if found is None:
        raise RuntimeError(run.stdout)
    return numbers(case, *json.loads(found.group()))


def here(case: Case, seed: int) -> list[float]:
    """What a run of ours does, with the section `tcp` of studies/conex/base.toml."""
    head, _, _ = load_study("conex").base.partition("[users.heavy]")
    text = f'{head}[users.all]\ncount = {case.flows}\nstart = {{ from = "0 ms", to = "300 ms" }}\n'
    changes = [
        ("tcp.congestion_control", SENDERS[case.controller]),
        ("tcp.conex", '"off"'),
        ("tcp.feedback", '"classic"'),
        ("tcp.ecn", str(case.ecn).lower()),
        ("bottleneck.ecn", str(case.ecn).lower()),
        ("duration", f'"{case.seconds} s"'),
    ]
    if not case.red:
        points = f"[[0, {case.marks}], [1000, {case.marks}]]"
        aqm = f'{{ kind = "piecewise-linear", points = {points} }}' if case.marks else '"drop-tail"'
        changes += [
            ("bottleneck.rate", '"1 Gb/s"'),
            ("bottleneck.aqm", aqm),
            ("bottleneck.loss", str(case.loss)),
        ]
    tables = native_engine(text, changes).run(seed)
    flows, links = tables["flows"], tables["links"]
    at = list(links["name"]).index("bottleneck")
    drops = sum(links[name][at] for name in ("drops_full", "drops_aqm", "drops_wire"))
    return numbers(
        case, sum(flows["packets_delivered"]), sum(flows["timeouts"]), links["arrivals"][at], drops,
        links["marks"][at], links["mean_sojourn_s"][at],
    )  # fmt: skip


def numbers(
    case: Case,
    delivered: int,
    time_outs: int,
    arrivals: int,
    drops: int,
    marks: int,
    delay_s: float,
) -> list[float]:
    """Per flow and second, shares of what arrived, and milliseconds."""
    per_s = [float(count) / case.flows / case.seconds for count in (delivered, time_outs)]
    shares = [100 * float(count) / float(arrivals) for count in (drops, marks)]
    # Random losses and marks are the link's, and there is no queue.
    return [*per_s, *shares, 1000 * float(delay_s)] if case.red else per_s


def cell(values: list[float]) -> str:
    """Mean, and range where there is one."""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{fmean(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def main() -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    options = parser.parse_args()
    if not ns2.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 1
    seeds = range(1, options.seeds + 1)
    print("| sender | | in | " + " | ".join(NUMBERS) + " |")
    print("|---" * (3 + len(NUMBERS)) + "|")
    for case in CASES:
        found = {
            "ns-2": [in_ns2(case, seed) for seed in seeds],
            "tidegate": [here(case, seed) for seed in seeds],
        }
        for name, runs in found.items():
            cells = [cell(list(values)) for values in zip(*runs, strict=True)]
            cells += [""] * (len(NUMBERS) - len(cells))
            print("| " + " | ".join([case.controller, case.name, name, *cells]) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
