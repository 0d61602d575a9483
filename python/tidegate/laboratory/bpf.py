"""Congestion control that the kernel does not have: BPF programs, in it for as long as a lab runs.

The program `tidegate-bpf` puts them there and takes them out when it ends, however that happens.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegate.data import remedy
from tidegate.errors import MissingError
from tidegate.laboratory.process import MISSING, find_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    """Whether a group of users has congestion control of ours."""
    return any(_controllers(each).intersection(OURS) for each in scenarios)


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


def _lines(code: int, output: str) -> list[str]:
    if code == 0:
        return []
    lines = [line for line in output.splitlines() if line.strip()]
    return (
        lines if code == MISSING and lines else [f"{PROGRAM} ended with {code}: {output.strip()}"]
    )
