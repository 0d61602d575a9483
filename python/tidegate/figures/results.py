"""Figures of results: throughput and delay by group, each group and each queue over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.ticker import MaxNLocator

from tidegate.errors import ResultError
from tidegate.figures.delays import delays
from tidegate.figures.look import (
    COLOURS,
    INK,
    averaged,
    file_name,
    look,
    new_figure,
    plain_log_ticks,
    subtitle,
    write,
)
from tidegate.figures.output import drawing
from tidegate.figures.plots import APART, ENOUGH_RUNS
from tidegate.results.show import rate_unit, split_names
from tidegate.results.statistics import band95, estimate
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.figures.output import Output
    from tidegate.results.result import Result


_EXPECTED: dict[str, Any] = {"colors": INK, "linestyles": ":", "linewidth": 2.0, "zorder": 3}
"""How a prediction crosses a bar."""

_LONGEST_BESIDE = 24
"""Characters of a variant's name; where one is longer, the legend stands below the axes."""

HATCHES = ("", "//", "..", "xx", "--", "++")
"""Line styles that distinguish a repeated colour."""


Predicted: TypeAlias = "Mapping[str, Mapping[tuple[str, str, str], float]]"
"""What models predict, by variant, and by kind, name and metric of a summary's row."""


def draw(
    results: Mapping[str, Result],
    folder: Path,
    predicted: Predicted | None = None,
    output: Output | None = None,
) -> list[Path]:
    """Draw all figures of one result, or of variants in the same axes; return the files.

    What is predicted is drawn as a dotted line beside it.
    """
    expected = predicted or {}
    results = {name: result.averaged for name, result in results.items()}
    if not all(result.replications for result in results.values()):
        return []  # a lab in which the machine never kept up
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with drawing(output) as files:
            _bars(results, folder, expected)
            _delays(results, folder)
            _groups(results, folder)
            _queues(results, folder, expected)
            _completions(results, folder)
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error
    return files


def _bars(results: Mapping[str, Result], folder: Path, expected: Predicted) -> None:
    """Throughput per user of every group, with confidence intervals."""
    groups = _first(results).scenario.groups
    figure, axes = new_figure(height=1.7 + 0.42 * len(groups) * len(results))
    every = np.concatenate([numbers(r.groups, "throughput_bps") for r in results.values()])
    unit, scale = rate_unit(float(every.max(initial=0.0)))
    some = scale * every[every > 0.0]
    # Bars of groups that differ this much would be as good as nothing beside a long one.
    apart = bool(some.size) and some.max() >= APART * some.min()
    least = some.min() / 2 if apart else 0.0
    thick = 0.8 / len(results)
    labels_of = list(results)
    _, labels = split_names(list(results))
    places = np.arange(len(groups))
    for number, (label, result) in enumerate(zip(labels, results.values(), strict=True)):
        found = [
            estimate(numbers(_only(result.groups, "group", group), "throughput_bps") * scale)
            for group in groups
        ]
        at = places + (number - (len(results) - 1) / 2) * thick
        means = np.array([value.mean for value in found])
        half = np.array([value.ci95 for value in found])  # one run has none
        if apart:
            axes.errorbar(
                np.maximum(means, least), at, xerr=half, linestyle="none", markersize=7,
                marker=look(number).marker, color=look(number).colour, label=label, capsize=3,
                elinewidth=1.2,
            )  # fmt: skip
        else:
            axes.barh(
                at, means, thick * 0.92, xerr=half, color=look(number).colour, label=label,
                hatch=HATCHES[number // len(COLOURS) % len(HATCHES)], edgecolor="white",
                linewidth=0, error_kw={"ecolor": INK, "capsize": 3, "elinewidth": 1.2},
            )  # fmt: skip
        for y, group in zip(at, groups, strict=True):
            value = expected.get(labels_of[number], {}).get(("group", group, "throughput_bps"))
            if value is not None:
                axes.vlines(value * scale, y - thick / 2, y + thick / 2, **_EXPECTED)
        for y, mean, end in zip(at, means, means + np.nan_to_num(half), strict=True):
            axes.annotate(
                f"{mean:.3g}", (end, y), (5, 0), textcoords="offset points", va="center",
                fontsize=9.5,
            )  # fmt: skip
    axes.set_yticks(places, [_group_label(results, g) for g in groups])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"throughput per user [{unit}]")
    axes.margins(x=0.12)
    if apart:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    else:
        axes.set_xlim(left=0)
    _finish(axes, results, "Throughput by group")
    write(figure, folder / "who-got-what.png")


def _delays(results: Mapping[str, Result], folder: Path) -> None:
    """Queueing delay of every group."""
    groups = _first(results).scenario.groups
    _, labels = split_names(list(results))
    drawn = delays({name: one.groups for name, one in results.items()}, groups, labels)
    if drawn is None:
        return
    figure, axes = drawn
    shown = "lines from median to 99 % quantile, marks at 95 %"
    _finish(axes, results, "Queueing delay by group", shown)
    write(figure, folder / "delay.png")


def _groups(results: Mapping[str, Result], folder: Path) -> None:
    """Throughput per user over time, one figure per group."""
    for group in _first(results).scenario.groups:
        curves = {}
        for name, result in results.items():
            part = _only(result.group_series, "group", group)
            users = numbers(_only(result.groups, "group", group), "users")
            if part.num_rows and len(users):
                time, values = _over_time(part, "throughput_bps", result.replications)
                curves[name] = time, values / max(users[0], 1.0)
        if curves:
            unit, scale = rate_unit(max(v.mean(axis=0).max() for _, v in curves.values()))
            scaled = {name: (time, values * scale) for name, (time, values) in curves.items()}
            title = f"{group}: throughput per user over time"
            path = folder / f"group-{file_name(group)}.png"
            _lines(results, scaled, title, f"throughput per user [{unit}]", path)


def _queues(results: Mapping[str, Result], folder: Path, expected: Predicted) -> None:
    """Backlog over time, one figure per bottleneck."""
    for link, _, _ in _first(results).scenario.bottlenecks:
        curves = {}
        for name, result in results.items():
            part = _only(result.link_series, "link", link)
            if part.num_rows:
                curves[name] = _over_time(part, "backlog_packets", result.replications)
        if curves:
            path = folder / f"queue-{file_name(link)}.png"
            title = f"{link}: queue over time"
            key = ("link", link, "mean_backlog_packets")
            level = {name: values[key] for name, values in expected.items() if key in values}
            _lines(results, curves, title, "backlog [packets]", path, level)


def _completions(results: Mapping[str, Result], folder: Path) -> None:
    """Distribution of flow completion times, one figure per group with transfers."""
    for group in _first(results).scenario.groups:
        curves = {}
        for name, result in results.items():
            times = numbers(_only(result.transfers, "group", group), "completion_s")
            if (finished := np.sort(times[~np.isnan(times)])).size > 1:
                # Unfinished transfers count, so that a curve ends below 1 where there are any.
                curves[name] = finished, np.arange(1, finished.size + 1) / times.size
        if not curves:
            continue
        figure, axes = new_figure(height=4.2)
        _, labels = split_names(list(results))
        for number, (name, shown) in enumerate(zip(results, labels, strict=True)):
            if name in curves:
                drawn = look(number)
                axes.step(
                    *curves[name], where="post", color=drawn.colour, linestyle=drawn.dashes,
                    label=shown,
                )  # fmt: skip
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel("flow completion time [s]")
        axes.set_ylabel("share of transfers")
        _finish(axes, results, f"{group}: flow completion times", "transfers of all runs")
        write(figure, folder / f"completions-{file_name(group)}.png")


def _lines(
    results: Mapping[str, Result],
    curves: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    title: str,
    label: str,
    path: Path,
    expected: Mapping[str, float] | None = None,
) -> None:
    """Mean over replications, a line per variant, with a band of 95 % confidence or few runs."""
    figure, axes = new_figure(height=4.2)
    _, labels = split_names(list(results))
    for number, (name, shown) in enumerate(zip(results, labels, strict=True)):
        if name not in curves:
            continue
        time, values = curves[name]
        mean, half = band95(values)
        drawn = look(number)
        if len(values) >= ENOUGH_RUNS:
            low = np.maximum(mean - half, 0.0)
            axes.fill_between(time, low, mean + half, color=drawn.colour, alpha=0.22, linewidth=0)
        elif len(values) > 1:
            axes.plot(time, values.T, color=drawn.colour, alpha=0.35, linewidth=0.6)
        axes.plot(time, mean, color=drawn.colour, linestyle=drawn.dashes, label=shown)
        if expected and name in expected:
            axes.axhline(expected[name], color=drawn.colour, linestyle=":", linewidth=1.4)
    warm_up = _first(results).scenario.warm_up_s
    end = max(float(time[-1]) for time, _ in curves.values())
    axes.set_xlim(0.0, end)
    axes.set_ylim(bottom=0.0)
    if warm_up > 0.0:
        axes.axvspan(0.0, warm_up, color="#000000", alpha=0.06, linewidth=0)
        axes.annotate(
            "warm-up", (warm_up / 2, 0.99), xycoords=("data", "axes fraction"), ha="center",
            va="top", fontsize=9, color="#666666",
        )  # fmt: skip
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    _finish(axes, results, title)
    write(figure, path)


def _over_time(
    series: pa.Table, column: str, replications: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, and the column as replications x times."""
    time = numbers(series, "time_s")
    steps = len(time) // replications
    return time[:steps], numbers(series, column).reshape(replications, steps)


def _finish(
    axes: Axes, results: Mapping[str, Result], title: str, shown: str | None = None
) -> None:
    """Title, what is shown (default: means over runs), and a legend for several variants."""
    first = _first(results)
    shown = shown or averaged(first.replications)
    subtitle(axes, title, f"{first.scenario.name}: {shown}")
    if len(results) > 1:
        heading, labels = split_names(list(results))
        beside = max(map(len, labels)) <= _LONGEST_BESIDE
        axes.figure.legend(
            title=heading, loc="outside right upper" if beside else "outside lower center",
            alignment="left", title_fontsize=10,
        )  # fmt: skip


def _first(results: Mapping[str, Result]) -> Result:
    return next(iter(results.values()))


def _only(source: pa.Table, column: str, value: str) -> pa.Table:
    return source.filter(pc.equal(source[column].cast(pa.string()), value))


def _group_label(results: Mapping[str, Result], group: str) -> str:
    """The group, and who is in it where all variants agree on that."""
    sizes = {_size(result, group) for result in results.values()}
    return f"{group}\n{sizes.pop()}" if len(sizes) == 1 else group


def _size(result: Result, group: str) -> str:
    rows = _only(result.groups, "group", group)
    users, flows = (int(numbers(rows, name)[0]) for name in ("users", "flows"))
    of_each = flows // max(users, 1)
    return f"{users} user{'s' * (users != 1)} × {of_each} flow{'s' * (of_each != 1)}"
