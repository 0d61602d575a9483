"""What was measured, kept as a small JSON file per situation, so that pages can be written anew."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.errors import ResultError
from tidegate.results.columns import unit_of
from tidegate.results.statistics import Estimate, estimate
from tidegate.studies.league.field import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tidegate.studies.league.field import Mechanism, Situation

COST = "cost"
NOTHING = Estimate(float("nan"), float("nan"), 0)


@dataclass
class Standings:
    """Runs by situation and mechanism, and what each mechanism costs."""

    entries: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By situation and mechanism: ``scenario``, a hash, and ``runs``."""
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By situation: what it was measured with, where that matters."""
    cost: dict[str, Any] = field(default_factory=dict)
    """The machine, and by mechanism what a packet takes."""

    def runs(self, situation: str, mechanism: str) -> list[dict[str, Any]]:
        """All runs, those of a lab that do not count included."""
        found: list[dict[str, Any]] = (
            self.entries.get(situation, {}).get(mechanism, {}).get("runs", [])
        )
        return found

    def estimate(self, situation: str, mechanism: str, metric: str) -> Estimate:
        """Mean and confidence interval over the runs that count."""
        kept = [run for run in self.runs(situation, mechanism) if run.get("valid", True)]
        return estimate([run[metric] for run in kept if run.get(metric) is not None])

    def costs(self, mechanism: str, what: str) -> list[float]:
        """Repeated measurements of a cost."""
        found: list[float] = self.cost.get("mechanisms", {}).get(mechanism, {}).get(what, [])
        return found

    def has(
        self, situation: Situation, mechanism: Mechanism, *, runs: int | None, quick: bool
    ) -> bool:
        """Whether it has been measured as it is configured now, and as often."""
        kept = self.entries.get(situation.name, {}).get(mechanism.name)
        wanted = runs or situation.content.get("replications", 1)
        same = kept is not None and kept["scenario"] == fingerprint(
            situation, mechanism, quick=quick
        )
        return same and len(self.runs(situation.name, mechanism.name)) >= wanted

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


def fingerprint(situation: Situation, mechanism: Mechanism, *, quick: bool = False) -> str:
    """Hash of what the files say that matters to a run; without defaults, as they stand."""
    ignored = ("name", "description", "seed", "replications")
    content = {key: value for key, value in situation.content.items() if key not in ignored}
    read = [situation.ratio, situation.customers, situation.completion]
    changes = situation.quick if quick else {}
    canonical = json.dumps([content, settings(situation, mechanism), read, changes], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def load(folder: Path, *, strict: bool = True) -> Standings:
    """Read what a folder has; what is damaged is an error, or as if it were not there."""
    standings = Standings()
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            if not strict:
                continue
            raise ResultError(f"{path} cannot be read: {error}") from error
        if path.stem == COST:
            standings.cost = content
        else:
            standings.entries[path.stem] = content["mechanisms"]
            standings.about[path.stem] = content.get("about", {})
    return standings


def save(standings: Standings, folder: Path) -> None:
    """Write a JSON file per situation, and everything as CSV."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, entries in standings.entries.items():
            _replace(folder / f"{name}.json", _text(standings.about.get(name, {}), entries))
        if standings.cost:
            _replace(folder / f"{COST}.json", json.dumps(standings.cost, indent=1) + "\n")
        _replace(folder / "league.csv", _csv(standings))
    except OSError as error:
        raise ResultError(f"{folder} cannot be written: {error}") from error


def rows(standings: Standings) -> list[dict[str, object]]:
    """Every number, a row each: situation, mechanism, metric, unit, mean, ci95, runs."""
    found: list[dict[str, object]] = []
    for situation, entries in standings.entries.items():
        for mechanism, entry in entries.items():
            for metric in _metrics(entry["runs"]):
                value = standings.estimate(situation, mechanism, metric)
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


def _metrics(runs: list[dict[str, Any]]) -> list[str]:
    about = ("seed", "valid", "reasons")
    return list(dict.fromkeys(key for run in runs for key in run if key not in about))


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


def _text(about: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    """A run a line, which reads well in a diff."""
    parts = []
    for name, entry in entries.items():
        runs = ",\n".join(f"    {json.dumps(run)}" for run in entry["runs"])
        parts.append(
            f'  {json.dumps(name)}: {{"scenario": "{entry["scenario"]}", "runs": [\n{runs}\n  ]}}'
        )
    return (
        f'{{\n "about": {json.dumps(about)},\n "mechanisms": {{\n' + ",\n".join(parts) + "\n }\n}\n"
    )


def rounded(run: Mapping[str, Any]) -> dict[str, Any]:
    """Six digits are more than what is measured is worth, and keep the files small.

    Done before anything is computed, so that what is read again gives the same tables.
    """
    return {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in run.items()}


def _replace(path: Path, text: str) -> None:
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    building.write_text(text, encoding="utf-8")
    building.rename(path)
