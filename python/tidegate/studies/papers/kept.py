"""A paper's numbers as they are kept: a book beside the report, with a case for each experiment.

An entry is a point of a series: a line for each run with what was read of it, so that the same
command simulates nothing twice, and pages can be written anew. What was read by another engine, or
by other rules, does not count. Time series are not kept: runs that have one are done again.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.scenarios.reading import build_id
from tidegate.studies.book import Book, Entries, Entry, fingerprint
from tidegate.studies.papers import expressions, readings
from tidegate.studies.papers.metrics import Measures, Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate.studies.papers.experiments import Series
    from tidegate.studies.papers.factors import Level, Setting
    from tidegate.studies.papers.points import Point, Points, SeriesKey
    from tidegate.studies.papers.readings import Reading
    from tidegate.studies.papers.runs import RunKey, Runner

_ABOUT = ("seed", "packets", "curves")


@dataclass
class KeptRuns:
    """The book of one report, and the runs that it has."""

    book: Book
    read_by: str
    """Fingerprint of the engine and of what is read of its runs."""
    runs: dict[RunKey, Run] = field(default_factory=dict)

    @classmethod
    def beside(cls, report: Path, measures: Measures) -> KeptRuns:
        """Those of an earlier report in this folder."""
        kept = cls(Book(report / "points"), _read_by(measures))
        for case in kept.book.cases:
            for entry in kept.book.read(case).values():
                if entry.about.get("read_by") == kept.read_by:
                    kept.runs |= {(entry.scenario, run["seed"]): _run(run) for run in entry.runs}
        return kept

    def write(self, measured: Points, wanted: Mapping[SeriesKey, Series], runner: Runner) -> None:
        """Replace the cases of all series that were measured or computed."""
        cases: dict[str, Entries] = defaultdict(dict)
        for (experiment, name), series in wanted.items():
            if series.simulated:
                found = {_named(name, s.levels): self._of_runs(runner, s) for s in series.settings}
            else:
                points = measured.series((experiment, name))
                found = {_named(name, point.levels): self._computed(point) for point in points}
            cases[experiment] |= found
        for experiment, entries in cases.items():
            self.book.write(experiment, entries)

    def _of_runs(self, runner: Runner, setting: Setting) -> Entry:
        scenario, runs = runner.all_runs(setting)
        lines = [_line(seed, run) for seed, run in runs.items() if run.trace is None]
        return Entry(scenario, lines, {"read_by": self.read_by})

    def _computed(self, point: Point) -> Entry:
        return Entry(runs=[{metric: value.mean for metric, value in point.metrics.items()}])


def _read_by(measures: Measures) -> str:
    """What a kept reading depends on besides the scenario and the seed."""
    rules = [inspect.getsource(module) for module in (readings, expressions)]
    reads = {name: repr(read) for name, read in {**measures.reads, **measures.curves}.items()}
    return fingerprint(build_id(), *rules, reads)


def _named(series: str, levels: Mapping[str, Level]) -> str:
    return ", ".join([series, *(f"{name} = {level}" for name, level in levels.items())])


def _line(seed: int, run: Run) -> dict[str, Any]:
    """All digits of what was read, so that what is read again gives the same page."""
    curves = {"curves": run.curves} if run.curves else {}
    return {"seed": seed, "packets": run.packets, **curves, **run.readings}


def _run(line: Mapping[str, Any]) -> Run:
    def reading(value: Any) -> Reading:  # noqa: ANN401 - whatever stands in the file
        return tuple(value) if isinstance(value, list) else value

    read = {name: reading(value) for name, value in line.items() if name not in _ABOUT}
    curves = {name: (tuple(at), tuple(is_)) for name, (at, is_) in line.get("curves", {}).items()}
    return Run(read, line["packets"], curves=curves)
