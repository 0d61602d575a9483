"""Search over what the paper leaves open: search.csv has all that was tried, SEARCH.md its gist.

Rate and round-trip time are not searched: 2 MB in 2.05 s on an empty link (table III, the smallest
time with ICP) give 10 Mb/s and 100 ms. Searched are RED and what the policers leave open, with two
of the ten intervals a run, by how many cells of tables II and III come within 10 %; table IV is not
looked at.

    python papers/cpq/search.py 148
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tidegate._native import Scenario

Tables = Mapping[str, Mapping[str, Any]]
Published = Mapping[str, Mapping[tuple[str, str], float]]
FOLDER = Path(__file__).parent
BASE = (FOLDER / "base.toml").read_text(encoding="utf-8")
BDP_PACKETS = 83
CHOICES = {
    "min_over_bdp": [0.25, 0.5, 0.75, 1.0, 1.5],
    "max_over_min": [2, 3, 5],
    "max_p": [0.01, 0.02, 0.05, 0.1],
    "weight": [0.0005, 0.002, 0.01, 0.05],
    "spacing": ["geometric", "uniform"],
    "gentle": [False],
    "icp_start": [0.1, 0.25, 0.5, 1.0],
    "charge_a": ["own", "aqm"],
}
MECHANISMS = {
    "RED": '{ kind = "none" }',
    "ICP-step": '{ kind = "icp", curve = "step" }',
    "ICP-slope": '{ kind = "icp", curve = "slope", start = %(icp_start)g }',
    "ICP-squared": '{ kind = "icp", curve = "squared", start = %(icp_start)g }',
    "AFCP-a": '{ kind = "afcp", variant = "a" }',
    "AFCP-b": '{ kind = "afcp", variant = "b" }',
    "AICP-a": '{ kind = "aicp-a", charge = "%(charge_a)s" }',
    "AICP-b": '{ kind = "aicp-b", charge = "%(charge_b)s" }',
}
# All were drawn with the first; `charges` then tries both at the best combination.
CHARGES = ["aqm", "own"]
AQM = (
    '{ kind = "red", min_threshold = "%(min)d packets", max_threshold = "%(max)d packets", '
    "max_probability = %(max_p)g, weight = %(weight)g, gentle = %(gentle_)s, "
    'spacing = "%(spacing)s" }'
)
TRANSFERS = '{ kind = "transfer", size = "2 MB", every = "50 s", every_deviation = "5 s" }'
INTERVALS = 2
WITHIN = 0.10


def expected(file: str) -> dict[tuple[str, str], float]:
    """Read the published cells of one table."""
    with (FOLDER / "expected" / file).open(encoding="utf-8", newline="") as lines:
        return {(r["mechanism"], r["metric"]): float(r["value"]) for r in csv.DictReader(lines)}


def aggressiveness(tables: Tables) -> dict[str, float]:
    """Table II."""
    rates = np.asarray(tables["interval_groups"]["throughput_bps"]).reshape(INTERVALS, -1)
    jain = rates.sum(1) ** 2 / (rates.shape[1] * (rates**2).sum(1))
    return {"jain_fairness": float(jain.mean()), "bottleneck_utilization": utilization(tables)}


def activity(tables: Tables) -> dict[str, float]:
    """Table III."""
    times = np.asarray(tables["transfers"]["completion_s"], dtype=float)
    times = times[~np.isnan(times)]
    times = times if times.size else np.array([np.inf])
    return {
        "finish_time_min": times.min(), "finish_time_mean": times.mean(),
        "finish_time_max": times.max(), "bottleneck_utilization": utilization(tables),
    }  # fmt: skip


def utilization(tables: Tables) -> float:
    """Give the share of time in which the bottleneck sends."""
    row = list(tables["links"]["name"]).index("bottleneck")
    return float(tables["links"]["utilization"][row])


def evaluate(
    choice: dict[str, Any], mechanisms: Mapping[str, str] = MECHANISMS
) -> dict[tuple[str, str, str], float]:
    """Measure all cells of tables II and III that are searched by."""
    low = max(2, round(choice["min_over_bdp"] * BDP_PACKETS))
    names = {
        "charge_b": CHARGES[0],
        **choice,
        "min": low,
        "max": round(low * choice["max_over_min"]),
        "gentle_": str(choice["gentle"]).lower(),
    }
    found = {}
    for mechanism, differentiation in mechanisms.items():
        link = [
            ("intervals", f'{{ count = {INTERVALS}, length = "500 s" }}'),
            ("links.bottleneck.aqm", AQM % names),
            ("links.bottleneck.buffer", f'"{4 * names["max"]} packets"'),
            ("links.bottleneck.differentiation", differentiation % names),
        ]
        tables = Scenario.parse(BASE, link).run(1)
        for metric, value in aggressiveness(tables).items():
            found["II", mechanism, metric] = value
        if mechanism == "RED":
            continue
        one = [("users.sender1.flows", "1"), ("users.sender2.traffic", TRANSFERS)]
        for metric, value in activity(Scenario.parse(BASE, link + one).run(1)).items():
            found["III", mechanism, metric] = value
    return found


def charges(published: Published, best: dict[str, Any]) -> list[str]:
    """Try both charges of AICP-b at the best combination; lines of a table."""
    lines = [
        "| AICP-b, table and metric | paper | " + " | ".join(CHARGES) + " |",
        "| --- | --- " + "| --- " * len(CHARGES) + "|",
    ]
    alone = {"AICP-b": MECHANISMS["AICP-b"]}
    tried = [evaluate({**best, "charge_b": charge}, alone) for charge in CHARGES]
    for key in tried[0]:
        values = " | ".join(f"{found[key]:.3g}" for found in tried)
        lines.append(f"| {key[0]} {key[2]} | {published[key[0]][key[1:]]:g} | {values} |")
    return lines


def write_page(published: Published) -> None:
    """Tell search.csv as tables: each level by itself, then all combinations."""
    with (FOLDER / "search.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    two, three = "within_II_of_16", "within_III_of_28"

    def both(row: dict[str, str]) -> int:
        return int(row[two]) + int(row[three])

    lines = [
        "# What was tried for the assumptions of papers/cpq",
        "",
        f"Written by search.py: {len(rows)} combinations drawn at random, two intervals a run, 44",
        "cells of tables II and III (without DRR). search.csv has every measured value. The first",
        "row of the second table is what base.toml and paper.toml have. Thresholds are",
        f"in packets over a bandwidth-delay product of {BDP_PACKETS}.",
        "",
        "| parameter | level | combinations | mean of cells within | most |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in CHOICES:
        for level in sorted({row[name] for row in rows}):
            scores = [both(row) for row in rows if row[name] == level]
            mean = sum(scores) / len(scores)
            lines.append(f"| {name} | {level} | {len(scores)} | {mean:.1f} | {max(scores)} |")
    shown = [*CHOICES, two, three]
    lines += ["", "| " + " | ".join(shown) + " |", "| --- " * len(shown) + "|"]
    rows.sort(key=both, reverse=True)
    lines += ["| " + " | ".join(row[name] for name in shown) + " |" for row in rows]
    best = {name: _level(rows[0][name]) for name in CHOICES}
    lines += [
        "",
        "What AICP-b charges, at the first row:",
        "",
        *charges(published, best),
        "",
        "`own`, as for AICP-a, brings more cells within and is one rule for both.",
    ]
    (FOLDER / "SEARCH.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _level(text: str) -> Any:  # noqa: ANN401
    try:
        return float(text)
    except ValueError:
        return text == "True" if text in ("True", "False") else text


def main() -> None:
    """Try so many combinations, drawn by a fixed seed."""
    published = {
        "II": expected("table2_aggressiveness.csv"), "III": expected("table3_activity.csv"),
    }  # fmt: skip
    dice = random.Random(2014)  # noqa: S311
    count = int(sys.argv[1])
    columns: list[str] | None = None
    with (FOLDER / "search.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for _ in range(count):
            choice = {name: dice.choice(levels) for name, levels in CHOICES.items()}
            found = evaluate(choice)
            deviations = {
                key: abs(value / published[key[0]][key[1:]] - 1) for key, value in found.items()
            }
            within = {
                table: sum(d <= WITHIN for key, d in deviations.items() if key[0] == table)
                for table in published
            }
            if columns is None:
                columns = [" ".join(key) for key in found]
                writer.writerow([*CHOICES, "within_II_of_16", "within_III_of_28", *columns])
            cells = [f"{value:.4g}" for value in found.values()]
            writer.writerow([*choice.values(), *within.values(), *cells])
            file.flush()
    write_page(published)


if __name__ == "__main__":
    main()
