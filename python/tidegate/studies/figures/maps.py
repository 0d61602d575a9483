"""Maps of what a model says over two factors.

Each of `panels` has the levels of the others, and its own factor upwards::

    kind = "map"
    model = "reno-on-queue"
    metric = "gain_margin"
    x = { factor = "base_rtt_ms", from = 5, to = 400, points = 100, log = true, label = ".." }
    hatched = { metric = "window_packets", below = 2 }
    [[figure.panels]]
    y = { factor = "flows", .. }
    levels = { queue = "red", rate_mbps = 100, u_0 = "= users / 11" }   # or an expression

Colours are those of the metric's logarithm, from an eighth to eight; lines are at 1/2, 1 and 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullFormatter

from tidegate.figures.look import INK
from tidegate.studies.expressions import evaluate_all
from tidegate.studies.sides.model import MODELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_MOST = 8.0
_TICKS = {1 / _MOST: "1/8 or less", 0.5: "1/2", 1.0: "1", 2.0: "2", _MOST: "8 or more"}


def draw_maps(figure: Figure, panels: NDArray[Any], spec: Mapping[str, Any]) -> None:
    """Draw each panel, and the bar of colours beside them."""
    for axes, panel in zip(panels.flat, spec["panels"], strict=False):
        colours = _draw(axes, {**spec, **panel})
    figure.supxlabel(spec["x"]["label"], fontsize=11)
    bar = figure.colorbar(colours, ax=panels, ticks=np.log2(list(_TICKS)), pad=0.01)
    bar.set_ticklabels(list(_TICKS.values()))
    bar.set_label(spec["label"])


def _draw(axes: Axes, spec: Mapping[str, Any]) -> QuadMesh:
    x, y = _steps(spec["x"]), _steps(spec["y"])
    both = dict(zip((spec["x"]["factor"], spec["y"]["factor"]), np.meshgrid(x, y), strict=True))
    levels = {name: _level(one, both) for name, one in spec["levels"].items()}
    found = MODELS[spec["model"]]({**both, **levels})
    # A loop without a crossing has all the margin there is.
    values = np.nan_to_num(found[spec["metric"]], nan=_MOST)
    shown = np.log2(np.clip(values, 1 / _MOST, _MOST))
    top = np.log2(_MOST)
    colours = axes.pcolormesh(
        x, y, shown, cmap="PuOr", vmin=-top, vmax=top, shading="nearest", rasterized=True
    )
    axes.contour(x, y, shown, levels=[-1, 0, 1], colors=INK, linewidths=[0.8, 1.8, 0.8])
    if "hatched" in spec:
        hatched = np.broadcast_to(found[spec["hatched"]["metric"]], shown.shape)
        below = [0, spec["hatched"]["below"]]
        axes.contourf(x, y, hatched, levels=below, colors="none", hatches=["///"])
    for axis, one in ((axes.xaxis, spec["x"]), (axes.yaxis, spec["y"])):
        getattr(axes, f"set_{axis.axis_name}scale")("log" if one.get("log") else "linear")
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.set(ylabel=spec["y"].get("label", ""), title=spec.get("title", ""))
    axes.grid(visible=False)
    return colours


def _steps(axis: Mapping[str, Any]) -> NDArray[np.float64]:
    steps = np.geomspace if axis.get("log") else np.linspace
    return steps(axis["from"], axis["to"], axis["points"])


def _level(level: object, both: Mapping[str, NDArray[np.float64]]) -> object:
    text = str(level)
    return evaluate_all(text[1:].strip(), both) if text.startswith("=") else level
