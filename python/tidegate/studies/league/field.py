"""Who plays, and where: the league's data files."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tidegate.errors import UsageError
from tidegate.scenarios.reading import load_scenario, toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate._native import Scenario

_IN_PACKETS = re.compile(r"([0-9.]+) ms in packets")
_MECHANISM_KEYS = {
    "title", "page", "why", "like", "extra", "bottleneck", "users", "remembers_s", "pays",
    "declares",
}  # fmt: skip
_SITUATION_KEYS = {
    "title", "ratio", "customers", "completion", "state", "lab", "quick", "offers",
}  # fmt: skip


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of the bottleneck, as it is configured everywhere."""

    name: str
    title: str
    why: str
    """How it is configured and why."""
    page: str | None
    """Its page below `docs/mechanisms/`, if it has one."""
    bottleneck: Mapping[str, Any]
    """Keys of the bottleneck that it sets."""
    users: Mapping[str, Any]
    """Keys that it sets for every group of users."""
    extra: bool
    """Whether it is another one with a parameter changed, and shown apart."""
    remembers_s: float = 0.0
    """How long it is marked by what was before: a bucket, the time in which it fills [s]."""
    pays: Mapping[str, Any] = field(default_factory=dict)
    """TCP of those who pay for congestion, if it needs such; what they pay the situation says."""
    declares: Mapping[str, Any] = field(default_factory=dict)
    """TCP of those who declare the congestion that they meet, if it needs such."""


@dataclass(frozen=True)
class Situation:
    """A scenario, and what is read from its results."""

    name: str
    title: str
    path: Path
    content: Mapping[str, Any]
    """The scenario file as it stands."""
    ratio: tuple[str, str]
    """Groups whose rates per customer are compared, the first over the second."""
    customers: tuple[str, ...]
    """Groups over whose customers Jain's index is taken."""
    completion: str | None
    """Group whose transfers' completion time is told."""
    state: bool
    """Whether state per customer and processor time are measured here."""
    lab: bool
    """Whether it needs a real kernel."""
    quick: Mapping[str, Any]
    """Settings of a quick look."""
    offers: Mapping[str, float] = field(default_factory=dict)
    """What a flow of a group offers to pay [packets/s], where somebody may: such a situation counts
    into no mean over situations, and customers' rates there are compared by what they offer."""

    @property
    def link(self) -> str:
        """The scenario's table of the bottleneck."""
        return "parking_lot" if "parking_lot" in self.content else "bottleneck"

    @property
    def groups(self) -> list[str]:
        """Groups of users."""
        return list(self.content["users"])

    def weight(self, group: str) -> float:
        """What a customer of the group offers in all; 1 for everybody where nobody offers anything.

        Who offers nothing among others who do counts as one of the first of them.
        """
        if not self.offers:
            return 1.0
        paying = group if group in self.offers else next(iter(self.offers))
        flows: int = self.content["users"][paying].get("flows", 1)
        return self.offers[paying] * flows

    @property
    def responsive(self) -> list[str]:
        """Groups whose senders may take part in a mechanism.

        All that have TCP; where some offer to pay those alone, since the others are to know of
        nothing.
        """
        users: dict[str, Any] = self.content["users"]
        tcp = [one for one in users if users[one].get("traffic", {}).get("kind") != "cbr"]
        return [group for group in tcp if not self.offers or group in self.offers]

    def gives_ecn_to_others(self, group: str) -> bool:
        """Whether who has ECN is what the situation is about, and this group has none."""
        users: dict[str, Any] = self.content["users"]
        told = {one: table.get("tcp", {}).get("ecn") for one, table in users.items()}
        return not told[group] and any(told.values())

    def fetches(self, group: str) -> bool:
        """Whether the group's users fetch something now and then."""
        traffic: dict[str, Any] = self.content["users"][group].get("traffic", {})
        return traffic.get("kind") == "transfer"

    @property
    def line_title(self) -> str:
        """The title on one line."""
        return self.title.replace("\n", " ")

    @property
    def heading(self) -> str:
        """The title as a heading: names keep their capitals."""
        return self.line_title[:1].upper() + self.line_title[1:]


def read_mechanisms(folder: Path) -> dict[str, Mechanism]:
    """Every mechanism, in the order of the file."""
    path = folder / "mechanisms.toml"
    found: dict[str, Mechanism] = {}
    for name, table in _tables(path).items():
        _check_keys(path, name, table, _MECHANISM_KEYS, required=("title", "why"))
        base = found.get(table.get("like", ""))
        if "like" in table and base is None:
            raise UsageError(f"{path}: [{name}] is like {table['like']!r}, which is not above it")
        found[name] = Mechanism(
            name=name,
            title=table["title"],
            why=table["why"],
            page=table.get("page"),
            bottleneck={**(base.bottleneck if base else {}), **table.get("bottleneck", {})},
            extra=table.get("extra", False),
            remembers_s=float(table.get("remembers_s", base.remembers_s if base else 0.0)),
            users={**(base.users if base else {}), **table.get("users", {})},
            pays=table.get("pays", base.pays if base else {}),
            declares=table.get("declares", base.declares if base else {}),
        )
    return found


def read_situations(folder: Path) -> dict[str, Situation]:
    """Every situation, in the order of the file."""
    path = folder / "situations.toml"
    return {name: _situation(folder, path, name, t) for name, t in _tables(path).items()}


def _situation(folder: Path, path: Path, name: str, table: dict[str, Any]) -> Situation:
    _check_keys(path, name, table, _SITUATION_KEYS, required=("title", "ratio"))
    scenario = folder / "situations" / f"{name}.toml"
    content = _tables(scenario, whole=True)
    ratio = tuple(table["ratio"])
    customers = tuple(table.get("customers", ratio))
    completion = table.get("completion")
    offers = table.get("offers", {})
    for group in (*ratio, *customers, *offers, *([completion] if completion else [])):
        if group not in content.get("users", {}):
            raise UsageError(f"{path}: [{name}] names {group!r}, no group of users of {scenario}")
    if len(ratio) != 2:
        raise UsageError(f"{path}: [{name}]: ratio has two groups, not {len(ratio)}")
    return Situation(
        name=name, title=table["title"], path=scenario, content=content, ratio=(ratio[0], ratio[1]),
        customers=customers, completion=completion,
        state=table.get("state", False), lab=table.get("lab", False), quick=table.get("quick", {}),
        offers=offers,
    )  # fmt: skip


def chosen(kind: str, every: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return those with the names, all without names; refuse a name that there is not."""
    for name in names:
        if name not in every:
            near = difflib.get_close_matches(name, every, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"--{kind}: {name!r} is none of {', '.join(every)}{hint}")
    return [item for name, item in every.items() if not names or name in names]


def played(situation: Situation, mechanism: Mechanism, *, quick: bool = False) -> Scenario:
    """Give the situation's scenario under the mechanism."""
    given = settings(situation, mechanism)
    return load_scenario(situation.path, set={**given, **(situation.quick if quick else {})})


def plays(situation: Situation, mechanism: Mechanism) -> bool:
    """Whether the mechanism has a part in the situation.

    Without payers there are no prices, and no kernel declares congestion.
    """
    if situation.lab and mechanism.declares:
        return False
    return bool(situation.offers) or not mechanism.pays


def settles(situation: Situation, mechanism: Mechanism, *, quick: bool = False) -> bool:
    """Whether the warm-up is as long as the mechanism remembers, so that its start is forgotten."""
    warm_up_s = played(situation, mechanism, quick=quick).warm_up_s
    return warm_up_s >= mechanism.remembers_s


def settings(situation: Situation, mechanism: Mechanism) -> dict[str, Any]:
    """What the mechanism sets in the situation, as `--set` would."""
    plan = load_scenario(situation.path).plan()
    rate_bps = next(link["rate_bps"] for link in plan["links"] if link["monitored"])
    packet_bytes = plan["flows"][0]["packet_size_bytes"]
    sets = {
        f"{situation.link}.{key}": in_packets(value, rate_bps, packet_bytes)
        for key, value in mechanism.bottleneck.items()
    }
    for group in situation.groups:
        sets |= {f"users.{group}.{key}": value for key, value in _leaves(mechanism.users)}
    if mechanism.pays:
        for group, offer in situation.offers.items():
            control = {**mechanism.pays["congestion_control"], "willingness_to_pay": offer}
            paying = {"tcp": {**mechanism.pays, "congestion_control": control}}
            sets |= {f"users.{group}.{key}": value for key, value in _leaves(paying)}
    if mechanism.declares:
        for group in situation.responsive:
            left = {"ecn", "feedback"} if situation.gives_ecn_to_others(group) else set()
            tcp = {key: value for key, value in mechanism.declares.items() if key not in left}
            sets |= {f"users.{group}.{key}": value for key, value in _leaves({"tcp": tcp})}
    return sets


def set_flags(situation: Situation, mechanism: Mechanism) -> list[str]:
    """Write the same as options of `tidegate simulate`."""
    pairs = settings(situation, mechanism).items()
    return [f"--set '{key}={toml_value(value)}'" for key, value in pairs]


def in_packets(value: object, rate_bps: int, packet_bytes: int, *, listed: bool = False) -> object:
    """Write "N ms in packets" for a link of that rate; within lists as a number.

    >>> in_packets({"min": "30 ms in packets", "all": [["3 ms in packets", 1]]}, 20_000_000, 1500)
    {'min': '50 packets', 'all': [[5, 1]]}
    """
    if isinstance(value, dict):
        return {key: in_packets(item, rate_bps, packet_bytes) for key, item in value.items()}
    if isinstance(value, list):
        return [in_packets(item, rate_bps, packet_bytes, listed=True) for item in value]
    found = _IN_PACKETS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    packets = max(1, round(Fraction(found[1]) / 1000 * rate_bps / (8 * packet_bytes)))
    return packets if listed else f"{packets} packets"


def _leaves(tables: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Dotted keys, where `tcp` is a table that a situation may have as well; a meter goes whole."""
    for key, value in tables.items():
        if key == "tcp":
            yield from ((f"tcp.{name}", item) for name, item in value.items())
        else:
            yield key, value


def _tables(path: Path, *, whole: bool = False) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    stray = [] if whole else [key for key, value in content.items() if not isinstance(value, dict)]
    if stray or not content:
        raise UsageError(f"{path}: expected tables only, found {stray or 'nothing'}")
    return content


def _check_keys(
    path: Path, name: str, table: dict[str, Any], known: set[str], required: Iterable[str]
) -> None:
    for key in required:
        if key not in table:
            raise UsageError(f"{path}: [{name}] has no {key}")
    for key in table:
        if key not in known:
            raise UsageError(f"{path}: [{name}] has {key!r}; keys are {', '.join(sorted(known))}")
