"""Search over what the paper leaves open: search.csv has all that was tried, SEARCH.md its gist.

Rate and round-trip time are not searched: 2 MB in 2.05 s on an empty link (table III, the smallest
time with ICP) give 10 Mb/s and 100 ms. Searched are RED and what the policers leave open, with two
of the ten intervals a run, by how many cells come within 10 %: all of tables II and III, and of
tables IVa and IVb the deployments "none", "1-3" and "all". First comes what base.toml and
paper.toml have, then the same with one thing changed, then combinations drawn at random.

    python papers/cpq/search.py 40
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tidegate._native import Scenario

Key = tuple[str, ...]
Tables = Mapping[str, Mapping[str, Any]]
Choice = dict[str, Any]
FOLDER = Path(__file__).parent
BASE = (FOLDER / "base.toml").read_text(encoding="utf-8")
BDP_PACKETS = 83
CHOICES: dict[str, list[Any]] = {
    "min_over_bdp": [0.5, 0.75, 1.0],
    "max_over_min": [1.2, 1.35, 1.6, 2, 3],
    "max_p": [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    "weight": [0.001, 0.002, 0.004, 0.008],
    "spacing": ["geometric", "uniform"],
    "icp_start": [0.0043, 0.05, 0.25, 1.0],
    "charge_dropped": [False, True],
    "only_in_congestion": [False, True],
}
TAKEN: Choice = {
    "min_over_bdp": 0.72,
    "max_over_min": 1.92,
    "max_p": 0.0012,
    "weight": 0.008,
    "spacing": "geometric",
    "icp_start": 0.0043,
    "charge_dropped": True,
    "only_in_congestion": True,
}
CHANGES: dict[str, list[Any]] = {
    "min_over_bdp": [0.5, 1.0],
    "max_over_min": [1.5, 3],
    "max_p": [0.0006, 0.0024, 0.005, 0.02],
    "weight": [0.002, 0.004, 0.016],
    "spacing": ["uniform"],
    "icp_start": [0.05, 0.25, 1.0],
    "charge_dropped": [False],
    "only_in_congestion": [False],
}
NONE = '{ kind = "none" }'
MECHANISMS = {
    "ICP-step": '{ kind = "icp", curve = "step" }',
    "ICP-slope": '{ kind = "icp", curve = "slope", start = %(icp_start)g }',
    "ICP-squared": '{ kind = "icp", curve = "squared", start = %(icp_start)g }',
    "AFCP-a": '{ kind = "afcp", variant = "a" }',
    "AFCP-b": '{ kind = "afcp", variant = "b" }',
    "AICP-a": '{ kind = "aicp-a", charge_dropped = %(charge_dropped_)s }',
    "AICP-b": '{ kind = "aicp-b", charge_dropped = %(charge_dropped_)s, '
    "only_in_congestion = %(only_in_congestion_)s }",
}
AQM = (
    '{ kind = "red", min_threshold = "%(min)d packets", max_threshold = "%(max)d packets", '
    'max_probability = %(max_p)g, weight = %(weight)g, spacing = "%(spacing)s" }'
)
LINKS = ["bottleneck", "second", "third", "fourth"]
DEPLOYMENTS = {"1-3": LINKS[:3], "all": LINKS}
TRANSFERS = '{ kind = "transfer", size = "2 MB", every = "50 s", every_deviation = "5 s" }'
FIVE_FLOWS = (
    '{ flow0 = { from = "n0", to = "n4" }, '
    + ", ".join(
        f'flow{i} = {{ from = "n{i - 1}", to = "n{i}", access = {{ delay = "37.5 ms" }} }}'
        for i in range(1, 5)
    )
    + " }"
)
INTERVALS = 2
WITHIN = 0.10


def expected(table: str, file: str, *factors: str) -> dict[Key, float]:
    """Read the published cells of one table."""
    with (FOLDER / "expected" / file).open(encoding="utf-8", newline="") as lines:
        return {
            (table, *(row[name] for name in factors), row["metric"]): float(row["value"])
            for row in csv.DictReader(lines)
        }


def jain(rates: Any) -> float:  # noqa: ANN401
    """Mean of Jain's index over the intervals."""
    return float((rates.sum(1) ** 2 / (rates.shape[1] * (rates**2).sum(1))).mean())


def rates_of(tables: Tables) -> Any:  # noqa: ANN401
    """Throughput by interval and group of users."""
    return np.asarray(tables["interval_groups"]["throughput_bps"]).reshape(INTERVALS, -1)


def utilization(tables: Tables, links: list[str]) -> float:
    """Give the share of time in which links send, in the mean."""
    names = list(tables["links"]["name"])
    used = [tables["links"]["utilization"][names.index(link)] for link in links]
    return float(np.mean(used))


def aggressiveness(tables: Tables) -> dict[str, float]:
    """Table II."""
    return {
        "jain_fairness": jain(rates_of(tables)),
        "bottleneck_utilization": utilization(tables, LINKS[:1]),
    }


def activity(tables: Tables) -> dict[str, float]:
    """Table III."""
    times = np.asarray(tables["transfers"]["completion_s"], dtype=float)
    times = times[~np.isnan(times)]
    times = times if times.size else np.array([np.inf])
    return {
        "finish_time_min": times.min(), "finish_time_mean": times.mean(),
        "finish_time_max": times.max(), "bottleneck_utilization": utilization(tables, LINKS[:1]),
    }  # fmt: skip


def four_links(tables: Tables) -> dict[str, dict[str, float]]:
    """Tables IVa and IVb."""
    rates = rates_of(tables)
    pair = np.stack([rates[:, 0], rates[:, 1:].mean(1)], axis=1)
    return {
        "IVa": {"mean_utilization_of_shared_links": utilization(tables, LINKS)},
        "IVb": {"jain_fairness_one_vs_four_queues": jain(pair)},
    }


def evaluate(choice: Choice) -> dict[Key, float]:
    """Measure all cells that are searched by."""
    low = max(2, round(choice["min_over_bdp"] * BDP_PACKETS))
    names = {
        **choice,
        "min": low,
        "max": round(low * choice["max_over_min"]),
        "charge_dropped_": str(choice["charge_dropped"]).lower(),
        "only_in_congestion_": str(choice["only_in_congestion"]).lower(),
    }
    common = [("intervals", f'{{ count = {INTERVALS}, length = "500 s" }}')]
    for link in LINKS:
        common += [(f"links.{link}.aqm", AQM % names)]
        common += [(f"links.{link}.buffer", f'"{4 * names["max"]} packets"')]

    def run(differentiation: str, on: list[str], *changes: tuple[str, str]) -> Tables:
        policed = [(f"links.{link}.differentiation", differentiation) for link in on]
        return Scenario.parse(BASE, [*common, *policed, *changes]).run(1)

    one = [("users.sender1.flows", "1"), ("users.sender2.traffic", TRANSFERS)]
    four = ("users", FIVE_FLOWS)
    found: dict[Key, float] = {}

    def note(values: Mapping[str, float], *key: str) -> None:
        found.update({(*key, metric): value for metric, value in values.items()})

    note(aggressiveness(run(NONE, [])), "II", "RED")
    for table, values in four_links(run(NONE, [], four)).items():
        note(values, table, "RED", "none")
    for mechanism, differentiation in MECHANISMS.items():
        policer = differentiation % names
        note(aggressiveness(run(policer, LINKS[:1])), "II", mechanism)
        note(activity(run(policer, LINKS[:1], *one)), "III", mechanism)
        for name, links in DEPLOYMENTS.items():
            for table, values in four_links(run(policer, links, four)).items():
                note(values, table, mechanism, name)
    return found


def write_page() -> None:
    """Tell search.csv as tables: each level by itself, then all combinations."""
    with (FOLDER / "search.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tables = [name for name in rows[0] if name.startswith("within_")]

    def score(row: dict[str, str]) -> int:
        return sum(int(row[name]) for name in tables)

    looked_at = sum(int(name.split("_")[-1]) for name in tables)
    lines = [
        "# What was tried for the assumptions of papers/cpq",
        "",
        f"Written by search.py: {len(rows)} combinations, two intervals a run, and",
        f"{looked_at} cells of the four tables that are looked",
        "at (search.csv has every measured value). Thresholds are multiples of a bandwidth-delay",
        f"product of {BDP_PACKETS} packets. README.md tells what was taken, and why. Cells within,",
        "with what was taken and with one thing changed:",
        "",
        "| changed | to | " + " | ".join(tables) + " | all |",
        "| --- | --- |" + " --- |" * (len(tables) + 1),
    ]
    for row, (name, level) in zip(rows, [("nothing", ""), *_changes()], strict=False):
        cells = " | ".join(row[table] for table in tables)
        lines.append(f"| {name} | {level} | {cells} | {score(row)} |")
    rows = rows[1 + len(_changes()) :]
    lines += [
        "",
        "The combinations drawn, by level:",
        "",
        "| parameter | level | combinations | mean of cells within | most |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, levels in CHOICES.items():
        for level in levels:
            scores = [score(row) for row in rows if row[name] == str(level)]
            if scores:
                mean = sum(scores) / len(scores)
                lines.append(f"| {name} | {level} | {len(scores)} | {mean:.1f} | {max(scores)} |")
    shown = [*CHOICES, *tables]
    lines += [
        "",
        "And all of them:",
        "",
        "| " + " | ".join(shown) + " |",
        "| --- " * len(shown) + "|",
    ]
    rows.sort(key=score, reverse=True)
    lines += ["| " + " | ".join(row[name] for name in shown) + " |" for row in rows]
    (FOLDER / "SEARCH.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _changes() -> list[tuple[str, Any]]:
    return [(name, level) for name, levels in CHANGES.items() for level in levels]


def main() -> None:
    """Try so many combinations, drawn by a fixed seed."""
    published = {
        **expected("II", "table2_aggressiveness.csv", "mechanism"),
        **expected("III", "table3_activity.csv", "mechanism"),
        **expected("IVa", "table4a_mixed_deployment_utilization.csv", "mechanism", "cpq_positions"),
        **expected("IVb", "table4b_mixed_deployment_fairness.csv", "mechanism", "cpq_positions"),
    }
    dice = random.Random(2014)  # noqa: S311
    draws = [TAKEN, *({**TAKEN, name: level} for name, level in _changes())]
    draws += [
        {name: dice.choice(levels) for name, levels in CHOICES.items()}
        for _ in range(int(sys.argv[1]))
    ]
    with (
        (FOLDER / "search.csv").open("w", encoding="utf-8", newline="") as file,
        ProcessPoolExecutor(2) as workers,
    ):
        writer = csv.writer(file, lineterminator="\n")
        for number, (choice, found) in enumerate(
            zip(draws, workers.map(evaluate, draws), strict=True)
        ):
            keys = [key for key in found if key in published]
            counts = {
                f"within_{table}_of_{sum(key[0] == table for key in keys)}": sum(
                    abs(found[key] / published[key] - 1) <= WITHIN
                    for key in keys
                    if key[0] == table
                )
                for table in ("II", "III", "IVa", "IVb")
            }
            if number == 0:
                writer.writerow([*CHOICES, *counts, *(" ".join(key) for key in keys)])
            values = [f"{found[key]:.4g}" for key in keys]
            writer.writerow([*choice.values(), *counts.values(), *values])
            file.flush()
    write_page()


if __name__ == "__main__":
    main()
