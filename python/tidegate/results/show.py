"""Results as tables for people: in a terminal and in a notebook."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from tidegate.escapes import lines, one_line
from tidegate.results.findings import busy_links, drops
from tidegate.results.quantities import legend
from tidegate.results.statistics import Estimate
from tidegate.results.summary import Row, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import RenderableType

    from tidegate.results.result import Result


@dataclass(frozen=True)
class Quantity:
    """A column: a metric, its heading, and how its numbers are scaled for people."""

    metric: str
    heading: str
    unit: str
    scale: float = 1.0
    """What the metric is multiplied by to be in `unit`."""
    optional: bool = False
    """Left out where it is missing or zero everywhere."""


@dataclass
class Grid:
    """A table of text, ready to be drawn anywhere."""

    title: str
    headings: list[str]
    cells: list[list[str]] = field(default_factory=list)
    text_columns: int = 1
    """Number of columns on the left that hold names."""
    breaks: list[int] = field(default_factory=list)
    """Rows after which a block ends."""
    metrics: list[str] = field(default_factory=list)
    """What the columns show."""


GROUP_COLUMNS = (
    Quantity("throughput_bps", "per user", "bit/s"),
    Quantity("share", "share", "%", 100),
    Quantity("ratio_to_first", "× first", ""),
    Quantity("loss_ratio", "lost", "%", 100),
    Quantity("mark_ratio", "marked", "%", 100, optional=True),
    Quantity("retransmit_ratio", "retransmitted", "%", 100, optional=True),
    Quantity("p95_queueing_delay_s", "p95 queueing delay", "ms", 1e3),
    Quantity("mos", "MOS", "1 to 4.5", optional=True),
    Quantity("mean_srtt_s", "RTT", "ms", 1e3, optional=True),
    Quantity("mean_completion_s", "FCT", "s", optional=True),
    Quantity("p99_completion_s", "p99 FCT", "s", optional=True),
    Quantity("mean_slowdown", "slowdown", "", optional=True),
    Quantity("transfers_unfinished", "unfinished", "transfers", optional=True),
)
LINK_COLUMNS = (
    Quantity("utilization", "used", "%", 100),
    Quantity("mean_backlog_packets", "queue", "packets"),
    Quantity("p95_sojourn_s", "p95 sojourn time", "ms", 1e3),
    Quantity("drop_ratio", "dropped", "%", 100),
    Quantity("marks", "marked", "packets", optional=True),
)
APPLICATION_COLUMNS = (
    Quantity("stalls", "stalls", "a video", optional=True),
    Quantity("mean_stall_s", "a stall", "s", optional=True),
    Quantity("startup_s", "until it starts", "s", optional=True),
    Quantity("qoe", "QoE", "1.5 to 5", optional=True),
    Quantity("finished", "transfers", "a flow", optional=True),
    Quantity("completion_s", "FCT", "s", optional=True),
    Quantity("block_s", "a block", "ms", 1e3, optional=True),
    Quantity("longest_block_s", "longest block", "ms", 1e3, optional=True),
    Quantity("offered", "offered", "calls", optional=True),
    Quantity("blocking", "blocked", "%", 100, optional=True),
    Quantity("calls", "in progress", "calls", optional=True),
    Quantity("set_up_s", "set up in", "ms", 1e3, optional=True),
    Quantity("target_rate_bps", "target rate", "bit/s", optional=True),
    Quantity("quality", "quality", "0 is worst", optional=True),
    Quantity("quality_changes", "changes", "a video", optional=True),
    Quantity("price", "price", "%", 100, optional=True),
)
_NONE = Estimate(math.nan, math.nan, 0)
_MOST_PLACES = 12
"""Rows of links and of drops; there may be hundreds of thousands of links."""


def grids(results: Mapping[str, Result]) -> list[Grid]:
    """Tables of throughput by group, of bottlenecks, and of applications."""
    found = _rows_of(results)
    drawn = [
        _grid("Throughput by group", "group", "group", found, GROUP_COLUMNS),
        _grid("Bottlenecks", "link", "link", found, LINK_COLUMNS),
        _grid("Applications", "application", "group", found, APPLICATION_COLUMNS),
    ]
    return [grid for grid in drawn if grid.cells]


def application_grid(results: Mapping[str, Result]) -> Grid:
    """Table of what applications report; it may be empty."""
    found = _rows_of(results)
    return _grid("Applications", "application", "group", found, APPLICATION_COLUMNS)


def _rows_of(results: Mapping[str, Result]) -> dict[str, list[Row]]:
    """All metrics of each variant."""
    return {variant: list(rows(result.averaged.tables)) for variant, result in results.items()}


def place_grids(results: Mapping[str, Result]) -> list[Grid]:
    """Tables of other links that drop, mark or are nearly fully used, and of drops by reason."""
    several = len(results) > 1
    heads = ["variant"] * several
    links = Grid(
        "Other links that drop, mark or are above 80 % used",
        [*heads, "link", "used\n[%]", "dropped\n[packets]", "marked\n[packets]"],
    )
    reasons = Grid(
        "Drops by place and reason", [*heads, "place", "reason", "packets", "share\n[%]"]
    )
    links.text_columns, reasons.text_columns = 1 + several, 2 + several
    for name, result in results.items():
        label = [name or "as it is"] * several
        busy = busy_links(result.averaged)
        for link in busy[:_MOST_PLACES]:
            counts = [f"{count:.6g}" for count in (link.drops, link.marks)]
            links.cells.append([*label, link.name, f"{100 * link.utilization:.1f}", *counts])
        if len(busy) > _MOST_PLACES:
            rest = [f"and {len(busy) - _MOST_PLACES} more", "", "", ""]
            links.cells.append([*label, *rest])
        dropped = drops(result.averaged)
        total = sum(one.packets for one in dropped)
        for one in dropped[:_MOST_PLACES]:
            part = f"{100 * one.packets / total:.1f}"
            reasons.cells.append([*label, one.place, one.reason, f"{one.packets:.6g}", part])
        if len(dropped) > _MOST_PLACES:
            rest = [f"and {len(dropped) - _MOST_PLACES} more", "", "", ""]
            reasons.cells.append([*label, *rest])
    # A single row would repeat the table of bottlenecks.
    shown = [links] if links.cells else []
    return [*shown, reasons] if len(reasons.cells) > len(results) or shown else shown


def rich_tables(results: Mapping[str, Result], *, narrow: bool = False) -> list[RenderableType]:
    """All tables for a terminal, and what the shares in them are shares of."""
    from rich.text import Text

    drawn = _all_grids(results)
    definitions = legend([metric for grid in drawn for metric in grid.metrics])
    return [
        *(rich_table(grid, narrow=narrow) for grid in drawn),
        Text(definitions + "\n", style="dim"),
    ]


def _all_grids(results: Mapping[str, Result]) -> list[Grid]:
    from tidegate.results.size_grid import size_grids

    return [*grids(results), *size_grids(results), *place_grids(results)]


def predicted_table(
    results: Mapping[str, Result], predicted: Mapping[str, Mapping[tuple[str, str, str], float]]
) -> RenderableType:
    """What models predict by kind, name and metric, beside the means: a table for a terminal."""
    several = len(results) > 1
    heads = ["", "quantity", "simulated", "predicted", "deviation"]
    grid = Grid("Beside theory", ["variant"] * several + heads)
    grid.text_columns = 2 + several
    quantities = {quantity.metric: quantity for quantity in (*GROUP_COLUMNS, *LINK_COLUMNS)}
    for name, values in predicted.items():
        every = [row for row in rows(results[name].averaged.tables) if row.runs]
        for row in every:
            expected = values.get((row.kind, row.name, row.metric))
            if expected is None or row.metric not in quantities:
                continue
            column = _fitted(quantities[row.metric], [row]) or quantities[row.metric]
            measured = uncertain(Estimate(row.mean, row.ci95, row.runs), column.scale)
            above = f"{100 * (row.mean / expected - 1):+.1f} %" if expected else "–"
            cells = [row.name, _heading(column), measured, f"{expected * column.scale:.4g}", above]
            grid.cells.append([*([name] if several else []), *cells])
    return rich_table(grid)


def rich_table(grid: Grid, *, narrow: bool = False) -> RenderableType:
    """Draw a grid for a terminal, which may be narrow, or for a pipe."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(
        title=Text(one_line(grid.title)),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
    )
    for number, heading in enumerate(grid.headings):
        name = number < grid.text_columns
        # As Text, or rich would take a unit in brackets for one of its own tags.
        drawn.add_column(
            Text(lines(heading)),
            justify="left" if name else "right",
            vertical="top",
            overflow="fold",
        )
    for number, cells in enumerate(grid.cells):
        # Where a terminal is too narrow, break before the sign and not after it.
        whole = [cell.replace("± ", "±") if narrow else cell for cell in cells]
        drawn.add_row(*map(Text, map(one_line, whole)), end_section=number in grid.breaks)
    return drawn


def html(results: Mapping[str, Result]) -> str:
    """All tables for a notebook."""
    return "".join(html_table(grid) for grid in _all_grids(results))


def uncertain(value: Estimate, scale: float = 1.0) -> str:
    """Write a mean with its 95 % half-width, to the digits that the half-width warrants.

    >>> uncertain(Estimate(0.913414, 0.005392, 20))
    '0.913 ± 0.005'
    >>> uncertain(Estimate(0.25, float("nan"), 1), 100)
    '25.0'
    >>> uncertain(Estimate(0.999996, 0.000007, 20), 100)     # three or four digits are enough
    '100.0'
    """
    mean, half = value.mean * scale, value.ci95 * scale
    if math.isnan(mean):
        return "–"
    if math.isnan(half) or half == 0.0:
        # One run, or the same in all: three digits, and no half-width that says nothing.
        return f"{mean:.{_decimals(abs(mean) / 100)}f}"
    most = _decimals(abs(mean) / 100) if mean else 6
    places = min(_decimals(half), most)
    if round(half, places) == 0.0:
        return f"{mean:.{max(places, 0)}f}"
    return f"{mean:.{places}f} ± {half:.{places}f}"


def rate_unit(largest_bps: float) -> tuple[str, float]:
    """Give the unit in which a column of rates is easiest to read, and its factor."""
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if largest_bps >= size / 2:
            return unit, 1 / size
    return "b/s", 1.0


def split_names(names: list[str]) -> tuple[str, list[str]]:
    """Take out what all variants' names begin with, as the column's heading.

    >>> split_names(["aqm.kind = red", "aqm.kind = drop-tail"])
    ('aqm.kind', ['red', 'drop-tail'])
    """
    parts = [name.partition(" = ") for name in names]
    heads = {head for head, sign, _ in parts if sign}
    if len(heads) == 1 and all(sign for _, sign, _ in parts):
        return heads.pop(), [value for _, _, value in parts]
    return "variant", names


def variant_labels(results: Iterable[str]) -> list[str]:
    """What to call variants: the value in which each differs, as a name and not as a key.

    >>> variant_labels(["differentiation.kind = abc", "differentiation.kind = none"])
    ['abc', 'no differentiation']
    >>> variant_labels(["heavy.flows = 1", "heavy.flows = 4"])
    ['flows 1', 'flows 4']
    """
    names = list(results)
    key, values = split_names(names)
    if key == "variant":
        return names
    *_, what = (part for part in key.split(".") if part != "kind")
    what = what.replace("_", " ")
    labels = [
        f"no {what}" if value in {"none", "unset"}
        else value if key.endswith(".kind") or not value[:1].isdigit()
        else f"{what} {value}"
        for value in values
    ]  # fmt: skip
    return labels if len(set(labels)) == len(labels) else names


def _grid(
    title: str,
    kind: str,
    heading: str,
    results: Mapping[str, list[Row]],
    columns: tuple[Quantity, ...],
) -> Grid:
    found = {
        variant: _by_name([row for row in every if row.kind == kind])
        for variant, every in results.items()
    }
    every = [row for variant in found.values() for metrics in variant.values() for row in metrics]
    shown = [column for column in (_fitted(c, every) for c in columns) if column]
    axis, labels = split_names(list(results))
    several = len(results) > 1
    by = f", by {axis}" if several else ""
    names = [axis.rpartition(".")[2]] * several + [heading]
    grid = Grid(title + by, names + [_heading(c) for c in shown])
    grid.text_columns = 1 + several
    grid.metrics = [column.metric for column in shown]
    for label, variant in zip(labels, found.values(), strict=True):
        for number, (name, metrics) in enumerate(variant.items()):
            values = {row.metric: Estimate(row.mean, row.ci95, row.runs) for row in metrics}
            first = [label if number == 0 else ""] * several
            cells = [uncertain(values.get(c.metric, _NONE), c.scale) for c in shown]
            grid.cells.append([*first, name, *cells])
        grid.breaks.append(len(grid.cells) - 1)
    return grid


def _by_name(found: list[Row]) -> dict[str, list[Row]]:
    names: dict[str, list[Row]] = {}
    for row in found:
        names.setdefault(row.name, []).append(row)
    return names


def _fitted(column: Quantity, found: list[Row]) -> Quantity | None:
    """Choose a rate's unit; drop an optional column that has nothing to say."""
    means = [row.mean for row in found if row.metric == column.metric and row.runs]
    if column.optional and not any(means):
        return None
    if column.unit == "bit/s":
        unit, scale = rate_unit(max(means, default=0.0))
        return Quantity(column.metric, column.heading, unit, scale)
    return column


def _heading(column: Quantity) -> str:
    return f"{column.heading}\n[{column.unit}]" if column.unit else column.heading


def _decimals(size: float) -> int:
    """Decimals that show one digit of a number of this size, two if it begins with a 1."""
    if size <= 0:
        return 1
    digits = -math.floor(math.log10(size))
    leading = size * 10.0**digits
    return min(max(digits + (leading < 2), 0), 6)


def html_table(grid: Grid) -> str:
    """One grid for a notebook."""

    def row(tag: str, cells: list[str]) -> str:
        align = ["left" if n < grid.text_columns else "right" for n in range(len(cells))]
        inner = (
            f'<{tag} style="text-align:{side}">{escape(lines(cell))}</{tag}>'
            for side, cell in zip(align, cells, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    head = row("th", grid.headings)
    body = "".join(row("td", cells) for cells in grid.cells)
    return (
        f"<table><caption>{escape(one_line(grid.title))} (mean ± 95 % confidence)</caption>"
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )
