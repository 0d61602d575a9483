"""Two results in one figure: who got what, each over time, and by how much they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tidegate.errors import ResultError
from tidegate.figures import COLOURS, INK, STYLE, write
from tidegate.show import rate_unit
from tidegate.statistics import band95, estimate
from tidegate.summary import by_name
from tidegate.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.comparing import Difference, SideBySide
    from tidegate.result import Result

SIDES: tuple[Literal["-"], Literal["--"]] = ("-", "--")
MOST_LINES = 4
MOST_STEPS = 60
"""Groups beyond these would only cover one another, and so would more steps in time."""
WORDS = {
    "throughput_bps": "throughput", "ratio_to_first": "ratio to first group",
    "loss_ratio": "loss", "mark_ratio": "marks", "mean_completion_s": "transfer time",
    "utilization": "utilisation", "mean_backlog_packets": "mean queue",
    "mean_sojourn_s": "mean delay", "p95_sojourn_s": "95 % delay", "drop_ratio": "drops",
    "marks": "marks",
}  # fmt: skip


def draw(both: SideBySide, folder: Path) -> list[Path]:
    """Draw; return the file."""
    rows = [row for row in both.differences if not np.isnan(row.relative) and row.metric in WORDS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            figure = Figure(figsize=(13.0, max(8.0, 4.4 + 0.27 * len(rows))), layout="constrained")
            FigureCanvasAgg(figure)
            ((who, change), (rates, queues)) = figure.subplots(2, 2)
            _bars(who, both)
            _changes(change, both, rows)
            _throughput(rates, both)
            _queue(queues, both)
            return [write(figure, folder / "compare.png")]
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error


def _bars(axes: Axes, both: SideBySide) -> None:
    """Throughput per user of every group."""
    found = [row for row in both.differences if row.metric == "throughput_bps"]
    unit, scale = rate_unit(max((max(row.a.mean, row.b.mean) for row in found), default=0.0))
    places = np.arange(len(found))
    for number, name in enumerate(both.results):
        values = [(row.a, row.b)[number] for row in found]
        means = np.array([value.mean * scale for value in values])
        half = np.nan_to_num([value.ci95 * scale for value in values])
        axes.barh(
            places + (number - 0.5) * 0.4, means, 0.37, xerr=half, color=COLOURS[number],
            label=name, error_kw={"ecolor": INK, "capsize": 3, "elinewidth": 1.2},
        )  # fmt: skip
    axes.set_yticks(places, [row.name for row in found])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput per user [{unit}]")
    axes.set_title("Who got what")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2)


def _changes(axes: Axes, both: SideBySide, rows: list[Difference]) -> None:
    """How far the second is from the first, in per cent of it."""
    first, second = both.results
    places = np.arange(len(rows))
    size = np.array([100 * row.relative for row in rows])
    half = np.nan_to_num([100 * row.relative_ci95 for row in rows])
    axes.axvline(0.0, color=INK, linewidth=1.0)
    axes.errorbar(size, places, xerr=half, fmt="o", color=INK, capsize=3, markersize=5)
    axes.set_yticks(places, [f"{row.name}: {WORDS.get(row.metric, row.metric)}" for row in rows])
    axes.invert_yaxis()
    largest = float(np.max(np.abs(size) + half, initial=10.0))
    axes.set_xlim(-min(largest, 150.0) * 1.1, min(largest, 150.0) * 1.1)
    axes.set_xlabel(f"{second} against {first} [%], 95 % confidence (Welch)")
    axes.set_title("Difference")


def _throughput(axes: Axes, both: SideBySide) -> None:
    """Throughput per user over time; the line's dashes tell the sides apart."""
    shown = [
        (side, group, time, values)
        for side, result in enumerate(both.results.values())
        for group, time, values in _group_curves(result)
    ]
    names = list(dict.fromkeys(group for _, group, _, _ in shown))[:MOST_LINES]
    unit, scale = rate_unit(max((values.mean(axis=0).max() for *_, values in shown), default=0.0))
    for side, group, time, values in shown:
        if group in names:
            _line(axes, time, values * scale, COLOURS[names.index(group)], side)
    _legend(axes, both, names)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"throughput per user [{unit}]")
    axes.set_title("Over time")


def _queue(axes: Axes, both: SideBySide) -> None:
    """How long a packet that arrives waits behind the backlog, over time."""
    names: list[str] = []
    alone = all(len(result.scenario.bottlenecks) == 1 for result in both.results.values())
    for side, result in enumerate(both.results.values()):
        kept = result.averaged
        rates = {name: rate_bps for name, rate_bps, _ in result.scenario.bottlenecks}
        for link, part in by_name(kept.link_series, "link"):
            if link not in names and len(names) == MOST_LINES:
                continue
            names += [] if link in names else [link]
            time, backlog = _over_time(part, "backlog_bytes", kept.replications)
            delay_ms = backlog * 8e3 / rates[link]
            _line(axes, time, delay_ms, COLOURS[side if alone else names.index(link)], side)
    if not alone or not names:
        _legend(axes, both, names)
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("backlog over rate [ms]")
    axes.set_title("Queueing delay")


def _group_curves(
    result: Result,
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    kept = result.averaged
    users = {
        name: estimate(numbers(part, "users")).mean for name, part in by_name(kept.groups, "group")
    }
    for group, part in by_name(kept.group_series, "group"):
        time, values = _over_time(part, "throughput_bps", kept.replications)
        yield group, time, values / max(users[group], 1.0)


def _over_time(
    series: pa.Table, column: str, replications: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, and the column as replications x times, as means over a few samples where many."""
    every = len(numbers(series, "time_s")) // replications
    step = -(-every // MOST_STEPS)
    steps = every // step
    time = numbers(series, "time_s")[: steps * step].reshape(steps, step)
    values = numbers(series, column).reshape(replications, every)[:, : steps * step]
    return time.mean(axis=1), values.reshape(replications, steps, step).mean(axis=2)


def _line(
    axes: Axes, time: NDArray[np.float64], values: NDArray[np.float64], colour: str, side: int
) -> None:
    mean, half = band95(values)
    low = np.maximum(mean - half, 0.0)
    axes.fill_between(time, low, mean + half, color=colour, alpha=0.15, linewidth=0)
    axes.plot(time, mean, color=colour, linestyle=SIDES[side], linewidth=1.3)


def _legend(axes: Axes, both: SideBySide, names: list[str]) -> None:
    handles = [Line2D([], [], color=COLOURS[n], label=name) for n, name in enumerate(names)]
    handles += [
        Line2D([], [], color=INK, linestyle=SIDES[side], label=name)
        for side, name in enumerate(both.results)
    ]
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0)
    if names:
        axes.legend(handles=handles, fontsize=9)
    else:
        axes.annotate("no time series", (0.5, 0.5), xycoords="axes fraction", ha="center")
