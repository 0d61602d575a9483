"""What has to be measured for a choice of experiments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.studies.errors import ReproductionError
from tidegate.studies.matching import matches
from tidegate.studies.selection import needs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tidegate.studies.explanations import StudyExplanation
    from tidegate.studies.model import Experiment, Series, Study
    from tidegate.studies.points import SeriesKey


def wanted_series(
    study: Study, chosen: Sequence[Experiment], explanations: Iterable[StudyExplanation]
) -> dict[SeriesKey, Series]:
    """All series of the chosen experiments, and of others the points that verdicts rest on."""
    known = {experiment.name: experiment for experiment in study.experiments.values()}
    if study.sensitivity:
        known[study.sensitivity.name] = study.sensitivity
    wanted = {
        (experiment.name, series.name): series
        for experiment in chosen
        for series in experiment.series.values()
    }
    parts = [
        (part, claim.experiment)
        for experiment in chosen
        for claim in experiment.claims
        for part in claim.parts
    ]
    # What tables and figures show of other experiments.
    parts += [
        ({"series": shown["series"]}, experiment.name)
        for experiment in chosen
        for shown in (*experiment.tables, experiment.figure or {})
        if isinstance(shown.get("series"), list)
    ]
    explanations = list(explanations)
    parts += [(part, "") for one in explanations for part in one.shown_by]
    parts += [
        (part, name)
        for (name, _), series in wanted.items()
        if series.ranking is not None
        for part in series.ranking.of.values()
    ]
    selected: dict[SeriesKey, list[Mapping[str, Any]]] = {}
    # Measured with another assumption: the cells that it is listed for.
    for one in explanations:
        covered = [
            cell.levels
            for experiment in chosen
            for cell in experiment.cells
            if one.covers_cell(cell)
        ]
        for key in one.measured_in:
            if key not in wanted:
                selected.setdefault(key, []).extend(covered)
    for part, experiment_name in parts:
        for key, where in needs(part, experiment_name):
            if key not in wanted:
                selected.setdefault(key, []).append(where)
    for key, where in _ranked(selected, known):
        if key not in wanted:
            selected.setdefault(key, []).append(where)
    for (name, series_name), wheres in selected.items():
        if name not in known or series_name not in known[name].series:
            raise ReproductionError(f"no series {name}:{series_name}")
        wanted[name, series_name] = _only(known[name].series[series_name], wheres)
    return wanted


def _ranked(
    selected: Iterable[SeriesKey], known: Mapping[str, Experiment]
) -> list[tuple[SeriesKey, Mapping[str, Any]]]:
    """Give what the stars among them are counted of."""
    return [
        needed
        for name, series_name in selected
        if name in known and series_name in known[name].series
        and (stars := known[name].series[series_name].ranking) is not None
        for part in stars.of.values()
        for needed in needs(part, name)
    ]  # fmt: skip


def relevant(
    explanations: Iterable[StudyExplanation], chosen: Sequence[Experiment]
) -> list[StudyExplanation]:
    """Give the explanations that are listed for anything in the chosen experiments."""
    return [
        one
        for one in explanations
        if any(
            any(one.covers_claim(claim) for claim in experiment.claims)
            or any(one.covers_cell(cell) for cell in experiment.cells)
            for experiment in chosen
        )
    ]


def measurable(
    explanations: Iterable[StudyExplanation], without: Collection[str]
) -> list[StudyExplanation]:
    """Give the explanations that rest on nothing of what is left out: series, or `sensitivity`."""
    return [
        one
        for one in explanations
        if not any({name, series} & {*without} for name, series in _rests_on(one))
    ]


def _rests_on(explanation: StudyExplanation) -> list[SeriesKey]:
    shown = [key for part in explanation.shown_by for key, _ in needs(part, "")]
    return [*explanation.measured_in, *shown]


def _only(series: Series, wheres: list[Mapping[str, Any]]) -> Series:
    return replace(
        series,
        settings=tuple(
            setting
            for setting in series.settings
            if any(matches(setting.levels, where) for where in wheres)
        ),
    )
