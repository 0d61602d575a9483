"""Cases of a comparison of simulator and Linux, and what was measured of each on both sides."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tidegate import _native
from tidegate.scenarios.reading import NOT_CONTENT, overrides_of, parse
from tidegate.studies.book import ABOUT_A_RUN, NOTHING, Entries, Entry, fingerprint
from tidegate.studies.machine import machine
from tidegate.studies.page import filled, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.statistics import Estimate
    from tidegate.studies.book import Book
    from tidegate.studies.running import Numbers

SIMULATED, LINUX = "simulated", "linux"
# What a scenario says that does not matter to a side: real hosts have a jitter of their own.
IGNORED = {SIMULATED: NOT_CONTENT, LINUX: (*NOT_CONTENT, "host_jitter")}


@dataclass(frozen=True)
class Case:
    """A scenario that is run on both sides, where both can."""

    name: str
    scenario: Scenario
    title: str
    hashes: dict[str, str]
    """By side: of what the file and the settings say that matters there; unlike a result's hash
    without any defaults, so that a new option of the simulator does not make measurements on Linux
    look old."""
    held_out: bool = False
    """Chosen before it was run on either side. Its Linux is the kernel in virtual time with its own
    queue; that of the others is this machine's behind the simulator's."""

    @property
    def can_be_simulated(self) -> bool:
        """Whether all of its congestion controllers exist in the simulator."""
        return not self.scenario.simulator_lacks()


@dataclass
class Record:
    """What was measured of a case."""

    case: Case
    sides: Entries = field(default_factory=dict)
    """By side."""

    def runs(self, side: str) -> list[dict[str, Any]]:
        """All runs of a side, invalid ones included."""
        return self.sides.get(side, NOTHING).runs

    def values(self, side: str, metric: str) -> list[float]:
        """A metric's values of a side's valid runs."""
        return self.sides.get(side, NOTHING).values(metric)

    def estimate(self, side: str, metric: str) -> Estimate:
        """Mean and confidence interval of a side's valid runs."""
        return self.sides.get(side, NOTHING).estimate(metric)

    def stale(self, side: str) -> bool:
        """Whether the scenario has changed since."""
        kept = self.sides.get(side)
        return kept is not None and kept.scenario != self.case.hashes[side]


class Tabled(Protocol):
    """Gives a table of records."""

    def __call__(self, records: Sequence[Record], /) -> str:
        """In Markdown."""
        ...


@dataclass(frozen=True)
class Study:
    """Cases, and the page that is made of what was measured; places are below the checkout."""

    folder: str
    """Of the cases, of the page's template, and of the results."""
    page: str
    cases: Callable[[Path], list[Case]]
    table: Tabled
    """What is printed after a quick look."""
    parts: Callable[[Sequence[Record], Path], dict[str, object]]
    """What the page tells, by the names in its template."""
    draw: Callable[[Sequence[Record], Path], Path]
    """Makes the page's figure."""
    jobs: int = 3
    """Runs on Linux at the same time: at 10 Mb/s they leave most of a core idle."""
    simulations: int | None = None
    """Simulated runs; default: as many as on Linux, with the same seeds."""

    def write(self, records: Sequence[Record], root: Path) -> list[Path]:
        """Write the page and its figure."""
        text = filled(root / self.folder / "page.md", self.parts(records, root))
        return [write_page(root / self.page, text), self.draw(records, root)]


def record_of(case: Case, book: Book) -> Record:
    """What a book has of a case, the simulated side first."""
    kept = book.read(case.name)
    return Record(case, {side: kept[side] for side in (SIMULATED, LINUX) if side in kept})


def read_case(
    path: Path, name: str, settings: Sequence[tuple[str, str]] = (), title: str = "", *,
    held_out: bool = False,
) -> Case:  # fmt: skip
    """Read a scenario file, with settings that win over it."""
    scenario = parse(path, settings)
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    hashes = {
        side: fingerprint({k: v for k, v in written.items() if k not in ignored}, list(settings))
        for side, ignored in IGNORED.items()
    }
    title = title or scenario.description or scenario.name
    return Case(name, scenario, title, hashes, held_out)


def read_cases(folder: Path) -> list[Case]:
    """Cases of a scenario, each with settings of its own, as ``cases.toml`` lists them."""
    listed = tomllib.loads((folder / "cases.toml").read_text(encoding="utf-8"))["case"]
    return [
        read_case(folder / "scenario.toml", one["name"], overrides_of(one["set"]), one["title"])
        for one in listed
    ]


def simulated_side(case: Case, runs: Sequence[Mapping[str, Any]]) -> Entry:
    """Simulated runs as a side of a record."""
    return Entry.of(case.hashes[SIMULATED], runs, version=_native.version())


def virtual_side(case: Case, kernel: str, runs: Sequence[Mapping[str, Any]]) -> Entry:
    """Runs of the kernel in virtual time as a side of a record."""
    return Entry.of(case.hashes[LINUX], runs, version=_native.version(), kernel=kernel)


TIMING = ("packets", "late_packets", "lateness_mean_s", "lateness_p99_s", "lateness_max_s",
           "overruns", "cpu_share", "realtime", "load_lateness_max_s",
           "busy_share")  # fmt: skip
"""What is kept of how well the machine kept up."""


def lab_side(case: Case, runs: Sequence[tuple[Mapping[str, Any], Numbers]]) -> Entry:
    """Runs of the lab, each with the lab's account of it, as a side of a record."""
    kept = [
        {name: about[name] for name in ABOUT_A_RUN}
        | numbers
        | {name: about[name] for name in TIMING if name in about}
        for about, numbers in runs
    ]
    first = runs[0][0]
    return Entry.of(
        case.hashes[LINUX], kept, version=_native.version(), kernel=first["kernel"],
        machine=machine(), ip=first["ip"],
    )  # fmt: skip
