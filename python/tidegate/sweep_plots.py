"""Figures of sweeps: throughput per user over a swept key, a figure per group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from tidegate.errors import ResultError, UsageError
from tidegate.figures import (
    COLOURS,
    DASHES,
    STYLE,
    averaged,
    file_name,
    new_figure,
    subtitle,
    write,
)
from tidegate.show import plain, rate_unit
from tidegate.summary import rows

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.summary import Row
    from tidegate.sweeping import Point, Sweep

MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_sweep(sweep: Sweep, folder: Path) -> list[Path]:
    """Draw each group over the key with most values; the other keys tell the lines apart."""
    if not sweep.axes:
        raise UsageError("a sweep of one point has no axis to draw over")
    found = [
        (point, {r.name: r for r in rows(result.tables) if r.metric == "throughput_bps"})
        for point, result in sweep.results()
    ]
    across = _main_axis(sweep)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            groups = sweep.scenario.groups
            return [_figure(sweep, across, group, found, folder) for group in groups]
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error


def _figure(
    sweep: Sweep, across: str, group: str, found: list[tuple[Point, dict[str, Row]]], folder: Path
) -> Path:
    figure, axes = new_figure(height=4.2)
    unit, scale = rate_unit(max((by[group].mean for _, by in found if group in by), default=0.0))
    lines: dict[str, list[tuple[str, Row]]] = {}
    for point, by_group in found:
        if group in by_group:
            values = {key: plain(value) for key, value in point.settings}
            label = ", ".join(values[key] for key in sweep.axes if key != across)
            lines.setdefault(label, []).append((values[across], by_group[group]))
    ticks = list(dict.fromkeys(text for line in lines.values() for text, _ in line))
    places = _places(ticks)
    for number, (label, line) in enumerate(lines.items()):
        x = [places[text] for text, _ in line]
        half = np.nan_to_num([row.ci95 * scale for _, row in line])
        axes.errorbar(
            x, [row.mean * scale for _, row in line], yerr=half, label=label, capsize=3,
            color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
            linestyle=DASHES[number % len(DASHES)], markersize=5,
        )  # fmt: skip
    _scale(axes, ticks, places)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(across)
    axes.set_ylabel(f"throughput per user [{unit}]")
    subtitle(
        axes,
        f"{group}: throughput per user",
        f"{sweep.scenario.name}: {averaged(len(sweep.points[0].seeds))}",
    )
    others = [key.rpartition(".")[2] for key in sweep.axes if key != across]
    if others:
        figure.legend(title=", ".join(others), loc="outside right upper", alignment="left")
    return write(figure, folder / f"sweep-{file_name(group)}.png")


def _main_axis(sweep: Sweep) -> str:
    """The key with most values, and numbers rather than names."""

    def rank(key: str) -> tuple[bool, int]:
        values = {dict(point.settings).get(key, "") for point in sweep.points}
        return all(map(_is_number, values)), len(values)

    return max(sweep.axes, key=rank)


def _places(ticks: list[str]) -> dict[str, float]:
    """Numbers stand where they belong; anything else side by side, in the file's order."""
    if all(map(_is_number, ticks)):
        return {text: float(text) for text in ticks}
    return {text: float(number) for number, text in enumerate(ticks)}


def _scale(axes: Axes, ticks: list[str], places: dict[str, float]) -> None:
    """Label the values that were simulated; spread out numbers of different magnitude."""
    values = sorted(places.values())
    if not all(map(_is_number, ticks)):
        axes.set_xticks(values, ticks)
    elif values[0] > 0 and values[-1] / values[0] >= 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(values))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
