"""Table for people of flow completion times by the size of transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.results.show import Grid, uncertain
from tidegate.results.statistics import estimate
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from tidegate.results.result import Result

_COLUMNS = (
    ("transfers_finished", "finished\n[transfers]"),
    ("mean_completion_s", "FCT\n[s]"),
    ("p95_completion_s", "p95 FCT\n[s]"),
    ("p99_completion_s", "p99 FCT\n[s]"),
    ("mean_slowdown", "slowdown\n"),
    ("p99_slowdown", "p99 slowdown\n"),
)


def size_grids(results: Mapping[str, Result]) -> list[Grid]:
    """Completion times of groups whose transfers differ in size; nothing where none do."""
    several = len(results) > 1
    heads = [*["variant"] * several, "group", "size"]
    grid = Grid("Flow completion times by size", [*heads, *(head for _, head in _COLUMNS)])
    grid.text_columns = len(heads)
    for name, result in results.items():
        table = result.averaged.completions
        groups = table["group"].to_pylist()
        sizes = table["size_class"].to_pylist()
        # In the order of the table, which is that of the sizes.
        kept = dict.fromkeys(zip(groups, sizes, strict=True))
        varied = {group for group, _ in kept if sum(one == group for one, _ in kept) > 1}
        for group, size in kept:
            if group in varied:
                rows = [at for at, own in enumerate(zip(groups, sizes, strict=True))
                        if own == (group, size)]  # fmt: skip
                cells = [uncertain(estimate(_at(table, metric, rows))) for metric, _ in _COLUMNS]
                grid.cells.append([*[name] * several, group, size, *cells])
        if several and grid.cells:
            grid.breaks.append(len(grid.cells) - 1)
    return [grid] if grid.cells else []


def _at(table: pa.Table, metric: str, rows: list[int]) -> list[float]:
    values = numbers(table, metric)
    return [float(values[row]) for row in rows]
