"""Judging what was measured: near enough to what is given, or in the order that is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidegate.results.statistics import joint95

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.results.statistics import Estimate


# 11.0 / 10.0 − 1 is a little more than 0.1 in binary.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from what is given: a share of it or a distance, whichever is more."""

    share: float = 0.0
    distance: float = 0.0

    def holds(self, ours: float, given: float) -> bool:
        """Whether ours is as near as that; NaN never is.

        >>> Tolerance(0.1).holds(11.0, 10.0), Tolerance(0.1, 0.1).holds(0.89, 0.8)
        (True, True)
        """
        allowed = max(self.share * abs(given), self.distance)
        return bool(abs(ours - given) <= allowed * (1 + _ROUNDING))


class Verdict(Enum):
    """What measurements say of a statement."""

    HELD = "holds"
    UNDECIDED = "undecided"
    FAILED = "fails"


_FROM_GOOD_TO_BAD = list(Verdict)


def of_truth(holds: bool) -> Verdict:
    """Of a statement that can be told."""
    return Verdict.HELD if holds else Verdict.FAILED


def compared(a: Estimate, b: Estimate, *, ties_ok: bool = False) -> Verdict:
    """Whether a < b: undecided where it is not, but by no more than the interval of b − a.

    >>> from tidegate.results.statistics import Estimate
    >>> compared(Estimate(1.1, 0.08, 9), Estimate(1.0, 0.08, 9)).value
    'undecided'
    """
    if a.mean < b.mean or (ties_ok and a.mean == b.mean):
        return Verdict.HELD
    joint = joint95(a, b)
    return Verdict.UNDECIDED if joint > 0 and a.mean - b.mean <= joint else Verdict.FAILED


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a statement that holds where all of these do."""
    return max(verdicts, key=_FROM_GOOD_TO_BAD.index)


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a statement that holds where one of these does."""
    return min(verdicts, key=_FROM_GOOD_TO_BAD.index, default=Verdict.FAILED)
