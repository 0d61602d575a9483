"""Variants of a scenario by name: those of its file, mechanisms of the league, and single keys."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from tidegate.errors import UsageError
from tidegate.scenarios.reading import (
    ADD,
    AS_IN_THE_FILE,
    Reader,
    setting,
    text_of,
    value_at,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate._native import Scenario
    from tidegate.scenarios.reading import Source
    from tidegate.studies.factors import Factor, Override


def variants_of(
    source: Source,
    overrides: Sequence[Override] = (),
    *,
    against: Sequence[Override] = (),
    mechanisms: Sequence[str] = (),
    only: Sequence[str] = (),
) -> dict[str, Scenario]:
    """Read a scenario and its variants; without any there is one with an empty name.

    Parameters
    ----------
    source
        As in `tidegate.load_scenario`.
    overrides
        Dotted keys and TOML values of all variants; those of a variant win.
    against
        Keys and values of which each makes a variant.
    mechanisms
        Names of mechanisms as the league compares them, each of which makes a variant.
    only
        Names of the file's variants to keep; default: all.

    """
    reader = Reader(*text_of(source))
    whole = reader(overrides)
    base = reader.variant(overrides, None) if whole.variants() else whole
    found: dict[str, Scenario] = {}
    own = whole.variants()
    if (own or mechanisms) and not any(same for _, same in own):
        found[AS_IN_THE_FILE] = base
    found |= {name: reader.variant(overrides, name) for name, _ in own}
    if only:
        found = _kept(found, only)
    for name in mechanisms:
        if name in found:
            raise UsageError(f"--with {name}: the file has a variant of this name; rename it there")
        found[name] = _with_mechanism(reader, overrides, base, name)
    if against:
        pairs = [(key, reader.variant([*overrides, (key, value)], None)) for key, value in against]
        named = name_variants(base, pairs)
        found = {**found, **dict(list(named.items())[1:])} if found else named
    return found if len(found) > 1 else {"": next(iter(found.values()), base)}


def own_keys(scenario: Scenario) -> dict[str, list[str]]:
    """Dotted keys that each variant of a file sets."""
    variants = tomllib.loads(scenario.to_toml()).get("variants", {})
    return {name: [key.removeprefix(ADD) for key in keys] for name, keys in variants.items()}


def settled_by_variants(scenario: Scenario, key: str) -> list[str]:
    """Names of the variants in which another value of this key has no effect."""
    key = key.removeprefix(ADD)
    return [
        name for name, keys in own_keys(scenario).items()
        if any(key == one or key.startswith(f"{one}.") or one.startswith(f"{key}.") for one in keys)
    ]  # fmt: skip


def _kept(found: Mapping[str, Scenario], only: Sequence[str]) -> dict[str, Scenario]:
    for name in only:
        if name not in found:
            near = get_close_matches(name, list(found), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(found)}"
            raise UsageError(f"no variant {name!r}; {hint if found else 'the file has none'}")
    return {name: scenario for name, scenario in found.items() if name in only}


def name_variants(base: Scenario, variants: Sequence[tuple[str, Scenario]]) -> dict[str, Scenario]:
    """Name each variant by the value of the key in which it differs; the first is the base."""
    keys = {key for key, _ in variants}
    values = {
        key: _names(key, [base, *(one for own, one in variants if own == key)]) for key in keys
    }
    (first, *_), *more = values.values()
    named = [(AS_IN_THE_FILE if more else first, base)]
    following = {key: iter(names[1:]) for key, names in values.items()}
    named += [(next(following[key]), variant) for key, variant in variants]
    names = dict(named)
    if len(names) < len(named):
        raise UsageError(
            "two variants are the same: " + ", ".join(name for name, _ in named)
            + "; give --against a value that the scenario does not have"
        )  # fmt: skip
    return names


def _names(key: str, scenarios: Sequence[Scenario]) -> list[str]:
    """What each has at the key; of tables and lists only what tells them apart."""
    from tidegate.runs.swept_values import distinct_words

    values = [value_at(one, key) for one in scenarios]
    if any(isinstance(value, dict | list) for value in values):
        named = distinct_words(["unset" if value is None else value for value in values])
    else:
        named = [setting(one, key) for one in scenarios]
    return [f"{_short(key)} = {one}" for one in named]


def _short(key: str) -> str:
    """The last two parts of a dotted key say enough in a legend."""
    return ".".join(key.split(".")[-2:])


@cache
def _league() -> Factor:
    from tidegate.data import data_folder
    from tidegate.studies.factors import read_factors

    folder = data_folder("studies") / "league"
    return read_factors({"mechanism": {"levels": "mechanisms.toml"}}, folder)["mechanism"]


def mechanisms_of_the_league() -> dict[str, Mapping[str, Any]]:
    """Title, kind and parameters (``why``) of each mechanism that ``--with`` takes, by name."""
    return {
        name: about for name, about in _league().about.items()
        if about["kind"] not in {"paying", "apart", "bucket-apart"}
    }  # fmt: skip


def _with_mechanism(
    reader: Reader, overrides: Sequence[Override], base: Scenario, name: str
) -> Scenario:
    """Read the scenario with a mechanism in place of its scheduler, AQM and differentiation."""
    return reader.variant([*overrides, *of_mechanism(base, name)], None)


def of_mechanism(base: Scenario, name: str) -> list[Override]:
    """Return the overrides that put a mechanism of the league into a scenario."""
    known = mechanisms_of_the_league()
    if name not in known:
        titled = [one for one, about in known.items() if name.lower() in about["title"].lower()]
        near = get_close_matches(name, list(known), 1) or titled
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise UsageError(f"--with: the league has no mechanism {name!r} without prices; {hint}")
    content = tomllib.loads(base.to_toml())
    links = _bottlenecks(content, [name for name, _, _ in base.bottlenecks])
    tcp = _groups_with_tcp(base)
    names = {
        "link": links, "all": list(base.groups), "declaring": tcp, "marked": tcp, "offers": {},
        "rate_mbps": min(rate for _, rate, _ in base.bottlenecks) / 1e6,
    }  # fmt: skip
    plain = [
        (f"{link}.{key}", f'"{value}"') for link in links
        for key, value in (("scheduler", "fifo"), ("aqm", "drop-tail"), ("differentiation", "none"))
    ]  # fmt: skip
    return [*plain, *_league().overrides(name, names)]


def names_of_points(
    base: Scenario, *, mechanisms: Sequence[str] = (), only: Sequence[str] = ()
) -> list[str]:
    """Return the variants of a sweep: those of the file, and mechanisms of the league.

    There are none where neither has any.
    """
    own = base.variants()
    names = [name for name, _ in own]
    if (own or mechanisms) and not any(same for _, same in own):
        names.insert(0, AS_IN_THE_FILE)
    if only:
        names = list(_kept(dict.fromkeys(names, base), only))
    for name in mechanisms:
        if name in dict(own):
            raise UsageError(f"--with {name}: the file has a variant of this name; rename it there")
        of_mechanism(base, name)
    return [*names, *mechanisms]


def _bottlenecks(content: Mapping[str, Any], bottlenecks: Sequence[str]) -> list[str]:
    """Dotted keys of the tables of the links that can be congested."""
    names = [name.removesuffix(".reverse") for name in bottlenecks]
    there = [f"links.{name}" for name in dict.fromkeys(names) if name in content.get("links", {})]
    there += [key for key in ("bottleneck", "parking_lot") if key in content]
    if not there:
        raise UsageError("--with: the scenario has no bottleneck, parking_lot or links")
    return there


def _groups_with_tcp(scenario: Scenario) -> list[str]:
    plan = scenario.plan()
    numbers = {plan["user_groups"][flow["user"]] for flow in plan["flows"] if flow["tcp"]}
    return [group for number, group in enumerate(scenario.groups) if number in numbers]
