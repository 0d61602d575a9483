"""What was measured where it cannot be repeated everywhere, as points of an experiment.

A series of the side `lab`, `kernel` or `ns2` names a table in the study's folder::

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
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate.studies.factors import Level

SIDES = ("lab", "kernel", "ns2")
"""Real Linux behind the lab, the stock kernel in virtual time, and ns-2."""

_NOT_LEVELS = ("metric", "mean", "ci95", "runs", "kernel", "machine")


def measured(table: Path, levels: Mapping[str, Level]) -> dict[str, Estimate]:
    """Metrics of the point that has exactly these levels; raise where the table has none."""
    wanted = {name: str(level) for name, level in levels.items()}
    found: dict[str, Estimate] = {}
    for number, row in enumerate(_rows(table), 2):
        if {name: row[name] for name in row if name not in _NOT_LEVELS} != wanted:
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


def _rows(table: Path) -> list[dict[str, str]]:
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
