"""Who has to change what in a mobile network, and what it gains: tables of ``docs/mobile.md``.

``mechanisms.toml`` says what each mechanism changes in the same scenario, with
a flood and without it. What was measured stands in ``results.csv``, from which tables are made.

    python -m tidegate.studies.mobile              run, keep, write the tables
    python -m tidegate.studies.mobile --report     write the tables alone
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError, UsageError
from tidegate.results.statistics import Estimate, estimate
from tidegate.runs.simulation import simulate_all
from tidegate.scenarios.reading import load_scenario
from tidegate.studies.book import replace
from tidegate.studies.factors import keys_of
from tidegate.studies.page import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tidegate.results.result import Result

STUDIES = ("network", "errors", "radio")
LEVEL = "level"
"""Stands for each level of a study, where that is no key by itself."""

FLOOD = "flood"
"""Group that floods; all others are its victims."""

HEAD = (
    "study",
    "mechanism",
    "level",
    "victims_bps",
    "victims_ci95_bps",
    "flood_bps",
    "flood_ci95_bps",
    "without_bps",
    "without_ci95_bps",
    "runs",
)


@dataclass(frozen=True)
class Row:
    """What one mechanism comes to: throughput of a victim and of the flood [bit/s]."""

    study: str
    mechanism: str
    level: str
    victims: Estimate
    flood: Estimate
    without: Estimate
    """A victim's without the flood."""

    @property
    def kept(self) -> float:
        """What a victim keeps of what he has without the flood."""
        return self.victims.over(self.without).mean

    @property
    def differs(self) -> float:
        """A victim's throughput as a share of the flood's."""
        return self.victims.over(self.flood).mean

    def cells(self) -> list[str]:
        """As a line of the file."""
        numbers = [f"{x:.6g}" for one in (self.victims, self.flood, self.without) for x in one[:2]]
        return [self.study, self.mechanism, self.level, *numbers, str(self.victims.runs)]

    @classmethod
    def of(cls, line: Mapping[str, str]) -> Row:
        """From a line of the file."""

        def read(name: str) -> Estimate:
            mean, half = float(line[f"{name}_bps"]), float(line[f"{name}_ci95_bps"])
            return Estimate(mean, half, int(line["runs"]))

        numbers = (read(name) for name in ("victims", "flood", "without"))
        return cls(line["study"], line["mechanism"], line["level"], *numbers)


def mechanisms(folder: Path) -> dict[str, Any]:
    """Read what each mechanism changes."""
    return tomllib.loads((folder / "mechanisms.toml").read_text(encoding="utf-8"))


def measure(root: Path, wanted: Mapping[str, Any], runs: int | None = None) -> list[Row]:
    """Run each mechanism of each study at each level, with the flood and without it."""
    return [
        row
        for study in STUDIES
        for level in wanted[study].get("levels", [None])
        for row in _at_level(root, wanted, study, level, runs)
    ]


def _at_level(
    root: Path, wanted: Mapping[str, Any], study: str, level: float | None, runs: int | None
) -> Iterable[Row]:
    about = wanted[study]
    there = {about["key"]: level} if "key" in about else {}
    scenarios = {}
    for mechanism in about["mechanism"]:
        changes = {**wanted["ends"].get(mechanism.get("ends"), {}), **mechanism["set"], **there}
        changes = {key: _with_level(own, level) for key, own in changes.items()}
        for name, more in (("with", {}), ("without", about["without_flood"])):
            scenario = load_scenario(root / about["scenario"], set=_spelled_out(changes | more))
            scenarios[f"{mechanism['name']}/{name}"] = scenario
    found = simulate_all(scenarios, replications=runs or about["runs"])
    for mechanism in about["mechanism"]:
        name = mechanism["name"]
        flooded, calm = found[f"{name}/with"], found[f"{name}/without"]
        at = "" if level is None else f"{level:g}"
        yield Row(study, name, at, _victims(flooded), _flood(flooded), _victims(calm))


def _with_level(value: object, level: float | None) -> object:
    match value:
        case dict():
            return {key: _with_level(own, level) for key, own in value.items()}
        case list():
            return [_with_level(own, level) for own in value]
    return level if value == LEVEL else value


def _spelled_out(changes: Mapping[str, Any]) -> dict[str, Any]:
    pairs = {key: value for keys, value in changes.items() for key in keys_of(keys)}
    return {**pairs, "sample_interval": "off"}


def _victims(result: Result) -> Estimate:
    return _throughput(result, lambda group: group != FLOOD)


def _flood(result: Result) -> Estimate:
    return _throughput(result, lambda group: group == FLOOD)


def _throughput(result: Result, of: Callable[[str], bool]) -> Estimate:
    """Mean over users, estimated over runs."""
    flows = result.flows.to_pydict()
    by_run: dict[int, list[float]] = {}
    for group, run, bps in zip(
        flows["group"], flows["replication"], flows["throughput_bps"], strict=True
    ):
        if of(group):
            by_run.setdefault(run, []).append(bps)
    return estimate([sum(own) / len(own) for own in by_run.values()])


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Keep what was measured."""
    lines = [HEAD, *(row.cells() for row in rows)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def read_rows(path: Path) -> list[Row]:
    """What was measured."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Row.of(line) for line in csv.DictReader(file)]


def tables(wanted: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """The tables, by name."""
    changes = {one["name"]: one["changes"] for one in wanted["network"]["mechanism"]}

    def mbps(of: Estimate) -> str:
        return of.scaled(1e-6).written(2)

    network = [
        [
            row.mechanism,
            mbps(row.without),
            mbps(row.victims),
            f"{row.kept:.2f}",
            mbps(row.flood),
            changes[row.mechanism],
        ]
        for row in rows
        if row.study == "network"
    ]
    head = ["", "without the flood", "with it", "kept", "the flood has", "who has to change"]
    told = by_level(wanted, rows, "errors", lambda row: f"{row.differs:.2f} ({row.kept:.2f})")
    radio = by_level(wanted, rows, "radio", lambda row: f"{mbps(row.victims)}; {mbps(row.flood)}")
    return {
        "mechanisms": table(head, network),
        "errors": table(["lost over the air", *names_of(wanted, "errors")], told),
        "radio": table(["lost on the radio", *names_of(wanted, "radio")], radio),
    }


def names_of(wanted: Mapping[str, Any], study: str) -> list[str]:
    """What a study has beside each other."""
    return [one["name"] for one in wanted[study]["mechanism"]]


def by_level(
    wanted: Mapping[str, Any], rows: Sequence[Row], study: str, told: Callable[[Row], str]
) -> list[list[str]]:
    """A line for each level of a study, a cell for each mechanism."""
    at = {(row.level, row.mechanism): row for row in rows if row.study == study}
    levels = dict.fromkeys(level for level, _ in at)
    return [
        [f"{100 * float(level):g} %", *(told(at[level, n]) for n in names_of(wanted, study))]
        for level in levels
    ]


def filled(text: str, made: Mapping[str, str]) -> str:
    """The page with the tables between their marks."""
    for name, content in made.items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise UsageError(f"docs/mobile.md has no place for the table {name!r}: {begin!r}")
        text = f"{before}{begin}{content}\n{end}{after}"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Run, keep, write the tables."""
    parser = argparse.ArgumentParser(prog="python -m tidegate.studies.mobile", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), metavar="DIR", help="the checkout")
    parser.add_argument(
        "--replications", "-r", type=int, metavar="N", help="default: as its file says"
    )
    parser.add_argument("--report", action="store_true", help="write the tables alone")
    given = parser.parse_args(arguments)
    folder, page = given.root / "studies/mobile", given.root / "docs/mobile.md"
    try:
        wanted = mechanisms(folder)
        if not given.report:
            write_rows(folder / "results.csv", measure(given.root, wanted, given.replications))
        made = tables(wanted, read_rows(folder / "results.csv"))
        replace(page, filled(page.read_text(encoding="utf-8"), made))
    except TidegateError as error:
        print(f"mobile: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
