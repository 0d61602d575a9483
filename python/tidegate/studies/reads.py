"""Numbers that are picked from a run's tables, as `[reads]` of a paper names them.

Any table, row and column of the engine's results (docs/result-tables.md)::

    [reads]
    heavy_bps = { table = "flows", column = "throughput_bps", where = { group = "heavy" } }
    backlog = { table = "interval_links", column = "mean_backlog_packets", by = "interval" }

=======  =======================================================================================
table    its name
column   one of its columns, or an expression of them and of `begin_s` and `end_s`, between which
         the run is measured
where    rows to keep: a value of a column, a list of values, { min = .., max = .. }, or
         { like = "*.egress.*" } for text, with the wildcards of a shell; "{name}" is what the
         set-up calls so, "{begin_s}" and "{end_s}" these times; a group by its name, or by its
         number from 0
fold     what is made of these rows: sum (the default), mean, min, max, jain (Jain's index),
         deviation, variation (deviation over mean), slow-deviation and slow-max (of the means of
         ten rows in a row), summit (where the histogram has its highest inner maximum), quotient
         (the first row over the second), halves (the sum of the larger half over that of the
         smaller one), kinds (how many different values), or each, so that every
         row is a sample; of rows that are evenly apart, the frequency of the strongest sine by
         Fourier transform (fourier) or by MUSIC (music), both in cycles a row, or its amplitude
         (swing)
by       a column: one number for each of its values, such as for each interval
=======  =======================================================================================

Of no rows the sum is 0; everything else is then missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tidegate.analysis.spectra import fourier_spectrum, music_spectrum, strongest
from tidegate.results.columns import ENGINE
from tidegate.results.statistics import jain_index
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate_all, names_in
from tidegate.studies.factors import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tidegate.studies.running import Columns

Reading: TypeAlias = "float | tuple[float, ...] | None"
"""A number, one for each of something, or nothing where there were no rows."""

Rows: TypeAlias = "NDArray[np.float64]"

TIMES = ("begin_s", "end_s")
_ROWS_AT_A_TIME = 10
# Of a histogram from the smallest to the largest value.
_BARS = 30


@dataclass(frozen=True)
class Read:
    """Which rows of a table, and what is made of them."""

    table: str
    column: str
    where: Mapping[str, Any] = field(default_factory=dict)
    fold: str = "sum"
    by: str | None = None

    def errors(self) -> list[str]:
        """What it names that is not there."""
        if self.table not in _COLUMNS:
            return [f"no table {self.table!r}; there are {', '.join(_COLUMNS)}"]
        there = _COLUMNS[self.table]
        named = {*names_in(self.column) - set(TIMES), *self.where, *([self.by] if self.by else [])}
        wrong = [f"no column {name!r} in {self.table}" for name in sorted(named - there)]
        if self.fold not in _FOLDS:
            wrong.append(f"no fold {self.fold!r}; there are {', '.join(_FOLDS)}")
        return wrong

    def of(
        self, tables: Columns, groups: Sequence[str], names: Mapping[str, Any] | None = None
    ) -> Reading:
        """Pick it from a run's tables; groups stand there as numbers.

        `names` has what the set-up calls by name, and the `TIMES` of the measurement.
        """
        names = names or {}
        table = tables.get(self.table)
        if table is None:
            return 0.0 if self.fold == "sum" else None
        kept = rows(table, {k: filled(want, "", names) for k, want in self.where.items()}, groups)
        columns = {
            name: np.asarray(names[name] if name in TIMES else np.asarray(table[name])[kept])
            for name in names_in(self.column)
        }
        values = evaluate_all(self.column, columns)
        if self.by is None:
            return _FOLDS[self.fold](values)
        key = np.asarray(table[self.by])[kept]
        return tuple(_one(_FOLDS[self.fold](values[key == value])) for value in np.unique(key))


def read_reads(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Read]:
    """Read `[reads]`; reports all errors together."""
    reads = {name: Read(**entry) for name, entry in entries.items()}
    wrong = [f"reads.{name}: {what}" for name, one in reads.items() for what in one.errors()]
    if wrong:
        raise ReproductionError("\n".join(wrong))
    return reads


def rows(
    table: Mapping[str, Any], where: Mapping[str, Any], groups: Sequence[str]
) -> NDArray[np.bool_]:
    """Which rows of a table have what a `where` asks for."""
    count = len(next(iter(table.values())))
    kept = np.ones(count, dtype=bool)
    for name, want in where.items():
        values = np.asarray(table[name])
        named = name == "group" and not isinstance(want, int)
        kept &= _wanted(np.asarray(groups)[values] if named else values, want)
    return kept


def _wanted(values: NDArray[Any], want: object) -> NDArray[np.bool_]:
    match want:
        case list():
            return np.isin(values, want)
        case {"like": pattern}:
            return np.array([fnmatchcase(str(one), str(pattern)) for one in values], dtype=bool)
        case dict():
            low, high = want.get("min", -np.inf), want.get("max", np.inf)
            return np.asarray((values >= low) & (values <= high), dtype=bool)
    return np.asarray(values == want, dtype=bool)


def _one(reading: Reading) -> float:
    return float("nan") if reading is None or isinstance(reading, tuple) else reading


def _of_some(fold: Callable[[Rows], float]) -> Callable[[Rows], Reading]:
    return lambda values: float(fold(values)) if values.size else None


def _over(top: np.floating[Any], bottom: np.floating[Any]) -> float:
    return float(top / bottom) if bottom else float("nan")


def _means_of_ten(values: Rows) -> Rows:
    whole = values[: values.size // _ROWS_AT_A_TIME * _ROWS_AT_A_TIME]
    return np.asarray(whole.reshape(-1, _ROWS_AT_A_TIME).mean(axis=1))


def _most(values: Rows) -> Reading:
    return float(values.max()) if values.size else None


def _summit(values: Rows) -> float:
    """Middle of the highest bar of a histogram that has a lower one on either side, if any."""
    bars, edges = np.histogram(values, bins=_BARS)
    inner = [
        number
        for number in range(1, _BARS - 1)
        if bars[number - 1] < bars[number] >= bars[number + 1] and bars[number + 1 :].any()
    ]
    if not inner:
        return float("nan")
    highest = max(inner, key=lambda number: bars[number])
    return float((edges[highest] + edges[highest + 1]) / 2)


def _halves(values: Rows) -> Reading:
    """Sum of the larger half over that of the smaller; the middle one of an odd number is left out.

    >>> _halves(np.array([3.0, 1.0, 9.0]))
    9.0
    """
    half, ordered = values.size // 2, np.sort(values)
    return _over(ordered[-half:].sum(), ordered[:half].sum()) if half else None


_FOLDS: Mapping[str, Callable[[Rows], Reading]] = {
    "sum": lambda values: float(values.sum()),
    "mean": _of_some(np.mean),
    "min": _of_some(np.min),
    "max": _of_some(np.max),
    "fourier": _of_some(lambda values: strongest(fourier_spectrum(values))),
    "music": _of_some(lambda values: strongest(music_spectrum(values))),
    "swing": _of_some(lambda values: float(fourier_spectrum(values)[1].max())),
    "jain": _of_some(jain_index),
    "deviation": _of_some(np.std),
    "variation": _of_some(lambda values: _over(np.std(values), np.mean(values))),
    "slow-max": lambda values: _most(_means_of_ten(values)),
    "slow-deviation": _of_some(lambda values: float(np.std(_means_of_ten(values)))),
    "summit": _of_some(_summit),
    "quotient": lambda values: _over(values[0], values[1]) if values.size > 1 else None,
    "halves": _halves,
    "kinds": lambda values: float(np.unique(values).size),
    "each": lambda values: tuple(values[~np.isnan(values)].tolist()) or None,
}

_COLUMNS = {table.name: {column.name for column in table.columns} for table in ENGINE}
