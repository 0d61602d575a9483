"""Congestion policing queues: RED alone and seven policers, on real Linux and simulated."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tidegate.errors import ResultError
from tidegate.results.show import uncertain
from tidegate.studies import page
from tidegate.studies.fidelity import cpq_figure
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Study, read_cases
from tidegate.studies.fidelity.pages import about_the_runs
from tidegate.studies.fidelity.report import (
    beyond,
    deviation,
    explained,
    explanations_of,
    unmeasured,
)
from tidegate.studies.fidelity.verdicts import agreements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record
    from tidegate.studies.fidelity.verdicts import Agreement

FOLDER = "studies/fidelity/cpq"
EXPECTED = "studies/cpq/expected/table2_aggressiveness.csv"
JOBS = 10
"""A run is long and idles most of the time."""
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
PRINTED = {"jain": "jain_fairness", "utilization": "bottleneck_utilization"}


def cases(root: Path) -> list[Case]:
    """RED alone, and with every policer."""
    return read_cases(root / FOLDER)


def table(records: Sequence[Record], paper: Mapping[tuple[str, str], float] | None = None) -> str:
    """One row per mechanism, one column per metric."""
    headings = ["mechanism", *(heading for heading, _, _ in METRICS.values()), "paper", "verdict"]
    rows = []
    for record in records:
        found = agreements(record, METRICS)
        cells = [_cell(record, metric, found.get(metric)) for metric in METRICS]
        rows.append([record.case.title, *cells, _printed(record, paper or {}), verdict(found)])
    return page.table(headings, rows)


def verdict(found: Mapping[str, Agreement]) -> str:
    """In which metrics the simulator is not within 10 % of Linux."""
    if not found:
        return "–"
    beyond = [NAMES[metric] for metric in found if not found[metric].within]
    return f"beyond 10 %: {', '.join(beyond)}" if beyond else "within 10 %"


def parts(records: Sequence[Record], root: Path) -> dict[str, object]:
    """What the page tells of them."""
    both = [record for record in records if record.runs(SIMULATED) and record.runs(LINUX)]
    off = beyond(records, METRICS)
    explanations = explanations_of(root / FOLDER, off)
    scenario = records[0].case.scenario
    intervals = max(
        cpq_figure.by_interval(record, side, "utilization").shape[-1]
        for record in records for side in (LINUX, SIMULATED)
    )  # fmt: skip
    run_s = scenario.warm_up_s + scenario.duration_s
    rounds = -(-len(records) * scenario.replications // JOBS)
    return {
        "finding": _finding(records),
        "table": table(records, _paper(root)),
        "drift": _drift(records),
        "warm-up": f"{scenario.warm_up_s:.0f}",
        "duration": f"{scenario.duration_s:.0f}",
        "parts": intervals,
        "explanations": explained(off, explanations, NAMES) if both else "",
        "missing": unmeasured(records, both),
        "minutes": round(rounds * run_s / 60),
        "jobs": JOBS,
        **about_the_runs(records),
        "runs": max(len(record.runs(side)) for record in records for side in (LINUX, SIMULATED)),
    }


def draw(records: Sequence[Record], root: Path) -> Path:
    """Draw the page's figure."""
    paper = _paper(root)
    printed = {record.case.title: _of_paper(record, paper) for record in records}
    return cpq_figure.draw(records, printed, root / "docs/images/lab-cpq.png")


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
    keys = {metric: (record.case.title, name) for metric, name in PRINTED.items()}
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
    if len(jain) == len(records):
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
    rows = [
        [record.case.title, *(_course(record, side) for side in (LINUX, SIMULATED))]
        for record in records
    ]
    return page.table(["mechanism", "Linux", "simulator"], rows)


def _course(record: Record, side: str) -> str:
    heavy, light = (
        cpq_figure.by_interval(record, side, f"throughput_bps.{who}") for who in ("heavy", "light")
    )
    if not len(heavy):
        return "–"
    first, last = (heavy.mean(axis=0) / light.mean(axis=0))[[0, -1]]
    return f"{first:.3g} to {last:.3g}"


def _paper(root: Path) -> dict[tuple[str, str], float]:
    try:
        with (root / EXPECTED).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ResultError(f"{EXPECTED} cannot be read: {error.strerror}") from error
    return {(row["mechanism"], row["metric"]): float(row["value"]) for row in rows}


STUDY = Study(FOLDER, "docs/lab-cpq.md", cases, table, parts, draw, jobs=JOBS)
