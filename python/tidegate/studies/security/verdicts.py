"""What was found: what lying gains, and what honest users lose to auditors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.results.statistics import difference_ci95
from tidegate.studies.book import NOTHING
from tidegate.studies.security.field import AUDITED, HONEST, entry

if TYPE_CHECKING:
    from tidegate.results.statistics import Estimate
    from tidegate.studies.book import Book, Entry
    from tidegate.studies.security.field import Field

MOST = 1.05
"""Nobody should get more than this of what the truth gets him."""
LOST = 0.001
"""Honest users should lose less than this share of their packets to auditors."""


@dataclass(frozen=True)
class Gain:
    """A strategy against a defence: goodput over that of a user who sends alike and is honest."""

    ratio: Estimate
    exceeds: bool
    """It is above `MOST` by more than the joint interval of both goodputs."""


@dataclass(frozen=True)
class Findings:
    """What was measured, judged."""

    field: Field
    book: Book

    def runs(self, defence: str, strategy: str, size: int) -> Entry:
        """What was run of a strategy with so many flows."""
        return self.book.read(defence).get(entry(strategy, size), NOTHING)

    def gain(self, defence: str, strategy: str, size: int) -> Gain | None:
        """Over who tells the truth, sends alike and has as many flows as the others."""
        return self._gain(defence, strategy, size, self.field.sizes[0])

    def gain_by_lying(self, defence: str, strategy: str, size: int) -> Gain | None:
        """Over the most that the truth gets who sends alike, with as many flows or fewer.

        Whoever may open sixteen flows may open four: a lie gains where no honest way of his own
        gives as much.
        """
        honest = self.field.honest_of(strategy)
        ways = [each for each in self.field.sizes if each <= size]
        best = max(ways, key=lambda each: self._goodput(defence, honest, each).mean)
        return self._gain(defence, strategy, size, best)

    def _gain(self, defence: str, strategy: str, size: int, honest_size: int) -> Gain | None:
        honest = self._goodput(defence, self.field.honest_of(strategy), honest_size)
        return gain_over(honest, self._goodput(defence, strategy, size))

    def _goodput(self, defence: str, strategy: str, size: int) -> Estimate:
        return self.runs(defence, strategy, size).estimate("cheat_bps")

    def lost(self, name: str) -> Estimate:
        """Share of honest users' packets that auditors drop in one of the honest situations."""
        return self.book.read(HONEST).get(name, NOTHING).estimate("lost_to_auditor")

    def lost_beside(self, strategy: str, size: int) -> Estimate:
        """The same beside a cheat, with policers and auditors."""
        return self.runs(AUDITED, strategy, size).estimate("lost_to_auditor")

    def failures(self) -> list[str]:
        """What does not hold, in words; what was not measured does not."""
        told = [line for way in self.field.without_feedback for line in self._lies(way)]
        for strategy in self.field.titles("strategies"):
            for size in self.field.sizes:
                told += self._gains(strategy, size)
                beside = self.lost_beside(strategy, size)
                if not beside.mean < LOST:
                    told.append(f"beside {strategy} with {size} flows {_share(beside)}")
        situations = self.field.titles(HONEST)
        told += [
            f"{name}: {_share(self.lost(name))}"
            for name in situations
            if not self.lost(name).mean < LOST
        ]
        return told

    def pays_beside_as_many(self) -> list[list[str]]:
        """Lies that get more than the truth does with as many flows, a row each; no failures.

        Title, flows, what the lie gets and what the truth gets.
        """
        told = []
        for strategy, title in self.field.titles("strategies").items():
            for size in self.field.sizes:
                honest = self._goodput(AUDITED, self.field.honest_of(strategy), size)
                lying = self._goodput(AUDITED, strategy, size)
                if _exceeds(honest, lying):
                    got, given = (one.scaled(1e-6).written(2) for one in (lying, honest))
                    told.append([title, str(size), got, given])
        return told

    def _lies(self, way: str) -> list[str]:
        """Why a sender without feedback is no honest one, with as many flows as others have."""
        runs = self.runs(AUDITED, way, self.field.sizes[0])
        declared, refused = runs.estimate("declared_of_met"), runs.estimate("refused")
        told = []
        if not declared.mean >= 1.0:
            told.append(f"{way} declares {declared.written(2)} of the marks that it meets")
        if not refused.mean < LOST:
            told.append(f"{way} loses {100 * refused.mean:.3f} % of its packets to policers")
        return told

    def _gains(self, strategy: str, size: int) -> list[str]:
        gain = self.gain_by_lying(AUDITED, strategy, size)
        if gain is None:
            return [f"{strategy} with {size} flows was not measured"]
        ratio = gain.ratio.written(2)
        honest = f"what {self.field.honest_of(strategy)} gets with as many flows or fewer"
        return [f"{strategy} with {size} flows gets {ratio} of {honest}"] if gain.exceeds else []


def gain_over(honest: Estimate, lying: Estimate) -> Gain | None:
    """What a liar's goodput is over an honest user's; None where one was not measured."""
    if not (honest.runs and lying.runs):
        return None
    return Gain(lying.over(honest), _exceeds(honest, lying))


def _exceeds(honest: Estimate, lying: Estimate) -> bool:
    allowed = honest.scaled(MOST)
    return lying.mean - allowed.mean > difference_ci95(lying, allowed)


def _share(lost: Estimate) -> str:
    return f"honest users lose {100 * lost.mean:.3f} % of their packets to auditors"
