"""What the studies of security have in common: books of cases, a judgement, a page, a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.studies import running
from tidegate.studies.book import Entry
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.book import Book
    from tidegate.studies.running import Measure
    from tidegate.studies.security.field import Case


class Judged(Protocol):
    """What was found in a study's books."""

    def failures(self) -> list[str]:
        """What does not hold, in words; what was not measured does not."""
        ...

    def tables(self) -> str:
        """The numbers."""
        ...

    def page(self) -> str:
        """The page's text."""
        ...

    def draw(self, path: Path) -> Path:
        """Draw the figure."""
        ...


@dataclass(frozen=True)
class Cases:
    """What is run for one book, and what is read from each run."""

    book: str
    cases: Sequence[Case]
    measure: Measure


def measure(wanted: Cases, book: Book, replications: int | None, *, resume: bool) -> None:
    """Run every case and keep its numbers."""
    entries = book.read(wanted.book) if resume else {}
    missing, trials = [], []
    for case in wanted.cases:
        count = replications or case.scenario.replications
        kept = entries.get(case.name)
        if kept and kept.scenario == case.hash and len(kept.runs) >= count:
            continue
        seeds = range(case.scenario.seed, case.scenario.seed + count)
        missing.append(case)
        trials.append(Trial(case.scenario, seeds, wanted.measure))
    with shown(True, wanted.book) as tell:
        found = running.simulate(trials, Threads(), tell)
    for case, runs in zip(missing, found, strict=True):
        entries[case.name] = Entry.of(case.hash, runs)
    book.write(wanted.book, {case.name: entries[case.name] for case in wanted.cases})
