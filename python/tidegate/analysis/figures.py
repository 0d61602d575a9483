"""Figures of an analysis: Nyquist and Bode of the loop, its map, trajectory and spectrum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tidegate.analysis.bottleneck import Bottleneck
from tidegate.analysis.fluid import Trajectory
from tidegate.analysis.maps import StabilityMap, stability_map
from tidegate.analysis.stability import stability
from tidegate.errors import ResultError
from tidegate.figures.look import COLOURS, INK, look, new_figure, subtitle, write
from tidegate.figures.output import drawing

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.analysis.analyse import Analysis
    from tidegate.figures.output import Output

# Beyond this the plane around the point −1 would be too small to be seen.
_PLANE = 3.0
_MAP_POINTS = 60
_MAP_FACTORS = (0.1, 10.0)
# Of a trajectory, in seconds.
_SHOWN_S = 20.0


def draw(
    analysis: Analysis, folder: str | os.PathLike[str], output: Output | None = None
) -> list[Path]:
    """All figures of the views that have one; return the files."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with drawing(output) as files:
            for view, one in analysis.answers.items():
                title = f"{analysis.scenario.name}: {view}"
                if view == "stability" and isinstance(one.drawn, Bottleneck):
                    draw_loop(one.drawn, folder, title=title)
                if view == "fluid" and isinstance(one.drawn, Trajectory):
                    draw_course(one.drawn, folder, title=title)
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error
    return files


def draw_loop(
    bottleneck: Bottleneck, folder: str | os.PathLike[str], *, title: str = "stability"
) -> list[Path]:
    """Nyquist and Bode plots of the loop, and the map around it; return the files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    critical = float(stability(bottleneck).critical_frequency_hz)
    middle = 1.0 if np.isnan(critical) else critical
    frequencies = np.geomspace(middle / 100, middle * 100, 2000)
    values_there = bottleneck.loop(np.asarray(2j * np.pi * frequencies, dtype=np.complex128))
    return [
        _nyquist(values_there, title, folder),
        _bode(frequencies, values_there, title, folder),
        _map(bottleneck, title, folder),
    ]


def _nyquist(there: NDArray[np.complex128], title: str, folder: Path) -> Path:
    figure, axes = new_figure(height=6.0)
    axes.plot(there.real, there.imag, color=COLOURS[0], label="L(jω)")
    axes.plot([-1], [0], "x", color=COLOURS[1], markersize=10, label="the point −1")
    axes.set(xlim=(-_PLANE, _PLANE), ylim=(-_PLANE, _PLANE), xlabel="real", ylabel="imaginary")
    axes.set_aspect("equal")
    axes.legend()
    subtitle(axes, title, "stable as long as the curve passes −1 on its right")
    return write(figure, folder / "nyquist.png")


def _bode(
    frequencies: NDArray[np.float64], there: NDArray[np.complex128], title: str, folder: Path
) -> Path:
    figure, axes = new_figure(height=5.0)
    axes.loglog(frequencies, abs(there), color=COLOURS[0])
    axes.axhline(1, color=INK, linewidth=0.8)
    axes.set(xlabel="frequency [Hz]", ylabel="gain")
    _plain(axes)
    axes.yaxis.label.set_color(COLOURS[0])
    phases = axes.twinx()
    turned = np.degrees(np.unwrap(np.angle(there)))
    phases.plot(frequencies, turned, color=COLOURS[1], linestyle="--")
    phases.axhline(-180, color=COLOURS[1], linewidth=0.8, linestyle=":")
    phases.set(ylabel="phase [°]", ylim=(-720, 45))
    phases.yaxis.label.set_color(COLOURS[1])
    phases.grid(visible=False)
    subtitle(axes, title, "gain, and phase (dashed); −180° dotted")
    return write(figure, folder / "bode.png")


def _map(bottleneck: Bottleneck, title: str, folder: Path) -> Path:
    """Gain margin around the present case."""
    factors = np.geomspace(*_MAP_FACTORS, _MAP_POINTS)
    flows = sum(float(np.asarray(source.count)) for source in bottleneck.sources)
    base_rtt_s = float(np.asarray(bottleneck.sources[0].base_rtt_s))
    around = stability_map(bottleneck, base_rtt_s=base_rtt_s * factors, flows=flows * factors)
    return draw_map(around, folder, title=title, here=(base_rtt_s, flows))


_HEADINGS = {
    "base_rtt_s": ("base round trip [ms]", 1e3),
    "flows": ("flows", 1.0),
    "capacity_pps": ("rate of the link [packets/s]", 1.0),
}


def draw_map(
    over: StabilityMap,
    folder: str | os.PathLike[str],
    *,
    title: str = "stability",
    here: tuple[float, float] | None = None,
) -> Path:
    """Gain margin over two quantities; the point is the present case."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    at = over.stability
    # A loop that never crosses the axis has any margin; without an equilibrium there is none.
    margins = np.where(np.isnan(at.gain_margin), _PLANE, at.gain_margin)
    margins = np.where(at.exists, margins, np.nan)
    (tall, tall_scale), (wide, wide_scale) = (_HEADINGS[name] for name in over.names)
    rows, columns = over.axes[0] * tall_scale, over.axes[1] * wide_scale
    figure, axes = new_figure(height=5.5)
    levels = (0.0, 0.5, 1.0, 2.0, np.inf)
    shades = ("#b35806", "#fdb863", "#d8daeb", "#8073ac")
    shown = np.minimum(margins, 1e6)
    axes.contourf(columns, rows, shown, levels=(*levels[:-1], 1e7), colors=shades)
    axes.contour(columns, rows, margins, levels=(1.0,), colors=INK)
    if here:
        axes.plot([here[1] * wide_scale], [here[0] * tall_scale], "o", color=INK)
    axes.set(xscale="log", yscale="log", xlabel=wide, ylabel=tall)
    _plain(axes)
    below = "gain margin below 0.5, below 1 (line), below 2, above; the point is the scenario"
    subtitle(axes, title, below)
    return write(figure, folder / "stability-map.png")


def draw_course(
    trajectory: Trajectory, folder: str | os.PathLike[str], *, title: str = "fluid"
) -> list[Path]:
    """Queues and windows in the beginning, and the second half's spectrum of what swings most."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = new_figure(height=4.5)
    for number, queue in enumerate(trajectory.queues):
        axes.plot(trajectory.time_s, queue, color=COLOURS[0], alpha=1 / (number + 1))
    axes.set(xlabel="time [s]", ylabel="queue [packets]", xlim=(0, _SHOWN_S), ylim=(0, None))
    axes.yaxis.label.set_color(COLOURS[0])
    windows = axes.twinx()
    for number, window in enumerate(trajectory.window_packets):
        shown = look(number + 1)
        windows.plot(trajectory.time_s, window, color=shown.colour, linestyle=shown.dashes)
    windows.set(ylabel="windows [packets]", ylim=(0, None))
    windows.grid(visible=False)
    subtitle(axes, title, "queue (left), and window of a flow of each group (right), from cold")
    return [write(figure, folder / "fluid.png"), _spectrum(trajectory, title, folder)]


def _spectrum(trajectory: Trajectory, title: str, folder: Path) -> Path:
    from scipy import signal

    later = trajectory.after(float(trajectory.time_s[-1]) / 2)
    step_s = later.time_s[1] - later.time_s[0]
    longest = max(later.queues, key=np.ptp)
    swing = longest - longest.mean()
    frequencies, power = signal.periodogram(swing, 1 / step_s, window="hann")
    figure, axes = new_figure(height=4.0)
    axes.semilogx(frequencies[1:], np.sqrt(power[1:]), color=COLOURS[0])
    axes.set(xlabel="frequency [Hz]", ylabel="packets/√Hz", xlim=(0.02, 20))
    _plain(axes)
    subtitle(axes, title, "spectrum of the queue's swing in the second half")
    return write(figure, folder / "spectrum.png")


def _plain(axes: Axes) -> None:
    """Powers of ten as people write them."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.set_minor_formatter(lambda _value, _place: "")
