"""What was measured, kept as one small JSON file per case, so that pages can be written anew."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import _native
from tidegate.errors import ResultError
from tidegate.results.statistics import Estimate, estimate
from tidegate.scenarios.reading import NOT_CONTENT, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate._native import Scenario
    from tidegate.results.result import Result

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
    sides: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By side: where it ran, and the numbers of its runs."""

    def runs(self, side: str) -> list[dict[str, Any]]:
        """All runs of a side, invalid ones included."""
        found: list[dict[str, Any]] = self.sides.get(side, {}).get("runs", [])
        return found

    def values(self, side: str, metric: str) -> list[float]:
        """A metric's values of a side's valid runs."""
        kept = [run for run in self.runs(side) if run.get("valid", True)]
        return [run[metric] for run in kept if run.get(metric) is not None]

    def estimate(self, side: str, metric: str) -> Estimate:
        """Mean and confidence interval of a side's valid runs."""
        return estimate(self.values(side, metric))

    def stale(self, side: str) -> bool:
        """Whether the scenario has changed since."""
        kept = self.sides.get(side)
        return kept is not None and kept["scenario_hash"] != self.case.hashes[side]


class Book:
    """A folder of records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, case: Case) -> Record:
        """A case's record, empty where nothing has been measured."""
        path = self._path(case)
        if not path.is_file():
            return Record(case)
        try:
            sides = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultError(f"{path} cannot be read: {error}") from error
        return Record(case, {side: sides[side] for side in (SIMULATED, LINUX) if side in sides})

    def write(self, record: Record) -> None:
        """Replace a case's record."""
        path = self._path(record.case)
        path.parent.mkdir(parents=True, exist_ok=True)
        building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        building.write_text(_json(record.sides), encoding="utf-8")
        building.rename(path)

    def _path(self, case: Case) -> Path:
        return self.folder / f"{case.name}.json"


def read_case(
    path: Path, name: str, settings: Sequence[tuple[str, str]] = (), title: str = "", *,
    held_out: bool = False,
) -> Case:  # fmt: skip
    """Read a scenario file, with settings that win over it."""
    scenario = parse(path, settings)
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    hashes = {
        side: _hash({key: value for key, value in written.items() if key not in ignored}, settings)
        for side, ignored in IGNORED.items()
    }
    title = title or scenario.description or scenario.name
    return Case(name, scenario, title, hashes, held_out)


def _hash(content: dict[str, Any], settings: Sequence[tuple[str, str]]) -> str:
    canonical = json.dumps([content, list(settings)], sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def virtual_side_of(case: Case, kernel: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Runs of the kernel in virtual time as one side of a record."""
    about = {"scenario_hash": case.hashes[LINUX], "version": _native.version(), "kernel": kernel}
    return {**about, "runs": [_rounded(run) for run in runs]}


def side_of(case: Case, result: Result) -> dict[str, Any]:
    """A result as one side of a record."""
    from tidegate.studies.fidelity.measures import runs

    side = SIMULATED if result.lab is None else LINUX
    about: dict[str, Any] = {"scenario_hash": case.hashes[side], "version": _native.version()}
    if result.lab is not None:
        first = result.lab.to_pylist()[0]
        about |= {"kernel": first["kernel"], "machine": machine(), "ip": first["ip"]}
    return {**about, "runs": [_rounded(run) for run in runs(result)]}


def machine() -> str:
    """Processor and its cores, as far as Linux tells."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def _rounded(run: dict[str, Any]) -> dict[str, Any]:
    """Six digits are more than what is measured is worth, and keep the files small."""

    def short(value: Any) -> Any:  # noqa: ANN401 - whatever stands in a run
        if isinstance(value, list):
            return [short(each) for each in value]
        return float(f"{value:.6g}") if isinstance(value, float) else value

    return {name: short(value) for name, value in run.items()}


def _json(sides: dict[str, dict[str, Any]]) -> str:
    """A run a line, which reads well in a diff."""
    parts = []
    for side, content in sides.items():
        about = [f'    "{k}": {json.dumps(v)}' for k, v in content.items() if k != "runs"]
        runs = ",\n".join(f"      {json.dumps(run)}" for run in content["runs"])
        parts.append(
            f'  "{side}": {{\n' + ",\n".join(about) + f',\n    "runs": [\n{runs}\n    ]\n  }}'
        )
    return "{\n" + ",\n".join(parts) + "\n}\n"
