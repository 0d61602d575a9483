"""The figure: goodput of whoever lies over that of an honest user, strategies by defences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import COLOURS, INK, MARKERS, STYLE, write
from tidegate.studies.security.verdicts import MOST

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.studies.security.verdicts import Findings

_TICKS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def draw(findings: Findings, path: Path) -> Path:
    """Draw and write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    strategies = findings.field.titles("strategies")
    with rc_context(STYLE):
        figure = Figure(figsize=(13.0, 1.9 + 0.42 * len(strategies)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(findings.field.sizes), sharey=True, sharex=True)
        for axes, size in zip(panels, findings.field.sizes, strict=True):
            _panel(axes, findings, size)
        panels[0].set_yticks(range(len(strategies)), list(strategies.values()))
        panels[0].set_ylim(len(strategies) - 0.4, -0.6)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        middle = panels[len(panels) // 2]
        honest = f"{findings.field.sizes[0]} honest flows of the same kind"
        middle.set_xlabel(f"goodput over that of {honest}, with 95 % confidence")
        return write(figure, path)


def _panel(axes: Axes, findings: Findings, size: int) -> None:
    axes.axvline(1.0, color=INK, linewidth=1.0)
    axes.axvspan(0.0, MOST, color=COLOURS[2], alpha=0.08, linewidth=0)
    for number, (defence, title) in enumerate(findings.field.titles("defences").items()):
        for place, strategy in enumerate(findings.field.titles("strategies")):
            gain = findings.gain(defence, strategy, size)
            if gain is None:
                continue
            axes.errorbar(
                gain.ratio.mean, place + 0.22 * (number - 1), xerr=gain.ratio.ci95,
                fmt=MARKERS[number], color=COLOURS[(1, 4, 0)[number]], capsize=2.5, markersize=5,
                label=title if place == 0 else None,
            )  # fmt: skip
    # Fine where it is decided, and yet room for ten times as much.
    axes.set_xscale("function", functions=(lambda x: abs(x) ** 0.5, lambda y: y**2))
    axes.set_xlim(0.0, 10.0)
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.set_title(f"{size} flows, honest users have {findings.field.sizes[0]}")
