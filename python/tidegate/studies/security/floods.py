"""Floods and lies against re-ECN: what is run, what is read from it, and what has to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.results.tables import numbers
from tidegate.studies.book import NOTHING
from tidegate.studies.security.field import HONEST, case, read_toml
from tidegate.studies.security.measures import of_run
from tidegate.studies.security.study import Cases
from tidegate.studies.security.verdicts import MOST, Gain, gain_over

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.statistics import Estimate
    from tidegate.results.tables import Tables
    from tidegate.studies.book import Book, Entry
    from tidegate.studies.running import Numbers
    from tidegate.studies.security.field import Case

GROUPS = ("victims", "pages", "attack")
LIES = "lies"
"""The book of liars, where nobody floods."""
TUNNEL = "tunnel"
"""The book of customers who bring others into their tunnel."""
BUCKET_BPS = 4e6
"""What comes into a customer's bucket there."""
DEFENCE = "both"
"""What nobody should get the better of."""
LEAST = 0.85
"""Victims should keep this much of what they had."""
PHASES = {"before": (20.0, 50.0), "during": (50.0, 110.0), "after": (110.0, 160.0)}
"""Of a run [s]; floods begin and end with the second."""


@dataclass(frozen=True)
class Floods:
    """The study's data, and what was found."""

    folder: Path
    content: Mapping[str, Any]
    book: Book

    @property
    def attackers(self) -> list[int]:
        """Numbers of attackers."""
        return list(self.content["attackers"])

    def titles(self, kind: str) -> dict[str, str]:
        """What floods, defences and lies are called on the page."""
        return {name: table["title"] for name, table in self.content[kind].items()}

    def cases(self, defence: str) -> list[Case]:
        """Every flood of every size against a defence."""
        own = self.content["defences"][defence]
        bare: dict[str, Any] = {
            f"users.{who}.{end}": [] for who in GROUPS for end in own["without"]
        }
        return [
            case(
                defence,
                entry(flood, count),
                table["title"],
                self.folder / "base.toml",
                {"users.attack.count": count, **table["set"], **own.get("set", {}), **bare},
            )
            for flood, table in self.content["floods"].items()
            for count in self.attackers
        ]

    def lies(self) -> list[Case]:
        """Every lie."""
        base = self.folder / "cheats.toml"
        return [
            case(LIES, name, table["title"], base, table.get("set", {}))
            for name, table in self.content["strategies"].items()
        ]

    def tunnels(self) -> list[Case]:
        """Everyone who is alone in his tunnel, or is not."""
        base = self.folder / "tunnel.toml"
        return [
            case(TUNNEL, name, table["title"], base, table.get("set", {}), table.get("add", {}))
            for name, table in self.content[TUNNEL].items()
        ]

    def runs(self, defence: str, flood: str, count: int) -> Entry:
        """What was run of a flood by so many."""
        return self.book.read(defence).get(entry(flood, count), NOTHING)

    def found(self, defence: str, flood: str, count: int, number: str) -> Estimate:
        """One of the numbers of `of_flood`."""
        return self.runs(defence, flood, count).estimate(number)

    def gain(self, lie: str) -> Gain | None:
        """What a liar gets over what he gets when he is honest."""
        known = self.book.read(LIES)
        honest, lying = (known.get(name, NOTHING) for name in (HONEST, lie))
        return gain_over(honest.estimate("cheat_bps"), lying.estimate("cheat_bps"))

    def behind(self, who: str, number: str = "customer_bps") -> Estimate:
        """One of the numbers of `of_tunnel`."""
        return self.book.read(TUNNEL).get(who, NOTHING).estimate(number)

    def gain_behind(self, who: str) -> Gain | None:
        """What a customer has with others in his tunnel over what he has who sends alike, alone."""
        alone = self.content[TUNNEL][who].get("alone", who)
        return gain_over(self.behind(alone), self.behind(who))

    def failures(self) -> list[str]:
        """What does not hold: of victims, of liars, and in tunnels."""
        return [*self._kept(), *self._lies(), *self._tunnels()]

    def _kept(self) -> list[str]:
        told = []
        for flood, title in self.titles("floods").items():
            for count in self.attackers:
                for phase in ("during", "after"):
                    kept = self.found(DEFENCE, flood, count, f"kept_{phase}")
                    if not kept.mean >= LEAST:
                        what = f"{kept.written(2)} {phase} {title} by {count}"
                        told.append(f"victims keep {what}")
                    before, then = (
                        self.found(DEFENCE, flood, count, f"response_{when}_s")
                        for when in ("before", phase)
                    )
                    if not then.mean <= before.mean / LEAST:
                        told.append(f"pages take {then.written(2)} s {phase} {title} by {count}")
        return told

    def _lies(self) -> list[str]:
        told = []
        for lie, title in self.titles("strategies").items():
            gain = self.gain(lie)
            if gain is None or gain.exceeds:
                told.append(f"{title}: {gain.ratio.written(2) if gain else 'not measured'}")
        return told

    def _tunnels(self) -> list[str]:
        told = []
        for who, title in self.titles(TUNNEL).items():
            gain, has = self.gain_behind(who), self.behind(who)
            if gain is None or gain.exceeds or not has.mean <= MOST * BUCKET_BPS:
                told.append(f"{title}: {has.scaled(1e-6).written(2)} Mb/s in one tunnel")
        return told


def study(folder: Path, book: Book) -> tuple[list[Cases], Any]:
    """Give what is run, and what was found."""
    from tidegate.studies.security.floods_page import Shown

    floods = Floods(folder, read_toml(folder / "study.toml"), book)
    books = [Cases(name, floods.cases(name), of_flood) for name in floods.titles("defences")]
    books += [Cases(LIES, floods.lies(), of_run), Cases(TUNNEL, floods.tunnels(), of_tunnel)]
    return books, Shown(floods)


def entry(flood: str, count: int) -> str:
    """Name of a flood by so many.

    >>> entry("udp", 3)
    'udp-3'
    """
    return f"{flood}-{count}"


def of_flood(scenario: Scenario, tables: Tables) -> Numbers:
    """Numbers of one run, by phase.

    ``victims_*_bps`` and ``attack_*_bps`` are throughputs of a user, the mean of his group;
    ``kept_*`` is the victims' over that before; ``response_*_s`` is how long pages take that were
    requested then, those that never came counted up to the end of the run.
    """
    values: dict[str, float] = {}
    for phase, (begin_s, end_s) in PHASES.items():
        for group in ("victims", "attack"):
            values[f"{group}_{phase}_bps"] = _throughput(scenario, tables, group, begin_s, end_s)
        values[f"response_{phase}_s"] = _response(scenario, tables, begin_s, end_s)
    before = values["victims_before_bps"]
    for phase in ("during", "after"):
        values[f"kept_{phase}"] = values[f"victims_{phase}_bps"] / before
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def of_tunnel(scenario: Scenario, tables: Tables) -> Numbers:
    """Numbers of one run: goodput of the customer with all in his tunnel, and of each other."""
    flows = tables["flows"]
    users, goodput = numbers(flows, "user").astype(int), numbers(flows, "goodput_bps")
    of_user = np.bincount(users, weights=goodput, minlength=len(scenario.user_groups))
    others = np.array([scenario.groups[one] == HONEST for one in scenario.user_groups])
    return {
        "customer_bps": float(of_user[~others].sum()),
        "others_bps": float(of_user[others].mean()),
    }


def _throughput(
    scenario: Scenario, tables: Tables, group: str, begin_s: float, end_s: float
) -> float:
    series = tables["group_series"]
    time_s, number = numbers(series, "time_s"), scenario.groups.index(group)
    own = (_groups(scenario, series) == number) & (time_s > begin_s) & (time_s <= end_s)
    users = sum(one == number for one in scenario.user_groups)
    return float(numbers(series, "throughput_bps")[own].mean()) / users


def _response(scenario: Scenario, tables: Tables, begin_s: float, end_s: float) -> float:
    transfers = tables["transfers"]
    start_s, took_s = numbers(transfers, "start_s"), numbers(transfers, "completion_s")
    own = _groups(scenario, transfers) == scenario.groups.index("pages")
    own &= (start_s >= begin_s) & (start_s < end_s)
    waited_s = np.where(np.isnan(took_s), PHASES["after"][1] - start_s, took_s)
    return float(waited_s[own].mean()) if own.any() else float("nan")


def _groups(scenario: Scenario, table: Any) -> np.ndarray:  # noqa: ANN401 - an Arrow table
    """Numbers of the groups of a table's rows, whichever way they are written."""
    names = scenario.groups
    return np.array(
        [names.index(one) if isinstance(one, str) else one for one in table["group"].to_pylist()]
    )
