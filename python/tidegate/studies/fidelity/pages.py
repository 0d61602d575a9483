"""What the pages share: where it ran, which runs are invalid, and their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tidegate.figures.look import COLOURS, DASHES, INK, STYLE, new_figure, write
from tidegate.studies.fidelity.cases import LINUX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.results.statistics import Estimate
    from tidegate.studies.fidelity.cases import Record

TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def about_the_runs(records: Sequence[Record]) -> dict[str, object]:
    """Parts that all pages have."""
    return {
        "runs": max(len(record.runs(LINUX)) for record in records),
        "place": place_and_time(records),
        "invalid": invalid_runs(records),
    }


def place_and_time(records: Sequence[Record]) -> str:
    """Where it was measured and how late the forwarder was."""
    sides = [record.sides[LINUX] for record in records if record.runs(LINUX)]
    if not sides:
        return "Not measured on Linux yet.\n"
    where = sorted({f"Linux {side.about['kernel']} on {side.about['machine']}" for side in sides})
    runs = [run for side in sides for run in side.runs if run.get("valid")]
    late = [run["lateness_p99_s"] for run in runs if run.get("lateness_p99_s") is not None]
    share = [run["cpu_share"] for run in runs if run.get("cpu_share") is not None]
    text = f"Measured with {'; '.join(where)}."
    if late and share:
        text += (
            f" In the valid runs 99 % of the packets left the forwarder within "
            f"{max(late) * 1e6:.0f} µs of their time, and it used at most "
            f"{100 * max(share):.0f} % of a core."
        )
    busy = [run["busy_share"] for run in runs if run.get("busy_share") is not None]
    if busy:
        least, most = (f"{100 * share:.0f}" for share in (min(busy), max(busy)))
        shares = most if least == most else f"{least} to {most}"
        text += f" The machine's processors were {shares} % busy, with whatever it was."
    return text + "\n"


def invalid_runs(records: Sequence[Record]) -> str:
    """Which runs do not count, and why."""
    every = [run for record in records for run in record.runs(LINUX)]
    lines = [
        f"- {record.case.name}, seed {run['seed']}: {run['reasons']}"
        for record in records for run in record.runs(LINUX) if not run.get("valid", True)
    ]  # fmt: skip
    if not every:
        return ""
    if not lines:
        return f"None of the {len(every)} runs on Linux was invalid.\n"
    head = f"{len(lines)} of {len(every)} runs on Linux are invalid and do not count:\n"
    return "\n".join([head, *lines]) + "\n"


def lines_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[Estimate]],
    x_label: str,
    y_label: str,
    path: Path,
    *,
    title: str,
) -> Path:
    """Lines with confidence intervals, on a logarithmic scale."""
    with rc_context(STYLE):
        _, axes = new_figure(height=4.4)
        for number, (name, values) in enumerate(curves.items()):
            mean = np.array([value.mean for value in values])
            half = np.nan_to_num([value.ci95 for value in values])
            if not np.isnan(mean).all():
                axes.errorbar(
                    x, mean, yerr=half if half.any() else None, label=name,
                    color=COLOURS[number % len(COLOURS)],
                    linestyle=DASHES[number % len(DASHES)], marker="o", markersize=4, capsize=3,
                )  # fmt: skip
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(title)
        _ratio_scale(axes, along="y")
        axes.legend()
        return _written(axes, path)


def bars_figure(
    names: Sequence[str],
    bars: Mapping[str, Sequence[Estimate]],
    label: str,
    path: Path,
    *,
    title: str,
) -> Path:
    """Points with confidence intervals, a row per name, on a logarithmic scale."""
    with rc_context(STYLE):
        _, axes = new_figure(height=1.6 + 0.7 * len(names))
        places = np.arange(len(names))
        for number, (name, values) in enumerate(bars.items()):
            mean = np.array([value.mean for value in values])
            half = np.nan_to_num([value.ci95 for value in values])
            at = places + (number - (len(bars) - 1) / 2) * 0.25
            axes.errorbar(
                mean, at, xerr=half, fmt="o", color=COLOURS[1 - number % 2], label=name, capsize=3
            )
            for x, y in zip(mean, at, strict=True):
                if not np.isnan(x):
                    axes.annotate(
                        f"{x:.3g}", (x, y), (0, 6), textcoords="offset points", ha="center",
                        fontsize=9, color=INK,
                    )  # fmt: skip
        axes.set_yticks(places, list(names))
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(label)
        axes.set_title(title)
        _ratio_scale(axes, along="x")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return _written(axes, path)


def _ratio_scale(axes: Axes, *, along: str) -> None:
    """A logarithmic scale with plain numbers, and a line where both get the same."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    if along == "x":
        axes.set_xscale("log")
        axes.axvline(1.0, color=INK, linewidth=1.0)
    else:
        axes.set_yscale("log")
        axes.axhline(1.0, color=INK, linewidth=1.0)
    axis.set_major_locator(FixedLocator(TICKS))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _written(axes: Axes, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes were made with a figure"  # noqa: S101
    return write(figure, path)
