"""``python -m tidegate.studies.security``: run, keep, judge, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError
from tidegate.results.store import hand_over
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.studies import running
from tidegate.studies.book import Book, Entry
from tidegate.studies.page import write_page
from tidegate.studies.running import Trial
from tidegate.studies.security.field import HONEST, Field, read
from tidegate.studies.security.figure import draw
from tidegate.studies.security.measures import of_run
from tidegate.studies.security.page import gains, losses, page
from tidegate.studies.security.verdicts import Findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.studies.security.field import Case

CHECK_MISSED = 5
FOLDER, PAGE, FIGURE = "security", "docs/conex-security.md", "docs/images/conex-security.png"


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code: 5 with `--check` where something does not hold."""
    given = _parser().parse_args(arguments)
    try:
        field = read(given.root / FOLDER)
        kept_in = given.out or given.root / FOLDER / "results"
        findings = Findings(field, Book(kept_in))
        if not given.report:
            measure(field, findings.book, given.replications, resume=given.resume)
        if given.out:
            _say(f"{gains(findings)}\n\n{losses(findings)}")
            draw(findings, kept_in / "conex-security.png")
        else:
            image = draw(findings, given.root / FIGURE)
            target = write_page(given.root / PAGE, page(field.folder / "page.md", findings))
            for path in (kept_in, image, target):
                hand_over(path)
                _say(f"wrote {path}")
        failed = findings.failures()
        for line in failed:
            print(f"does not hold: {line}", file=sys.stderr)  # noqa: T201
    except TidegateError as error:
        print(f"security: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return CHECK_MISSED if given.check and failed else 0


def measure(field: Field, book: Book, replications: int | None, *, resume: bool) -> None:
    """Run every case and keep its numbers, a book after the other."""
    for name in [*field.titles("defences"), HONEST]:
        cases = field.audited() if name == HONEST else field.gains(name)
        _measure(cases, name, book, replications, resume=resume)


def _measure(
    cases: Sequence[Case], name: str, book: Book, replications: int | None, *, resume: bool
) -> None:
    entries = book.read(name) if resume else {}
    wanted, trials = [], []
    for case in cases:
        count = replications or case.scenario.replications
        kept = entries.get(case.name)
        if kept and kept.scenario == case.hash and len(kept.runs) >= count:
            continue
        seeds = range(case.scenario.seed, case.scenario.seed + count)
        wanted.append(case)
        trials.append(Trial(case.scenario, seeds, of_run))
    with shown(True, name) as tell:
        found = running.simulate(trials, Threads(), tell)
    for case, runs in zip(wanted, found, strict=True):
        entries[case.name] = Entry.of(case.hash, runs)
    book.write(name, {case.name: entries[case.name] for case in cases})


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tidegate.studies.security",
        description="What lying about congestion gains, against policers and auditors.",
    )
    add = parser.add_argument
    add("--root", type=Path, default=Path(), metavar="DIR", help="the checkout")
    add("--replications", "-r", type=int, metavar="N", help="default: as the scenarios say")
    add("--resume", action="store_true", help="leave out what has been run")
    add("--report", action="store_true", help="only judge, and write the page anew")
    add("--check", action="store_true", help="end with 5 where a liar gains or honest users lose")
    add("--out", type=Path, metavar="DIR", help="keep results there, print, and write no page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
