"""The run cache of a study: a file for each scenario, with what was read from its runs.

Each run is stored as soon as it has ended, under what it depends on: the hash of its scenario with
all defaults filled in, its seed, the engine, and what was read of it. So an interrupted
reproduction goes on where it was, experiments share what they have in common, a page whose words
or figures have changed is written without a run, and no page mixes two engines.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import zlib
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from tidegate.errors import ResultError
from tidegate.results.atomic import clear_leftovers, locked, replace_file
from tidegate.scenarios.reading import build_id
from tidegate.studies import expressions
from tidegate.studies import reads as readings
from tidegate.studies.curves import CurveRead
from tidegate.studies.metrics import WARM_UP, Measures, Run
from tidegate.studies.page import write_page
from tidegate.studies.traces import Trace, trace_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate.studies.reads import Reading

_LOCK = ".lock"
"""File in the folder whose lock is held while writing."""
_DAMAGED = (
    OSError, ValueError, TypeError, EOFError, RuntimeError, MemoryError, BadZipFile, zlib.error,
)  # fmt: skip
"""What numpy raises over an archive with some bytes changed or lost."""


@dataclass(frozen=True)
class RunStore:
    """The runs of a study in a folder."""

    folder: Path
    measures: Measures
    resume: bool = True
    """Whether cached runs are used; new ones are stored in any case."""
    engine: str = field(default_factory=build_id)
    """Fingerprint of what runs the scenarios."""

    def of(self, scenario: str) -> dict[int, Run]:
        """Cached runs of the scenario with this hash, by their seeds."""
        if not self.resume:
            return {}
        found = {line["seed"]: self._run(scenario, line) for line in self._lines(scenario)}
        return {seed: run for seed, run in found.items() if run is not None}

    def clear_away(self) -> None:
        """Remove incomplete files of writers that were killed."""
        clear_leftovers(self.folder)

    def add(self, scenario: str, seed: int, run: Run) -> None:
        """Store a run; another command may have added to the same scenario meanwhile."""
        try:
            self._add(scenario, seed, run)
        except ResultError as error:
            raise ResultError(
                f"{error}; the finished runs are kept, and the same command goes on from there"
            ) from error

    def _add(self, scenario: str, seed: int, run: Run) -> None:
        if run.trace is not None:
            _write_trace(self._trace(scenario, seed), run.trace)
        # What was read must still be so when it is written with a run more.
        with locked(self.folder / _LOCK):
            self._enter(scenario, seed, run)

    def _enter(self, scenario: str, seed: int, run: Run) -> None:
        lines = {line["seed"]: line for line in self._lines(scenario)}
        lines[seed] = _line(seed, run)
        in_order = [lines[number] for number in sorted(lines)]
        about = {
            "scenario": scenario,
            "engine": self._simulated_by,
            "reads": self._reads,
            "check": _fingerprint(in_order),
        }
        write_page(self._file(scenario), _text(about, in_order))

    def _lines(self, scenario: str) -> list[dict[str, Any]]:
        """Stored runs of a scenario; none where others read them, or the file is damaged."""
        try:
            content = json.loads(self._file(scenario).read_text(encoding="utf-8"))
            lines: list[dict[str, Any]] = content["runs"]
            known = self._reads.items() <= content["reads"].items()
            same = (content["scenario"], content["engine"]) == (scenario, self._simulated_by)
            whole = content["check"] == _fingerprint(lines)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return []
        return lines if known and same and whole else []

    def _run(self, scenario: str, line: Mapping[str, Any]) -> Run | None:
        """A run as it was; None where its time series are lost."""
        trace = _read_trace(self._trace(scenario, line["seed"])) if line.get("traced") else None
        if line.get("traced") and trace is None:
            return None
        asked = (WARM_UP, *self.measures.reads)
        curves = line.get("curves", {})
        return Run(
            {name: _reading(line["readings"][name]) for name in asked},
            line["packets"],
            trace,
            {name: _curve(curves[name]) for name in self.measures.curves if name in curves},
        )

    def _trace(self, scenario: str, seed: int) -> Path:
        return self.folder / f"{_case(scenario)}-{seed}.npz"

    def _file(self, scenario: str) -> Path:
        return self.folder / f"{_case(scenario)}.json"

    @cached_property
    def _simulated_by(self) -> str:
        rules = (readings, expressions, CurveRead, trace_of)
        return _fingerprint(self.engine, *(inspect.getsource(rule) for rule in rules))

    @cached_property
    def _reads(self) -> dict[str, str]:
        """Of each number and curve that is asked for, what it is."""
        asked = {"traces": self.measures.traces}
        asked |= {name: repr(read) for name, read in self.measures.reads.items()}
        asked |= {f"{name} over time": repr(read) for name, read in self.measures.curves.items()}
        return {name: _fingerprint(read) for name, read in asked.items()}


def _case(scenario: str) -> str:
    return scenario[:32]


def _fingerprint(*content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _text(about: Mapping[str, Any], runs: list[dict[str, Any]]) -> str:
    """JSON with a run a line."""
    head = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in about.items())
    lines = ",\n".join(f"    {json.dumps(run)}" for run in runs)
    return f'{{\n{head}  "runs": [\n{lines}\n  ]\n}}\n'


def _line(seed: int, run: Run) -> dict[str, Any]:
    """All digits of what was read, so that what is read again gives the same page."""
    more: dict[str, Any] = {"curves": run.curves} if run.curves else {}
    more |= {"traced": True} if run.trace is not None else {}
    return {"seed": seed, "packets": run.packets, "readings": run.readings, **more}


def _reading(value: Any) -> Reading:  # noqa: ANN401 - whatever stands in the file
    return tuple(value) if isinstance(value, list) else value


def _curve(value: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:  # noqa: ANN401 - as above
    times, values = value
    return tuple(times), tuple(values)


def _write_trace(path: Path, trace: Trace) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror or error}") from error
    replace_file(path, partial(_save, columns=vars(trace)))


def _save(path: Path, columns: Mapping[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **columns)


def _read_trace(path: Path) -> Trace | None:
    try:
        with path.open("rb") as file, np.load(file) as columns:
            return Trace(**columns)
    except _DAMAGED:
        return None
