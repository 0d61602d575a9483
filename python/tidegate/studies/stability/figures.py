"""Maps of the gain margin, and the verdict beside simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from tidegate.analysis import stability
from tidegate.figures.look import INK, STYLE, look, write
from tidegate.studies.stability.cases import TITLES, model
from tidegate.studies.stability.verdicts import (
    STEADY_MARGIN,
    STEADY_SPREAD,
    STEADY_UTILIZATION,
    SWINGING_MARGIN,
    SWINGING_SPREAD,
    SWINGING_UTILIZATION,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from numpy.typing import NDArray

    from tidegate.studies.stability.verdicts import Verdict

RATE_MBPS, FLOWS = 100, 50
"""What stays in a map in which it does not vary."""
RTT_MS = np.geomspace(5, 400, 100)
_FLOWS = np.geomspace(5, 500, 100)
_RATES = np.geomspace(10, 1000, 100)
# Margins beyond these look alike.
_SHOWN = 8.0
COLOURS = "PuOr"
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def draw_maps(path: Path) -> Path:
    """Gain margin over flows and round trip, and over rate and round trip, of each queue."""
    with rc_context(STYLE):
        figure = Figure(figsize=(12.0, 7.4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(2, len(TITLES), sharex=True, sharey="row")
        for column, queue in enumerate(TITLES):
            by_flows = model(queue, RATE_MBPS, _FLOWS[:, None], RTT_MS)
            by_rate = model(queue, _RATES[:, None], FLOWS, RTT_MS)
            for axes, up, bottleneck in zip(
                panels[:, column], (_FLOWS, _RATES), (by_flows, by_rate), strict=True
            ):
                margin = stability(bottleneck).gain_margin
                colours = _map(axes, up, margin, bottleneck.equilibrium.window_packets[0])
            panels[0, column].set_title(TITLES[queue])
        panels[0, 0].set_ylabel(f"flows, at {RATE_MBPS} Mb/s")
        panels[1, 0].set_ylabel(f"rate [Mb/s], of {FLOWS} flows")
        figure.supxlabel("base round trip [ms]", fontsize=11)
        bar = figure.colorbar(colours, ax=panels, ticks=np.log2([1 / 8, 0.5, 1, 2, 8]), pad=0.01)
        bar.set_ticklabels(["1/8 or less", "1/2", "1", "2", "8 or more"])
        bar.set_label("gain margin (below 1 it swings)")
        return write(figure, path)


def _map(
    axes: Axes,
    up: NDArray[np.float64],
    margin: NDArray[np.float64],
    window: NDArray[np.float64],
) -> QuadMesh:
    shown = shown_margin(margin)
    colours = axes.pcolormesh(
        RTT_MS, up, shown, cmap=COLOURS, vmin=-3, vmax=3, shading="nearest", rasterized=True
    )
    axes.contour(RTT_MS, up, shown, levels=[-1, 0, 1], colors=INK, linewidths=[0.8, 1.8, 0.8])
    axes.contourf(RTT_MS, up, window, levels=[0, 2], colors="none", hatches=["///"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PLAIN)
        axis.set_minor_formatter(NullFormatter())
    return colours


def shown_margin(margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Margins as a map has them, base 2; a loop without a crossing has all the margin there is."""
    return np.asarray(np.log2(np.clip(np.nan_to_num(margin, nan=_SHOWN), 1 / _SHOWN, _SHOWN)))


def draw_verdicts(found: Sequence[Verdict], path: Path) -> Path:
    """What simulations showed, by the gain margin that the models say."""
    with rc_context(STYLE):
        figure = Figure(figsize=(12.0, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        spread, unused = figure.subplots(1, 2)
        for number, (queue, title) in enumerate(TITLES.items()):
            of_queue = [verdict for verdict in found if verdict.case.queue == queue]
            margins = [verdict.case.gain_margin for verdict in of_queue]
            mark = look(number)
            style = {"color": mark.colour, "marker": mark.marker, "label": title}
            spread.plot(margins, [v.spread for v in of_queue], linestyle="", **style)
            idle = [max(1 - v.utilization, 1e-5) for v in of_queue]
            unused.plot(margins, idle, linestyle="", **style)
        _bounds(spread, STEADY_SPREAD, SWINGING_SPREAD)
        spread.set_ylabel("standard deviation of the queue over its mean")
        _bounds(unused, 1 - STEADY_UTILIZATION, 1 - SWINGING_UTILIZATION)
        unused.set_yscale("log")
        unused.set_ylabel("share of the link's time not used (1e-5 or less)")
        for axes in (spread, unused):
            axes.set_xscale("log")
            axes.set_xlabel("gain margin")
            axes.xaxis.set_major_formatter(PLAIN)
        unused.yaxis.set_major_formatter(PLAIN)
        spread.legend()
        return write(figure, path)


def _bounds(axes: Axes, steady: float, swinging: float) -> None:
    """Lines that the points have to lie below, and above."""
    axes.axvline(1, color=INK, linewidth=0.8)
    for margin, bound, beyond in (
        (STEADY_MARGIN, steady, 100.0),
        (SWINGING_MARGIN, swinging, 0.01),
    ):
        axes.plot([margin, beyond], [bound, bound], color=INK, linestyle="--", linewidth=1.2)
