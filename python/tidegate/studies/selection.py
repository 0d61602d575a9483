"""Which measurements a claim is put to, as its `[[claim]]` says.

=========  =====================================================================================
series     one or several, `table2:tcp` or `tcp` for the experiment's own; default: all its own
metric     name of the metric
where      levels to keep: a level, a list of levels, or { min = .., max = .. }
place      in place of series and derive: one of `[numbers.places]` of the study, see `numbers`
each       factors to judge separately, or "others": all that `levels` does not name
complete   only where every one of `levels` has something
levels     for claims that compare named groups: name → further `where` (or series, metric, derive)
derive     a value made of several points, see `derivations`
=========  =====================================================================================
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tidegate.studies.data import Datum, Group, Place, apart_from
from tidegate.studies.derivations import derived
from tidegate.studies.errors import NothingLeftError, ReproductionError
from tidegate.studies.matching import matches
from tidegate.studies.points import SeriesKey, series_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.studies.points import Points

_OWN_KEYS = ("series", "metric", "derive")
"""What a level may have besides levels of factors."""


def groups(part: Mapping[str, Any], experiment: str, measured: Points) -> list[Group]:
    """Give the groups of a part of a claim; a level that selects nothing is an error.

    One that selects something of which nothing was left by `derive` is `NothingLeftError`.
    """
    each, named = part.get("each", []), part.get("levels") or {"": {}}
    factors = {key for narrower in named.values() for key in narrower if key not in _OWN_KEYS}
    grouped: dict[Place, dict[str, list[Datum]]] = defaultdict(dict)
    for name, narrower in named.items():
        for datum in data(_narrowed(part, narrower), experiment, measured):
            if each == "others":
                key = apart_from(factors, datum.levels)
            else:
                key = tuple((factor, datum.levels[factor]) for factor in each)
            grouped[key].setdefault(str(name), []).append(datum)
    names = {str(name) for name in named}
    if part.get("complete"):
        grouped = {key: by_name for key, by_name in grouped.items() if by_name.keys() == names}
    for key, by_name in grouped.items():
        missing = names - by_name.keys()
        if missing:
            derives = any("derive" in one for one in (part, *named.values()))
            message = f"nothing for {sorted(missing)} at {_label(key)}"
            if derives:
                raise NothingLeftError(message)
            raise ReproductionError(f"{part['metric']}: {message}")
    if not grouped:
        raise NothingLeftError("nothing to compare")
    telling = _telling(grouped) if each == "others" else set(each)
    return [
        Group(_label((f, level) for f, level in key if f in telling), by_name)
        for key, by_name in grouped.items()
    ]


def _label(key: Iterable[tuple[str, Any]]) -> str:
    return " ".join(f"{factor}={level}" for factor, level in key)


def _telling(keys: Iterable[Place]) -> set[str]:
    """Factors that have several levels, and so tell groups apart."""
    seen: dict[str, set[Any]] = defaultdict(set)
    for key in keys:
        for factor, level in key:
            seen[factor].add(level)
    return {factor for factor, levels in seen.items() if len(levels) > 1}


def data(part: Mapping[str, Any], experiment: str, measured: Points) -> list[Datum]:
    """Give the data of a part, derived values made; nothing at all is an error."""
    series = part.get("series") or [name for (at, name) in measured.points if at == experiment]
    references = [series] if isinstance(series, str) else series
    metric, where = part["metric"], part.get("where", {})
    found = [
        Datum(point.levels, point.metrics[metric], (point,))
        for reference in references
        for point in measured.series(series_key(reference, experiment))
        if metric in point.metrics and matches(point.levels, where)
    ]
    if not found:
        raise ReproductionError(f"{experiment}: no {metric} where {dict(where)} in {references}")
    return derived(
        found,
        part.get("derive", {}),
        lambda other: data({**part, "derive": {}, **other}, experiment, measured),
    )


def needs(part: Mapping[str, Any], experiment: str) -> list[tuple[SeriesKey, Mapping[str, Any]]]:
    """Give the series that a part names, each with the levels that it looks at."""
    named = part.get("levels") or {"": {}}
    found = []
    for narrower in named.values():
        whole = _narrowed(part, narrower)
        series = whole.get("series", [])
        references = [series] if isinstance(series, str) else series
        found += [(series_key(name, experiment), whole["where"]) for name in references]
    return found


def _narrowed(part: Mapping[str, Any], narrower: Mapping[str, Any]) -> dict[str, Any]:
    keys = {key: narrower[key] for key in _OWN_KEYS if key in narrower}
    where = {k: v for k, v in narrower.items() if k not in _OWN_KEYS}
    return {**part, **keys, "where": {**part.get("where", {}), **where}}
