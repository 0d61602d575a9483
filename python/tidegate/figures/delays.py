"""Figure of the queueing delay of each group: median, 95 % and 99 % quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.figures.look import INK, look, new_figure, plain_log_ticks
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST_MS = 0.01
"""Shorter delays are drawn here: the axis is logarithmic."""

_QUANTILES = ("p50_queueing_delay_s", "p95_queueing_delay_s", "p99_queueing_delay_s")


def delays(
    tables: Mapping[str, pa.Table], groups: Sequence[str], labels: Sequence[str]
) -> tuple[Figure, Axes] | None:
    """Draw a line from median to 99 % quantile for each group and variant, a mark at 95 %.

    `tables` has the table of groups of each variant; the quantiles are means over runs. Nothing is
    drawn where no group has a delay.
    """
    found = {name: _quantiles(table, groups) for name, table in tables.items()}
    if all(np.isnan(values).all() for values in found.values()):
        return None
    figure, axes = new_figure(height=1.7 + 0.34 * len(groups) * len(found))
    apart = 0.8 / len(found)
    places = np.arange(len(groups))
    for number, (values, label) in enumerate(zip(found.values(), labels, strict=True)):
        at = places + (number - (len(found) - 1) / 2) * apart
        p50, p95, p99 = np.maximum(1e3 * values, _LEAST_MS)
        drawn = look(number)
        axes.hlines(at, p50, p99, color=drawn.colour, linewidth=2.4)
        axes.plot(
            p95, at, linestyle="none", marker=drawn.marker, markersize=7, color=drawn.colour,
            label=label,
        )  # fmt: skip
        for y, end, value in zip(at, p99, 1e3 * values[1], strict=True):
            if np.isfinite(end):
                axes.annotate(
                    f"{value:.3g}", (end, y), (6, 0), textcoords="offset points", va="center",
                    fontsize=9.5, color=INK,
                )  # fmt: skip
    axes.set_yticks(places, list(groups))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    axes.margins(x=0.12)
    axes.set_xlabel("queueing delay [ms]")
    return figure, axes


def _quantiles(table: pa.Table, groups: Sequence[str]) -> np.ndarray:
    """Quantiles of each group, s: an array of quantiles x groups; NaN where there is none."""
    names = np.array(table["group"].to_pylist())
    found = np.full((len(_QUANTILES), len(groups)), np.nan)
    for row, metric in enumerate(_QUANTILES):
        values = numbers(table, metric)
        for column, group in enumerate(groups):
            own = values[names == group]
            if np.isfinite(own).any():
                found[row, column] = np.nanmean(own)
    return found
