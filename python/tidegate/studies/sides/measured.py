"""What was measured where it cannot be repeated everywhere, as points of an experiment.

A series of the side `lab`, `kernel`, `uml` or `ns2` names a table in the study's folder::

    [series.linux]
    side = "lab"
    measured = "measured/lab.csv"
    factors = { case = ["01-one-reno", "02-one-cubic"] }

The table has a row for each number: `metric`, `mean`, `ci95` (half-width of the 95 % confidence
interval) and `runs`; `ci95` and `runs` are empty where a number has no interval. `kernel` and
`machine` say what it was measured on. All other columns are levels of the point.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tidegate.studies.factors import Level, Setting

SIDES = ("lab", "kernel", "uml", "ns2", "paper")
"""The lab on this machine's Linux, the lab on a stock kernel in virtual time, User-Mode Linux in
virtual time, ns-2, and what a paper prints."""

MEASURABLE = ("lab", "kernel", "ns2")
"""Those that `tidegate reproduce --measure` runs; their series name a set-up."""

_NOT_LEVELS = ("metric", "mean", "ci95", "runs", "kernel", "machine")


def measured(table: Path, levels: Mapping[str, Level]) -> dict[str, Estimate]:
    """Metrics of the point that has exactly these levels; raise where the table has none."""
    wanted = {name: str(level) for name, level in levels.items()}
    found: dict[str, Estimate] = {}
    for number, row in enumerate(rows_of(table), 2):
        if _place(row) != wanted:
            continue
        if row["metric"] in found:
            raise ReproductionError(f"{table}:{number}: {row['metric']} of {wanted} once more")
        try:
            found[row["metric"]] = _estimate(row)
        except ValueError as error:
            raise ReproductionError(f"{table}:{number}: {error}") from None
    if not found:
        raise ReproductionError(f"{table}: nothing measured for {wanted}")
    return found


def has(table: Path, levels: Mapping[str, Level]) -> bool:
    """Whether a table is there and has the point of these levels."""
    wanted = {name: str(level) for name, level in levels.items()}
    return table.exists() and any(_place(row) == wanted for row in rows_of(table))


def about_the_runs(table: Path, settings: Sequence[Setting]) -> str:
    """Where and how well these points were measured, in sentences; nothing if it does not say."""
    rows, points = rows_of(table), [measured(table, setting.levels) for setting in settings]
    where = {
        f"Linux {row['kernel']}" + (f" on {row['machine']}" if row.get("machine") else "")
        for row in rows
        if row.get("kernel")
    }

    def of(metric: str) -> list[float]:
        return [point[metric].mean for point in points if metric in point]

    sentences = [f"Measured with {'; '.join(sorted(where))}."] if where else []
    if late := of("lateness_p99_s_most"):
        sentences.append(
            f"In the valid runs 99 % of the packets left the forwarder within "
            f"{max(late) * 1e6:.0f} µs of their time, and it used at most "
            f"{100 * max(of('cpu_share_most')):.0f} % of a core."
        )
    if busy := of("busy_share_most"):
        least, most = min(of("busy_share_least")), max(busy)
        sentences.append(f"All processors were {100 * least:.0f} to {100 * most:.0f} % busy.")
    if late:
        valid = sum(point["packets"].runs for point in points if "packets" in point)
        invalid = int(sum(of("invalid_runs")))
        sentences.append(
            f"{invalid or 'None'} of the {valid + invalid} runs on Linux "
            f"{'were' if invalid else 'was'} invalid."
        )
    return " ".join(sentences)


def _place(row: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name not in _NOT_LEVELS}


def rows_of(table: Path) -> list[dict[str, str]]:
    """Rows of a table, checked for the columns that all have."""
    try:
        with table.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise ReproductionError(f"{table}: {error.strerror}") from None
    lacking = [name for name in _NOT_LEVELS[:4] if rows and name not in rows[0]]
    if lacking:
        raise ReproductionError(f"{table}: no column {', '.join(lacking)}")
    return rows


def _estimate(row: Mapping[str, str]) -> Estimate:
    mean = float(row["mean"])
    return Estimate(mean, float(row["ci95"]), int(row["runs"])) if row["runs"] else Estimate(mean)
