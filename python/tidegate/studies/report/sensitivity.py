"""What each trait that the paper leaves open does: key cells with that trait alone changed.

`sensitivity.toml` is an experiment with the factors `cell` and `trait`, whose level `base` changes
nothing; `[figure]` is not used, `[cells]` maps a cell to its metric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.studies.page import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.factors import Level
    from tidegate.studies.model import Study
    from tidegate.studies.points import Point, Points

_BASE = "base"


def sensitivity_section(study: Study, measured: Points) -> list[str]:
    """Return the section of the page; nothing unless the experiment was run as a whole."""
    experiment = study.sensitivity
    if experiment is None or (experiment.name, "tcp") not in measured.points:
        return []
    points = measured.series((experiment.name, "tcp"))
    if len(points) < len(experiment.series["tcp"].settings):
        return []
    metric_of: Mapping[str, str] = experiment.metric_of
    by_place = {(p.levels["cell"], p.levels["trait"]): p for p in points}
    traits = dict.fromkeys(str(point.levels["trait"]) for point in points)
    tables = []
    for metric in dict.fromkeys(metric_of.values()):
        cells = [cell for cell in metric_of if metric_of[cell] == metric]
        lines = [
            [trait, *(_entry(by_place, cell, trait, metric) for cell in cells)] for trait in traits
        ]
        columns = [f"trait changed, {metric}", *cells]
        tables.append(table(columns, lines))
    runs = points[0].metrics["utilization"].runs
    head = f"## {experiment.title}\n\n{experiment.notes}\n\n{runs} runs a point."
    return [head, _ranking(by_place, metric_of, list(traits)), *tables]


def _ranking(
    points: Mapping[tuple[Level, Level], Point], metric_of: Mapping[str, str], traits: list[str]
) -> str:
    """Rank traits: how many cells each changes beyond the interval, and by how much at most."""
    ranked: list[tuple[float, list[str]]] = []
    for trait in traits:
        if trait == _BASE:
            continue
        changes: list[tuple[float, str]] = []
        for cell, metric in metric_of.items():
            ours, base = points[cell, trait].metrics[metric], points[cell, _BASE].metrics[metric]
            if ours.differs(base):
                changes.append((ours.change_from(base), cell))
        largest, where = max(changes, key=lambda change: abs(change[0]), default=(0.0, ""))
        change = f"{100 * largest:+.0f} % ({where})" if where else "none"
        ranked.append((abs(largest), [trait, f"{len(changes)} of {len(metric_of)}", change]))
    ranked.sort(key=lambda row: -row[0])
    head = ["trait changed", "cells moved beyond the interval", "largest change"]
    return table(head, [row for _, row in ranked])


def _entry(points: Mapping[tuple[Level, Level], Point], cell: str, trait: str, metric: str) -> str:
    ours, base = points[cell, trait].metrics[metric], points[cell, _BASE].metrics[metric]
    if trait == _BASE:
        return str(ours)
    change = f"{ours} ({100 * ours.change_from(base):+.0f} %)"
    return f"**{change}**" if ours.differs(base) else change
