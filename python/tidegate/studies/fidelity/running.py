"""Run cases on both sides and keep what was measured."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import MissingError
from tidegate.scenarios.reading import parse
from tidegate.studies.fidelity.book import LINUX, SIMULATED, Record, side_of, virtual_side_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate._native import Scenario
    from tidegate.results.result import Result
    from tidegate.studies.fidelity.book import Book, Case


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

    def scenario(self, case: Case) -> Scenario:
        """What is run of a case."""
        return _brief(case.scenario) if self.quick else case.scenario


def measure(cases: Sequence[Case], book: Book, effort: Effort) -> list[Record]:
    """Measure and keep; several cases at once, so that no job waits for the last run of one."""
    lacking = _lacking(cases) if LINUX in effort.sides else []
    if lacking:
        raise MissingError(lacking)
    records = [Record(case) if effort.quick else book.read(case) for case in cases]
    for some in _batches(records, effort.jobs):
        for side in effort.sides:
            _measure(some, side, effort)
            for record in [] if effort.quick else some:
                book.write(record)
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
    for name, result in (_run(wanted, side, effort) if wanted else {}).items():
        wanted[name].sides[side] = side_of(wanted[name].case, result)
        for seed, reasons in result.invalid:
            say(f"  {name}: the run with seed {seed} is invalid: {reasons}")


def _run(records: dict[str, Record], side: str, effort: Effort) -> dict[str, Result]:
    from tidegate.laboratory.running import lab_all
    from tidegate.runs.simulation import simulate_all

    found: dict[str, Result] = {}
    counts = {name: effort.runs(record.case, side) for name, record in records.items()}
    for count in sorted(set(counts.values())):
        scenarios = {
            name: effort.scenario(record.case)
            for name, record in records.items() if counts[name] == count
        }  # fmt: skip
        if side == SIMULATED:
            found |= simulate_all(scenarios, replications=count)
        else:
            found |= lab_all(scenarios, replications=count, jobs=effort.jobs, progress=True)
    return found


def _run_virtual(records: Sequence[Record], effort: Effort) -> None:
    from tidegate.studies.fidelity import virtual
    from tidegate.studies.oracle.kernel import Kernel

    for record in records:
        kernel, scenario = Kernel(effort.root), effort.scenario(record.case)
        seeds = range(scenario.seed, scenario.seed + effort.runs(record.case, LINUX))
        runs = [virtual.run(kernel, scenario, seed) for seed in seeds]
        record.sides[LINUX] = virtual_side_of(record.case, kernel.version, runs)


def _brief(scenario: Scenario) -> Scenario:
    """The same for 10 s, in parts if it has parts."""
    parts = "intervals" in tomllib.loads(scenario.to_toml())
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
