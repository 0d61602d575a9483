"""What was found: what lying gains, and what honest users lose to auditors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.results.statistics import joint95
from tidegate.studies.book import NOTHING
from tidegate.studies.security.field import AUDITED, HONEST, entry

if TYPE_CHECKING:
    from tidegate.results.statistics import Estimate
    from tidegate.studies.book import Book, Entry
    from tidegate.studies.security.field import Field

MOST = 1.05
"""Nobody should get more than this of what an honest user gets."""
LOST = 0.001
"""Honest users should lose less than this share of their packets to auditors."""


@dataclass(frozen=True)
class Gain:
    """A strategy against a defence: goodput over that of the same user when he is honest."""

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

    def gain(
        self, defence: str, strategy: str, size: int, honest_size: int | None = None
    ) -> Gain | None:
        """Over an honest user with so many flows, by default as the others; None if unmeasured."""
        honest_size = honest_size or self.field.sizes[0]
        honest = self.runs(defence, HONEST, honest_size).estimate("cheat_bps")
        return gain_over(honest, self.runs(defence, strategy, size).estimate("cheat_bps"))

    def lost(self, name: str) -> Estimate:
        """Share of honest users' packets that auditors drop in one of the honest situations."""
        return self.book.read(HONEST).get(name, NOTHING).estimate("lost_to_auditor")

    def lost_beside(self, strategy: str, size: int) -> Estimate:
        """The same beside a cheat, with policers and auditors."""
        return self.runs(AUDITED, strategy, size).estimate("lost_to_auditor")

    def failures(self) -> list[str]:
        """What does not hold, in words; what was not measured does not."""
        told = []
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

    def _gains(self, strategy: str, size: int) -> list[str]:
        """What it gains over an honest user as the others are, and over one with as many flows."""
        told = []
        for honest_size in dict.fromkeys((self.field.sizes[0], size)):
            gain = self.gain(AUDITED, strategy, size, honest_size)
            if gain is None:
                told.append(f"{strategy} with {size} flows was not measured")
            elif gain.exceeds:
                ratio = gain.ratio.written(2)
                honest = f"what an honest user with {honest_size} gets"
                told.append(f"{strategy} with {size} flows gets {ratio} of {honest}")
        return told


def gain_over(honest: Estimate, lying: Estimate) -> Gain | None:
    """What a liar's goodput is over an honest user's; None where one was not measured."""
    if not (honest.runs and lying.runs):
        return None
    allowed = honest.scaled(MOST)
    # A mean of 0 has a quotient of 0, whose relative error nobody knows.
    ratio = lying.over(honest) if lying.mean else lying.scaled(1 / honest.mean)
    return Gain(ratio, lying.mean - allowed.mean > joint95(lying, allowed))


def _share(lost: Estimate) -> str:
    return f"honest users lose {100 * lost.mean:.3f} % of their packets to auditors"
