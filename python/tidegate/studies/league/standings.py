"""What was measured: a case a situation, an entry a mechanism; and what each mechanism costs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.errors import ResultError
from tidegate.results.columns import unit_of
from tidegate.results.statistics import Estimate, estimate
from tidegate.studies.book import NOTHING, Book, Entries, fingerprint, read_json, replace
from tidegate.studies.league.field import settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tidegate.studies.league.field import Mechanism, Situation

COST = "cost"
UNKNOWN = Estimate(float("nan"), float("nan"), 0)


@dataclass
class Standings:
    """Runs by situation and mechanism, and what each mechanism costs."""

    entries: dict[str, Entries] = field(default_factory=dict)
    """By situation and mechanism."""
    cost: dict[str, Any] = field(default_factory=dict)
    """The machine, and by mechanism what a packet takes."""

    def runs(self, situation: str, mechanism: str) -> list[dict[str, Any]]:
        """All runs, those of a lab that do not count included."""
        return self.entries.get(situation, {}).get(mechanism, NOTHING).runs

    def estimate(self, situation: str, mechanism: str, metric: str) -> Estimate:
        """Mean and confidence interval over the runs that count."""
        return self.entries.get(situation, {}).get(mechanism, NOTHING).estimate(metric)

    def costs(self, mechanism: str, what: str) -> list[float]:
        """Repeated measurements of a cost."""
        found: list[float] = self.cost.get("mechanisms", {}).get(mechanism, {}).get(what, [])
        return found

    def has(
        self, situation: Situation, mechanism: Mechanism, *, runs: int | None, quick: bool
    ) -> bool:
        """Whether it has been measured as it is configured now, and as often."""
        kept = self.entries.get(situation.name, {}).get(mechanism.name, NOTHING)
        wanted = runs or situation.content.get("replications", 1)
        return kept.scenario == match_of(situation, mechanism, quick=quick) and (
            len(kept.runs) >= wanted
        )

    def keep_only(self, situations: Iterable[str], mechanisms: Iterable[str]) -> None:
        """Forget who is no longer in the data files, and take their order."""
        known = list(mechanisms)
        self.entries = {
            situation: {
                name: self.entries[situation][name]
                for name in known
                if name in self.entries[situation]
            }
            for situation in situations
            if situation in self.entries
        }
        costs = self.cost.get("mechanisms", {})
        if costs:
            self.cost["mechanisms"] = {name: costs[name] for name in known if name in costs}


def match_of(situation: Situation, mechanism: Mechanism, *, quick: bool = False) -> str:
    """Hash of what the files say that matters to a run."""
    ignored = ("name", "description", "seed", "replications")
    content = {key: value for key, value in situation.content.items() if key not in ignored}
    read: list[object] = [situation.ratio, situation.customers, situation.completion]
    if situation.offers:
        read.append(situation.offers)
    changes = situation.quick if quick else {}
    return fingerprint(content, settings(situation, mechanism), read, changes)


def load(folder: Path, *, strict: bool = True) -> Standings:
    """Read what a folder has; what is damaged is an error, or as if it were not there."""
    standings, book = Standings(), Book(folder)
    for case in book.cases:
        try:
            if case == COST:
                standings.cost = read_json(folder / f"{COST}.json")
            else:
                standings.entries[case] = book.read(case)
        except ResultError:
            if strict:
                raise
    return standings


def save_situation(standings: Standings, folder: Path, situation: str) -> None:
    """Write the JSON file of one situation."""
    Book(folder).write(situation, standings.entries[situation])


def save(standings: Standings, folder: Path) -> None:
    """Write a JSON file per situation, and everything as CSV."""
    book = Book(folder)
    for name, entries in standings.entries.items():
        book.write(name, entries)
    if standings.cost:
        replace(folder / f"{COST}.json", json.dumps(standings.cost, indent=1) + "\n")
    replace(folder / "league.csv", _csv(standings))


def rows(standings: Standings) -> list[dict[str, object]]:
    """Every number, a row each: situation, mechanism, metric, unit, mean, ci95, runs."""
    found: list[dict[str, object]] = []
    for situation, entries in standings.entries.items():
        for mechanism, entry in entries.items():
            for metric in entry.metrics:
                value = entry.estimate(metric)
                found.append({
                    "situation": situation, "mechanism": mechanism, "metric": metric,
                    "unit": unit_of(metric.partition(".")[0]), **value._asdict(),
                })  # fmt: skip
    for mechanism, costs in standings.cost.get("mechanisms", {}).items():
        for metric, values in costs.items():
            found.append({
                "situation": "", "mechanism": mechanism, "metric": metric,
                "unit": "ns" if metric.endswith("_ns") else "B", **estimate(values)._asdict(),
            })  # fmt: skip
    return found


def _csv(standings: Standings) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    found = rows(standings)
    headings = list(found[0]) if found else ["situation"]
    writer.writerow(headings)
    for row in found:
        cells = (f"{v:.6g}" if isinstance(v, float) else v for v in row.values())
        writer.writerow(["" if cell == "nan" else cell for cell in cells])
    return text.getvalue()
