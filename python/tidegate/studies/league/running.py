"""Play: every mechanism in every situation."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.laboratory.running import seeds_in_lab
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.runs.simulation import seeds_of
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import running as studies
from tidegate.studies.book import ABOUT_A_RUN, Entry
from tidegate.studies.league.field import played, settings
from tidegate.studies.league.measures import of_run
from tidegate.studies.league.standings import match_of
from tidegate.studies.machine import machine
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate._native import Scenario
    from tidegate.runs.execution import Executor
    from tidegate.runs.simulation import Showing
    from tidegate.studies.league.field import Mechanism, Situation
    from tidegate.studies.league.standings import Standings

LOAD = 1.1
"""Offered over the link's rate while processor time is measured."""
PACKETS = 400_000
WARM_UP_PACKETS = 100_000
REPETITIONS = 7


@dataclass(frozen=True)
class Effort:
    """How much to run."""

    replications: int | None = None
    """Default: as the situations say."""
    quick: bool = False
    """Two short runs each."""
    lab_jobs: int = 1

    @property
    def count(self) -> int | None:
        """Runs a pair, where not as the situation says."""
        return self.replications or (2 if self.quick else None)


Pair: TypeAlias = "tuple[Situation, Mechanism]"
Save: TypeAlias = "Callable[[str], None]"
"""Keeps what is known of a situation."""


def simulate(
    pairs: Sequence[Pair],
    effort: Effort,
    standings: Standings,
    show: Showing,
    executor: Executor | None,
    save: Save,
) -> None:
    """Simulate the pairs; each is entered and saved as it ends, and the first failure ends all."""
    trials = [trial_of(pair, effort) for pair in pairs]
    with shown(show, "the league") as tell:
        for number, runs in studies.each_simulated(trials, executor or Threads(), tell):
            enter(standings, pairs[number], runs, quick=effort.quick)
            save(pairs[number][0].name)


def run_lab(
    pairs: Sequence[Pair],
    effort: Effort,
    standings: Standings,
    show: Showing,
    save: Save,
) -> None:
    """Run the pairs on this kernel, in real time, one situation after the other; needs root."""
    from tidegate import _native

    for name, of_situation in groupby(pairs, lambda pair: pair[0].name):
        here = list(of_situation)
        trials = {str(number): trial_of(pair, effort) for number, pair in enumerate(here)}
        found = studies.run_in_lab(trials, jobs=effort.lab_jobs, progress=show)
        for pair, runs in zip(here, found.values(), strict=True):
            kept = [{key: about[key] for key in ABOUT_A_RUN} | numbers for about, numbers in runs]
            enter(
                standings, pair, kept, quick=effort.quick,
                kernel=runs[0][0]["kernel"], machine=machine(), version=_native.version(),
            )  # fmt: skip
        save(name)


def trial_of(pair: Pair, effort: Effort) -> Trial:
    """What is run of a pair."""
    situation, mechanism = pair
    scenario = played(situation, mechanism, quick=effort.quick)
    if situation.lab:
        (seeds,) = seeds_in_lab({"": scenario}, None, effort.count).values()
    else:
        seeds = seeds_of(scenario, None, effort.count)
    return Trial(scenario, seeds, partial(of_run, situation))


def enter(
    standings: Standings,
    pair: Pair,
    runs: list[dict[str, Any]],
    *,
    quick: bool,
    **about: object,
) -> None:
    """Replace what is known of the pair."""
    situation, mechanism = pair
    entry = Entry.of(match_of(situation, mechanism, quick=quick), runs, **about)
    standings.entries.setdefault(situation.name, {})[mechanism.name] = entry


def measure_cost(
    situation: Situation, mechanisms: Sequence[Mechanism], standings: Standings, *, quick: bool
) -> None:
    """Processor time of a packet under each mechanism, and memory at the edge.

    The network without hosts gets the same full packets of all customers, in random order, at 1.1
    times the link's rate. What making the network costs is taken out by the difference of a long
    and a short run; mechanisms take turns, so that all see alike moments of the machine.
    """
    from tidegate import _native

    kept = dict(standings.cost.get("mechanisms", {}))
    scenarios = {one.name: played(situation, one) for one in mechanisms}
    edges = {
        one.name: _edge_only(situation, one) for one in mechanisms if one.users or one.declares
    }
    bare = load_scenario(situation.path)
    taken: dict[str, dict[str, list[float]]] = {
        name: {"cpu_ns": [], "edge_cpu_ns": []} for name in scenarios
    }
    for _ in range(2 if quick else REPETITIONS):
        plain_ns = packet_ns(bare) if edges else 0.0
        for name, scenario in scenarios.items():
            taken[name]["cpu_ns"].append(round(packet_ns(scenario), 2))
            if name in edges:
                edge_ns = packet_ns(edges[name]) - plain_ns
                taken[name]["edge_cpu_ns"].append(round(edge_ns, 2))
    for name, scenario in scenarios.items():
        edge = [scenario.edge_state_bytes()] if name in edges else []
        kept[name] = {**taken[name], "edge_state_bytes": edge}
    standings.cost = {
        "machine": machine(), "version": _native.version(), "situation": situation.name,
        "load": LOAD, "packets": PACKETS, "customers": len(bare.user_groups), "mechanisms": kept,
    }  # fmt: skip


def _edge_only(situation: Situation, mechanism: Mechanism) -> Scenario:
    """What the mechanism has at the edge, with a drop-tail bottleneck."""
    sets = settings(situation, mechanism).items()
    edge = {key: value for key, value in sets if key.startswith("users.")}
    return load_scenario(situation.path, set=edge)


def packet_ns(scenario: Scenario) -> float:
    """Processor time of this thread for a packet [ns]."""
    marks = [time.thread_time_ns()]
    for packets in (WARM_UP_PACKETS, WARM_UP_PACKETS + PACKETS):
        scenario.drive(packets, LOAD)
        marks.append(time.thread_time_ns())
    short, long = marks[1] - marks[0], marks[2] - marks[1]
    return (long - short) / PACKETS


def median(values: Sequence[float]) -> float:
    """Middle of repeated measurements, NaN of none."""
    return statistics.median(values) if values else float("nan")
