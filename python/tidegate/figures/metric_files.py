"""One metric of a saved result or sweep: axes for Python, files for `tidegate plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import ResultError, UsageError
from tidegate.figures.look import file_name, write
from tidegate.figures.output import drawing, figure_of
from tidegate.figures.quantity import metric_named, names_to_show
from tidegate.results.result import Result
from tidegate.runs.sweeps import Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from tidegate.figures.output import Output

OF_RESULTS = ("bar", "cdf", "series")
OF_SWEEPS = ("line", "heat", "effects")


def plot(
    result: Result | Mapping[str, Result] | Sweep,
    metric: str = "throughput_bps",
    *,
    kind: str | None = None,
    by: str | Sequence[str] | None = None,
    of: str | Sequence[str] = (),
) -> Axes:
    """Draw one metric, and return matplotlib's axes.

    Parameters
    ----------
    result
        A result, results by name such as a `Comparison`, or a sweep.
    metric
        A metric of the summary, or what people call it: ``p95_delay``, ``throughput``, ``fct``.
    kind
        Of results ``bar`` (default), ``cdf`` (distribution over transfers or users) or ``series``
        (over time); of a sweep ``line`` (default; over the key with most values), ``heat`` (two
        keys) or ``effects`` (the main effect of each key).
    by
        What stands on the axis of bars, and what has the colours of other figures: ``group`` or
        ``variant``; of a map the two keys.
    of
        Names of groups or links; default: all, and of a sweep the first.

    Returns
    -------
    matplotlib.axes.Axes
        Of ``effects`` those of the first key; ``axes.figure`` has all.

    Raises
    ------
    UsageError
        Where nothing has the metric, or it has no figure of this kind.

    Examples
    --------
    >>> axes = plot(result, "p95_delay", by="variant")  # doctest: +SKIP
    >>> axes.figure.savefig("delay.pdf")  # doctest: +SKIP

    """
    names = [of] if isinstance(of, str) else list(of)
    with drawing():
        if isinstance(result, Sweep):
            found = _names(result, metric, names)
            return _of_sweep(result, metric, found[0], kind, _keys(by))
        results = {"": result} if isinstance(result, Result) else result
        return _of_results(results, metric, kind, by, names)


def draw_metric(
    result: Result | Mapping[str, Result] | Sweep,
    metric: str,
    folder: Path,
    *,
    kind: str | None = None,
    by: Sequence[str] = (),
    of: Sequence[str] = (),
    output: Output | None = None,
) -> list[Path]:
    """Draw one metric into files, of a sweep one for each group or link; return the files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with drawing(output) as files:
            if isinstance(result, Sweep):
                for name in _names(result, metric, of):
                    axes = _of_sweep(result, metric, name, kind, by)
                    stem = f"sweep-{metric_named(metric)}-{kind or 'line'}-{file_name(name)}"
                    write(figure_of(axes), folder / f"{stem}.png")
                return files
            results = {"": result} if isinstance(result, Result) else result
            if len(by) > 1:
                raise UsageError("--by: a figure of results has one")
            axes = _of_results(results, metric, kind, by[0] if by else None, of)
            parts = [
                "plot",
                file_name(metric),
                kind or "bar",
                *map(file_name, by),
                *map(file_name, of),
            ]
            write(figure_of(axes), folder / f"{'-'.join(parts)}.png")
    except OSError as error:
        raise ResultError(f"cannot write figures to {folder}: {error.strerror}") from error
    return files


def _of_results(
    results: Mapping[str, Result],
    metric: str,
    kind: str | None,
    by: str | Sequence[str] | None,
    of: Sequence[str],
) -> Axes:
    from tidegate.figures.plots import bar, cdf, series

    if by not in {None, "group", "variant"}:
        raise UsageError(f"by: {by!r} is neither 'group' nor 'variant'")
    if not all(result.averaged.replications for result in results.values()):
        raise ResultError("the result has no run that counts, so there is nothing to draw")
    draw = {"bar": bar, "cdf": cdf, "series": series}.get(kind or "bar")
    if draw is None:
        raise UsageError(f"kind: {kind!r} is none of {', '.join(OF_RESULTS)}")
    usual = "group" if kind in {None, "bar"} or len(results) == 1 else "variant"
    return draw(results, metric, str(by or usual), of)


def _of_sweep(sweep: Sweep, metric: str, name: str, kind: str | None, by: Sequence[str]) -> Axes:
    from tidegate.figures.factors import effects, heat
    from tidegate.figures.sweeps import check_axes, measured, over_key

    check_axes(sweep)
    metric = metric_named(metric)
    found = measured(sweep, metric)
    if kind == "heat":
        return heat(sweep, metric, name, found, by)
    if kind == "effects":
        return effects(sweep, metric, name, found)[0]
    if kind not in {None, "line"}:
        raise UsageError(f"kind: of a sweep {kind!r} is none of {', '.join(OF_SWEEPS)}")
    return over_key(sweep, metric, name, found)


def _names(sweep: Sweep, metric: str, of: Sequence[str]) -> list[str]:
    """Groups or links of a sweep that have the metric."""
    from tidegate.figures.sweeps import measured

    metric = metric_named(metric)
    every = dict.fromkeys(
        name for _, rows in measured(sweep, metric) for name, row in rows.items() if row.runs
    )
    return names_to_show(every, of, metric)


def _keys(by: str | Sequence[str] | None) -> list[str]:
    return [] if by is None else [by] if isinstance(by, str) else list(by)
