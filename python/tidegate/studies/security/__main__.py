"""``python -m tidegate.studies.security [STUDY]``: run, keep, judge, write the page."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError
from tidegate.results.store import hand_over
from tidegate.studies.book import Book
from tidegate.studies.page import write_page
from tidegate.studies.security import floods, lies
from tidegate.studies.security.study import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.security.study import Cases, Judged

CHECK_MISSED = 5


@dataclass(frozen=True)
class Study:
    """Where a study has its data, page and figure, and how it is read."""

    folder: str
    page: str
    open: Callable[[Path, Book], tuple[list[Cases], Judged]]

    @property
    def figure(self) -> str:
        """Beside the page."""
        return f"docs/images/{Path(self.page).stem}.png"


STUDIES: Mapping[str, Study] = {
    "conex": Study("studies/security", "docs/conex-security.md", lies.study),
    "re-ecn": Study("studies/security/re-ecn", "docs/reecn-security.md", floods.study),
}


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code: 5 with `--check` where something does not hold."""
    given = _parser().parse_args(arguments)
    try:
        study = STUDIES[given.study]
        kept_in = given.out or given.root / study.folder / "results"
        book = Book(kept_in)
        books, findings = study.open(given.root / study.folder, book)
        for one in [] if given.report else books:
            measure(one, book, given.replications, resume=given.resume)
        if given.out:
            _say(findings.tables())
            findings.draw(kept_in / Path(study.figure).name)
        else:
            image = findings.draw(given.root / study.figure)
            target = write_page(given.root / study.page, findings.page())
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


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tidegate.studies.security",
        description="What lies about congestion and floods gain, whatever stands in their way.",
    )
    add = parser.add_argument
    add("study", nargs="?", choices=STUDIES, default="conex", help="default: conex")
    add("--root", type=Path, default=Path(), metavar="DIR", help="the checkout")
    add("--replications", "-r", type=int, metavar="N", help="default: as the scenarios say")
    add("--resume", action="store_true", help="leave out what has been run")
    add("--report", action="store_true", help="only judge, and write the page anew")
    add("--check", action="store_true", help="end with 5 where somebody gains or honest users lose")
    add("--out", type=Path, metavar="DIR", help="keep results there, print, and write no page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
