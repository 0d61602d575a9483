"""Why something that a study judged deviates.

`explanations.toml` lists them::

    [[explanation]]
    id = "short-name"
    text = "why"
    cells = [{ case = ["05-two-cubic", "04-two-reno"], metric = "ratio" }]
    derived_in = "tests/../test_x.py::test_y"

An entry of `cells` has what a cell must be: a value, one of a list, or a range. `derived_in` names
a test that computes what the text says. How an explanation is shown by measurements says
`tidegate.studies.explained`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tidegate.errors import ResultError
from tidegate.studies.matching import matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why some cells deviate, and what stands behind that."""

    id: str
    text: str
    cells: Sequence[Mapping[str, Any]] = ()
    derived_in: str = ""
    """The test that derives it, as `file::test`."""

    def covers(self, cell: Mapping[str, Any]) -> bool:
        """Whether it is about what has these traits."""
        return any(matches(cell, where) for where in self.cells)

    def paragraphs(self, *measured: str) -> list[str]:
        """Its words, what was measured of it, and the test behind it."""
        behind = [f"Derived in `{self.derived_in}`."] if self.derived_in else []
        return [self.text.strip(), *measured, *behind]


AnyExplanation = TypeVar("AnyExplanation", bound=Explanation)


def read_explanations(file: Path, kind: type[AnyExplanation]) -> list[AnyExplanation]:
    """Read a file's; without a file there are none."""
    if not file.is_file():
        return []
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("explanation", [])
        return [kind(**entry) for entry in entries]
    except (OSError, TypeError, tomllib.TOMLDecodeError) as error:
        raise ResultError(f"{file}: {error}") from error
