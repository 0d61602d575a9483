"""Congestion policing queues: RED alone and seven policers, on real Linux and simulated."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tidegate.errors import ResultError
from tidegate.results.show import uncertain
from tidegate.studies.fidelity import cpq_figure
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, read_case
from tidegate.studies.fidelity.pages import invalid_runs, place_and_time
from tidegate.studies.fidelity.report import deviation, explained, unmeasured
from tidegate.studies.fidelity.running import say
from tidegate.studies.fidelity.verdicts import agreements, read_explanations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record
    from tidegate.studies.fidelity.verdicts import Agreement

FOLDER = "fidelity/cpq"
EXPECTED = "papers/cpq/expected/table2_aggressiveness.csv"
JOBS = 10
"""A run is long and idles most of the time."""
POLICERS = {
    "RED": '{ kind = "none" }',
    "ICP-step": '{ kind = "icp", curve = "step", fill_rate = "550 B/s", depth = "350 kB" }',
    "ICP-slope": '{ kind = "icp", curve = "slope", start = 1.0, fill_rate = "550 B/s", '
    'depth = "350 kB" }',
    "ICP-squared": '{ kind = "icp", curve = "squared", start = 1.0, fill_rate = "550 B/s", '
    'depth = "350 kB" }',
    "AFCP-a": '{ kind = "afcp", variant = "a", fill_rate = "300 B/s", depth = "225 kB" }',
    "AFCP-b": '{ kind = "afcp", variant = "b", fill_rate = "300 B/s", depth = "225 kB" }',
    "AICP-a": '{ kind = "aicp-a", charge = "own", charge_dropped = true, fill_rate = "300 B/s", '
    'depth = "225 kB" }',
    "AICP-b": '{ kind = "aicp-b", charge = "aqm", charge_dropped = true, '
    'only_in_congestion = true, fill_rate = "300 B/s", depth = "225 kB" }',
}
"""The paper's names, and the reproduction's reading of what the paper leaves open."""
METRICS = {
    "ratio": ("heavy over light", "throughput ratio", 1.0),
    "jain": ("Jain's index", "Jain's index", 1.0),
    "utilization": ("used [%]", "utilisation", 100.0),
    "queue_packets": ("mean queue [packets]", "mean queue", 1.0),
    "loss_ratio": ("dropped [%]", "drops", 100.0),
    "policer_ratio": ("by the policer [%]", "policer's drops", 100.0),
}
"""Heading, name in a sentence, and what a value is multiplied by for the heading's unit."""
NAMES = {metric: name for metric, (_, name, _) in METRICS.items()}
PAPER = {"jain": "jain_fairness", "utilization": "bottleneck_utilization"}
PAGE = """\
# Congestion policing queues on real Linux

Congestion policing queues (D. P. Wagner, 2014) give each customer a token bucket that empties with
the congestion that he causes, and drop packets of those who have run out. The paper has simulations
only. Here are RED alone and its seven policers with the CUBIC of a real kernel: one customer with
five flows against one with a single flow (section V-B, table II), 10 Mb/s, 100 ms there and back,
at the bottleneck of [`tidegate lab`](lab.md), beside the simulator.

{finding}
{table}
Each cell has Linux' mean over {runs} runs, the simulator's, and how far the simulator is from
Linux; ± is the half-width of the 95 % confidence interval (Student's t over the runs; Welch's for
the deviation). **Bold** deviates by more than 10 %, and more than by chance; *italics*: more than
10 %, but chance may explain it. Heavy over light is the throughput of the customer with five flows
over that of the other. The drops are shares of all packets that arrive; AICP's AQM and policer are
one, so that all its drops are the policer's.

The paper's own numbers are means of 5,000 s under parameters that its text does not tell, and stand
there for orientation. The rate and the path are those of
[the reproduction](../papers/cpq/README.md), and so is how AICP is read; RED and where ICP's
functions begin are not: they are in the scenario file below and in `POLICERS` of
`python/tidegate/studies/fidelity/cpq.py`.
So the two pages are not to be compared number by number.

![Jain's index and utilisation by mechanism, and who got what, minute by minute](images/lab-cpq.png)

## What a run of 600 s can show

Buckets have the paper's size and are full at first: 350 kB and 550 B/s with ICP, 225 kB and 300 B/s
with the others. An empty one would need more than 600 s to fill; a full one is empty sooner.
{warm_up:.0f} s pass before anything is measured, then {duration:.0f} s are, in {parts} parts (the
lower half of the figure). In simulations from the very start on, with eight seeds, all of these
mechanisms but AICP-a are steady by then, while AICP-a drifts for about 1,100 s, to nearly the five
to one of RED: its row compares the same part of the same way, and is no steady state. From the
first part of the measurement to the last, heavy over light goes

{drift}
{explanations}
## The machine

{place}
{invalid}
{missing}
The scenario is [`fidelity/cpq/scenario.toml`](../fidelity/cpq/scenario.toml); the simulator has its
profile `linux`. This page is written from what was measured
(`fidelity/cpq/results/`).

```sh
sudo make lab-cpq                        # about {minutes} minutes, {jobs} runs at a time
make lab-cpq ARGS="--side simulated"     # the simulator alone, in seconds
```
"""


def cases(root: Path) -> list[Case]:
    """RED alone, and with every policer."""
    path = root / FOLDER / "scenario.toml"
    return [
        read_case(path, name.lower(), [("bottleneck.differentiation", policer)], name)
        for name, policer in POLICERS.items()
    ]


def table(records: Sequence[Record], paper: Mapping[tuple[str, str], float] | None = None) -> str:
    """One row per mechanism, one column per metric."""
    headings = ["mechanism", *(heading for heading, _, _ in METRICS.values()), "paper", "verdict"]
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for record in records:
        found = agreements(record, METRICS)
        cells = [_cell(record, metric, found.get(metric)) for metric in METRICS]
        row = [record.case.title, *cells, _printed(record, paper or {}), verdict(found)]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def verdict(found: Mapping[str, Agreement]) -> str:
    """In which metrics the simulator is not within 10 % of Linux."""
    if not found:
        return "–"
    beyond = [NAMES[metric] for metric in found if not found[metric].within]
    return f"beyond 10 %: {', '.join(beyond)}" if beyond else "within 10 %"


def write(records: Sequence[Record], root: Path) -> list[Path]:
    """Write the page and its figure."""
    paper = _paper(root)
    explanations = read_explanations(root / FOLDER / "explanations.toml")
    both = [record for record in records if record.runs(SIMULATED) and record.runs(LINUX)]
    beyond = [
        (record.case.name, metric)
        for record in records
        for metric, found in agreements(record, METRICS).items() if not found.within
    ]  # fmt: skip
    for explanation in explanations:
        if not any(explanation.covers(*cell) for cell in beyond):
            say(f"explains nothing any more: {explanation.text[:60]!r}")
    image = cpq_figure.draw(
        records, {record.case.title: _of_paper(record, paper) for record in records},
        root / "docs/images/lab-cpq.png",
    )  # fmt: skip
    path = root / "docs/lab-cpq.md"
    scenario = records[0].case.scenario
    runs = max(len(record.runs(side)) for record in records for side in (LINUX, SIMULATED))
    parts = max(
        cpq_figure.by_interval(record, side, "utilization").shape[-1]
        for record in records for side in (LINUX, SIMULATED)
    )  # fmt: skip
    run_s = scenario.warm_up_s + scenario.duration_s
    rounds = -(-len(records) * scenario.replications // JOBS)
    text = PAGE.format(
        finding=_finding(records), table=table(records, paper), runs=runs,
        drift=_drift(records), warm_up=scenario.warm_up_s, duration=scenario.duration_s,
        parts=parts,
        explanations=explained(beyond, explanations, NAMES) if both else "",
        place=place_and_time(records), invalid=invalid_runs(records),
        missing=unmeasured(records, both), minutes=round(rounds * run_s / 60), jobs=JOBS,
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return [path, image]


def _cell(record: Record, metric: str, found: Agreement | None) -> str:
    """Linux, simulator, deviation."""
    scale = METRICS[metric][2]
    sides = [uncertain(record.estimate(side, metric), scale) for side in (LINUX, SIMULATED)]
    return "<br>".join([*sides, deviation(found) if found else "–"])


def _printed(record: Record, paper: Mapping[tuple[str, str], float]) -> str:
    """Jain's index and utilisation in the paper."""
    values = _of_paper(record, paper)
    if not values:
        return "–"
    return f"Jain {values['jain']:g}<br>used {100 * values['utilization']:g} %"


def _of_paper(record: Record, paper: Mapping[tuple[str, str], float]) -> dict[str, float]:
    keys = {metric: (record.case.title, name) for metric, name in PAPER.items()}
    return {metric: paper[key] for metric, key in keys.items() if key in paper}


def _finding(records: Sequence[Record]) -> str:
    """What the table says, in a few sentences."""
    every = [found for record in records if (found := agreements(record, METRICS))]
    if not every:
        return ""
    counts = [
        f"{name} in "
        f"{sum(found[metric].within for found in every if metric in found)} of "
        f"{sum(metric in found for found in every)}"
        for metric, name in NAMES.items()
    ]
    jain = {
        record.case.title: record.estimate(LINUX, "jain").mean
        for record in records if record.values(LINUX, "jain")
    }  # fmt: skip
    text = f"**The simulator is within 10 % of Linux: {', '.join(counts)}.**"
    if len(jain) == len(POLICERS):
        red = jain["RED"]
        fairer = [name for name in jain if jain[name] > red]
        text += (
            f" On Linux {len(fairer)} of {len(jain) - 1} policers share more evenly than RED alone "
            f"(Jain's index {red:.3f}): "
            + ", ".join(f"{name} {jain[name]:.3f}" for name in jain if name != "RED")
            + "."
        )
    return text + "\n"


def _drift(records: Sequence[Record]) -> str:
    """Heavy over light in the first and in the last part of the measurement."""
    lines = ["| mechanism | Linux | simulator |", "|---|---|---|"]
    for record in records:
        cells = []
        for side in (LINUX, SIMULATED):
            ratio = cpq_figure.by_interval(record, side, "throughput_bps.heavy")
            light = cpq_figure.by_interval(record, side, "throughput_bps.light")
            if not len(ratio):
                cells.append("–")
                continue
            first, last = (ratio.mean(axis=0) / light.mean(axis=0))[[0, -1]]
            cells.append(f"{first:.3g} to {last:.3g}")
        lines.append("| " + " | ".join([record.case.title, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _paper(root: Path) -> dict[tuple[str, str], float]:
    try:
        with (root / EXPECTED).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ResultError(f"{EXPECTED} cannot be read: {error.strerror}") from error
    return {(row["mechanism"], row["metric"]): float(row["value"]) for row in rows}
