"""Results in one figure: throughput by group, each over time, and the difference.

A colour is a group or a link, in all four parts alike; fill and dashes tell the results apart.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tidegate.errors import ResultError
from tidegate.figures.look import COLOURS, INK, write
from tidegate.figures.output import drawing
from tidegate.figures.plots import ENOUGH_RUNS
from tidegate.results.show import rate_unit, variant_labels
from tidegate.results.statistics import band95, estimate
from tidegate.results.summary import by_name
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.figures.output import Output
    from tidegate.results.comparing import Difference, SideBySide
    from tidegate.results.result import Result

DASHES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "..", "xx", "++", "oo")
"""Of the first result, the second and so on, and then from the first again."""
LABEL_CHARACTERS = 40
MOST_GROUPS = 4
MOST_STEPS = 60
"""Groups beyond these would only cover one another, and so would more steps in time."""
GROUP_COLOURS = COLOURS[:MOST_GROUPS]
LINK_COLOURS = (INK, *COLOURS[MOST_GROUPS:])
OTHERS = "#999999"
"""Of groups and links that are not shown over time."""
FARTHEST = 150.0
"""Per cent that the axis of differences reaches at most; what lies beyond is marked at its end."""
WORDS = {
    "throughput_bps": "throughput", "ratio_to_first": "ratio to first group",
    "loss_ratio": "loss", "mark_ratio": "marks", "p95_queueing_delay_s": "p95 queueing delay",
    "mos": "MOS", "mean_completion_s": "FCT", "p99_completion_s": "p99 FCT",
    "mean_slowdown": "slowdown", "transfers_unfinished": "unfinished",
    "utilization": "utilisation", "mean_backlog_packets": "mean queue",
    "mean_sojourn_s": "mean delay", "p95_sojourn_s": "p95 sojourn time", "drop_ratio": "drops",
    "marks": "marks", "blocking": "blocked", "calls": "calls", "set_up_s": "set-up time",
    "target_rate_bps": "target rate", "quality": "quality", "price": "price",
}  # fmt: skip


def draw(both: SideBySide, folder: Path, output: Output | None = None) -> list[Path]:
    """Draw; return the file in each format."""
    rows = [row for row in both.differences if not np.isnan(row.relative) and row.metric in WORDS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with drawing(output) as files:
            if len(both.results) > 2:
                from tidegate.figures.several import several

                write(several(both), folder / "compare.png")
                return files
            figure = Figure(figsize=(13.0, max(8.0, 4.4 + 0.27 * len(rows))), layout="constrained")
            FigureCanvasAgg(figure)
            ((who, change), (rates, queues)) = figure.subplots(2, 2)
            colours = _colours(both)
            _bars(who, both, colours)
            _changes(change, both, rows, colours)
            _throughput(rates, both, colours)
            _queue(queues, both, colours)
            _sides(figure, both)
            write(figure, folder / "compare.png")
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error
    return files


def _colours(both: SideBySide) -> dict[tuple[str, str], str]:
    """The colour of each group and each link, by kind and name."""
    groups = [row.name for row in both.differences if row.metric == "throughput_bps"]
    links = [row.name for row in both.differences if row.kind == "link"]
    links += [name for r in both.results.values() for name, _, _ in r.scenario.bottlenecks]
    found = {}
    for kind, names, colours in (("group", groups, GROUP_COLOURS), ("link", links, LINK_COLOURS)):
        for number, name in enumerate(dict.fromkeys(names)):
            found[kind, name] = colours[number] if number < len(colours) else OTHERS
    found |= {("application", name): colour for (kind, name), colour in found.items()
              if kind == "group"}  # fmt: skip
    return found


def _sides(figure: Figure, both: SideBySide) -> None:
    """Which fill and which dashes belong to which result."""
    handles: Any = [
        (_patch(side), Line2D([], [], color=INK, linestyle=_dashes(side)))
        for side in range(len(both.results))
    ]
    labels = [textwrap.fill(name, LABEL_CHARACTERS) for name in variant_labels(both.results)]
    figure.legend(
        handles, labels, loc="outside upper right", ncols=2,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.4)}, handlelength=4.5,
    )  # fmt: skip


def _patch(side: int) -> Patch:
    return Patch(facecolor=_fill(OTHERS, side), edgecolor=INK, hatch=_hatch(side), linewidth=0.8)


def _dashes(side: int) -> Any:  # noqa: ANN401 - a text, or lengths
    return DASHES[side % len(DASHES)]


def _hatch(side: int) -> str:
    return HATCHES[side % len(HATCHES)]


def _fill(colour: str, side: int) -> tuple[float, float, float, float]:
    """Full for the first side, pale for the others, which are hatched besides."""
    return to_rgba(colour, 0.35 if side else 1.0)


def _bars(axes: Axes, both: SideBySide, colours: Mapping[tuple[str, str], str]) -> None:
    """Throughput per user of every group."""
    found = [row for row in both.differences if row.metric == "throughput_bps"]
    unit, scale = rate_unit(max((max(row.a.mean, row.b.mean) for row in found), default=0.0))
    names = list(dict.fromkeys(row.name for row in found))
    count = len(both.results)
    for side in range(count):
        # The first is in every row, the others in their own.
        values = {row.name: row.b if side else row.a for row in found if side in (0, row.side)}
        own = [colours["group", name] for name in values]
        axes.barh(
            [names.index(name) + (side - (count - 1) / 2) * 0.8 / count for name in values],
            [value.mean * scale for value in values.values()], 0.74 / count,
            xerr=np.nan_to_num([value.ci95 * scale for value in values.values()]),
            color=[_fill(colour, side) for colour in own], edgecolor=own, linewidth=0.8,
            hatch=_hatch(side), error_kw={"ecolor": INK, "capsize": 3, "elinewidth": 1.2},
        )  # fmt: skip
    axes.set_yticks(np.arange(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput per user [{unit}]")
    axes.set_title("Throughput by group")


def _changes(
    axes: Axes, both: SideBySide, rows: list[Difference], colours: Mapping[tuple[str, str], str]
) -> None:
    """How far the others are from the first, in per cent of it."""
    first, *others = variant_labels(both.results)
    size = np.array([100 * row.relative for row in rows])
    half = np.nan_to_num([100 * row.relative_ci95 for row in rows])
    end = 1.1 * min(float(np.max(np.abs(size) + half, initial=10.0)), FARTHEST)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for place, (row, mean, spread) in enumerate(zip(rows, size, half, strict=True)):
        colour = colours[row.kind, row.name]
        if abs(mean) > end:
            _beyond(axes, place, mean, end, colour)
            continue
        axes.errorbar(mean, place, xerr=spread, fmt="o", color=colour, capsize=3, markersize=5)
        for side in (-1, 1):
            if side * mean + spread > end:  # the interval goes on
                axes.plot(
                    0.985 * side * end, place, marker=_arrow(side), color=colour, markersize=6,
                    markerfacecolor="white", clip_on=False, zorder=4,
                )  # fmt: skip
    of = {
        side: "" if len(others) == 1 else f" ({others[side - 1]})"
        for side in range(1, 1 + len(others))
    }
    labels = [f"{row.name}: {WORDS.get(row.metric, row.metric)}{of[row.side]}" for row in rows]
    axes.set_yticks(np.arange(len(rows)), labels)
    axes.invert_yaxis()
    axes.set_xlim(-end, end)
    paired = all(both.is_paired(side) for side in range(1, len(both.results)))
    kind = "of paired runs" if paired else "(Welch)"
    what = f"{', '.join(others)} against {first} [%], 95 % confidence {kind}"
    axes.set_xlabel(textwrap.fill(what, 60))
    axes.set_title("Difference")


def _beyond(axes: Axes, place: int, mean: float, end: float, colour: str) -> None:
    """A point that the axis does not reach: an arrow at its end, with the number."""
    side = 1 if mean > 0 else -1
    axes.plot(
        0.97 * side * end, place, marker=_arrow(side), color=colour, markersize=8, clip_on=False
    )
    axes.annotate(
        f"{mean:+.0f} %", (0.97 * side * end, place), (-9 * side, 0), fontsize=9,
        textcoords="offset points", ha="right" if side > 0 else "left", va="center",
    )  # fmt: skip


def _arrow(side: int) -> str:
    return ">" if side > 0 else "<"


def _throughput(axes: Axes, both: SideBySide, colours: Mapping[tuple[str, str], str]) -> None:
    """Throughput per user over time; the line's dashes tell the sides apart."""
    shown = [
        (side, group, time, values)
        for side, result in enumerate(both.results.values())
        for group, time, values in group_curves(result)
        if colours.get(("group", group), OTHERS) != OTHERS
    ]
    unit, scale = rate_unit(max((values.mean(axis=0).max() for *_, values in shown), default=0.0))
    for side, group, time, values in shown:
        _line(axes, time, values * scale, colours["group", group], side)
    names = list(dict.fromkeys(group for _, group, _, _ in shown))
    _legend(axes, {name: colours["group", name] for name in names})
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"throughput per user [{unit}]")
    axes.set_title("Over time")


def _queue(axes: Axes, both: SideBySide, colours: Mapping[tuple[str, str], str]) -> None:
    """How long a packet that arrives waits behind the backlog, over time."""
    shown: dict[str, str] = {}
    for side, result in enumerate(both.results.values()):
        for link, time, delay in queue_curves(result):
            colour = colours.get(("link", link), OTHERS)
            if colour != OTHERS:
                shown[link] = colour
                _line(axes, time, delay, colour, side)
    _legend(axes, shown)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("backlog over rate [ms]")
    axes.set_title("Queueing delay")


def queue_curves(
    result: Result,
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Each bottleneck's backlog over its rate, ms: times, and values as replications x times."""
    kept = result.averaged
    rates = {name: rate_bps for name, rate_bps, _ in result.scenario.bottlenecks}
    for link, part in by_name(kept.link_series, "link"):
        time, backlog = _over_time(part, "backlog_bytes", kept.replications)
        yield link, time, backlog * 8e3 / rates[link]


def group_curves(
    result: Result,
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Each group's throughput per user, bit/s: times, and values as replications x times."""
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
    if len(values) >= ENOUGH_RUNS:
        low = np.maximum(mean - half, 0.0)
        axes.fill_between(time, low, mean + half, color=colour, alpha=0.15, linewidth=0)
    axes.plot(time, mean, color=colour, linestyle=_dashes(side), linewidth=1.3)


def _legend(axes: Axes, colours: Mapping[str, str]) -> None:
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0)
    if colours:
        handles = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
        axes.legend(handles=handles, fontsize=9)
    else:
        axes.annotate("no time series", (0.5, 0.5), xycoords="axes fraction", ha="center")
