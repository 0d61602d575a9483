"""Which of the things that a study judges an entry in its data is about."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def matches(traits: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether something has the traits that a `where` asks for.

    These are one, one of a list, a range, or text with the wildcards of a shell.

    >>> where = {"gamma": {"max": 3}, "ecn": ["on", "off"], "queue": {"like": "*red"}}
    >>> matches({"gamma": 2, "ecn": "on", "queue": "abc-red"}, where)
    True
    """
    return all(name in traits and _allowed(traits[name], want) for name, want in where.items())


def _allowed(trait: str | float, want: object) -> bool:
    match want:
        case list():
            return trait in want
        case {"like": pattern}:
            return fnmatchcase(str(trait), str(pattern))
        case dict():
            return within(float(trait), want)
    return bool(trait == want)


def within(number: float, want: Mapping[str, float]) -> bool:
    """Whether a number lies in `{ min = .., max = .. }`, of which either may be missing."""
    return bool(want.get("min", -math.inf) <= number <= want.get("max", math.inf))
