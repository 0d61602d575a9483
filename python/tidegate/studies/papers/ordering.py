"""Whether one mean lies below another, as far as the runs at hand can tell."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tidegate.results.statistics import joint95

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.results.statistics import Estimate


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
