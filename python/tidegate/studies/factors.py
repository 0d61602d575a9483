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

An experiment lists levels, and factors that vary together share a key::

    factors = { D_b_ms = [5, 50], "u_0/u_1" = [[1, 10], [9, 90]] }
"""

from __future__ import annotations

import itertools
import re
import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.scenarios.reading import toml_value
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Level = int | float | str
Override = tuple[str, str]


@dataclass(frozen=True)
class Factor:
    """What the levels of one factor change: a template for all, or a change a name."""

    template: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """What pages call some levels."""

    def title(self, level: Level) -> str:
        """What pages call a level."""
        return self.titles.get(str(level), str(level))

    def overrides(self, level: Level, others: Mapping[str, Level]) -> list[Override]:
        """Dotted keys and TOML values for a level, at these levels of all factors."""
        changes = self.named.get(str(level), self.template)
        if changes is self.template and self.named and not self.template:
            raise ReproductionError(f"no level {level!r}; there are {', '.join(self.named)}")
        there = {key: filled(value, level, others) for key, value in changes.items()}
        return list(overrides(there))


@dataclass(frozen=True)
class Setting:
    """One combination of levels, and all that it changes in the base scenario."""

    levels: Mapping[str, Level]
    overrides: tuple[Override, ...]
    base: str = ""
    """The scenario."""
    known: Mapping[str, float] = field(default_factory=dict)
    """Metrics that need no run."""


def read_factors(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Factor]:
    """Read the `[factors]` of a paper."""
    return {
        name: Factor(entry.get("set", {}), entry.get("named", {}), entry.get("titles", {}))
        for name, entry in table.items()
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


def settings(
    levels: Mapping[str, list[Any]],
    factors: Mapping[str, Factor],
    always: Sequence[Override],
    base: str,
) -> list[Setting]:
    """Every combination of the levels as changes to the base scenario, `always` coming first."""
    unknown = {name for key in levels for name in key.split("/")} - factors.keys()
    if unknown:
        raise ReproductionError(f"factors without a meaning in study.toml: {sorted(unknown)}")
    return [
        Setting(combination, (*always, *_changes(combination, factors)), base)
        for combination in combinations(levels)
    ]


def _changes(levels: Mapping[str, Level], factors: Mapping[str, Factor]) -> Iterator[Override]:
    for name, level in levels.items():
        yield from factors[name].overrides(level, levels)


def _named(key: str, level: Level | list[Level]) -> dict[str, Level]:
    names = key.split("/")
    values = level if isinstance(level, list) else [level]
    if len(names) != len(values):
        raise ReproductionError(f"{key}: {level!r} should have {len(names)} values")
    return dict(zip(names, values, strict=True))


def filled(template: object, level: Level, others: Mapping[str, Level]) -> object:
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
