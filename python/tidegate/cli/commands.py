"""All commands of tidegate; a command is imported when it is run or asked for its own help."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tidegate.cli.plain_values import PlainValues

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class _Place(NamedTuple):
    """Where a command is, and what it does: the first line of its help."""

    summary: str
    module: str = ""
    """In `tidegate.cli`; empty: named as the command."""
    function: str = ""
    """Empty: named as the command."""


COMMANDS = {
    "simulate": _Place("Simulate a scenario packet by packet and report throughput by group."),
    "explore": _Place(
        "Simulate in the browser: write a page with the scenario, and open it. No server runs."
    ),
    "analyse": _Place("Compute equilibrium, stability, optimum and more, without a simulation."),
    "choose": _Place("Choose parameters for a link: ABC, a ConEx policer and a rate cap."),
    "lab": _Place(
        "Run a scenario with the TCP of this Linux kernel and report throughput by group."
    ),
    "capture": _Place(
        "Simulate a scenario once, and write the packets that leave a link as a capture file."
    ),
    "compare": _Place(
        "Compare saved results, such as a simulation and real Linux, with the first of them."
    ),
    "sweep": _Place("Simulate all points of a scenario's [sweep], on all cores or a cluster."),
    "reproduce": _Place(
        "Run a study: reproduce published results cell by cell, and judge claims."
    ),
    "list": _Place(
        "List mechanisms, kinds of traffic or shipped scenarios, or show the parameters of one.",
        "catalogue", "list_mechanisms",
    ),
    "validate": _Place(
        "Check scenario files without running them; all errors are reported together.",
        "catalogue",
    ),
    "schema": _Place("Print the JSON Schema of scenario files, for editors.", "catalogue"),
    "plot": _Place(
        "Draw a saved result (throughput by group, groups and queues over time) or a sweep."
    ),
    "report": _Place(
        "Write a report of saved results: one HTML file that needs no network and no server."
    ),
    "trace": _Place("Read a trace of a link, and report its mean, percentiles and outages."),
    "probe": _Place("Probe whether a path can carry another call, by ECN marks on UDP probes."),
    "price": _Place("Show or change what connected sockets of other programs pay for congestion."),
    "doctor": _Place("Check this installation."),
}  # fmt: skip


class _Command(PlainValues, TyperCommand):
    """A command whose usual values are read without pydantic."""


class _Imported(MutableMapping[str, "Command"]):
    """The commands by name; reading one imports it."""

    def __init__(self) -> None:
        self._known: dict[str, Command | None] = dict.fromkeys(COMMANDS)

    def __getitem__(self, name: str) -> Command:
        known = self._known[name]
        if known is None:
            place = COMMANDS[name]
            module = import_module(f"tidegate.cli.{place.module or name}")
            callback = getattr(module, place.function or name)
            info = CommandInfo(name, cls=_Command, callback=callback)
            known = self._known[name] = get_command_from_info(
                info, pretty_exceptions_short=True, rich_markup_mode=None
            )
        return known

    def __setitem__(self, name: str, command: Command) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Commands(PlainValues, TyperGroup):
    """Lists its commands without importing them."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as typer has them
        super().__init__(**{**attributes, "commands": _Imported()})

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in COMMANDS.items()])


app = typer.Typer(
    name="tidegate",
    cls=_Commands,
    no_args_is_help=True,
    # Help and errors as plain text: drawing boxes takes longer than the rest.
    rich_markup_mode=None,
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

    Try: tidegate simulate scenarios/evening-peak.toml
    """
    if version:
        from tidegate._native import __version__
        from tidegate.cli.common import say

        say(f"tidegate {__version__}")
        raise typer.Exit
