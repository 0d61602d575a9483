"""Factors of a table, and what each of their levels changes in the base scenario.

`study.toml` says once what a factor does, with `{}` for the level, `{name}` for that of another
factor, or an expression of them::

    [factors.D_b_ms]
    set = { "bottleneck.delay" = "{} ms" }
    [factors.d_ms]
    set = { "bottleneck.delay" = "{d_ms / 2} ms" }
    [factors.abc.named.no]                      # a level with changes of its own
    "bottleneck.differentiation" = { kind = "none" }
    [factors.abc.titles]                        # what pages call levels
    no = "without ABC"

Keys that differ in a name alone are written as one, with the names in braces::

    "users.{heavy,light}.flows" = 10            # users.heavy.flows and users.light.flows

A name in braces stands for what the set-up calls so (`names` in `[setups]`): a text, a list, or a
table with a value for each key, which is then the value's own `{name}`::

    "users.{all}.meter" = { .. }                # names = { all = ["heavy", "light"] }
    "users.{offers}.rate" = "{offers} kb/s"     # names = { offers = { heavy = 10, light = 2 } }

A factor with many levels may have a file with a table for each of them, see `_in_a_file`::

    [factors.mechanism]
    levels = "mechanisms.toml"

An experiment lists levels, and factors that vary together share a key; of a factor with a file all
levels of some kinds may be taken::

    factors = { D_b_ms = [5, 50], "u_0/u_1" = [[1, 10], [9, 90]], mechanism = { kind = ["aqm"] } }

Its points are all combinations of these, or, with `draw = { points = 100, seed = 1 }`, combinations
drawn at random, with each entry of a list equally likely.
"""

from __future__ import annotations

import itertools
import re
import string
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tidegate.scenarios.reading import toml_value
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Level = int | float | str
Override = tuple[str, str]
Base: TypeAlias = "str | Callable[[Mapping[str, Level]], str]"
"""A scenario, or one for each combination of levels."""


@dataclass(frozen=True)
class Factor:
    """What the levels of one factor change: a template for all, or a change a name."""

    template: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """What pages call some levels."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Of a factor with a file: the kind of each level."""
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of a factor with a file: what pages say of each level."""

    def title(self, level: Level) -> str:
        """What pages call a level."""
        return self.titles.get(str(level), str(level))

    def overrides(self, level: Level, others: Mapping[str, Any]) -> list[Override]:
        """Dotted keys and TOML values for a level, at these levels of all factors."""
        changes = self.named.get(str(level), self.template)
        if changes is self.template and self.named and not self.template:
            raise ReproductionError(f"no level {level!r}; there are {', '.join(self.named)}")
        there = {
            key: filled(value, level, {**others, **own})
            for keys, value in changes.items()
            for key, own in _with_names(keys, others)
        }
        return list(overrides(there))


@dataclass(frozen=True)
class Setting:
    """One combination of levels, and all that it changes in the base scenario."""

    levels: Mapping[str, Level]
    overrides: tuple[Override, ...]
    base: str = ""
    """The scenario."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What reads and changes may call by name, as the set-up has it."""
    known: Mapping[str, float] = field(default_factory=dict)
    """Metrics that a paper has there."""


def title(factors: Mapping[str, Factor], factor: str, level: Level) -> str:
    """What pages call a level of a factor."""
    return factors[factor].title(level) if factor in factors else str(level)


def read_factors(
    table: Mapping[str, Mapping[str, Any]], folder: Path = Path()
) -> dict[str, Factor]:
    """Read the `[factors]` of a study, whose own files are in this folder."""
    return {
        name: _in_a_file(folder / entry["levels"])
        if "levels" in entry
        else Factor(entry.get("set", {}), entry.get("named", {}), entry.get("titles", {}))
        for name, entry in table.items()
    }


def _in_a_file(file: Path) -> Factor:
    """Read a factor with a table for each level.

    A level has a `title`, a `kind`, what it changes (`set`), maybe another level above it with
    whose changes it begins (`like`), and what pages say of it: `page` and `why`.
    """
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ReproductionError(f"{file}: {error}") from error
    named: dict[str, dict[str, Any]] = {}
    for name, level in tables.items():
        wrong = {"title", "kind"} - level.keys() | level.keys() - _OF_A_LEVEL
        if wrong:
            raise ReproductionError(f"{file}: [{name}]: missing or unknown: {sorted(wrong)}")
        if "like" in level and level["like"] not in named:
            raise ReproductionError(f"{file}: [{name}] is like {level['like']!r}, not above it")
        named[name] = {**named.get(level.get("like", ""), {}), **level.get("set", {})}
    return Factor(
        named=named,
        titles={name: level["title"] for name, level in tables.items()},
        kinds={name: level["kind"] for name, level in tables.items()},
        about=tables,
    )


_OF_A_LEVEL = {"title", "kind", "set", "like", "page", "why"}


def chosen(
    levels: Mapping[str, list[Any] | Mapping[str, Any]],
    factors: Mapping[str, Factor],
    names: Mapping[str, Any],
) -> dict[str, list[Any]]:
    """Give lists of levels, where some are all levels of some kinds, or names of the set-up."""
    return {
        key: [name for name, kind in factors[key].kinds.items() if kind in choice["kind"]]
        if isinstance(choice, dict)
        else [filled(level, "", names) if names else level for level in choice]
        for key, choice in levels.items()
    }


def combinations(levels: Mapping[str, list[Any]]) -> list[dict[str, Level]]:
    """Every combination of the levels, the last factor varying fastest.

    >>> combinations({"u_0/u_1": [[1, 10]], "gamma": [0, 3]})
    [{'u_0': 1, 'u_1': 10, 'gamma': 0}, {'u_0': 1, 'u_1': 10, 'gamma': 3}]
    """
    axes = [[_named(key, level) for level in choices] for key, choices in levels.items()]
    return [
        {name: level for part in parts for name, level in part.items()}
        for parts in itertools.product(*axes)
    ]


def scenario_of(base: Base, levels: Mapping[str, Level]) -> str:
    """Give the scenario of these levels."""
    return base if isinstance(base, str) else base(levels)


def drawn(levels: Mapping[str, list[Any]], points: int, seed: int) -> list[dict[str, Level]]:
    """Combinations of the levels at random.

    >>> [one["gamma"] for one in drawn({"u_0/u_1": [[1, 10]], "gamma": [0, 3]}, 4, 1)]
    [0, 3, 3, 3]
    """
    dice = np.random.default_rng(seed)
    return [
        {
            name: level
            for key, choices in levels.items()
            for name, level in _named(key, choices[int(dice.integers(len(choices)))]).items()
        }
        for _ in range(points)
    ]


def settings(
    levels: Mapping[str, list[Any]],
    factors: Mapping[str, Factor],
    always: Sequence[Override],
    base: Base,
    names: Mapping[str, Any] | None = None,
    draw: Mapping[str, int] | None = None,
) -> list[Setting]:
    """Combinations of the levels as changes to their base scenario, `always` coming first.

    All of them, or as many as `draw` asks for.
    """
    names = names or {}
    unknown = {name for key in levels for name in key.split("/")} - factors.keys()
    if unknown:
        raise ReproductionError(f"factors without a meaning in study.toml: {sorted(unknown)}")
    lists = chosen(levels, factors, names)
    return [
        Setting(
            combination,
            (*always, *_changes(combination, factors, names)),
            scenario_of(base, combination),
            {name: filled(one, "", combination) for name, one in names.items()},
        )
        for combination in (combinations(lists) if draw is None else drawn(lists, **draw))
    ]


def _changes(
    levels: Mapping[str, Level], factors: Mapping[str, Factor], names: Mapping[str, Any]
) -> Iterator[Override]:
    for name, level in levels.items():
        yield from factors[name].overrides(level, {**names, **levels})


def _with_names(keys: str, names: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give a key for each that a name in braces stands for, with its own value of the name."""
    name = next((one for one in re.findall(r"\{(\w+)\}", keys) if one in names), None)
    if name is None:
        yield keys, {}
        return
    them = names[name]
    each = them if isinstance(them, list | dict) else [them]
    for one in each:
        own = {name: them[one]} if isinstance(them, dict) else {}
        for key, more in _with_names(keys.replace(f"{{{name}}}", str(one)), names):
            yield key, {**own, **more}


def _named(key: str, level: Level | list[Level]) -> dict[str, Level]:
    names = key.split("/")
    values = level if isinstance(level, list) else [level]
    if len(names) != len(values):
        raise ReproductionError(f"{key}: {level!r} should have {len(names)} values")
    return dict(zip(names, values, strict=True))


def filled(template: object, level: Level, others: Mapping[str, Any]) -> object:
    """Give a change with its level, and those of other factors, where its text has them."""
    known = {"{}": level, **{f"{{{name}}}": one for name, one in others.items()}}
    match template:
        case str() if template in known:
            return known[template]
        case str() if alone := _EXPRESSION.fullmatch(template):
            value = evaluate(alone[1], others)
            return int(value) if value.is_integer() else value
        case str():
            return _FORMATTER.vformat(template, (level,), others)
        case dict():
            return {key: filled(item, level, others) for key, item in template.items()}
        case list():
            return [filled(item, level, others) for item in template]
    return template


# An expression alone, which is more than a name: a number.
_EXPRESSION = re.compile(r"\{([^{}]*[^{}\w][^{}]*)\}")


class _OfLevels(string.Formatter):
    """Besides a level, a field may be an expression of them: `"{d_ms / 2} ms"`."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as its base has it
        if field_name.isdigit() or field_name in kwargs:
            return super().get_field(field_name, args, kwargs)
        return f"{evaluate(field_name, kwargs):.12g}", field_name


_FORMATTER = _OfLevels()


def overrides(changes: Mapping[str, Any]) -> tuple[Override, ...]:
    """Give changes as the engine reads them."""
    return tuple(
        (key, toml_literal(value)) for keys, value in changes.items() for key in keys_of(keys)
    )


def keys_of(written: str) -> list[str]:
    """Every key that one with names in braces stands for.

    >>> keys_of("users.{a,b}{,-later}.flows")
    ['users.a.flows', 'users.a-later.flows', 'users.b.flows', 'users.b-later.flows']
    """
    parts = re.split(r"\{([^}]*)\}", written)
    choices = [part.split(",") if odd % 2 else [part] for odd, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def toml_literal(value: object) -> str:
    """Give a value as TOML on one line."""
    try:
        return toml_value(value)
    except TypeError as error:
        raise ReproductionError(str(error)) from None
