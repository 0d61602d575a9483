"""Measuring again what tables of other sides have: `tidegate reproduce STUDY --measure SIDE`."""

from __future__ import annotations

import csv
from importlib import import_module
from typing import TYPE_CHECKING

from tidegate.data import check_source
from tidegate.errors import UsageError
from tidegate.results.atomic import replace_file
from tidegate.studies.sides.measured import MEASURABLE, has, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.results.statistics import Estimate
    from tidegate.runs.simulation import Showing
    from tidegate.studies.factors import Setting
    from tidegate.studies.model import Experiment, Series, Study


def measure_again(
    study: Study,
    experiments: Sequence[Experiment],
    side: str,
    *,
    jobs: int,
    progress: Showing,
    missing: bool = False,
) -> list[Path]:
    """Measure the series of a side, and write their tables; give these.

    Each point is written as soon as it is measured, so that `missing`, which measures only what the
    tables lack, goes on from there after an interruption.
    """
    if side not in MEASURABLE:
        raise UsageError(f"--measure {side}: there are {', '.join(MEASURABLE)}")
    series = [one for each in experiments for one in each.series.values() if one.side == side]
    if not series:
        raise UsageError(f"--measure {side}: nothing of it is measured there")
    check_source(study.folder)
    # A stock kernel is measured as the machine's own, in a guest.
    module = "lab" if side == "kernel" else side
    measure = import_module(f"tidegate.studies.sides.{module}").measure
    for kernel in dict.fromkeys(one.kernel for one in series):
        wanted = [
            (one, setting)
            for one in series
            if one.kernel == kernel
            for setting in one.settings
            if not (missing and has(_table(one), setting.levels))
        ]
        where = {"kernel": kernel} if side == "kernel" else {}
        # One call for all: series that read the same runs share them.
        settings = [setting for _, setting in wanted]
        found = measure(settings, study.measures, jobs=jobs, progress=progress, **where)
        for place, metrics, about in found if wanted else ():
            one, setting = wanted[place]
            _write(_table(one), one.settings, setting, metrics, about)
    return [_table(one) for one in series]


def _table(series: Series) -> Path:
    assert series.measured is not None, "a series of a side has a table"  # noqa: S101
    return series.measured


def _write(
    table: Path,
    settings: Sequence[Setting],
    setting: Setting,
    metrics: dict[str, Estimate],
    about: dict[str, str],
) -> None:
    """Write a point into a table that `measured` reads, which keeps those of the other settings."""
    head = {name: str(level) for name, level in setting.levels.items()}
    points: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows_of(table) if table.exists() else ():
        points.setdefault(tuple(row.get(name, "") for name in head), []).append(row)
    points[tuple(head.values())] = [
        head | {"metric": name, "mean": str(one.mean)}
        | ({"ci95": str(one.ci95), "runs": str(one.runs)} if one.runs else {}) | about
        for name, one in metrics.items()
    ]  # fmt: skip
    order = [tuple(map(str, each.levels.values())) for each in settings]
    kept = [row for place in order for row in points.get(place, [])]

    def write(file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as out:
            columns = [*head, "metric", "mean", "ci95", "runs", *about]
            lines = csv.DictWriter(out, columns, lineterminator="\n", restval="")
            lines.writeheader()
            lines.writerows(kept)

    replace_file(table, write)
