"""An order: what is to be played, what was kept, what is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import MissingError, UsageError
from tidegate.league import running, standings
from tidegate.league.field import (
    chosen,
    league_dir,
    read_mechanisms,
    read_situations,
    settles,
)
from tidegate.league.running import Effort
from tidegate.league.scores import Scores
from tidegate.store import hand_over

if TYPE_CHECKING:
    from tidegate.league.field import Mechanism, Situation
    from tidegate.league.findings import Finding
    from tidegate.league.standings import Standings
    from tidegate.simulation import Showing


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
    jobs: int | None = None


@dataclass(frozen=True)
class Played:
    """What came out."""

    scores: Scores
    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def play(order: Order, *, show: Showing = False, folder: Path | None = None) -> Played:
    """Run what is asked for and write it down.

    Parameters
    ----------
    order
        What to run.
    show
        Whether to draw a progress bar.
    folder
        The league's data; default: `league/` of the checkout.

    """
    data = folder or league_dir()
    every_situation, every_mechanism = read_situations(data), read_mechanisms(data)
    situations = chosen("situation", every_situation, order.situations)
    mechanisms = chosen("mechanism", every_mechanism, order.mechanisms)
    _check_lab(situations, order)
    default = Path("results") / ("league-quick" if order.quick else "league")
    kept_in = data / "results" if order.report else order.out or default
    keeps = order.report or order.resume
    found = standings.load(kept_in) if keeps else standings.Standings()
    found.keep_only(every_situation, every_mechanism)
    _run(situations, mechanisms, order, found, show)
    found.keep_only(every_situation, every_mechanism)
    standings.save(found, kept_in)
    if order.report:
        scores = Scores(found, every_situation, every_mechanism)
        return _report(data, kept_in, scores)
    scores = Scores(found, {s.name: s for s in situations}, {m.name: m for m in mechanisms})
    files = [kept_in / "league.csv"]
    from tidegate.league.figure import draw

    if any(found.runs(s.name, m.name) for s in situations for m in mechanisms):
        files.append(draw(scores, kept_in / "league.png"))
    hand_over(kept_in)
    return Played(scores, files)


def _run(
    situations: list[Situation],
    mechanisms: list[Mechanism],
    order: Order,
    found: Standings,
    show: Showing,
) -> None:
    """Run what is wanted and not there."""
    effort = Effort(order.replications, order.quick, order.jobs, order.lab_jobs)
    pairs = [
        (s, m)
        for s in situations
        for m in mechanisms
        if not (order.resume and found.has(s, m, runs=effort.count, quick=order.quick))
        # Half-full buckets turn conclusions round: a hasty answer has none about these.
        and (s.lab or not order.quick or settles(s, m, quick=True))
    ]
    simulated = [pair for pair in pairs if not pair[0].lab]
    if simulated:
        running.simulate(simulated, effort, found, show)
    in_lab = [pair for pair in pairs if pair[0].lab and not pair[1].extra] if order.lab else []
    if in_lab:
        running.run_lab(in_lab, effort, found, show)
    costly = [s for s in situations if s.state]
    unknown = [m for m in mechanisms if not (order.resume and found.costs(m.name, "cpu_ns"))]
    if order.cost and costly and unknown:
        running.measure_cost(costly[0], unknown, found, quick=order.quick)


def _check_lab(situations: list[Situation], order: Order) -> None:
    """Tell before anything runs that the lab cannot."""
    if order.lab:
        from tidegate.lab_process import missing

        lacking = missing()
        if lacking:
            raise MissingError(lacking)
    elif order.situations and all(one.lab for one in situations) and not order.report:
        names = ", ".join(one.name for one in situations)
        raise UsageError(f"{names} needs a real kernel: add --lab")


def _report(data: Path, results: Path, scores: Scores) -> Played:
    """Write the page and its figure into the checkout."""
    from tidegate.league.figure import draw
    from tidegate.league.page import page

    docs = data.parent / "docs"
    text, findings = page(data, scores)
    image = draw(scores, docs / "images" / "league.png")
    target = docs / "league.md"
    target.write_text(text, encoding="utf-8")
    files = [results / "league.csv", image, target]
    for path in (results, image, target):
        hand_over(path)
    return Played(scores, files, findings)
