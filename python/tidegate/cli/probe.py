"""`tidegate probe`."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli.common import (
    Format,
    Quiet,
    Shape,
    command,
    print_csv,
    print_json,
    say,
)
from tidegate.cli.endings import MISSED, eprint
from tidegate.errors import UsageError

NO_ANSWER = 1


@command
def probe(
    host: Annotated[
        str | None, typer.Argument(help="Host that answers: a name or an address.")
    ] = None,
    answer: Annotated[
        bool, typer.Option("--answer", help="Answer probes until interrupted.")
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="UDP port of the answers.")] = 4747,
    address: Annotated[
        str, typer.Option(help="With --answer: address to listen on; default: all IPv4 addresses.")
    ] = "0.0.0.0",  # noqa: S104 - the answering end wants to be reached
    probes: Annotated[
        int, typer.Option("--probes", "-n", min=1, max=1000, help="Number of probes.")
    ] = 10,
    spacing: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.001, max=10, help="Time between two probes.")
    ] = 0.04,
    size: Annotated[
        int, typer.Option(metavar="BYTES", min=45, max=1400, help="Size of a probe on the wire.")
    ] = 100,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, max=60, help="Wait after the last probe.")
    ] = 1.0,
    rate: Annotated[
        float | None, typer.Option(metavar="KBPS", help="Rate x of the call, kb/s; with -w.")
    ] = None,
    willingness: Annotated[
        float | None,
        typer.Option("--willingness", "-w", metavar="KBPS",
                     help="Willingness to pay w, kb/s; the threshold is w/x."),
    ] = None,
    shape: Shape = Format.table,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Probe whether a path can carry another call, by ECN marks on UDP probes.

    On the other host `tidegate probe --answer` has to run. A call is refused if a probe comes back
    marked, or not at all; with -w and --rate, if the share of such probes is not below w/x.

    For example:

    tidegate probe --answer

    tidegate probe 192.0.2.7

    tidegate probe video.example.org -n 50 --rate 195 -w 10

    Exit codes: 0 admit, 5 refuse, 1 no answer, or ECN is cleared on the path.
    """
    if answer == (host is not None):
        raise UsageError("name the host to probe, or say --answer on the other one")
    if answer:
        _answer(address, port, quiet=quiet)
        return
    from tidegate.probing.asking import Probing, Verdict

    threshold = _threshold(rate, willingness)
    answers = Probing(probes, spacing, size, patience).ask(host or "", port)
    verdict = answers.verdict(threshold)
    limit = 1 / probes if threshold is None else threshold
    round_trips = answers.round_trips_s
    row = {
        "host": host, "probes": answers.sent, "marked": answers.marked, "lost": answers.lost,
        "price": answers.price, "threshold": limit,
        "round_trip_s": sum(round_trips) / len(round_trips) if round_trips else None,
        "verdict": verdict.value,
    }  # fmt: skip
    if shape is Format.json:
        print_json(row)
    elif shape is Format.csv:
        print_csv(list(row), [list(row.values())])
    else:
        _print(row)
    if not quiet:
        _remarks(verdict, probes, threshold, port)
    if verdict is not Verdict.admit:
        raise typer.Exit(MISSED if verdict is Verdict.refuse else NO_ANSWER)


def _answer(address: str, port: int, *, quiet: bool) -> None:
    from tidegate.probing.answering import answer, listening

    with listening(address, port) as opened:
        if not quiet:
            eprint(f"answering at {address} port {port}; Ctrl-C ends it")
        answer(opened, on_probe=(lambda _: None) if quiet else eprint)


def _threshold(rate: float | None, willingness: float | None) -> float | None:
    """Return the threshold w/x."""
    if (rate is None) != (willingness is None):
        raise UsageError("--rate and --willingness go together: the threshold is w/x")
    if rate is None or willingness is None:
        return None
    if not (0 < willingness < rate):
        raise UsageError(
            f"--willingness {willingness:g} has to lie between 0 and the --rate of {rate:g}: "
            "w/x is compared with a share"
        )
    return willingness / rate


def _print(row: dict[str, str | int | float | None]) -> None:
    trip = row["round_trip_s"]
    times = f", round trip {1e3 * float(trip):.1f} ms" if isinstance(trip, float) else ""
    became = f"{row['marked']} marked, {row['lost']} lost{times}"
    say(f"{row['probes']} probes to {row['host']}: {became}")
    say(f"price {row['price']:.3g}, threshold {row['threshold']:.3g}: {row['verdict']}")


def _remarks(verdict: object, probes: int, threshold: float | None, port: int) -> None:
    from tidegate.probing.asking import Verdict

    if verdict is Verdict.silent:
        eprint(f"nobody answers; run `tidegate probe --answer --port {port}` there")
    if verdict is Verdict.blind:
        eprint("answers came, but a node on the path clears the ECN field: marks do not arrive")
    if threshold is not None and 1 / probes > threshold:
        eprint(
            f"{probes} probes cannot tell a price below {threshold:.3g} from none: "
            f"take {int(1 / threshold) + 1} or more"
        )
