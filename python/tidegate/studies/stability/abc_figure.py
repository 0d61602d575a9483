"""Maps of the margin of users' modes under ABC: over γ, inertia, and number of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import INK, STYLE, write
from tidegate.studies.stability.abc_tcp import link_of, own_margin
from tidegate.studies.stability.figures import COLOURS, PLAIN, shown_margin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from numpy.typing import NDArray

    from tidegate.analysis import AbcOverTcp

_POINTS = 19
_DELAYS_MS = (5, 50)
_INERTIA_S = np.geomspace(0.1, 5, _POINTS)
_GAMMA = np.linspace(0.25, 6, _POINTS)
_USERS = np.geomspace(11, 330, _POINTS)
"""Heavy and light ones together, one to ten."""


def draw(path: Path) -> Path:
    """Draw and write."""
    with rc_context(STYLE):
        figure = Figure(figsize=(10.0, 7.4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(2, len(_DELAYS_MS), sharex=True, sharey="row")
        for column, delay_ms in enumerate(_DELAYS_MS):
            above, below = panels[:, column]

            def by_gamma(
                gamma: float, inertia_s: float, delay_s: float = delay_ms / 1e3
            ) -> AbcOverTcp:
                return link_of(delay_s, (9, 90), gamma, inertia_s)

            def by_users(
                users: float, inertia_s: float, delay_s: float = delay_ms / 1e3
            ) -> AbcOverTcp:
                return link_of(delay_s, (users / 11, users * 10 / 11), 3.0, inertia_s)

            _map(above, _GAMMA, by_gamma)
            colours = _map(below, _USERS, by_users)
            below.set_yscale("log")
            below.yaxis.set_major_formatter(PLAIN)
            above.set_title(f"{delay_ms} ms one way")
        panels[0, 0].set_ylabel("γ, of 9 + 90 users")
        panels[1, 0].set_ylabel("users at γ = 3, one in eleven heavy")
        figure.supxlabel("inertia I [s]", fontsize=11)
        bar = figure.colorbar(colours, ax=panels, ticks=np.log2([1 / 8, 0.5, 1, 2, 8]), pad=0.01)
        bar.set_ticklabels(["1/8 or less", "1/2", "1", "2", "8 or more"])
        bar.set_label("gain margin of users against each other (below 1 they swing)")
        return write(figure, path)


def _map(
    axes: Axes, up: NDArray[np.float64], link: Callable[[float, float], AbcOverTcp]
) -> QuadMesh:
    margins = [[own_margin(link(value, inertia_s)) for inertia_s in _INERTIA_S] for value in up]
    shown = shown_margin(np.array(margins))
    colours = axes.pcolormesh(
        _INERTIA_S, up, shown, cmap=COLOURS, vmin=-3, vmax=3, shading="nearest", rasterized=True
    )
    axes.contour(_INERTIA_S, up, shown, levels=[-1, 0, 1], colors=INK, linewidths=[0.8, 1.8, 0.8])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.grid(visible=False)
    return colours
