"""What a page says of points that were measured elsewhere as well: table, counts, machine."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.results.show import uncertain
from tidegate.studies.beside import CLOSE, all_beside
from tidegate.studies.factors import title
from tidegate.studies.page import table
from tidegate.studies.points import place
from tidegate.studies.sides.measured import about_the_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.beside import Beside
    from tidegate.studies.judge import CellVerdict
    from tidegate.studies.outcome import Outcome
    from tidegate.studies.points import Point, Points


def blocks_beside(outcome: Outcome, measured: Points) -> dict[str, str]:
    """Give `beside: NAME`, `agreement: NAME`, `deviating: NAME` and `machine: NAME`.

    Each further series that the figure has gives the same, as `beside: NAME SERIES`.
    """
    experiment = outcome.experiment
    if experiment.beside is None:
        return {}
    blocks = _blocks(experiment.name, experiment.beside, outcome, measured)
    for name, called in (experiment.figure or {}).get("also", {}).items():
        beside = replace(experiment.beside, series=name, name=called, also={})
        cells = [*beside.cells(experiment.name, experiment.series)]
        own = replace(outcome, cells=tuple(all_beside(beside, cells, measured)))
        blocks |= _blocks(f"{experiment.name} {name}", beside, own, measured)
    return blocks


def _blocks(name: str, beside: Beside, outcome: Outcome, measured: Points) -> dict[str, str]:
    series = outcome.experiment.series[beside.series]
    assert series.measured is not None, "cells were made of it"  # noqa: S101
    return {
        f"beside: {name}": _table(beside, outcome, measured),
        f"agreement: {name}": _agreement(beside, outcome, measured),
        f"deviating: {name}": _deviating(beside, outcome),
        f"machine: {name}": about_the_runs(series.measured, series.settings),
    }


def _table(beside: Beside, outcome: Outcome, measured: Points) -> str:
    """A row for each point that either side has, a column for each metric."""
    experiment = outcome.experiment
    sides = {
        one: {place(point.levels): point for point in measured.series((experiment.name, one))}
        for one in (beside.series, beside.ours, *beside.also)
    }
    rows, found = [], _by_point(outcome.cells)
    shown = [m for m in beside.metrics if any(m in cells for cells in found.values())]
    others = [(one, m, how) for one, also in beside.also.items() for m, how in also.items()]
    theirs = sides[beside.series]
    for at, point in {**theirs, **sides[beside.ours]}.items():
        cells = found.get(at, {})
        named = [title(experiment.factors, factor, point.levels[factor]) for factor in beside.row]
        more = [_other(sides[one].get(at), metric, how) for one, metric, how in others]
        row = [_cell(beside, m, cells.get(m), theirs.get(at), outcome) for m in shown]
        rows.append([*named, *more, *row, _verdict(beside, cells)])
    headings = [*beside.row.values(), *(how["name"] for *_, how in others)]
    return table([*headings, *map(beside.heading, shown), "verdict"], rows)


def _other(point: Point | None, metric: str, how: Mapping[str, Any]) -> str:
    known = point is not None and metric in point.metrics
    return f"{point.metrics[metric].mean * how.get('scale', 1):g}" if point and known else "–"


def _by_point(cells: Sequence[CellVerdict]) -> dict[object, dict[str, CellVerdict]]:
    found: dict[object, dict[str, CellVerdict]] = {}
    for one in cells:
        found.setdefault(place(one.cell.levels), {})[one.cell.metric] = one
    return found


def _cell(
    beside: Beside,
    metric: str,
    found: CellVerdict | None,
    theirs: Point | None,
    outcome: Outcome,
) -> str:
    """Ours, theirs, and how far ours is from it; what one side alone has stands alone."""
    scale = float(beside.metrics[metric].get("scale", 1))
    if found is not None and found.cell.measured is not None:
        both = uncertain(found.ours, scale), uncertain(found.cell.measured, scale)
        return "<br>".join([*both, _marked(found, outcome)])
    if theirs is None or metric not in theirs.metrics or not theirs.metrics[metric].mean:
        return "–"
    return f"{beside.name}: {uncertain(theirs.metrics[metric], scale)}"


def _marked(found: CellVerdict, outcome: Outcome) -> str:
    """A deviation in per cent: slanted beyond the tolerance, bold if that is no chance."""
    text = percent(found.deviation, found.uncertainty)
    if found.within:
        return text
    if found.undecided:
        return f"*{text}*"
    support = outcome.explanation_of(found)
    return f"[**{text}**](#{support.explanation.id})" if support else f"**{text}**"


def percent(share: float, half: float) -> str:
    """Write a deviation, in whole per cent.

    >>> percent(0.034, 0.021), percent(-0.2, float("nan"))
    ('+3 ± 2 %', '−20 %')
    """
    if not math.isfinite(share):
        return "–"
    text = f"{100 * share:+.0f}".replace("-", "−")
    return f"{text} %" if math.isnan(half) else f"{text} ± {100 * half:.0f} %"


def _verdict(beside: Beside, cells: Mapping[str, CellVerdict]) -> str:
    if not cells:
        return "–"
    beyond = [m for m in beside.of_verdict if m in cells and not cells[m].within]
    names = ", ".join(str(beside.metrics[metric]["name"]) for metric in beyond)
    return f"beyond 10 %: {names}" if beyond else "within 10 %"


def _agreement(beside: Beside, outcome: Outcome, measured: Points) -> str:
    """How many numbers and how many rows agree."""
    cells, rows = outcome.cells, list(_by_point(outcome.cells).values())
    if not cells:
        return ""
    close = sum(CLOSE.holds(one.ours.mean, one.cell.value) or one.by_chance for one in cells)
    within = sum(one.within for one in cells)
    text = (
        f"**{close} of {len(cells)} numbers ({100 * close / len(cells):.0f} %) are within 5 % of "
        f"{beside.name} or inside the joint 95 % interval; {within} are within 10 %.**"
    )
    ranges = [inside for one in cells if (inside := _in_range(one, beside, measured)) is not None]
    if ranges:
        text += (
            f" {sum(ranges)} of {len(ranges)} lie inside the range of {beside.name}'s runs, or "
            "their interval meets it."
        )
    names = [str(beside.metrics[metric]["name"]) for metric in beside.of_verdict]
    good = sum(_verdict(beside, row) == "within 10 %" for row in rows)
    each = [
        f"{name} in {_count([row[metric] for row in rows if metric in row])}"
        for name, metric in zip(names, beside.of_verdict, strict=True)
        if any(metric in row for row in rows)
    ]
    return (
        f"{text}\n\n**{good} of {len(rows)} rows are within 10 % of {beside.name} in all that "
        f"their verdict is about**: {', '.join(each)}."
    )


def _in_range(one: CellVerdict, beside: Beside, measured: Points) -> bool | None:
    """Whether our interval meets the range of the other side's runs; `None`: it is not known."""
    points = measured.series((one.cell.experiment, beside.series))
    point = next(p for p in points if p.levels == one.cell.levels)
    ends = [point.metrics.get(f"{one.cell.metric}_{end}") for end in ("least", "most")]
    if None in ends:
        return None
    low, high = (end.mean for end in ends if end is not None)
    half = 0.0 if math.isnan(one.ours.ci95) else one.ours.ci95
    return one.ours.mean + half >= low and one.ours.mean - half <= high


def _count(cells: Sequence[CellVerdict]) -> str:
    chance = sum(one.undecided for one in cells)
    beyond = f" ({chance} more undecided)" if chance else ""
    return f"{sum(one.within for one in cells)} of {len(cells)}{beyond}"


def _deviating(beside: Beside, outcome: Outcome) -> str:
    """Each cell that is not within, and what is known of it."""
    lines = []
    for one in outcome.cells:
        if one.within:
            continue
        support = outcome.explanation_of(one)
        why = (
            "undecided: the interval of the deviation includes 0"
            if one.undecided
            else f"explained by [{support.explanation.id}](#{support.explanation.id})"
            if support
            else "not explained"
        )
        place = " ".join(map(str, one.cell.levels.values()))
        lines.append(f"- {place}, {beside.metrics[one.cell.metric]['name']}: {why}.")
    return "\n".join(lines) or "Nothing deviates by more than 10 %."
