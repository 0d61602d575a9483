"""`tidegate price`."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.common import (
    Format,
    Shape,
    command,
    print_csv,
    print_json,
    stdout_console,
)
from tidegate.cli.endings import FAILED, eprint
from tidegate.errors import UsageError

if TYPE_CHECKING:
    from tidegate.laboratory.offers import Payer


@command
def price(
    action: Annotated[
        str | None,
        typer.Argument(metavar="[list]", help="`list` prints the sockets and changes nothing."),
    ] = None,
    pid: Annotated[
        int | None, typer.Option(metavar="PID", help="Only sockets of this process.")
    ] = None,
    cgroup: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Only sockets of processes in this control group."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=1, max=65535, help="Only sockets with this port at either end."
        ),
    ] = None,
    willingness: Annotated[
        float | None,
        typer.Option("--willingness", "-w", help="Willingness to pay w of each socket, packets/s."),
    ] = None,
    kappa: Annotated[
        float | None,
        typer.Option(help="Step κ of each socket, above 0 and at most 1; default: unchanged."),
    ] = None,
    shape: Shape = Format.table,
) -> None:
    """Show or change what connected sockets of other programs pay for congestion.

    They have to go by tg_sbrm, tg_tcprm or tg_vegascp, which `tidegate-bpf hold` keeps in the
    kernel; others are named and left alone. Needs root.

    For example:

    tidegate price list

    tidegate price --pid 4711 --willingness 200

    tidegate price --port 443 --willingness 50 --kappa 0.1
    """
    from tidegate.laboratory import offers

    if action not in {None, "list"}:
        raise UsageError(f"{action!r} is no action of price; there is `list`")
    if action is None:
        _check(pid, cgroup, port, willingness, kappa)
    found = list(offers.payers(offers.processes(pid=pid, cgroup=cgroup), port))
    if action is None and willingness is not None:
        for payer in filter(lambda one: one.pays, found):
            offers.offer(payer, willingness, kappa)
        for other in (one for one in found if not one.pays):
            eprint(f"left alone: process {other.pid}, {other.local}, which goes by {other.control}")
        changed = [one for one in found if one.pays]
        found = list(offers.payers(sorted({one.pid for one in changed}), port))
        found = [one for one in found if one.pays]
        if not found:
            eprint("no socket there pays for congestion")
            raise typer.Exit(FAILED)
    paying = [one for one in found if one.pays]
    if not paying:
        eprint("no socket here pays for congestion (by tg_sbrm, tg_tcprm or tg_vegascp)")
    _print(paying, shape)


def _check(
    pid: int | None,
    cgroup: str | None,
    port: int | None,
    willingness: float | None,
    kappa: float | None,
) -> None:
    from tidegate.laboratory.offers import MOST

    wrong = []
    if willingness is None:
        wrong.append("--willingness: give what each socket pays, in packets per second")
    elif not 0 < willingness <= MOST:
        wrong.append(f"--willingness: {willingness:g} is not above 0 and at most {MOST:g}")
    if kappa is not None and not 0 < kappa <= 1:
        wrong.append(f"--kappa: {kappa:g} is not above 0 and at most 1")
    if sum(each is not None for each in (pid, cgroup, port)) != 1:
        wrong.append("give one of --pid, --cgroup and --port")
    if wrong:
        raise UsageError("\n".join(wrong))


def _print(found: list[Payer], shape: Format) -> None:
    from tidegate.laboratory import offers

    rows = [asdict(payer) for payer in found]
    if shape is Format.json:
        print_json(rows)
    elif shape is Format.csv:
        head = [field.name for field in fields(offers.Payer)]
        print_csv(head, [list(row.values()) for row in rows])
    else:
        _table(found)


def _table(found: list[Payer]) -> None:
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=None, header_style="bold")
    numbers = "w [packets/s]", "kappa", "rate [Mb/s]", "marked [%]"
    for name in ("process", "local", "remote", "by", *numbers):
        text = name in {"local", "remote", "by"}
        shown.add_column(escape(name), justify="left" if text else "right")
    for one in found:
        share = f"{100 * one.marks / one.delivered:.2f}" if one.delivered else "–"
        w, kappa = (f"{x:.4g}" if x is not None else "?" for x in (one.willingness, one.kappa))
        rate = f"{one.rate_bps / 1e6:.3f}"
        shown.add_row(str(one.pid), one.local, one.remote, one.control, w, kappa, rate, share)
    stdout_console().print(shown)
