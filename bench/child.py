"""Run a command to its end and say what it cost, in the operating system's own numbers."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any


class ChildFailedError(RuntimeError):
    """The command ended with an error, or printed no result."""


@dataclass(frozen=True)
class Outcome:
    """What a command cost and what it printed."""

    cpu_s: float
    """User and system time of the process."""
    peak_rss_mib: float
    """Largest resident memory. Linux never reports less here than the starting process had, so
    a program that is smaller than this Python has to tell its own."""
    result: dict[str, Any]
    """The JSON object on the last line of its standard output."""


def run(command: list[str], nice: int = 0) -> Outcome:
    """Run `command`, `nice` steps more politely than this process."""
    if nice:
        command = ["nice", "-n", str(nice), *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise ChildFailedError(f"{' '.join(command)}: ended with {process.returncode}")
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise ChildFailedError(f"{' '.join(command)}: printed no result")
    return Outcome(
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_mib=usage.ru_maxrss / 1024,
        result=json.loads(lines[-1]),
    )
