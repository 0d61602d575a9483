"""`tidegate plot`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import FigureFont, Figures, FigureWidth, command, figure_output, say
from tidegate.errors import ResultError, UsageError


class Kind(StrEnum):
    """Kinds of figures."""

    bar = "bar"
    cdf = "cdf"
    series = "series"
    line = "line"
    heat = "heat"
    effects = "effects"


@command
def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT_DIR", help="Result folder.")],
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Draw this metric alone, such as p95_delay, throughput or fct.",
        ),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="With --metric: of a result bar, cdf or series; of a sweep line, heat or effects."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="group|variant|KEY",
            help="With --metric: what stands on the axis of bars and has the colours of other"
            " figures; of a heat map its two keys (repeatable).",
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --metric: draw this group or link (repeatable)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TIDEGATE_OUT",
            help="Folder of the figures; default: the result folder.",
        ),
    ] = None,
    figures: Figures = None,
    figure_width: FigureWidth = None,
    figure_font: FigureFont = None,
) -> None:
    """Draw a saved result (throughput by group, groups and queues over time) or a sweep.

    For example:

    tidegate plot results/evening-peak-1a2b3c4d --out figures

    tidegate plot results/home --metric p95_delay --by variant --figures pdf --figure-width 84mm

    tidegate plot results/home --metric fct --kind cdf

    tidegate plot results/flows --metric p95_delay --kind heat
    """
    from tidegate.results.manifests import read_manifest
    from tidegate.results.store import load
    from tidegate.runs.sweeps import load_sweep

    output = figure_output(figures, figure_width, figure_font, plot=True)
    if metric is None and (kind or by or of):
        raise UsageError("--kind, --by and --of go with --metric")
    sweep = read_manifest(result).get("kind") == "sweep"
    result_read = load_sweep(result) if sweep else load(result)
    if metric is None:
        files = result_read.plot(out or result, output)
    else:
        from tidegate.figures.metric_files import draw_metric

        files = draw_metric(
            result_read, metric, out or result, kind=kind and kind.value, by=by or (), of=of or (),
            output=output,
        )  # fmt: skip
    if not files:
        raise ResultError(f"{result} has no run that counts, so there is nothing to draw")
    for path in files:
        say(path)
