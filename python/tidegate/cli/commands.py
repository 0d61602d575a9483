"""All commands of tidegate."""

from __future__ import annotations

import typer

from tidegate.cli import (
    analyse,
    capture,
    catalogue,
    choose,
    compare,
    doctor,
    explore,
    lab,
    plot,
    price,
    probe,
    report,
    reproduce,
    simulate,
    sweep,
    trace,
)
from tidegate.cli.common import say

app = typer.Typer(
    name="tidegate",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 scenario refused or no model, 4 some"
        " points of a sweep failed, 5 `--check` of `reproduce` failed, `--until` not"
        " reached or `probe` refused, 6 the machine could not keep up with the lab, 69 no cluster,"
        " 70 internal error, 77 privilege or page missing, 130 interrupted."
    ),
)


@app.callback(invoke_without_command=True)
def tidegate(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """Simulate, analyse and measure how congested links are shared.

    **Try:** tidegate simulate scenarios/evening-peak.toml
    """
    if version:
        from tidegate._native import __version__

        say(f"tidegate {__version__}")
        raise typer.Exit


app.command()(simulate.simulate)
app.command()(explore.explore)
app.command()(analyse.analyse)
app.command()(choose.choose)
app.command()(lab.lab)
app.command()(capture.capture)
app.command()(compare.compare)
app.command()(sweep.sweep)
app.command()(reproduce.reproduce)
app.command("list")(catalogue.list_mechanisms)
app.command()(catalogue.validate)
app.command()(catalogue.schema)
app.command()(plot.plot)
app.command()(report.report)
app.command()(trace.trace)
app.command()(probe.probe)
app.command()(price.price)
app.command()(doctor.doctor)
