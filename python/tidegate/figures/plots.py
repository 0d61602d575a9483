"""One metric of results in one figure: by group or variant, as a distribution, or over time.

Each function returns matplotlib's axes, so that you can add to a figure for a paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.figures.look import INK, averaged, look, new_figure, plain_log_ticks, subtitle
from tidegate.figures.quantity import Shown, kind_of, metric_named, names_to_show, shown
from tidegate.results.show import variant_labels
from tidegate.results.statistics import band95
from tidegate.results.summary import rows
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tidegate.results.result import Result
    from tidegate.results.summary import Row

APART = 30.0
"""Ratio of values from which an axis is logarithmic."""
ENOUGH_RUNS = 5
"""Runs from which a band says more than the runs themselves."""
_LONGEST_BESIDE = 24

OF_TRANSFERS = {"completion_s": "flow completion time", "slowdown": "slowdown"}
OF_USERS = ("throughput_bps", "goodput_bps", "mean_srtt_s")
"""What has a distribution: over transfers, and over users."""
OVER_TIME = {
    "throughput_bps": ("group_series", "group"), "backlog_packets": ("link_series", "link"),
    "price": ("link_series", "link"),
}  # fmt: skip
"""Tables of series, and the keys that identify their rows."""


def bar(
    results: Mapping[str, Result], metric: str, by: str = "group", of: Sequence[str] = ()
) -> Axes:
    """Draw the mean of a metric with its 95 % confidence interval.

    Parameters
    ----------
    results
        Results by name; a single one may have an empty name.
    metric
        Such as ``throughput_bps`` or ``p95_delay``.
    by
        What stands on the axis, ``group`` or ``variant``; the other has the colours.
    of
        Names of groups or links; default: all that have the metric.

    Returns
    -------
    matplotlib.axes.Axes
        Bars, or marks on a logarithmic axis where values differ 30-fold.

    """
    metric = metric_named(metric)
    variants = _labels(results)
    found: dict[tuple[str, str], Row] = {}
    for label, result in zip(variants, results.values(), strict=True):
        for row in rows(result.averaged.tables):
            if row.metric == metric and row.kind == kind_of(metric) and row.runs:
                found[label, row.name] = row
    names = names_to_show(list(dict.fromkeys(name for _, name in found)), of, metric)
    found = {key: row for key, row in found.items() if key[1] in names}
    by_group = by == "group"
    places, colours = (names, variants) if by_group else (variants, names)
    means = np.array([row.mean for row in found.values()])
    drawn = shown(metric, float(np.max(means, initial=0.0)))
    apart = _apart(means)
    _, axes = new_figure(height=1.7 + max(0.45, 0.28 * len(colours)) * len(places))
    thick = 0.8 / len(colours)
    for number, colour in enumerate(colours):
        own = [
            (at, found[key]) for at, place in enumerate(places)
            if (key := (colour, place) if by_group else (place, colour)) in found
        ]  # fmt: skip
        at = np.array([place for place, _ in own]) + (number - (len(colours) - 1) / 2) * thick
        _marks(axes, at, [row for _, row in own], drawn, number, colour, thick, apart=apart)
    axes.set_yticks(range(len(places)), places)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(drawn.axis)
    axes.margins(x=0.12)
    if apart:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    else:
        axes.set_xlim(left=min(0.0, float(np.min(means, initial=0.0))))
    runs = max((row.runs for row in found.values()), default=1)
    _finish(axes, results, drawn.label, averaged(runs), len(colours))
    return axes


def _marks(
    axes: Axes, at: NDArray[np.float64], found: list[Row], drawn: Shown, number: int, label: str,
    thick: float, *, apart: bool,
) -> None:  # fmt: skip
    means = np.array([row.mean for row in found]) * drawn.scale
    half = np.array([row.ci95 for row in found]) * drawn.scale
    one = look(number)
    if apart:
        least = means[means > 0].min(initial=1.0) / 2
        axes.errorbar(
            np.maximum(means, least), at, xerr=np.nan_to_num(half), linestyle="none",
            marker=one.marker, markersize=6, color=one.colour, label=label, capsize=3,
        )  # fmt: skip
    else:
        axes.barh(
            at, means, thick * 0.92, xerr=half, color=one.colour, label=label, linewidth=0,
            error_kw={"ecolor": INK, "capsize": 2, "elinewidth": 1.1},
        )  # fmt: skip
    for y, mean, end in zip(at, means, means + np.nan_to_num(half), strict=True):
        axes.annotate(
            f"{mean:.3g}", (end, y), (5, 0), textcoords="offset points", va="center", fontsize=9.5
        )


def cdf(
    results: Mapping[str, Result], metric: str, by: str = "variant", of: Sequence[str] = ()
) -> Axes:
    """Draw the distribution of a metric over transfers or users of all runs.

    Parameters
    ----------
    results, metric, by, of
        As in `bar`; `by` has the colours. Of transfers there are ``completion_s`` and
        ``slowdown``, and a curve ends below 1 where some had not finished; of users there are
        ``throughput_bps``, ``goodput_bps`` and ``mean_srtt_s``.

    """
    known = (*OF_TRANSFERS, *OF_USERS)
    metric = metric_named(metric, (*known, *METRICS_OF_CDF))
    metric = METRICS_OF_CDF.get(metric, metric)
    variants = _labels(results)
    curves: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for label, result in zip(variants, results.values(), strict=True):
        for group in result.scenario.groups:
            values = _values(result.averaged, metric, group)
            ended = np.sort(values[np.isfinite(values)])
            if ended.size > 1:
                # Unfinished transfers count, so that a curve ends below 1 where there are any.
                curves[label, group] = (
                    np.concatenate([ended[:1], ended]), np.arange(ended.size + 1) / values.size
                )  # fmt: skip
    names = names_to_show(list(dict.fromkeys(group for _, group in curves)), of, metric)
    curves = {key: curve for key, curve in curves.items() if key[1] in names}
    drawn = _shown_of_cdf(metric, max(float(x[-1]) for x, _ in curves.values()))
    _, axes = new_figure(height=4.2)
    _styled(axes, curves, variants, names, by, drawn.scale)
    if _apart(np.concatenate([x for x, _ in curves.values()])):
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    else:
        axes.set_xlim(left=0.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel(drawn.axis)
    axes.set_ylabel(f"share of {'transfers' if metric in OF_TRANSFERS else 'users'}")
    what = "transfers" if metric in OF_TRANSFERS else "users"
    _finish(axes, results, _titled(drawn.label, names), f"{what} of all runs", len(curves))
    return axes


METRICS_OF_CDF = {
    "mean_completion_s": "completion_s", "p50_completion_s": "completion_s",
    "p95_completion_s": "completion_s", "p99_completion_s": "completion_s",
    "mean_slowdown": "slowdown", "p99_slowdown": "slowdown",
}  # fmt: skip
"""Points of a distribution that stand for all of it."""


def _shown_of_cdf(metric: str, largest: float) -> Shown:
    if metric == "completion_s":
        return replace(shown("mean_completion_s", largest), label=OF_TRANSFERS[metric])
    if metric == "slowdown":
        return Shown(metric, OF_TRANSFERS[metric], "", 1.0)
    return shown(metric, largest)


def _values(result: Result, metric: str, group: str) -> NDArray[np.float64]:
    if metric in OF_TRANSFERS:
        transfers = _only(result.transfers, "group", group)
        took = numbers(transfers, "completion_s")
        with np.errstate(divide="ignore", invalid="ignore"):
            of_path = took / numbers(transfers, "empty_path_s")
        return took if metric == "completion_s" else of_path
    return numbers(_only(result.users, "group", group), metric)


def series(
    results: Mapping[str, Result], metric: str, by: str = "variant", of: Sequence[str] = ()
) -> Axes:
    """Draw a metric over time: the mean of runs with a 95 % confidence band, or of few runs each.

    Parameters
    ----------
    results, metric, by, of
        As in `cdf`. The metric is ``throughput_bps`` (of groups, per user), ``backlog_packets``
        or ``price`` (of links). A band stays within what is possible: from 0 to
        the buffer.

    """
    metric = metric_named(metric, (*OVER_TIME, "mean_backlog_packets"))
    metric = metric.removeprefix("mean_")
    table, key = OVER_TIME[metric]
    variants = _labels(results)
    curves: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    limits: dict[tuple[str, str], float] = {}
    for label, result in zip(variants, results.values(), strict=True):
        kept = result.averaged
        source = getattr(kept, table)
        for name in dict.fromkeys(source[key].cast(pa.string()).to_pylist()):
            part = _only(source, key, name)
            time = numbers(part, "time_s")
            steps = len(time) // kept.replications
            values = numbers(part, metric).reshape(kept.replications, steps)
            curves[label, name] = time[:steps], values / _users(kept, metric, name)
            limits[label, name] = _buffer(result, metric, name)
    names = names_to_show(list(dict.fromkeys(name for _, name in curves)), of, metric)
    curves = {pair: curve for pair, curve in curves.items() if pair[1] in names}
    drawn = _shown_over_time(metric, max(float(v.mean(axis=0).max()) for _, v in curves.values()))
    _, axes = new_figure(height=4.2)
    _styled(axes, curves, variants, names, by, drawn.scale, limits)
    axes.set_xlim(0.0, max(float(time[-1]) for time, _ in curves.values()))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(drawn.axis)
    runs = max(len(values) for _, values in curves.values())
    below = averaged(runs) if runs == 1 or runs >= ENOUGH_RUNS else f"mean of {runs} runs, and each"
    _finish(axes, results, _titled(f"{drawn.label} over time", names), below, len(curves))
    return axes


def _shown_over_time(metric: str, largest: float) -> Shown:
    if metric.startswith("backlog"):
        return replace(shown(f"mean_{metric}", largest), label="queue")
    return shown(metric, largest)


def _users(result: Result, metric: str, group: str) -> float:
    """Users that a throughput is divided by."""
    if metric != "throughput_bps":
        return 1.0
    return max(float(numbers(_only(result.groups, "group", group), "users")[0]), 1.0)


def _buffer(result: Result, metric: str, link: str) -> float:
    """What a queue can be at most; infinite where it has no limit, or the metric none."""
    if not metric.startswith("backlog"):
        return np.inf
    links = result.scenario.plan()["links"]
    sizes = [one["buffer_packets"] for one in links if one["name"] == link]
    return float(sizes[0]) if sizes and sizes[0] else np.inf


def _styled(
    axes: Axes,
    curves: Mapping[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]],
    variants: Sequence[str],
    names: Sequence[str],
    by: str,
    scale: float,
    limits: Mapping[tuple[str, str], float] | None = None,
) -> None:
    """Draw curves: colours are variants or groups, dashes the other."""
    for (variant, name), (x, y) in curves.items():
        number, other = variants.index(variant), names.index(name)
        if by == "group":
            number, other = other, number
        several = len(variants) > 1, len(names) > 1
        parts = [part for part, many in zip((variant, name), several, strict=True) if many]
        colour = look(number).colour
        # One key sets colour and dashes of a curve; of two keys, each sets one.
        dashes = look(other if all(several) else number).dashes
        style: dict[str, Any] = {"color": colour, "linestyle": dashes, "label": ", ".join(parts)}
        if limits is None:
            axes.step(x * scale, y, where="post", **style)
            continue
        mean, half = band95(y * scale)
        if len(y) >= ENOUGH_RUNS:
            top = limits[variant, name] * scale
            low, high = np.clip(mean - half, 0.0, top), np.clip(mean + half, 0.0, top)
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        elif len(y) > 1:
            axes.plot(x, y.T * scale, color=colour, alpha=0.35, linewidth=0.6)
        axes.plot(x, mean, **style)


def _labels(results: Mapping[str, Result]) -> list[str]:
    """Names of variants, without the key in which they differ."""
    return variant_labels(results) if len(results) > 1 else list(results)


def _apart(values: NDArray[np.float64]) -> bool:
    some = values[values > 0.0]
    return bool(some.size and (values >= 0.0).all() and some.max() >= APART * some.min())


def _titled(label: str, names: Sequence[str]) -> str:
    return f"{names[0]}: {label}" if len(names) == 1 else label


def _finish(
    axes: Axes, results: Mapping[str, Result], title: str, below: str, entries: int
) -> None:
    first = next(iter(results.values()))
    subtitle(axes, title, f"{first.scenario.name}: {below}")
    if entries < 2:
        return
    handles, labels = axes.get_legend_handles_labels()
    beside = max(map(len, labels)) <= _LONGEST_BESIDE
    axes.figure.legend(
        handles, labels, loc="outside right upper" if beside else "outside lower center",
        alignment="left",
    )  # fmt: skip


def _only(source: pa.Table, column: str, value: str) -> pa.Table:
    return source.filter(pc.equal(source[column].cast(pa.string()), value))
