"""What lying about congestion gains with ConEx, put together as a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.studies.security.field import HONEST, read
from tidegate.studies.security.figure import draw
from tidegate.studies.security.measures import of_run
from tidegate.studies.security.page import gains, losses, page
from tidegate.studies.security.study import Cases
from tidegate.studies.security.verdicts import Findings

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.studies.book import Book


@dataclass(frozen=True)
class Lies:
    """Findings with their page and figure."""

    findings: Findings

    def failures(self) -> list[str]:
        """What does not hold."""
        return self.findings.failures()

    def tables(self) -> str:
        """What lying gains, and what honest users lose."""
        return f"{gains(self.findings)}\n\n{losses(self.findings)}"

    def page(self) -> str:
        """The page's text."""
        return page(self.findings.field.folder / "page.md", self.findings)

    def draw(self, path: Path) -> Path:
        """Strategies by defences."""
        return draw(self.findings, path)


def study(folder: Path, book: Book) -> tuple[list[Cases], Lies]:
    """Give what is run, and what was found."""
    field = read(folder)
    books = [Cases(name, field.gains(name), of_run) for name in field.titles("defences")]
    return [*books, Cases(HONEST, field.audited(), of_run)], Lies(Findings(field, book))
