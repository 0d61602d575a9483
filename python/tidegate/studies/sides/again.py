"""Measuring again what tables of other sides have: `tidegate reproduce STUDY --measure SIDE`."""

from __future__ import annotations

import csv
from importlib import import_module
from typing import TYPE_CHECKING

from tidegate.data import check_source
from tidegate.errors import UsageError
from tidegate.results.atomic import replace_file
from tidegate.studies.sides.measured import MEASURABLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.results.statistics import Estimate
    from tidegate.runs.simulation import Showing
    from tidegate.studies.factors import Setting
    from tidegate.studies.model import Experiment, Study


def measure_again(
    study: Study, experiments: Sequence[Experiment], side: str, *, jobs: int, progress: Showing
) -> list[Path]:
    """Measure the series of a side, and write their tables; give these."""
    if side not in MEASURABLE:
        raise UsageError(f"--measure {side}: there are {', '.join(MEASURABLE)}")
    series = [one for each in experiments for one in each.series.values() if one.side == side]
    if not series:
        raise UsageError(f"--measure {side}: nothing of it is measured there")
    check_source(study.folder)
    # A stock kernel is measured as the machine's own, in a guest.
    module = "lab" if side == "kernel" else side
    measure = import_module(f"tidegate.studies.sides.{module}").measure
    tables = []
    for kernel in dict.fromkeys(one.kernel for one in series):
        some = [one for one in series if one.kernel == kernel]
        settings = [setting for one in some for setting in one.settings]
        where = {"kernel": kernel} if side == "kernel" else {}
        # One call for all: series that read the same runs share them.
        found = iter(measure(settings, study.measures, jobs=jobs, progress=progress, **where))
        for one in some:
            assert one.measured is not None, "a series of a side has a table"  # noqa: S101
            _write(one.measured, [(setting, *next(found)) for setting in one.settings])
            tables.append(one.measured)
    return tables


def _write(
    table: Path, points: Sequence[tuple[Setting, dict[str, Estimate], dict[str, str]]]
) -> None:
    """Write a table that `measured` reads."""
    levels, about = list(points[0][0].levels), list(points[0][2])

    def rows(file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as out:
            lines = csv.writer(out, lineterminator="\n")
            lines.writerow([*levels, "metric", "mean", "ci95", "runs", *about])
            for setting, metrics, where in points:
                head = [setting.levels[name] for name in levels]
                for name, one in metrics.items():
                    interval = [one.ci95, one.runs] if one.runs else ["", ""]
                    lines.writerow([*head, name, one.mean, *interval, *where.values()])

    replace_file(table, rows)
