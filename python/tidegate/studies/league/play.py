"""An order: what is to be played, what was kept, what is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.data import check_source, data_folder
from tidegate.errors import MissingError, ResultError, UsageError
from tidegate.results.places import check_writable
from tidegate.results.store import hand_over
from tidegate.studies.league import running, standings
from tidegate.studies.league.field import (
    chosen,
    plays,
    read_mechanisms,
    read_situations,
    settles,
)
from tidegate.studies.league.running import Effort
from tidegate.studies.league.scores import Scores
from tidegate.studies.page import write_page

if TYPE_CHECKING:
    from tidegate.runs.execution import Executor
    from tidegate.runs.simulation import Showing
    from tidegate.studies.league.field import Mechanism, Situation
    from tidegate.studies.league.findings import Finding
    from tidegate.studies.league.standings import Standings


@dataclass(frozen=True)
class Order:
    """What is asked for; the command's options."""

    situations: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    replications: int | None = None
    quick: bool = False
    lab: bool = False
    lab_jobs: int = 1
    cost: bool = True
    resume: bool = False
    report: bool = False
    out: Path | None = None


@dataclass(frozen=True)
class Played:
    """What came out."""

    scores: Scores
    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def play(
    order: Order,
    *,
    show: Showing = False,
    folder: Path | None = None,
    executor: Executor | None = None,
) -> Played:
    """Run what is asked for and write it down.

    Parameters
    ----------
    order
        What to run.
    show
        Whether to draw a progress bar.
    folder
        The league's data; default: those of the package.
    executor
        Where to simulate; default: threads.

    """
    data = folder or data_folder("studies") / "league"
    every_situation, every_mechanism = read_situations(data), read_mechanisms(data)
    situations = chosen("situation", every_situation, order.situations)
    mechanisms = chosen("mechanism", every_mechanism, order.mechanisms)
    _check_lab(situations, order)
    if order.report:
        check_source(data)
    kept_in = results_folder(order, data)
    check_writable(kept_in)
    # A folder keeps what was played in it before: an order for a part replaces that part alone.
    found = standings.load(kept_in, strict=order.report)
    found.keep_only(every_situation, every_mechanism)
    if not order.resume:
        _check_no_fewer(found, situations, mechanisms, order, kept_in)
    save = partial(standings.save_situation, found, kept_in)
    _run(situations, mechanisms, order, found, show, executor, save)
    found.keep_only(every_situation, every_mechanism)
    standings.save(found, kept_in)
    if order.report:
        scores = Scores(found, every_situation, every_mechanism)
        return _report(data, kept_in, scores)
    scores = Scores(found, {s.name: s for s in situations}, {m.name: m for m in mechanisms})
    files = [kept_in / "league.csv"]
    from tidegate.studies.league.figure import draw

    if any(found.entries.values()):
        whole = Scores(found, *_with_runs(found, every_situation, every_mechanism))
        files.append(draw(whole, kept_in / "league.png"))
    hand_over(kept_in)
    return Played(scores, files)


def results_folder(order: Order, data: Path | None = None) -> Path:
    """Where an order keeps what it has played."""
    if order.report:
        return (data or data_folder("studies") / "league") / "results"
    return order.out or _default_folder(order)


def _default_folder(order: Order) -> Path:
    """A folder of its own for a part of the league, and for other numbers of runs."""
    part = [sorted(order.situations), sorted(order.mechanisms), order.replications]
    name = "league-quick" if order.quick else "league"
    if any(part):
        name += "-" + hashlib.sha256(json.dumps(part).encode()).hexdigest()[:8]
    return Path("results") / name


def _check_no_fewer(
    found: Standings,
    situations: list[Situation],
    mechanisms: list[Mechanism],
    order: Order,
    folder: Path,
) -> None:
    """Refuse to replace runs by fewer of the same."""
    asked = Effort(order.replications, order.quick).count
    for situation in situations:
        wanted = asked or situation.content.get("replications", 1)
        for mechanism in mechanisms if order.lab or not situation.lab else []:
            there = len(found.runs(situation.name, mechanism.name))
            if there > wanted and found.has(situation, mechanism, runs=None, quick=order.quick):
                raise ResultError(
                    f"{folder} has {there} runs of {mechanism.name} in {situation.name}, these "
                    f"would be {wanted}; it was left alone. Use --resume or name another folder"
                )


def _with_runs(
    found: Standings, situations: dict[str, Situation], mechanisms: dict[str, Mechanism]
) -> tuple[dict[str, Situation], dict[str, Mechanism]]:
    """The situations and mechanisms of which there is anything to draw."""
    played = {m for entries in found.entries.values() for m in entries}
    return (
        {name: one for name, one in situations.items() if found.entries.get(name)},
        {name: one for name, one in mechanisms.items() if name in played},
    )


def _run(
    situations: list[Situation],
    mechanisms: list[Mechanism],
    order: Order,
    found: Standings,
    show: Showing,
    executor: Executor | None,
    save: running.Save,
) -> None:
    """Run what is wanted and not there; what has ended is saved, whatever comes after it."""
    effort = Effort(order.replications, order.quick, order.lab_jobs)
    pairs = [
        (s, m)
        for s in situations
        for m in mechanisms
        if plays(s, m)
        and not (order.resume and found.has(s, m, runs=effort.count, quick=order.quick))
        # Half-full buckets turn conclusions round: a hasty answer has none about these.
        and (s.lab or not order.quick or settles(s, m, quick=True))
    ]
    simulated = [pair for pair in pairs if not pair[0].lab]
    if simulated:
        running.simulate(simulated, effort, found, show, executor, save)
    in_lab = [pair for pair in pairs if pair[0].lab and not pair[1].extra] if order.lab else []
    if in_lab:
        running.run_lab(in_lab, effort, found, show, save)
    costly = [s for s in situations if s.state]
    unknown = [m for m in mechanisms if not (order.resume and found.costs(m.name, "cpu_ns"))]
    if order.cost and costly and unknown:
        running.measure_cost(costly[0], unknown, found, quick=order.quick)


def _check_lab(situations: list[Situation], order: Order) -> None:
    """Tell before anything runs that the lab cannot."""
    if order.lab:
        from tidegate.laboratory.process import missing

        lacking = missing()
        if lacking:
            raise MissingError(lacking)
    elif order.situations and all(one.lab for one in situations) and not order.report:
        names = ", ".join(one.name for one in situations)
        raise UsageError(f"{names} needs a real kernel: add --lab")


def _report(data: Path, results: Path, scores: Scores) -> Played:
    """Write the page and its figure into the checkout."""
    from tidegate.studies.league.figure import draw
    from tidegate.studies.league.page import page

    docs = data.parent / "docs"
    text, findings = page(data, scores)
    image = draw(scores, docs / "images" / "league.png")
    target = write_page(docs / "league.md", text)
    files = [results / "league.csv", image, target]
    for path in (results, image, target):
        hand_over(path)
    return Played(scores, files, findings)
