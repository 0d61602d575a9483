"""How far the simulator is from Linux, a row per scenario and a panel per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import COLOURS, INK, STYLE, write
from tidegate.studies.fidelity.measures import METRICS
from tidegate.studies.fidelity.verdicts import NEAR, agreements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.studies.fidelity.cases import Record
    from tidegate.studies.fidelity.verdicts import Agreement

SHOWN = ("ratio", "utilization", "queue_packets", "loss_ratio")
EDGE = 60.0
"""Per cent; what is farther off stands at the edge with its number."""


def draw(records: Sequence[Record], path: Path) -> Path:
    """Draw and write."""
    found = [agreements(record) for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        figure = Figure(figsize=(12.0, 2.0 + 0.34 * len(records)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(SHOWN), sharey=True)
        for axes, metric in zip(panels, SHOWN, strict=True):
            _panel(axes, metric, [each.get(metric) for each in found])
        panels[0].set_yticks(range(len(records)), [record.case.name for record in records])
        panels[0].set_ylim(len(records) - 0.4, -0.6)
        figure.supxlabel("simulator against Linux [%], with 95 % confidence", fontsize=11)
        return write(figure, path)


def _panel(axes: Axes, metric: str, found: list[Agreement | None]) -> None:
    axes.axvspan(-100 * NEAR.share, 100 * NEAR.share, color=COLOURS[2], alpha=0.15, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for place, each in enumerate(found):
        if each is None or np.isnan(each.deviation):
            continue
        size = 100 * each.deviation
        half = float(np.nan_to_num(100 * each.uncertainty))
        colour = COLOURS[2] if each.within else COLOURS[1]
        if abs(size) > EDGE:
            at = EDGE if size > 0 else -EDGE
            axes.annotate(
                f"{size:+.0f}", (at, place), ha="right" if size > 0 else "left", va="center",
                fontsize=9, color=colour,
            )  # fmt: skip
        else:
            axes.errorbar(size, place, xerr=half, fmt="o", color=colour, capsize=3, markersize=5)
    axes.set_xlim(-EDGE, EDGE)
    axes.set_title(METRICS[metric][0])
