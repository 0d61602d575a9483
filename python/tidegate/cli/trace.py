"""`tidegate trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.common import Format, Shape, command, print_csv, print_json, say


@command
def trace(
    file: Annotated[
        Path, typer.Argument(help="Trace of a rate or a delay: Mahimahi's format, or CSV.")
    ],
    window: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.001, max=3600, help="Windows of the percentiles."),
    ] = 0.1,
    outage: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.001, max=3600, help="Shortest outage that counts."),
    ] = 0.1,
    plot: Annotated[bool, typer.Option("--plot", help="Also draw the trace over time.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the figure; default: where the trace is."),
    ] = None,
    shape: Shape = Format.table,
) -> None:
    """Read a trace of a link, and report its mean, percentiles and outages.

    Percentiles are of means over windows. An outage is a time without any rate.

    For example:

    tidegate trace scenarios/traces/cellular.down

    tidegate trace scenarios/traces/leo-delay.csv --plot --out figures
    """
    from tidegate.scenarios.traces import read_trace

    read = read_trace(file)
    row = {"file": str(file), **read.summary(window, outage)}
    if shape is Format.json:
        print_json(row)
    elif shape is Format.csv:
        print_csv(list(row), [list(row.values())])
    else:
        _print(row, is_rate=read.is_rate)
    if plot or out is not None:
        from tidegate.figures.traces import draw_trace

        folder = out or file.parent
        folder.mkdir(parents=True, exist_ok=True)
        drawn = draw_trace(read, file.name, folder / f"{file.name}.png", window)
        if shape is Format.table:
            say(drawn)


def _print(row: dict[str, str | int | float | None], *, is_rate: bool) -> None:
    from tidegate.results.show import rate_unit
    from tidegate.scenarios.traces import PERCENTILES

    unit, scale = rate_unit(_number(row["maximum"])) if is_rate else ("ms", 1e3)
    names = ["minimum", *(f"p{percent}" for percent in PERCENTILES), "maximum"]
    shares = ", ".join(f"{name} {_number(row[name]) * scale:.4g}" for name in names)
    what = "rate" if is_rate else "delay"
    say(f"{row['file']}: {what}, {row['format']}, {row['length_s']:g} s, {row['changes']} changes")
    say(f"mean {_number(row['mean']) * scale:.4g} {unit}")
    say(f"over {row['window_s']:g} s [{unit}]: {shares}")
    if is_rate:
        say(
            f"outages of {row['outage_s']:g} s or more: {row['outages']}, the longest "
            f"{_number(row['longest_outage_s']):.4g} s, "
            f"{100 * _number(row['share_in_outages']):.3g} % of the time"
        )
    else:
        say(f"largest step {_number(row['largest_step_s']) * scale:.4g} {unit}")
    say(f"sha256 {row['sha256']}")


def _number(value: str | float | None) -> float:
    return float(value or 0.0)
