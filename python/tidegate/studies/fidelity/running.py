"""Run cases on both sides and keep what was measured."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import MissingError
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.scenarios.reading import parse
from tidegate.studies import running as studies
from tidegate.studies.fidelity.cases import (
    LINUX,
    SIMULATED,
    Record,
    lab_side,
    record_of,
    simulated_side,
    virtual_side,
)
from tidegate.studies.fidelity.measures import of_run
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate._native import Scenario
    from tidegate.studies.book import Book
    from tidegate.studies.fidelity.cases import Case


@dataclass(frozen=True)
class Effort:
    """How much to run."""

    sides: tuple[str, ...] = (SIMULATED, LINUX)
    jobs: int = 3
    """Runs on Linux at the same time: at 10 Mb/s they leave most of a core idle."""
    replications: int | None = None
    resume: bool = False
    """Leave out what has been measured of the same scenario."""
    quick: bool = False
    """One run of 10 s after 2 s, to see whether it works; nothing is kept."""
    root: Path = Path()
    """The checkout."""
    simulations: int | None = None
    """Simulated runs; default: as many as on Linux, with the same seeds."""

    def runs(self, case: Case, side: str) -> int:
        """How many."""
        if self.quick:
            return 1
        simulations = self.simulations if side == SIMULATED else None
        return self.replications or simulations or case.scenario.replications

    def trial(self, case: Case, side: str) -> Trial:
        """What is run of a case."""
        scenario = _brief(case.scenario) if self.quick else case.scenario
        seeds = range(scenario.seed, scenario.seed + self.runs(case, side))
        return Trial(scenario, seeds, of_run)


def measure(cases: Sequence[Case], book: Book, effort: Effort) -> list[Record]:
    """Measure and keep; several cases at once, so that no job waits for the last run of one."""
    lacking = _lacking(cases) if LINUX in effort.sides else []
    if lacking:
        raise MissingError(lacking)
    records = [Record(case) if effort.quick else record_of(case, book) for case in cases]
    for some in _batches(records, effort.jobs):
        for side in effort.sides:
            _measure(some, side, effort)
            for record in [] if effort.quick else some:
                book.write(record.case.name, record.sides)
    return records


def _lacking(cases: Sequence[Case]) -> list[str]:
    from tidegate.laboratory.process import missing
    from tidegate.studies.oracle import kernel

    lacking = [] if all(case.held_out for case in cases) else missing()
    no_kernel = kernel.missing() if any(case.held_out for case in cases) else None
    return [*lacking, *([no_kernel] if no_kernel else [])]


def _measure(records: Sequence[Record], side: str, effort: Effort) -> None:
    wanted = {
        record.case.name: record
        for record in records
        if not (effort.resume and record.runs(side) and not record.stale(side))
        and (side == LINUX or record.case.can_be_simulated)
    }
    if not wanted:
        return
    say(f"{side}: {', '.join(wanted)}")
    if side == LINUX:
        _run_virtual([wanted.pop(n) for n in list(wanted) if wanted[n].case.held_out], effort)
    trials = {name: effort.trial(record.case, side) for name, record in wanted.items()}
    if side == SIMULATED:
        with shown(True) as tell:
            done = studies.simulate(list(trials.values()), Threads(), tell)
        for record, runs in zip(wanted.values(), done, strict=True):
            record.sides[side] = simulated_side(record.case, runs)
        return
    for name, told in studies.run_in_lab(trials, jobs=effort.jobs, progress=True).items():
        wanted[name].sides[side] = lab_side(wanted[name].case, told)
        for run in wanted[name].runs(side):
            if not run["valid"]:
                say(f"  {name}: the run with seed {run['seed']} is invalid: {run['reasons']}")


def _run_virtual(records: Sequence[Record], effort: Effort) -> None:
    from tidegate.studies.fidelity import virtual
    from tidegate.studies.oracle.kernel import Kernel

    for record in records:
        kernel, trial = Kernel(effort.root), effort.trial(record.case, LINUX)
        runs = [virtual.run(kernel, trial.scenario, seed) for seed in trial.seeds]
        record.sides[LINUX] = virtual_side(record.case, kernel.version, runs)


def _brief(scenario: Scenario) -> Scenario:
    """The same for 10 s, in parts if it has parts."""
    parts = scenario.plan()["intervals"] > 1
    length = [("duration", "10 s")]
    length += [("intervals", '{ count = 2, length = "5 s" }')] if parts else []
    return parse(scenario, [("warm_up", "2 s"), *length])


def _batches(records: Sequence[Record], size: int) -> Iterator[list[Record]]:
    rest = iter(records)
    while some := list(islice(rest, size)):
        yield some


def say(text: str) -> None:
    """Tell whoever watches."""
    sys.stderr.write(text + "\n")
