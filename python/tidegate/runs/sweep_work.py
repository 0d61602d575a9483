"""A sweep under way: what is missing is run, written into files and entered into the catalogue.

Runs go out in groups, and a group's runs share a file. Who runs them writes the file, where the
sweep's folder is theirs as well, and otherwise sends its content; the process that the sweep was
called from alone writes the catalogue.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ResultError, UsageError
from tidegate.results.atomic import clear_leftovers, replace_file
from tidegate.results.checked import Checksum, is_intact
from tidegate.results.manifests import MANIFEST, SCENARIO, checksum, manifest_of, read_manifest
from tidegate.runs.batches import batches, run_batch
from tidegate.runs.execution import MAX_RUNS, Counted
from tidegate.runs.run_files import RunFile, RunFiles
from tidegate.runs.sweeps import Point, Sweep, SweepStore, scenario_text, stored_points
from tidegate.scenarios.reading import build_id, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tidegate._native import Scenario
    from tidegate.runs.catalogue import Settings
    from tidegate.runs.execution import Executor, Progress
    from tidegate.runs.precision import Until


SUMMARY = "summary.parquet"


@dataclass(frozen=True, slots=True)
class Planned:
    """A point before anything is run."""

    settings: Settings
    content: str
    """Hash of what is run there."""
    seeds: Sequence[int]

    def key(self, seed: int) -> str:
        """Name of a run: hash of the scenario's content, the seed and the engine."""
        return hashlib.sha256(f"{self.content} {seed} {build_id()}".encode()).hexdigest()[:32]


class Run(NamedTuple):
    """What is to be done."""

    point: int
    seed: int
    key: str
    scenario: Scenario


class Written(NamedTuple):
    """What came of a group of runs."""

    file: RunFile | None
    """None where all have failed."""
    content: bytes | None
    """Of the file, unless it stands in the sweep's folder already."""
    digests: list[tuple[int, str]]
    """Of each row of the file: which run of the group it is, and its digest."""
    failures: list[tuple[int, str]]
    """Which run of the group failed, and why."""


def run_group(runs: Iterable[Run], *, folder: Path, token: str) -> Written:
    """Do runs and write them into a file, here or, where the folder is not here, into memory."""
    found, keys, digests, failures = [], [], [], []
    number = 0
    for together in batches(runs, alike=lambda run: run.scenario.groups):
        batch, failed = run_batch([(run.scenario, run.seed) for run in together])
        ended = [place for place in range(len(together)) if place not in failed]
        failures += [(number + place, str(error)) for place, error in failed.items()]
        if ended:
            found.append(batch)
            keys += [together[place].key for place in ended]
            own = zip(ended, batch.digests, strict=True)
            digests += [(number + place, digest) for place, digest in own]
        number += len(together)
    if not found:
        return Written(None, None, digests, failures)
    file, content = RunFile.of(keys, found)
    files = RunFiles(folder)
    if not files.shared(token):
        return Written(file, content, digests, failures)
    files.write(file, content)
    return Written(file, None, digests, failures)


def check_number(runs: int) -> None:
    """Refuse more runs than anybody waits for."""
    if runs > MAX_RUNS:
        raise UsageError(f"{runs} runs are more than {MAX_RUNS}; take fewer replications")


class Work:
    """A sweep under way."""

    def __init__(
        self, folder: Path, base: Scenario, plan: list[Planned], store: SweepStore
    ) -> None:
        self.folder, self.base, self.plan, self.store = folder, base, plan, store
        store.catalogue.note("scenario_hash", content_hash(base))
        store.catalogue.forget_failures()
        numbers = store.catalogue.enter_points(point.settings for point in plan)
        self.points = [
            Point(number, one.settings, one.seeds, store)
            for number, one in zip(numbers, plan, strict=True)
        ]

    def run(
        self, executor: Executor, enough: Until | None, tell: Progress, *, resume: bool
    ) -> None:
        """Do what is missing, and more until there is enough."""
        self.token = self.store.files.prepare()
        lost = self._check_files()
        wanted: list[tuple[int, Sequence[int]]] = [
            (number, sorted({*point.seeds, *lost.get(point.number, ())}))
            for number, point in enumerate(self.points)
        ]
        total = 0
        while wanted:
            missing = self._missing(wanted, resume=resume)
            total += sum(len(seeds) for _, seeds in wanted)
            done = total - sum(len(seeds) for _, seeds in missing)
            tell(done, total)
            for finished in self._work(executor, missing):
                for _ in range(finished):
                    done += 1
                    tell(done, total)
            self._copy_twins(wanted)
            wanted = self._more(enough) if enough else []

    def _work(self, executor: Executor, missing: list[tuple[int, list[int]]]) -> Iterator[int]:
        """Do these runs and enter them; yields how many have ended."""
        do = partial(run_group, folder=self.store.files.folder.absolute(), token=self.token)
        runs = Counted(self._runs(missing), sum(len(seeds) for _, seeds in missing))
        with closing(executor.work_in_groups(runs, do)) as groups:
            for group, outcome in groups:
                self._enter(group, outcome)
                yield len(group)

    def _enter(self, group: Sequence[Run], outcome: Written | Exception) -> None:
        catalogue, files = self.store.catalogue, self.store.files
        if isinstance(outcome, ResultError):
            raise outcome
        if isinstance(outcome, Exception):
            reason = str(outcome)
            catalogue.enter(None, (), [(run.point, run.seed, reason) for run in group])
            return
        if outcome.file is not None and outcome.content is not None:
            files.write(outcome.file, outcome.content)
        runs = (
            (group[number].point, group[number].seed, group[number].key, digest, place)
            for place, (number, digest) in enumerate(outcome.digests)
        )
        failures = (
            (group[number].point, group[number].seed, why) for number, why in outcome.failures
        )
        catalogue.enter(outcome.file, runs, failures)

    def _runs(self, missing: list[tuple[int, list[int]]]) -> Iterator[Run]:
        for number, seeds in missing:
            point, planned = self.points[number], self.plan[number]
            scenario = point.scenario
            for seed in seeds:
                yield Run(point.number, seed, planned.key(seed), scenario)

    def _missing(
        self, wanted: list[tuple[int, Sequence[int]]], *, resume: bool
    ) -> list[tuple[int, list[int]]]:
        """What is not there yet, of each point; the same run at two points is wanted once."""
        missing = []
        for number, seeds in wanted:
            planned = self.plan[number]
            there = self.store.catalogue.keys(self.points[number].number) if resume else {}
            twins = self._twins.get(planned.content, [number])
            todo = [
                seed
                for seed in seeds
                if there.get(seed) != planned.key(seed)
                and not any(seed in self.points[one].seeds for one in twins if one < number)
            ]
            if todo:
                missing.append((number, todo))
        return missing

    @cached_property
    def _twins(self) -> dict[str, list[int]]:
        """Numbers of the points at which the same is run, of those that have any."""
        found: dict[str, list[int]] = {}
        for number, point in enumerate(self.plan):
            found.setdefault(point.content, []).append(number)
        return {content: numbers for content, numbers in found.items() if len(numbers) > 1}

    def _copy_twins(self, wanted: list[tuple[int, Sequence[int]]]) -> None:
        """Enter what was run at one point for the others at which it is the same."""
        for number, seeds in wanted:
            for one in self._twins.get(self.plan[number].content, []):
                if one < number:
                    first, here = self.points[one], self.points[number]
                    shared = set(seeds) & set(first.seeds)
                    self.store.catalogue.copy(first.number, here.number, shared)

    def _more(self, enough: Until) -> list[tuple[int, Sequence[int]]]:
        """What has to be run in addition, of the points that are not known well enough."""
        wanted: list[tuple[int, Sequence[int]]] = []
        known: set[str] = set()
        for number, point in enumerate(self.points):
            have, rows = len(point.seeds), point.summary()
            known.update(row.metric for row in rows if row.runs)
            count = enough.next_count(rows, have)
            if count > have:
                first = point.seeds[0]
                self.points[number] = replace(point, seeds=range(first, first + count))
                wanted.append((number, range(first + have, first + count)))
        enough.check(known)
        check_number(sum(len(point.seeds) for point in self.points))
        return wanted

    def _check_files(self) -> dict[int, set[int]]:
        """Bring the catalogue into step with the files: some may be damaged, some not entered.

        Gives what is lost: seeds by the number of their point.
        """
        catalogue, files = self.store.catalogue, self.store.files
        known = catalogue.files()
        lost: dict[int, set[int]] = {}
        for file in known:
            if not files.intact(file):
                for point, seed in catalogue.forget(file):
                    lost.setdefault(point, set()).add(seed)
                files.remove(file.name)
        unknown = files.names() - {file.name for file in known}
        if unknown:
            self._adopt(unknown)
        return lost

    def _adopt(self, names: Iterable[str]) -> None:
        """Enter files that an interrupted sweep had not entered; remove what is double."""
        places = {
            planned.key(seed): (point.number, seed)
            for planned, point in zip(self.plan, self.points, strict=True)
            for seed in planned.seeds
        }
        catalogue, files = self.store.catalogue, self.store.files
        for name in names:
            found = files.found(name)
            if found is None:
                continue
            file, runs = found
            ours = [(*places[key], key, digest, place)
                    for place, (key, _, digest) in enumerate(runs) if key in places]  # fmt: skip
            new = [run for run in ours if catalogue.keys(run[0]).get(run[1]) != run[2]]
            if new:
                catalogue.enter(file, new)
            elif len(ours) == len(runs):
                files.remove(name)

    def finish(self, wall_s: float, enough: Until | None) -> None:
        """Write what belongs to the sweep as a whole; the manifest last: then it is done."""
        from tidegate.results.store import json_text

        for file in self.store.catalogue.unused():
            self.store.catalogue.forget(file)
            self.store.files.remove(file.name)
        self.store.files.tidy()
        until = {"until": [f"{one.metric} {one.text}" for one in enough.targets]} if enough else {}
        state = f"{self.store.catalogue.fingerprint()} {until}"
        if self.store.catalogue.about(SUMMARY) == state and self._is_finished():
            return
        whole = Sweep(self.base, stored_points(self.store), self.folder)
        clear_leftovers(self.folder)
        self.store.write_scenario(self.folder / SCENARIO, self.base.to_toml().encode())
        replace_file(self.folder / SUMMARY, lambda path: _write_parts(whole, path))
        files = {SUMMARY: Checksum.of_file(self.folder / SUMMARY)}
        manifest = manifest_of(self.base, files, kind="sweep", wall_s=round(wall_s, 3), **until)
        text = json_text(manifest).encode()
        replace_file(self.folder / MANIFEST, lambda path: path.write_bytes(text))
        self.store.catalogue.note(SUMMARY, state)

    def _is_finished(self) -> bool:
        """Whether the files of the sweep as a whole are there, as they were written."""
        try:
            manifest = read_manifest(self.folder)
            scenario_text(self.folder, self.store.catalogue)
        except (ResultError, ValueError):
            return False
        known = checksum(manifest, SUMMARY)
        return known is not None and is_intact(self.folder / SUMMARY, known)


def _write_parts(whole: Sweep, path: Path) -> None:
    """The summary, part by part, so that no more than a part is in memory."""
    parts = whole.summary_parts()
    first = next(parts, pa.table({}))
    with pq.ParquetWriter(path, first.schema, compression="zstd", write_page_checksum=True) as out:
        out.write_table(first)
        for part in parts:
            out.write_table(part)
