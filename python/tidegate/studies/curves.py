"""What a figure shows over time: columns of a run's series, of the first run of a point.

`[curves]` of a paper names them as `[reads]` names numbers, without a fold::

    [curves]
    queue = { table = "link_series", column = "backlog_packets", where = { link = "r0-r1" } }

and a figure of the kind `over-time` has, for each level of a factor, a panel for each of its
`panels`, with these curves: `{ curves = { queue = "R1" }, y_label = "packets" }`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate_all, names_in
from tidegate.studies.reads import Read, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.running import Columns

Curve: TypeAlias = "tuple[tuple[float, ...], tuple[float, ...]]"
"""Times [s] and values."""

# Points drawn of a curve that has more.
_MOST_POINTS = 1000


@dataclass(frozen=True)
class CurveRead:
    """A column of a table that has times, or an expression of columns."""

    rows: Read

    def of(self, tables: Columns, groups: Sequence[str]) -> Curve | None:
        """Pick it from a run's tables; nothing where the run has no such rows."""
        table = tables.get(self.rows.table)
        if table is None:
            return None
        kept = np.flatnonzero(rows(table, self.rows.where, groups))
        kept = kept[:: max(1, -(-kept.size // _MOST_POINTS))]
        if kept.size == 0:
            return None
        columns = {name: np.asarray(table[name])[kept] for name in names_in(self.rows.column)}
        times = np.asarray(table["time_s"], dtype=float)[kept]
        return tuple(times.tolist()), tuple(evaluate_all(self.rows.column, columns).tolist())


def read_curves(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, CurveRead]:
    """Read `[curves]`; reports all errors together."""
    curves = {name: Read(**entry, by="time_s") for name, entry in entries.items()}
    wrong = [f"curves.{name}: {what}" for name, one in curves.items() for what in one.errors()]
    if wrong:
        raise ReproductionError("\n".join(wrong))
    return {name: CurveRead(read) for name, read in curves.items()}
