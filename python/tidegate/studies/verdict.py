"""Judging what was measured: near enough to what is given, or in the order that is claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidegate.results.statistics import difference_ci95

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
        return bool(abs(ours - given) <= self._allowed(given))

    def margin(self, ours: Estimate, given: float) -> Margin:
        """By how much ours is nearer than it has to be."""
        return Margin(self._allowed(given) - abs(ours.mean - given), ours.ci95, ties_ok=True)

    def _allowed(self, given: float) -> float:
        return max(self.share * abs(given), self.distance) * (1 + _ROUNDING)


class Verdict(Enum):
    """What measurements say of a statement."""

    HELD = "holds"
    UNDECIDED = "undecided"
    FAILED = "fails"


_FROM_GOOD_TO_BAD = list(Verdict)


def of_truth(holds: bool) -> Verdict:
    """Of a statement about values that are exact."""
    return Verdict.HELD if holds else Verdict.FAILED


@dataclass(frozen=True)
class Margin:
    """How far a measurement lies on the side that a statement asks for, and how sure that is.

    >>> [Margin(distance, 0.1).verdict.value for distance in (0.2, 0.05, -0.05, -0.2)]
    ['holds', 'undecided', 'undecided', 'fails']
    """

    distance: float
    """From the limit, positive on the side that is asked for, in the unit of what was measured."""
    half: float = 0.0
    """Half-width of its 95 % interval: 0 for what was computed exactly, NaN if it is unknown."""
    ties_ok: bool = False
    """Whether the limit itself satisfies the statement."""

    @property
    def verdict(self) -> Verdict:
        """Holds or fails where the whole interval lies on one side of the limit."""
        if math.isnan(self.distance):
            return Verdict.FAILED
        half = math.inf if math.isnan(self.half) else self.half
        if self.distance > half or (self.ties_ok and self.distance == half):
            return Verdict.HELD
        if self.distance < -half or (not self.ties_ok and self.distance == -half):
            return Verdict.FAILED
        return Verdict.UNDECIDED

    def decided_by(self, times: float) -> bool:
        """Whether a multiple of the runs would decide it if the mean stayed where it is.

        >>> Margin(0.06, 0.1).decided_by(3), Margin(0.05, 0.1).decided_by(3)
        (True, False)
        """
        return self.half < math.inf and abs(self.distance) * math.sqrt(times) > self.half


def margin_below(a: Estimate, b: Estimate, *, gap: float = 0.0, ties_ok: bool = False) -> Margin:
    """Of the statement a + `gap` < b; with `ties_ok`, a + `gap` ≤ b."""
    return Margin(b.mean - a.mean - gap, difference_ci95(a, b), ties_ok)


def compared(a: Estimate, b: Estimate, *, ties_ok: bool = False) -> Verdict:
    """Whether a < b: undecided where 0 lies in the 95 % interval of b − a.

    >>> from tidegate.results.statistics import Estimate
    >>> [compared(Estimate(x, 0.08, 9), Estimate(1.0, 0.08, 9)).value for x in (0.8, 0.9, 1.1)]
    ['holds', 'undecided', 'undecided']
    """
    return margin_below(a, b, ties_ok=ties_ok).verdict


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a statement that holds where all of these do."""
    return max(verdicts, key=_FROM_GOOD_TO_BAD.index)


def most_of(verdicts: Iterable[Verdict], share: float) -> Verdict:
    """Of a statement that holds where at least this share of these does.

    >>> [most_of([Verdict.HELD, Verdict.FAILED], share).value for share in (0.5, 0.6)]
    ['holds', 'fails']
    """
    there = list(verdicts)
    asked = share * len(there)
    if there.count(Verdict.HELD) >= asked:
        return Verdict.HELD
    return Verdict.FAILED if len(there) - there.count(Verdict.FAILED) < asked else Verdict.UNDECIDED


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a statement that holds where one of these does."""
    return min(verdicts, key=_FROM_GOOD_TO_BAD.index, default=Verdict.FAILED)
