"""Our mechanisms on a trace: two small programs in ``crates/mechanisms/examples``."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linux_oracle.traces import NS_PER_BYTE, RATE_BPS, Departure, Record, events
from tidegate.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

PROFILE = "dev-release"
# The guest's transmitter is up to so late when two of its timers are due about the same time (the
# most seen); what leaves later has not waited, and the transmitter has asked in vain before.
LATEST_NS = 1536
TIES_TRIED = 3


class View(NamedTuple):
    """A row for each arrival."""

    state: NDArray[np.float64]
    """RED: average queue [B]; PIE: p."""
    plain: NDArray[np.float64]
    """Probability for an average packet."""
    own: NDArray[np.float64]
    """Probability for this packet."""
    forced: NDArray[np.bool_]
    signalled: NDArray[np.bool_]
    """What the kernel did."""
    more: NDArray[np.float64]
    """Adaptive RED: a row with its max_p."""


def build(root: Path) -> None:
    """Build the two programs."""
    command = ["cargo", "build", "--quiet", "--locked", "--profile", PROFILE]
    command += ["--package", "tidegate-mechanisms", "--examples"]
    try:
        subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    except OSError as error:
        raise ResultError(f"cargo is needed to build our side: {error}") from error
    except subprocess.CalledProcessError as error:
        raise ResultError(f"our side was not built: {error.stderr}") from error


def open_loop(
    root: Path, kind: str, parameters: Mapping[str, float], record: Record, *,
    ecn: bool = False, shift_ns: int = 0, in_step: bool = False,
    arrivals_first: frozenset[int] = frozenset(),
) -> Record:  # fmt: skip
    """Send the arrivals of ``record`` into a mechanism of ours. It sees times ``shift_ns`` later.

    The transmitter is one of our own or, ``in_step``, asks for packets whenever the kernel's did:
    what is sent may differ then, but not when. Within a tick of the guest's clock it asks before
    packets arrive, but for the ticks in ``arrivals_first``.
    """
    lines = [
        (at, 1, f"a {at + shift_ns} {p.length} {p.flow} {p.flow} {p.ecn if ecn else 0}")
        for p, at in zip(record.packets, record.arrived, strict=True)
    ]
    if in_step:
        lines += [
            (at, order, f"s {at + shift_ns}") for at, order in _requests(record, arrivals_first)
        ]
        lines.sort(key=lambda line: line[:2])
    parameters = {"rate": 0 if in_step else RATE_BPS, **parameters}
    mine = Record(record.packets, record.arrived)
    for line in _run(root, "open_loop", kind, parameters, [text for *_, text in lines]):
        what, number, at, *marked = line.split()
        if what == "d":
            mine.departed[int(number)] = int(at) - shift_ns
            if marked == ["1"]:
                mine.marked.add(int(number))
    return mine


def order_within_ticks(
    root: Path, kind: str, parameters: Mapping[str, float], record: Record, *, ecn: bool = False
) -> tuple[Record, int]:
    """In step with the kernel, and how often a packet was taken to arrive first within a tick.

    A packet may arrive in the tick of 256 ns in which the transmitter asks for one, and the record
    does not tell which came first. Where a difference begins, the other order is tried.
    """
    arrived = set(record.arrived)
    ties = sorted(
        at for number, at in record.departed.items()
        if at in arrived and record.arrived[number] != at
    )  # fmt: skip
    flipped: frozenset[int] = frozenset()
    mine = open_loop(root, kind, parameters, record, ecn=ecn, in_step=True)
    while (begun := _first_difference(record, mine)) is not None:
        for tie in [at for at in ties if at <= begun][: -TIES_TRIED - 1 : -1]:
            tried = flipped ^ {tie}
            other = open_loop(
                root, kind, parameters, record, ecn=ecn, in_step=True, arrivals_first=tried
            )
            later = _first_difference(record, other)
            if later is None or later > begun:
                mine, flipped = other, tried
                break
        else:
            break
    return mine, len(flipped)


def _first_difference(record: Record, mine: Record) -> int | None:
    """When the first packet begins to be sent on one side only, or marked there."""
    theirs, own = (
        {(at, number, number in side.marked) for number, at in side.departed.items()}
        for side in (record, mine)
    )
    return min(theirs ^ own, default=(None,))[0]


def _requests(record: Record, arrivals_first: frozenset[int]) -> Iterator[tuple[int, int]]:
    """When the kernel's transmitter asked for a packet, in vain too.

    Of what happens in the same tick of the guest's clock, the transmitter's timer comes first, then
    arrivals, and last the transmission that an arrival starts on an idle link.
    """
    sent = sorted((at, number) for number, at in record.departed.items())
    for i, (at, number) in enumerate(sent):
        yield at, 2 if record.arrived[number] == at or at in arrivals_first else 0
        done = at + record.packets[number].length * NS_PER_BYTE
        if i + 1 == len(sent) or sent[i + 1][0] > done + LATEST_NS:
            yield done, 0


def look_along(
    root: Path, kind: str, parameters: Mapping[str, float], record: Record, signalled: set[int], *,
    shift_ns: int = 0, idle: Callable[[int], int] = int,
) -> View:  # fmt: skip
    """What an AQM of ours would do with each packet of the kernel's queue.

    ``idle`` turns the time that the link has been idle [ns] into the one that our side is told.
    """
    lines = []
    for event in events(record):
        at_ns = event.at_ns + shift_ns
        if isinstance(event, Departure):
            lines.append(f"d {at_ns} {event.sojourn_ns} {event.packets}")
            continue
        length, idle_ns = record.packets[event.number].length, idle(event.idle_ns)
        lines.append(
            f"a {at_ns} {length} {event.packets} {event.queued_bytes} {idle_ns} "
            f"{int(event.number in signalled)}"
        )
    rows = _run(root, "look_along", kind, parameters, lines)
    columns = np.array([[float(field) for field in row.split()] for row in rows]).T
    happened = np.isin(np.arange(len(rows)), list(signalled))
    return View(columns[0], columns[1], columns[2], columns[3] == 1, happened, columns[4:])


def _run(
    root: Path, program: str, kind: str, parameters: Mapping[str, float], lines: list[str]
) -> list[str]:
    command = [str(root / "target" / PROFILE / "examples" / program), kind]
    command += [f"{key}={value}" for key, value in parameters.items()]
    text = "\n".join(lines) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ResultError(f"{program} {kind}: {done.stderr}")
    return done.stdout.splitlines()
