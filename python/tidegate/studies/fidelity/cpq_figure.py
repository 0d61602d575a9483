"""RED and the policers: how evenly, how full, and throughput by group over the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.figures.look import COLOURS, INK, STYLE, write
from tidegate.results.statistics import band95
from tidegate.studies.fidelity.cases import LINUX, SIMULATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.studies.fidelity.cases import Record

SIDES = {LINUX: ("real Linux", "o", -0.12), SIMULATED: ("simulator", "s", 0.12)}
"""Label, marker and place beside the name."""
COLUMNS = 4


def draw(records: Sequence[Record], paper: Mapping[str, Mapping[str, float]], path: Path) -> Path:
    """Draw and write; `paper` has what is printed there, by mechanism and metric."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = -(-len(records) // COLUMNS)
    with rc_context({**STYLE, "font.size": 10, "axes.titlesize": 11}):
        figure = Figure(figsize=(12.0, 3.4 + 2.1 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, 1, height_ratios=(3.4, 2.1 * rows))
        above, below = (figure.add_subfigure(grid[number]) for number in (0, 1))
        for axes, metric, name in zip(
            above.subplots(1, 2), ("jain", "utilization"), ("Jain's index", "utilisation"),
            strict=True,
        ):  # fmt: skip
            _means(axes, records, metric, paper)
            axes.set_title(name)
        panels = below.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).flat
        for axes, record in zip(panels, records, strict=False):
            _course(axes, record)
        for axes in list(panels)[len(records) :]:
            axes.set_axis_off()
        below.supxlabel("time since the start of the run [s]", fontsize=10)
        below.supylabel("throughput [Mb/s]", fontsize=10)
        return write(figure, path)


def by_interval(record: Record, side: str, metric: str) -> NDArray[np.float64]:
    """Valid runs x parts of the measurement; empty without any."""
    kept = [run for run in record.runs(side) if run.get("valid", True)]
    name = f"{metric}.by_interval"
    return np.array([run[name] for run in kept if name in run], dtype=float)


def _means(
    axes: Axes,
    records: Sequence[Record],
    metric: str,
    paper: Mapping[str, Mapping[str, float]],
) -> None:
    names = [record.case.title for record in records]
    places = np.arange(len(names))
    for number, (side, (label, marker, shift)) in enumerate(SIDES.items()):
        found = [record.estimate(side, metric) for record in records]
        axes.errorbar(
            places + shift, [each.mean for each in found],
            yerr=np.nan_to_num([each.ci95 for each in found]), fmt=marker, label=label,
            color=COLOURS[number], capsize=3, markersize=5,
        )  # fmt: skip
    printed = [paper.get(name, {}).get(metric, np.nan) for name in names]
    axes.plot(places, printed, "_", color=INK, markersize=16, label="paper (5,000 s)")
    axes.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_ylim(top=1.03)
    axes.legend(fontsize=9)


def _course(axes: Axes, record: Record) -> None:
    """Throughput of both customers, part by part."""
    scenario = record.case.scenario
    for number, customer in enumerate(("heavy", "light")):
        for side, (label, marker, _) in SIDES.items():
            rates = by_interval(record, side, f"throughput_bps.{customer}") / 1e6
            if not len(rates):
                continue
            length = scenario.duration_s / rates.shape[1]
            middle = scenario.warm_up_s + length * (np.arange(rates.shape[1]) + 0.5)
            mean, half = band95(rates)
            style = "-" if side == LINUX else "--"
            axes.plot(
                middle, mean, style, marker=marker, markersize=3, color=COLOURS[3 - number],
                label=f"{customer}, {label}",
            )  # fmt: skip
            axes.fill_between(
                middle, mean - half, mean + half, color=COLOURS[3 - number], alpha=0.12, linewidth=0
            )
    axes.set_title(record.case.title)
    axes.set_ylim(0.0, 10.5)
    if record.case.title == "RED":
        axes.legend(fontsize=7, loc="center right")
