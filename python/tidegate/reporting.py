"""`tidegate report`: saved results as one HTML file that asks for nothing."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from tidegate.errors import ResultError, UsageError
from tidegate.escapes import lines, one_line
from tidegate.exploring import PAGE, fragment
from tidegate.pages import PAGES, file_stem, filled, write_page
from tidegate.results.manifests import known_manifest, read_manifest
from tidegate.results.show import variant_labels
from tidegate.results.summary import by_name, rows
from tidegate.results.tables import numbers

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.results.result import Result
    from tidegate.results.show import Grid

REPORT = PAGES / "report.html"
MOST_POINTS = 12
"""Points of a sweep that a report lays side by side."""
MOST_SAMPLES = 1_000
"""Samples of a series; more are means over neighbours."""
MOST_HOPS = 20e6
"""Hops of packets in a run beyond which a page is too slow to repeat it."""
MOST_FRAGMENT = 32_000
"""Characters of an address."""

_SHOWN = {
    "group": (
        "throughput_bps", "share", "loss_ratio", "mark_ratio", "p50_queueing_delay_s",
        "p95_queueing_delay_s", "p99_queueing_delay_s", "max_queueing_delay_s", "mean_srtt_s",
        "mos", "mean_completion_s", "p50_completion_s", "p95_completion_s", "p99_completion_s",
        "mean_slowdown", "transfers_finished", "transfers_unfinished",
    ),
    "link": ("mean_sojourn_s", "p95_sojourn_s", "utilization", "drop_ratio"),
}  # fmt: skip


def report(*folders: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write a report of saved results side by side, and return its path.

    Parameters
    ----------
    folders
        Folders of results, with or without variants, and of sweeps with at most 12 points.
    out
        Folder of ``report.html``; default: the result's, or ``results/A--B-HASH`` for several.
        Where `tidegate explore` has its page, that is written beside it, for the links that change
        a scenario.

    Raises
    ------
    MissingPageError
        Where the page of reports is not built.
    ResultError
        Where a folder cannot be read, or no run of a result counts.
    UsageError
        Where a sweep has too many points.

    """
    places = [Path(folder) for folder in folders]
    if not places:
        raise UsageError("report: name a result folder")
    results = gather(places)
    folder = Path(out) if out else _default_folder(places, results)
    page = filled(REPORT, content(results, _origin(places[0])))
    if PAGE.is_file():
        write_page(folder / PAGE.name, PAGE.read_text(encoding="utf-8"))
    return write_page(folder / REPORT.name, page)


def gather(folders: list[Path]) -> dict[str, Result]:
    """Read all results of some folders, named apart; a single one has no name."""
    found: list[tuple[Path, str, Result]] = []
    for folder in folders:
        found += [(folder, name, result) for name, result in _read(folder)]
    for folder, name, result in found:
        if not result.averaged.replications:
            label = f" ({name})" if name else ""
            raise ResultError(f"{folder}{label} has no run that counts")
    if len(found) == 1:
        return {"": found[0][2]}
    names = [name or _name(folder) for folder, name, _ in found]
    named: dict[str, Result] = {}
    for name, (folder, _, result) in zip(names, found, strict=True):
        unique = name if names.count(name) == 1 else f"{_name(folder)}: {name}"
        alike = sum(one == unique or one.startswith(f"{unique} (") for one in named)
        named[f"{unique} ({alike + 1})" if alike else unique] = result
    return named


def _read(folder: Path) -> list[tuple[str, Result]]:
    from tidegate.results.result import Result
    from tidegate.results.store import load
    from tidegate.runs.sweeps import load_sweep

    if read_manifest(folder)["kind"] == "sweep":
        sweep = load_sweep(folder)
        if len(sweep.points) > MOST_POINTS:
            raise UsageError(
                f"{folder} is a sweep of {len(sweep.points)} points; a report has at most"
                f" {MOST_POINTS} side by side: `tidegate plot {folder}` draws them over its keys"
            )
        return [(point.label, result) for point, result in sweep.results()]
    result = load(folder)
    return [("", result)] if isinstance(result, Result) else list(result.items())


def _name(folder: Path) -> str:
    """Return the name of a result: its variant's in a folder with several, else its folder's."""
    place = folder.resolve()
    variants = (known_manifest(place.parent) or {}).get("variants", [])
    names = {one["folder"]: one["name"] for one in variants}
    return str(names.get(place.name, place.name))


def _default_folder(places: list[Path], results: Mapping[str, Result]) -> Path:
    if len(places) == 1:
        return places[0]
    content = repr([(name, result.digests) for name, result in results.items()])
    names = "--".join(place.resolve().name[: 200 // len(places)] for place in places)
    return Path("results") / f"{names}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def _origin(folder: Path) -> str:
    manifest = read_manifest(folder)
    build = str(manifest.get("engine_build", ""))[:8]
    return f"tidegate {manifest.get('engine_version', '')} (engine {build})"


def content(results: Mapping[str, Result], origin: str) -> dict[str, Any]:
    """Return what the page shows, as JSON has it."""
    labels = variant_labels(results) if len(results) > 1 else [_single_name(results)]
    if len(results) > 1:
        results = dict(zip(labels, results.values(), strict=True))
    first = next(iter(results.values()))
    runs = {result.averaged.replications for result in results.values()}
    several = max(runs) > 1
    return {
        "name": one_line(first.scenario.name),
        "description": lines(_description(first.scenario)),
        "about": f"{_about(results)}; {origin}",
        "interval": "Mean ± 95 % confidence interval of the runs" if several else "One run",
        "warnings": _warnings(results),
        "variants": [
            _variant(label, name, one)
            for label, (name, one) in zip(labels, results.items(), strict=True)
        ],
        "tables": [_grid(grid) for grid in _grids(results)],
        "settings": _settings(results),
    }


def _single_name(results: Mapping[str, Result]) -> str:
    (result,) = results.values()
    return str(result.scenario.name)


def _about(results: Mapping[str, Result]) -> str:
    words = []
    for what in (_runs, _measured, _where):
        found = list(dict.fromkeys(map(what, results.values())))
        words.append(" or ".join(found))
    return ", ".join(words)


def _runs(result: Result) -> str:
    count = result.averaged.replications
    return f"{count} runs" if count > 1 else "one run"


def _measured(result: Result) -> str:
    return f"{result.scenario.duration_s:g} s measured after {result.scenario.warm_up_s:g} s"


def _where(result: Result) -> str:
    return "on real Linux" if result.kind == "lab" else "simulated"


def _description(scenario: Scenario) -> str:
    import tomllib

    return str(tomllib.loads(scenario.to_toml()).get("description", ""))


def _warnings(results: Mapping[str, Result]) -> list[str]:
    """What is hardly meant in the scenarios, and what makes the results doubtful."""
    from tidegate.results.findings import warnings

    found: dict[str, list[str]] = {}
    for name, result in results.items():
        texts = [text for *_, text in result.scenario.warnings()]
        if result.invalid:
            count, every = len(result.invalid), result.replications
            texts.append(f"{count} of {every} runs are invalid and do not count")
        for text in [*texts, *warnings(result.averaged)]:
            found.setdefault(one_line(text), []).append(one_line(name))
    # What all have is said once.
    return [
        text if len(names) == len(results) else f"{', '.join(names)}: {text}"
        for text, names in found.items()
    ]


def _variant(label: str, name: str, result: Result) -> dict[str, Any]:
    kept, scenario = result.averaged, result.scenario
    text = scenario.to_toml()
    file = f"{file_stem(f'{scenario.name}-{label}' if name else scenario.name)}.toml"
    return {
        "label": one_line(label),
        "groups": [one_line(group) for group in scenario.groups],
        "links": [one_line(link) for link, _, _ in scenario.bottlenecks],
        "elastic": [one_line(group) for group in _elastic(scenario)],
        "values": _values(kept),
        "series": _series(kept),
        "scenario": text,
        "file": file,
        "command": _command(result, file),
        "change": _change(result, text),
    }


def _elastic(scenario: Scenario) -> list[str]:
    """Groups whose flows always have something to send."""
    plan = scenario.plan()
    greedy = {
        plan["user_groups"][flow["user"]]
        for flow in plan["flows"] if flow["tcp"] and flow["traffic"]["kind"] == "greedy"
    }  # fmt: skip
    return [group for number, group in enumerate(scenario.groups) if number in greedy]


def _values(result: Result) -> list[list[Any]]:
    """Metric, name, mean, half-width and runs of what the page shows."""
    every = [row for row in rows(result.tables) if row.metric in _SHOWN.get(row.kind, ())]
    begun = {row.name for row in every if row.metric.startswith("transfers_") and row.mean}
    return [
        [row.metric, one_line(row.name), row.mean, None if math.isnan(row.ci95) else row.ci95,
         row.runs]
        for row in every
        if math.isfinite(row.mean)
        and (row.name in begun or not row.metric.startswith("transfers_"))
    ]  # fmt: skip


def _series(result: Result) -> dict[str, Any] | None:
    """The run with the first seed over time: throughput of groups, bit/s, and queues, packets."""
    groups = _first_run(result.group_series)
    if not groups.num_rows:
        return None
    throughput = _curves(groups, "group", "throughput_bps")
    backlog = _curves(_first_run(result.link_series), "link", "backlog_packets")
    return {
        "time_s": _thinned(numbers(next(by_name(groups, "group"))[1], "time_s")),
        "throughput": throughput,
        "backlog": backlog,
    }


def _first_run(series: pa.Table) -> pa.Table:
    return series.filter(pc.equal(series["replication"], pc.min(series["replication"])))


def _curves(series: pa.Table, key: str, column: str) -> list[dict[str, Any]]:
    return [
        {"name": one_line(name), "values": _thinned(numbers(part, column))}
        for name, part in by_name(series, key)
    ]


def _thinned(values: NDArray[np.float64]) -> list[Any]:
    """Means over neighbours where there are many, four digits each."""
    step = -(-len(values) // MOST_SAMPLES)
    whole = len(values) // step * step
    means = values[:whole].reshape(-1, step).mean(axis=1)
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in means]


def _command(result: Result, file: str) -> str:
    seeds = [seed for seed, _ in result.digests]
    what = "lab" if result.kind == "lab" else "simulate"
    command = f"tidegate {what} {file} --seed {seeds[0]} --replications {len(seeds)}"
    if result.kind == "lab":
        return f"{command}\n# on real Linux, where no two runs are the same"
    return f"{command}\n# first digest {result.digests[0][1]}"


def _change(result: Result, text: str) -> str | None:
    """Address of the page to explore with the scenario, where that is there and can take it."""
    hops = numbers(result.run, "hops")
    if not PAGE.is_file() or result.kind == "lab" or hops.max(initial=0.0) > MOST_HOPS:
        return None
    packed = fragment(text)
    return f"{PAGE.name}{packed}" if len(packed) <= MOST_FRAGMENT else None


def _grids(results: Mapping[str, Result]) -> list[Grid]:
    from tidegate.results.comparing import compare_results, grid
    from tidegate.results.show import application_grid, place_grids
    from tidegate.results.size_grid import size_grids

    found = [application_grid(results), *size_grids(results), *place_grids(results)]
    if len(results) > 1:
        try:
            together = compare_results(*results.values(), names=list(results))
        except UsageError:
            pass  # they have no group or link in common
        else:
            made = grid(together)
            first, paired = next(iter(results)), together.is_paired(1)
            kind = "of runs paired by their seeds" if paired else "(Welch)"
            made.title = f"Differences from {first}, 95 % confidence interval {kind}"
            found.append(made)
    return [one for one in found if one.cells]


def _settings(results: Mapping[str, Result]) -> dict[str, Any] | None:
    """Settings in which the scenarios differ."""
    from tidegate.results.comparing import SideBySide
    from tidegate.results.show import Grid

    if len(results) < 2:
        return None
    differ = SideBySide(dict(results)).settings
    cells = [list(map(str, row)) for row in differ]
    grid = Grid("Settings that differ", ["key", *results], cells, text_columns=1)
    return _grid(grid) if cells else None


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "title": one_line(grid.title),
        "headings": [lines(heading) for heading in grid.headings],
        "cells": [[one_line(cell) for cell in row] for row in grid.cells],
        "text_columns": grid.text_columns,
    }
