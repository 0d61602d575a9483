"""Run a program of this machine as root in a guest with a stock kernel: a runner for cargo.

``make test-guest`` names it as the runner of the lab's tests (cargo's ``target.*.runner``), which
then run on the newest kernel of ``make kernels`` in virtual time, without root. It prints what the
program prints and ends as that does; where no guest can run, it says why and ends with 77.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from tidegate.errors import MissingError
from tidegate.laboratory import guest
from tidegate.laboratory.process import Children, missing

MISSING = 77
SEED = 1


def main(words: list[str]) -> int:
    """Run a program with its arguments; return its exit code."""
    try:
        kernel = guest.chosen("auto")
        lacking = missing(kernel=kernel)
    except MissingError as error:
        lacking = [str(error)]
    if lacking:
        sys.stderr.write(f"skipped: {'; '.join(lacking)}\n")
        return MISSING
    program, *arguments = words
    line = shlex.join([Path(program).name, *arguments])
    # Its errors come by the port of its output, so that they stand where they belong.
    # As on any machine that has started, the loopback device is up.
    task = guest.Task(f"/bin/busybox ip link set lo up\n{line} 2>&1", (program,))
    children = Children()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            code, said, _ = children.in_guest(kernel, task, SEED, output, lambda *_: None)
        finally:
            children.stop()
        output.seek(0)
        sys.stdout.write(output.read())
    for one in said:
        sys.stderr.write(f"{one}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
