"""The figure of a trace: its rate or its delay over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.figures.look import COLOURS, new_figure, subtitle, write
from tidegate.figures.output import drawing
from tidegate.results.show import rate_unit

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.scenarios.traces import Trace


def draw_trace(trace: Trace, name: str, path: Path, window_s: float) -> Path:
    """Draw a trace: a rate as means over windows, a delay as it is."""
    unit, scale = rate_unit(float(trace.values.max())) if trace.is_rate else ("ms", 1e3)
    values = trace.windows(window_s) if trace.is_rate else trace.values
    times = np.arange(len(values)) * window_s if trace.is_rate else trace.times_s
    with drawing():
        figure, axes = new_figure(3.6)
        edges = np.append(times, trace.length_s)
        axes.stairs(values * scale, edges, color=COLOURS[0], linewidth=1.2)
        axes.axhline(trace.mean * scale, color=COLOURS[1], linestyle="--", linewidth=1.2)
        what = f"means of {window_s:g} s" if trace.is_rate else "as it changes"
        subtitle(axes, name, f"{what}; dashed: mean of {trace.mean * scale:.4g} {unit}")
        axes.set_xlabel("time (s)")
        axes.set_ylabel(f"rate ({unit})" if trace.is_rate else "delay (ms)")
        axes.set_xlim(0, trace.length_s)
        axes.set_ylim(bottom=0)
        return write(figure, path)
