"""What is run: every strategy against every defence, and honest users before auditors."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import UsageError
from tidegate.scenarios.reading import load_scenario
from tidegate.studies.book import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tidegate._native import Scenario

GROUPS = ("honest", "cheat", "light")
"""Who has stages in `base.toml`."""
HONEST = "honest"
"""The strategy that others are measured by, if they name no other; and honest users' own book."""
AUDITED = "both"
"""The defence that nobody should get the better of."""


@dataclass(frozen=True)
class Case:
    """A scenario, and the names that it has in books and tables."""

    book: str
    name: str
    title: str
    scenario: Scenario
    hash: str
    """Of what the files say."""


@dataclass(frozen=True)
class Field:
    """The study's data."""

    folder: Path
    content: Mapping[str, Any]

    @property
    def sizes(self) -> list[int]:
        """Numbers of flows that the cheat may have; the first is an honest user's."""
        return list(self.content["sizes"])

    def titles(self, kind: str) -> dict[str, str]:
        """What strategies, defences or honest situations are called on the page."""
        return {name: table["title"] for name, table in self.content[kind].items()}

    def honest_of(self, strategy: str) -> str:
        """The strategy of whoever sends alike and tells the truth."""
        return str(self.content["strategies"][strategy].get("honest", HONEST))

    @property
    def honest_ways(self) -> list[str]:
        """The strategies that others are measured by."""
        return list(dict.fromkeys(map(self.honest_of, self.content["strategies"])))

    @property
    def without_feedback(self) -> list[str]:
        """Those of them that are told nothing and declare on a plan of their own."""
        sent = {name: table.get("set", {}) for name, table in self.content["strategies"].items()}
        return [way for way in self.honest_ways if "users.cheat.traffic" in sent[way]]

    def gains(self, defence: str) -> list[Case]:
        """Every strategy in every size against a defence."""
        ends = self.content["defences"][defence]["without"]
        bare: dict[str, Any] = {f"users.{group}.{end}": [] for group in GROUPS for end in ends}
        return [
            self._case(defence, entry(name, size), table, {**bare, **_flows(table, size)})
            for name, table in self.content["strategies"].items()
            for size in self.sizes
        ]

    def audited(self) -> list[Case]:
        """Honest users before auditors, without a policer."""
        return [
            self._case(
                HONEST, name, table, _unpoliced(table.get("base", "base.toml") == "base.toml")
            )
            for name, table in self.content[HONEST].items()
        ]

    def _case(self, book: str, name: str, table: Mapping[str, Any], given: dict[str, Any]) -> Case:
        base = self.folder / table.get("base", "base.toml")
        settings = {**table.get("set", {}), **given}
        return case(book, name, table["title"], base, settings, table.get("add", {}))


def case(
    book: str,
    name: str,
    title: str,
    base: Path,
    settings: dict[str, Any],
    more: Mapping[str, Any] | None = None,
) -> Case:
    """Give a base scenario with these settings as a case."""
    scenario = load_scenario(base, set=settings, add=more or {})
    matters = fingerprint(read_toml(base), settings, more or {})
    return Case(book, name, title, scenario, matters)


def read(folder: Path) -> Field:
    """Read the study's data."""
    return Field(folder, read_toml(folder / "study.toml"))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of the study."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def entry(strategy: str, size: int) -> str:
    """Name of a strategy with so many flows.

    >>> entry("never", 16)
    'never-16'
    """
    return f"{strategy}-{size}"


def _flows(table: Mapping[str, Any], size: int) -> dict[str, Any]:
    return {"users.cheat.flows": size - table.get("honest_flows", 0)}


def _unpoliced(has_policers: bool) -> dict[str, Any]:
    return {f"users.{group}.ingress": [] for group in GROUPS} if has_policers else {}
