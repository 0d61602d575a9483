"""``python -m tidegate.studies.fidelity fidelity|abc|mixes|cpq``: measure, keep, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidegate.errors import TidegateError, UsageError
from tidegate.results.store import hand_over
from tidegate.studies.book import Book
from tidegate.studies.fidelity import abc_table, cpq, mixes, scenarios
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Case, record_of
from tidegate.studies.fidelity.running import Effort, measure, say

STUDIES = {
    "fidelity": scenarios.STUDY,
    "abc": abc_table.STUDY,
    "mixes": mixes.STUDY,
    "cpq": cpq.STUDY,
}


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    given = _parser().parse_args(arguments)
    study = STUDIES[given.study]
    try:
        cases = study.cases(given.root)
        chosen = _chosen(cases, given.only, given.set)
        book = Book(given.root / study.folder / "results")
        sides = (SIMULATED, LINUX) if given.side == "both" else (given.side,)
        effort = Effort(
            sides, given.jobs or study.jobs, given.replications, resume=given.resume,
            quick=given.quick, root=given.root, simulations=study.simulations,
        )  # fmt: skip
        measured = [] if given.report else measure(chosen, book, effort)
        if given.quick:
            say("\n" + study.table(measured))
        else:
            records = [record_of(case, book) for case in cases]
            for path in study.write(records, given.root):
                hand_over(path)
                say(f"wrote {path}")
            if book.folder.is_dir():
                hand_over(book.folder)
    except TidegateError as error:
        say(f"fidelity: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted; what was measured is kept, and --resume goes on from there")
        return 130
    return 0


def _chosen(cases: list[Case], only: list[str], which: str) -> list[Case]:
    """Cases with these names, all without names, of the set that is asked for."""
    unknown = set(only) - {case.name for case in cases}
    if unknown:
        names = ", ".join(case.name for case in cases)
        raise UsageError(f"--only: {', '.join(sorted(unknown))} is none of {names}")
    return [
        case for case in cases
        if (not only or case.name in only)
        and (which == "both" or case.held_out == (which == "held-out"))
    ]  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tidegate.studies.fidelity",
        description="The simulator and real Linux, compared.",
    )
    add = parser.add_argument
    add("study", choices=STUDIES)
    add("--root", type=Path, default=Path(), metavar="DIR", help="the checkout")
    add("--only", action="append", default=[], metavar="NAME", help="this case (repeatable)")
    add("--set", choices=("both", "first", "held-out"), default="both", help="of fidelity")
    add("--side", choices=("both", SIMULATED, LINUX), default="both", help="what to run")
    add("--jobs", type=int, metavar="N", help="runs on Linux at the same time (cpq: 10; others: 3)")
    add("--replications", "-r", type=int, metavar="N", help="default: as the scenario says")
    add("--resume", action="store_true", help="leave out what has been measured")
    add("--quick", action="store_true", help="1 run of 10 s each; print, keep nothing")
    add("--report", action="store_true", help="only write the page anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
