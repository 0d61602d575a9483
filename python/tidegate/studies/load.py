"""Reading a study's folder: experiments, published cells, claims."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.data import data_folder
from tidegate.errors import UsageError
from tidegate.studies.beside import Beside
from tidegate.studies.errors import ReproductionError
from tidegate.studies.factors import (
    Factor,
    Level,
    Override,
    Setting,
    chosen,
    combinations,
    overrides,
    read_factors,
    scenario_of,
    settings,
)
from tidegate.studies.metrics import read_measures
from tidegate.studies.model import TEN_PER_CENT, Baseline, Cell, Claim, Experiment, Series, Study
from tidegate.studies.numbers import Numbers
from tidegate.studies.rankings import Ranking
from tidegate.studies.relative import read_near, read_relatives
from tidegate.studies.sides.measured import MEASURABLE, SIDES
from tidegate.studies.verdict import Tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate.studies.factors import Base


_CELL_COLUMNS = ("metric", "value", "unit")
_OF_THE_CLAIM = ("id", "and", "reading", "cannot_fail")
"""Keys of a `[[claim]]` that are not about what is measured."""
_STUDY_FILE = "study.toml"
_BASE_FILE = "base.toml"


def study_names() -> list[str]:
    """All studies that can be run."""
    return sorted(file.parent.name for file in data_folder("studies").glob("*/experiments"))


def load_study(name: str, *, quick: bool = False) -> Study:
    """Read and check a study's folder; with `quick`, its set-ups are those of `quick_set`."""
    folder = data_folder("studies") / name
    if not (folder / _STUDY_FILE).is_file():
        raise UsageError(f"no study {name!r}; there are {', '.join(study_names())}")
    head = _read(folder / _STUDY_FILE)
    factors = read_factors(head["factors"], folder)
    claims = {claim["id"]: claim for claim in _read(folder / "claims.toml")["claim"]}
    tolerances = {name: Tolerance(**one) for name, one in head.get("tolerances", {}).items()}
    entries = {**({"": {}} if (folder / _BASE_FILE).is_file() else {}), **head.get("setups", {})}
    common = head.get("names", {})
    setups = {
        name: _setup(name, folder, common, **entry, quick=quick) for name, entry in entries.items()
    }
    numbers = Numbers(**head.get("numbers", {}))
    reduced = overrides(head.get("quick_set", {})) if quick else ()
    without = frozenset(head.get("quick_without", ()) if quick else ())
    reader = _Reader(
        folder, factors, claims, head["replications"], tolerances, setups, without, quick,
        head.get("baseline", False), numbers,
    )  # fmt: skip
    experiments = {
        stem: reader.experiment(stem, folder / "experiments" / f"{stem}.toml")
        for stem in head["experiments"]
        if stem not in without
    }
    sensitivity = folder / "sensitivity.toml"
    return Study(
        name=name,
        folder=folder,
        title=head["title"],
        measures=read_measures(head),
        quick_replications=head["quick_replications"],
        quick_overrides=reduced,
        shortened=quick and any("quick_set" in one for one in (head, *entries.values())),
        without=without,
        experiments=experiments,
        sensitivity=reader.experiment("sensitivity", sensitivity)
        if sensitivity.is_file()
        else None,
        samples=head.get("samples", "independent runs"),
        terms=head.get("terms", "").strip(),
        baseline=_baseline(folder / _STUDY_FILE, head.get("baseline", False)),
        by_chapter=head.get("by_chapter", False),
        relatives=read_relatives(head.get("relative", {})),
        near=read_near(head.get("near", {})),
        own_replications=head.get("own_replications"),
        numbers=numbers,
    )


@dataclass(frozen=True)
class _Setup:
    """Where experiments begin: a scenario, and what all of a set-up change in it.

    Where `base` names factors in braces, such as `"{case}.toml"`, each of their levels has a
    scenario of its own.
    """

    base: Base
    always: tuple[Override, ...]
    names: Mapping[str, Any]


def _setup(
    name: str,
    folder: Path,
    common: Mapping[str, Any],
    base: str = _BASE_FILE,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the file's word
    quick_set: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
    *,
    quick: bool,
) -> _Setup:
    changes = {**(set or {}), **((quick_set or {}) if quick else {})}

    def text_at(levels: Mapping[str, Level]) -> str:
        return (folder / base.format(**levels)).read_text(encoding="utf-8")

    own = {"setup": name, **common, **(names or {})} if names or common else {}
    return _Setup(text_at if "{" in base else text_at({}), overrides(changes), own)


@dataclass(frozen=True)
class _Reader:
    folder: Path
    factors: Mapping[str, Factor]
    claims: Mapping[str, Mapping[str, Any]]
    replications: int
    tolerances: Mapping[str, Tolerance]
    setups: Mapping[str, _Setup]
    without: frozenset[str]
    quick: bool
    baseline: Mapping[str, Any] | bool
    numbers: Numbers

    def experiment(self, name: str, file: Path) -> Experiment:
        data = _read(file)
        if "like" in data:
            data = {**_read(file.with_name(f"{data['like']}.toml")), **data}
        # A factor of this experiment alone stands in its own file.
        factors = {**self.factors, **read_factors(data.get("factors", {}), self.folder)}
        series = {
            key: self.series(key, {**_for_all_series(data), **entry}, factors)
            for key, entry in data["series"].items()
            if key not in self.without
        }
        beside = Beside(**data["beside"]) if "beside" in data else None
        cells = self.cells(name, data) if "expected" in data else ()
        return Experiment(
            name=name,
            title=data["title"],
            section=str(data.get("section", "")),
            series=series,
            cells=(*beside.cells(name, series),) if beside else cells,
            claims=tuple(self.claim(name, entry) for entry in data.get("claim", [])),
            figure=self.figure(data["figure"]) if "figure" in data else None,
            notes=data.get("notes", "").strip(),
            metric_of=data.get("metric_of", {}),
            part=data.get("part", ""),
            page=data.get("page", ""),
            tables=tuple(data.get("table", [])),
            baseline=_baseline(file, data.get("baseline", self.baseline)),
            factors=factors,
            beside=beside,
        )

    def figure(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        drawn = spec.get("series")
        if not isinstance(drawn, list):
            return spec
        return {**spec, "series": [name for name in drawn if name not in self.without]}

    def series(self, name: str, entry: Mapping[str, Any], factors: Mapping[str, Factor]) -> Series:
        reduced = self.quick and "quick" in entry
        if reduced:
            entry = {**entry, **entry["quick"]}
        if "rivals" in entry:
            return Series(name, (), 0, ranking=Ranking(entry["rivals"], entry["of"]))
        if "published" in entry:
            return Series(name, _published(self.folder / entry["published"]), 0, entry["model"])
        levels = entry["factors"]
        if "side" in entry:
            if entry["side"] not in SIDES or "measured" not in entry:
                there = ", ".join(SIDES)
                raise ReproductionError(f"{name}: side: one of {there}, with a table `measured`")
            setup = self.setups.get(entry["setup"])
            always = (*setup.always, *overrides(entry.get("set", {}))) if setup else ()
            known = (
                settings(levels, factors, always, setup.base, setup.names)
                if setup and entry["side"] in MEASURABLE
                else [Setting(one, (), "") for one in combinations(levels)]
            )
            table = self.folder / entry["measured"]
            kernel = entry.get("kernel", "auto")
            return Series(name, tuple(known), 0, side=entry["side"], measured=table, kernel=kernel)
        if entry["setup"] not in self.setups:
            there = ", ".join(filter(None, self.setups)) or "none"
            raise ReproductionError(f"{name}: no set-up {entry['setup']!r}; there are {there}")
        setup = self.setups[entry["setup"]]
        model = entry.get("model", entry.get("engine"))
        if model is not None:
            return Series(name, _computed(entry, factors, setup), 0, model)
        always = (*setup.always, *overrides(entry.get("set", {})))
        points = settings(levels, factors, always, setup.base, setup.names, draw=entry.get("draw"))
        return Series(
            name,
            tuple(points),
            entry.get("replications", self.replications),
            quick_replications=entry.get("quick_replications"),
            more_runs=entry.get("more_runs", True),
            without_mechanism=entry.get("without_mechanism", True),
            reduced=reduced,
            beside=entry.get("beside"),
        )

    def cells(self, experiment: str, data: Mapping[str, Any]) -> tuple[Cell, ...]:
        cannot_fail = data.get("cells_cannot_fail", {})
        file = self.folder / "expected" / data["expected"]
        with file.open(encoding="utf-8", newline="") as lines:
            return tuple(
                Cell(
                    experiment,
                    {key: _level(text) for key, text in row.items() if key not in _CELL_COLUMNS},
                    row["metric"],
                    float(row["value"]),
                    row["unit"],
                    self.tolerances.get(row["metric"], TEN_PER_CENT),
                    cannot_fail.get(row["metric"], ""),
                )
                for row in csv.DictReader(lines)
            )

    def placed(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Give a part of a claim, or a level of one, with what its `place` stands for."""
        found = {key: value for key, value in part.items() if key != "place"}
        if "place" in part:
            there = self.numbers.places[part["place"]]
            found = {**there, **found, "derive": {**there["derive"], **part.get("derive", {})}}
        if "levels" in part:
            found["levels"] = {name: self.placed(one) for name, one in part["levels"].items()}
        return found

    def claim(self, experiment: str, entry: Mapping[str, Any]) -> Claim:
        published = self.claims.get(entry["id"])
        if published is None:
            raise ReproductionError(f"{experiment}: no claim {entry['id']!r} in claims.toml")
        own = {key: value for key, value in entry.items() if key not in _OF_THE_CLAIM}
        main, *more = (self.placed(part) for part in (own, *entry.get("and", [])))
        return Claim(
            id=entry["id"],
            experiment=experiment,
            text=published["text"],
            check_text=published["check_text"],
            section=published.get("section", ""),
            check=published["check"],
            parts=(main, *more),
            reading=entry.get("reading", ""),
            cannot_fail=entry.get("cannot_fail", ""),
        )


def _for_all_series(data: Mapping[str, Any]) -> dict[str, Any]:
    more = {"replications": data["replications"]} if "replications" in data else {}
    return {"setup": data.get("setup", ""), **more}


def _baseline(file: Path, entry: Mapping[str, Any] | bool) -> Baseline | None:
    if entry is False:
        return None
    try:
        return Baseline(**entry)  # type: ignore[arg-type]
    except TypeError as error:
        raise ReproductionError(f"{file}: baseline: {error}") from None


def _computed(
    entry: Mapping[str, Any], factors: Mapping[str, Factor], setup: _Setup
) -> tuple[Setting, ...]:
    """Points of a formula; levels that are no factor's are its arguments alone.

    Of a closed form only the mechanism's are looked up: its other levels have names of their own.
    """
    constants = entry.get("constants", {})
    known = factors.keys() if "engine" in entry else factors.keys() & {"mechanism"}
    points = []
    for point in combinations(chosen(entry["factors"], factors, setup.names)):
        levels = {**constants, **point}
        named = [name for name in levels if name in known]
        others = {**setup.names, **levels}
        changes = [one for name in named for one in factors[name].overrides(levels[name], others)]
        points.append(Setting(levels, tuple(changes), scenario_of(setup.base, levels)))
    return tuple(points)


def _published(file: Path) -> tuple[Setting, ...]:
    """Give a point for each place of a table of published cells, with the paper's numbers."""
    places: dict[tuple[tuple[str, Level], ...], dict[str, float]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            levels = tuple((k, _level(text)) for k, text in row.items() if k not in _CELL_COLUMNS)
            places.setdefault(levels, {})[row["metric"]] = float(row["value"])
    return tuple(Setting(dict(levels), (), known=found) for levels, found in places.items())


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ReproductionError(f"{file}: {error}") from error


def _level(text: str) -> Level:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number
