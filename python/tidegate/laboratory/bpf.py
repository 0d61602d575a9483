"""What the kernel does not have: BPF programs, in it for as long as a lab runs.

These are congestion controls, and receivers that report each mark to senders that declare (ConEx).

The program `tidegate-bpf` puts them there and takes them out when it ends, however that happens.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.data import remedy
from tidegate.errors import MissingError
from tidegate.laboratory.process import MISSING, find_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tidegate._native import Scenario

PROGRAM = "tidegate-bpf"
OURS = ("sbrm", "tcp-rm", "vegas-cp")
"""Congestion controllers that no kernel has."""

_UNBUILT = f"the program {PROGRAM}, for congestion control {', '.join(OURS)}: " + remedy(
    "setup",
    "where clang and the headers of libelf are"
    " (on Debian: apt-get install clang libelf-dev zlib1g-dev)",
)


def needed(scenarios: Iterable[Scenario]) -> bool:
    """Whether a group of users has congestion control of ours, or declares congestion."""
    return any(_controllers(each).intersection(OURS) or _declares(each) for each in scenarios)


def missing() -> list[str]:
    """What keeps the programs out of this kernel, a line each."""
    program = find_program(PROGRAM)
    if program is None:
        return [_UNBUILT]
    done = subprocess.run(  # noqa: S603
        [program, "check"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return _lines(done.returncode, done.stderr)


def found() -> str:
    """Path of the program."""
    program = find_program(PROGRAM)
    if program is None:
        raise MissingError([_UNBUILT])
    return program


@contextmanager
def held(scenarios: Iterable[Scenario]) -> Iterator[None]:
    """Keep the programs in the kernel meanwhile, where a scenario needs them."""
    if not needed(scenarios):
        yield
        return
    program = found()
    # A process group of its own: Ctrl-C shall end the runs first.
    process = subprocess.Popen(  # noqa: S603
        [program, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, process_group=0,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None, "stdout is a pipe"  # noqa: S101
            if process.stdout.readline().strip() != "ready":
                _, output = process.communicate()
                raise MissingError(_lines(process.returncode, output) or [PROGRAM])
            yield
        finally:
            process.terminate()


def _controllers(scenario: Scenario) -> set[str]:
    tcps = (flow["tcp"] for flow in scenario.plan()["flows"])
    return {tcp["congestion_control"]["kind"] for tcp in tcps if tcp is not None}


def _declares(scenario: Scenario) -> bool:
    tcps = (flow["tcp"] for flow in scenario.plan()["flows"])
    return any(tcp is not None and tcp["conex"]["kind"] != "off" for tcp in tcps)


def exposure(found: Mapping[str, Any]) -> list[str]:
    """What this kernel can do for ConEx, by what `tidegate-lab check` has found, in words.

    >>> exposure({"cannot_declare": [], "accurate_ecn": False})[1]
    'accurate ECN (RFC 9768) cannot be switched on'
    """
    if "cannot_declare" not in found:
        return []
    cannot = [str(line) for line in found["cannot_declare"]]
    declares = "can declare congestion (ConEx)" if not cannot else f"cannot: {'; '.join(cannot)}"
    switched = "can" if found.get("accurate_ecn") else "cannot"
    return [
        f"senders here {declares}",
        f"accurate ECN (RFC 9768) {switched} be switched on",
    ]


def _lines(code: int, output: str) -> list[str]:
    if code == 0:
        return []
    lines = [line for line in output.splitlines() if line.strip()]
    return (
        lines if code == MISSING and lines else [f"{PROGRAM} ended with {code}: {output.strip()}"]
    )
