"""``python -m tidegate.studies.accuracy``: simulate, keep the results, write the page.

Ends with 1 where a scenario of the gate is off and nothing warns.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidegate.analysis.accuracy import measured
from tidegate.errors import TidegateError
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.studies.accuracy import gate, outcomes, page, sample

_GATE_RUNS, _SAMPLE_RUNS = 10, 4


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidegate.studies.accuracy")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    parser.add_argument("--page", action="store_true", help="write the page from what is kept")
    parser.add_argument("--gate", action="store_true", help="simulate the gate alone")
    given = parser.parse_args(arguments)
    try:
        if not given.page:
            _simulate(given.root, gate_alone=given.gate)
        page.write(given.root)
    except TidegateError as error:
        sys.stderr.write(f"accuracy: {error}\n")
        return error.exit_code
    silent = [one.name for one in outcomes.read(given.root / page.GATE) if one.silent]
    for name in silent:
        sys.stderr.write(f"accuracy: {name} is off, and nothing warns\n")
    return 1 if silent else 0


def _simulate(root: Path, *, gate_alone: bool) -> None:
    if not gate_alone:
        with shown(True, "sample") as tell:
            drawn = outcomes.simulated(sample.scenarios(), _SAMPLE_RUNS, Threads(), tell)
        outcomes.write(root / page.SAMPLE, drawn)
        measured.write(outcomes.ranges(drawn))
    with shown(True, "gate") as tell:
        found = outcomes.simulated(gate.read(root), _GATE_RUNS, Threads(), tell)
    outcomes.write(root / page.GATE, found)


if __name__ == "__main__":
    sys.exit(main())
