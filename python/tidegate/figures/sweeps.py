"""Figures of sweeps: a metric over a swept key, a figure per group or link."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from tidegate.errors import ResultError, UsageError
from tidegate.figures.look import averaged, file_name, look, new_figure, subtitle, write
from tidegate.figures.output import drawing, figure_of
from tidegate.figures.quantity import kind_of, shown
from tidegate.results.show import rate_unit
from tidegate.runs.swept_values import distinct_words, quantities, words

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.figures.output import Output
    from tidegate.results.summary import Row
    from tidegate.runs.sweeps import Point, Sweep

LABEL_CHARACTERS = 30
NEAR = 0.05
"""Ticks that are closer to the last one, in parts of the axis, would be printed over it."""

MOST_OWN_TICKS = 12
"""So few values are the ticks of their axis themselves."""
_DECADES_TO_ZERO = 0.5
"""On an axis of powers of ten, 0 stands so far below the least number above it."""


@dataclass(frozen=True)
class Across:
    """The key that a figure is drawn over."""

    key: str
    label: str
    places: dict[str, float]
    """By value, in words, where it stands."""
    names: list[str] | None
    """What stands at the places of names; numbers have a scale."""


def draw_sweep(sweep: Sweep, folder: Path, output: Output | None = None) -> list[Path]:
    """Draw the throughput of each group over the key with most values."""
    check_axes(sweep)
    found = measured(sweep, "throughput_bps")
    if not any(by_group for _, by_group in found):
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with drawing(output) as files:
            for group in sweep.scenario.groups:
                axes = over_key(sweep, "throughput_bps", group, found)
                write(figure_of(axes), folder / f"sweep-{file_name(group)}.png")
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error
    return files


def check_axes(sweep: Sweep) -> None:
    """Refuse a sweep without keys to draw over."""
    if not sweep.axes:
        raise UsageError("a sweep of one point has no axis to draw over")


def measured(sweep: Sweep, metric: str) -> list[tuple[Point, dict[str, Row]]]:
    """Each point with its rows of a metric, by group or link."""
    kind = kind_of(metric)
    return [
        (point, {r.name: r for r in point.summary() if (r.kind, r.metric) == (kind, metric)})
        for point in sweep.points
    ]


def over_key(
    sweep: Sweep, metric: str, name: str, found: list[tuple[Point, dict[str, Row]]]
) -> Axes:
    """Draw a metric of a group or link over the key with most values.

    The other keys tell the lines apart. Categories are points with names, and no line joins them.
    """
    across = _main_axis(sweep)
    rows = [(point, by[name]) for point, by in found if name in by and by[name].runs]
    drawn = shown(metric, max((row.mean for _, row in rows), default=0.0))
    lines = _lines(sweep, across, rows)
    if across.names is None:
        _, axes = new_figure(height=4.2)
        _over_numbers(axes, across, lines, drawn.scale)
        axes.set_ylabel(drawn.axis)
    else:
        tall = len(across.names) * max(0.42, 0.16 * len(lines)) + 0.12 * _breaks(across.names)
        _, axes = new_figure(height=1.7 + tall)
        _over_names(axes, across, lines, drawn.scale)
        axes.set_xlabel(drawn.axis)
    runs = max(row.runs for _, row in rows) if rows else 0
    subtitle(axes, f"{name}: {drawn.label}", f"{sweep.scenario.name}: {averaged(runs)}")
    others = [key for key in sweep.axes if key != across.key]
    if others:
        title = textwrap.fill(", ".join(short_keys(others)), LABEL_CHARACTERS)
        axes.figure.legend(title=title, loc="outside right upper", alignment="left", fontsize=9.5)
    return axes


def _lines(
    sweep: Sweep, across: Across, shown: list[tuple[Point, Row]]
) -> dict[str, list[tuple[float, Row]]]:
    """By what the other keys are, the places and values."""
    others = [key for key in sweep.axes if key != across.key]
    named = {key: level_names(sweep, key) for key in others}
    lines: dict[str, list[tuple[float, Row]]] = {}
    for point, row in shown:
        values = {key: words(value) for key, value in point.values.items()}
        label = textwrap.fill(
            ", ".join(named[key][values[key]] for key in others), LABEL_CHARACTERS
        )
        lines.setdefault(label, []).append((across.places[values[across.key]], row))
    return lines


def _over_numbers(
    axes: Axes, across: Across, lines: dict[str, list[tuple[float, Row]]], scale: float
) -> None:
    for number, (label, line) in enumerate(lines.items()):
        drawn = look(number)
        ordered = sorted(line, key=lambda at: at[0])
        axes.errorbar(
            [x for x, _ in ordered], [row.mean * scale for _, row in ordered],
            yerr=np.nan_to_num([row.ci95 * scale for _, row in ordered]), label=label, capsize=3,
            color=drawn.colour, marker=drawn.marker, linestyle=drawn.dashes, markersize=5,
        )  # fmt: skip
    _scale(axes, sorted(set(across.places.values())))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(across.label)


def _over_names(
    axes: Axes, across: Across, lines: dict[str, list[tuple[float, Row]]], scale: float
) -> None:
    """Names stand one below the other, where long ones can be read; nothing is between them."""
    for number, (label, line) in enumerate(lines.items()):
        drawn = look(number)
        beside = (number - (len(lines) - 1) / 2) * 0.6 / len(lines)
        axes.errorbar(
            [row.mean * scale for _, row in line], [y + beside for y, _ in line],
            xerr=np.nan_to_num([row.ci95 * scale for _, row in line]), label=label, capsize=3,
            color=drawn.colour, marker=drawn.marker, linestyle="none", markersize=5.5,
        )  # fmt: skip
    axes.set_yticks(range(len(across.names or [])), across.names or [])
    axes.set_ylim(len(across.names or []) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    for between in range(1, len(across.names or [])):
        axes.axhline(between - 0.5, color="#dddddd", linewidth=0.8)
    axes.set_xlim(left=0.0)
    axes.annotate(
        textwrap.fill(across.label, LABEL_CHARACTERS), (0, 1), (-8, 7), ha="right", fontsize=9.5,
        xycoords="axes fraction", textcoords="offset points", color="#666666",
    )  # fmt: skip


def _main_axis(sweep: Sweep) -> Across:
    """The key with most values, and numbers rather than names."""
    axes = [across_key(sweep, key) for key in sweep.axes]
    return max(axes, key=lambda one: (one.names is None, len(one.places)))


def across_key(sweep: Sweep, key: str) -> Across:
    """Return where the values of a key stand on an axis, and what they are called."""
    values = _values(sweep, key)
    shown = [words(value) for value in values]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        numbers = [float(str(value)) for value in values]
        return Across(key, key, dict(zip(shown, numbers, strict=True)), None)
    dimension, amounts = quantities(values)
    known = [amount for amount in amounts if amount is not None]
    if dimension and len(known) == len(values):
        unit, scale = _unit(dimension, max(known))
        places = {text: amount * scale for text, amount in zip(shown, known, strict=True)}
        return Across(key, f"{key} [{unit}]", places, None)
    names = [textwrap.fill(name, LABEL_CHARACTERS) for name in distinct_words(values)]
    return Across(key, key, {text: float(at) for at, text in enumerate(shown)}, names)


def _values(sweep: Sweep, key: str) -> list[object]:
    """Each value once, in the file's order."""
    every = (point.values[key] for point in sweep.points if key in point.values)
    return list({words(value): value for value in every}.values())


def level_names(sweep: Sweep, key: str) -> dict[str, str]:
    """What to call each value in a legend, by the value in words."""
    values = _values(sweep, key)
    return dict(zip(map(words, values), distinct_words(values), strict=True))


def _unit(dimension: str, largest: float) -> tuple[str, float]:
    """Give the unit in which an axis is easiest to read, and its factor."""
    if dimension == "bps":
        return rate_unit(largest)
    if dimension == "packets":
        return "packets", 1.0
    base, steps = {
        "s": ("s", (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))),
        "bytes": ("B", (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))),
    }[dimension]
    return next(((unit, 1 / size) for unit, size in steps if largest >= size), (base, 1.0))


def short_keys(keys: list[str]) -> list[str]:
    """The last parts of dotted keys, where they tell them apart."""
    last = [key.removesuffix(".kind").rpartition(".")[2] for key in keys]
    return last if len(set(last)) == len(keys) else keys


def _breaks(names: list[str]) -> int:
    return sum(name.count("\n") for name in names)


def _scale(axes: Axes, values: list[float]) -> None:
    """Spread out numbers of different magnitude, and label those that were simulated."""
    at = np.array(values)
    least = min((value for value in values if value > 0), default=0.0)
    if values[0] >= 0 and values[-1] >= 10 * least > 0:
        if values[0] > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=least, linscale=_DECADES_TO_ZERO)
        at = np.log10(np.maximum(at, least / 10**_DECADES_TO_ZERO))
    elif len(values) > MOST_OWN_TICKS:
        return
    ticks = [0]
    for number in range(1, len(at)):
        if at[number] - at[ticks[-1]] >= NEAR * (at[-1] - at[0]):
            ticks.append(number)
    axes.xaxis.set_major_locator(FixedLocator([values[number] for number in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
