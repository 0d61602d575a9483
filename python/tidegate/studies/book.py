"""Stored measurements: one small JSON file per case, from which pages are written.

A case has entries, such as one for each side. An entry says
what was run and on what, and has a line per run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.errors import ResultError
from tidegate.results.atomic import replace_file
from tidegate.results.statistics import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

ABOUT_A_RUN = ("seed", "valid", "reasons")
"""What an entry has of a run besides numbers; one that is not valid does not count."""


@dataclass
class Entry:
    """Runs of one scenario in one place."""

    scenario: str = ""
    """Hash of what was run."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    """What it was measured with: kernel, machine, version."""

    @classmethod
    def of(cls, scenario: str, runs: Iterable[Mapping[str, Any]], **about: object) -> Entry:
        """An entry to keep: with numbers as they can be read again."""
        return cls(scenario, [rounded(run) for run in runs], about)

    @property
    def valid(self) -> list[dict[str, Any]]:
        """The runs that count."""
        return [run for run in self.runs if run.get("valid", True)]

    def values(self, metric: str) -> list[float]:
        """A metric's values of the runs that count."""
        return [run[metric] for run in self.valid if run.get(metric) is not None]

    def estimate(self, metric: str) -> Estimate:
        """Mean and confidence interval over the runs that count."""
        return estimate(self.values(metric))

    @property
    def metrics(self) -> list[str]:
        """Names of all numbers."""
        return list(dict.fromkeys(k for run in self.runs for k in run if k not in ABOUT_A_RUN))


NOTHING = Entry()
"""Where nothing has been measured."""

Entries: TypeAlias = dict[str, Entry]


@dataclass(frozen=True)
class Book:
    """A folder of cases."""

    folder: Path

    @property
    def cases(self) -> list[str]:
        """Names of the cases of which there is something."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def read(self, case: str) -> Entries:
        """A case's entries; none where nothing has been measured."""
        path = self._path(case)
        if not path.is_file():
            return {}
        content = read_json(path)
        try:
            return {
                name: Entry(entry.pop("scenario"), entry.pop("runs"), entry)
                for name, entry in content.items()
            }
        except KeyError as error:
            raise ResultError(f"{path} cannot be read: an entry lacks {error}") from error
        except (AttributeError, TypeError) as error:
            raise ResultError(f"{path} cannot be read: it has no entries") from error

    def write(self, case: str, entries: Entries) -> None:
        """Replace a case."""
        texts = (_text(name, entry) for name, entry in entries.items())
        replace(self._path(case), "{\n" + ",\n".join(texts) + "\n}\n")

    def _path(self, case: str) -> Path:
        return self.folder / f"{case}.json"


def fingerprint(*content: object) -> str:
    """Hash of what matters to a run, as files say it.

    Unlike the hash of a result without any defaults, so that a new option of the simulator does not
    make measurements look old.
    """
    canonical = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever stands in the file
    """Read a stored file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError(f"{path} cannot be read: {error}") from error


def replace(path: Path, text: str) -> None:
    """Write a file beside its place and rename it: it is there whole or as it was."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror or error}") from error
    replace_file(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def rounded(run: Mapping[str, Any]) -> dict[str, Any]:
    """Six digits are more than what is measured is worth, and keep the files small.

    Done before anything is computed, so that what is read again gives the same tables.
    """

    def short(value: Any) -> Any:  # noqa: ANN401 - whatever stands in a run
        if isinstance(value, list):
            return [short(each) for each in value]
        return float(f"{value:.6g}") if isinstance(value, float) else value

    return {name: short(value) for name, value in run.items()}


def _text(name: str, entry: Entry) -> str:
    """A run a line, which reads well in a diff."""
    about = {"scenario": entry.scenario, **entry.about}
    lines = [f"    {json.dumps(key)}: {json.dumps(value)},\n" for key, value in about.items()]
    runs = ",\n".join(f"      {json.dumps(run)}" for run in entry.runs)
    return f'  {json.dumps(name)}: {{\n{"".join(lines)}    "runs": [\n{runs}\n    ]\n  }}'
