"""Verdicts on cells and claims, and the explanations that stand beside those that deviate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate, welch95_half
from tidegate.studies.checks import check
from tidegate.studies.checks.comparing import with_levels
from tidegate.studies.checks.findings import Finding
from tidegate.studies.errors import NothingLeftError
from tidegate.studies.points import the_one_point
from tidegate.studies.selection import groups
from tidegate.studies.verdict import Verdict, all_of, most_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.model import Cell, Claim
    from tidegate.studies.points import Point, Points

# A mean of quotients, and the quotient of the means that stands beside it.
_RATIO_METRIC = "throughput_ratio_T_R"
RATIO_OF_MEANS = "ratio_of_mean_throughputs"
_LISTED = 4
# Runs of what a claim compares, in multiples of the study's, where these do not decide it.
MORE_RUNS = 3


@dataclass(frozen=True)
class CellVerdict:
    """A published number beside ours."""

    cell: Cell
    ours: Estimate
    ratio_of_means: float | None
    without: Estimate | None = None
    """The baseline's value."""
    differs: bool = True
    """Whether ours differs from the baseline's by more than the interval of the difference."""

    @property
    def without_it(self) -> CellVerdict | None:
        """Judge the baseline in our place; `None` where the study has none."""
        return replace(self, ours=self.without) if self.without is not None else None

    @property
    def deviation(self) -> float:
        """Ours over the paper's, minus 1; infinite or NaN where the paper has 0."""
        return self.ours.change_from(Estimate(self.cell.value))

    @property
    def within(self) -> bool:
        """Whether ours is as near as the study asks for."""
        return self.cell.tolerance.holds(self.ours.mean, self.cell.value)

    @property
    def uncertainty(self) -> float:
        """Half-width of the deviation's 95 % interval (Welch); NaN beside a published number."""
        theirs = self.cell.measured
        if theirs is None or theirs.mean == 0:
            return math.nan
        return welch95_half(self.ours, theirs) / abs(theirs.mean)

    @property
    def by_chance(self) -> bool:
        """Whether chance may explain the deviation from what was measured elsewhere."""
        theirs = self.cell.measured
        if theirs is None:
            return False
        return abs(self.ours.mean - theirs.mean) <= welch95_half(self.ours, theirs)

    @property
    def undecided(self) -> bool:
        """Whether it is not as near as asked for, and chance may explain that."""
        return not self.within and self.by_chance


@dataclass(frozen=True)
class ClaimVerdict:
    """A published statement beside our measurements."""

    claim: Claim
    findings: tuple[tuple[str, Finding], ...]
    """Label of the group, and what was found there."""
    repeated: int = 0
    """Points that were run more often, since without that it was undecided."""

    @property
    def verdict(self) -> Verdict:
        """Whether all findings, or the `share` asked for, satisfy the claim.

        Undecided where no finding says that it fails.
        """
        verdicts = [finding.verdict for _, finding in self.findings]
        share = self.claim.check.get("share")
        return all_of(verdicts) if share is None else most_of(verdicts, share)

    @property
    def held(self) -> bool:
        """Whether all findings satisfy the claim."""
        return self.verdict is Verdict.HELD

    @property
    def undecided(self) -> bool:
        """Whether no finding fails, but some have the limit in their interval."""
        return self.verdict is Verdict.UNDECIDED

    @property
    def undecided_points(self) -> list[Point]:
        """What `MORE_RUNS` times the runs may decide; nothing where that many would not do.

        A claim comes to hold only if every open finding does, and fails by one of them.
        """
        if not self.undecided:
            return []
        still_open = [one for _, one in self.findings if one.verdict is Verdict.UNDECIDED]
        near = [one for one in still_open if _near_decision(one)]
        if len(near) < len(still_open):
            near = [one for one in near if one.margin is not None and one.margin.distance < 0]
        return [point for finding in near for point in finding.points]

    @property
    def measured(self) -> str:
        """Our values in a line."""
        more = f" (with {MORE_RUNS} times the runs at {self.repeated} points)"
        held = sum(finding.held for _, finding in self.findings)
        count = f"{held} of {len(self.findings)}: " if "share" in self.claim.check else ""
        return count + in_a_line(self.findings) + (more if self.repeated else "")


def _near_decision(finding: Finding) -> bool:
    return finding.margin is None or finding.margin.decided_by(MORE_RUNS)


def in_a_line(findings: Sequence[tuple[str, Finding]]) -> str:
    """Values in a line: those that fail or are undecided, or else all, or else their range."""
    for verdict, how in ((Verdict.FAILED, "fails"), (Verdict.UNDECIDED, "undecided")):
        wrong = [f"{label} {one.text}".strip() for label, one in findings if one.verdict is verdict]
        if wrong:
            more = f" and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
            return f"{how} at {'; '.join(wrong[:_LISTED])}{more} (of {len(findings)})"
    if len(findings) <= _LISTED:
        return "; ".join(f"{label} {finding.text}".strip() for label, finding in findings)
    means = [finding.value.mean for _, finding in findings]
    return f"{min(means):.3g} to {max(means):.3g} (all of {len(means)})"


def judge_cell(
    cell: Cell, measured: Points, bare: Point | None = None, like: str = ""
) -> CellVerdict:
    """Put a published number beside the point that it speaks of, and `bare` in its place.

    `like` is the metric by which these two are seen to differ, if not the cell's own.
    """
    point = measured.matching(cell.experiment, cell.levels, cell.metric)
    other = point.metrics.get(RATIO_OF_MEANS) if cell.metric == _RATIO_METRIC else None
    verdict = CellVerdict(cell, point.metrics[cell.metric], other.mean if other else None)
    if bare is None or cell.metric not in bare.metrics:
        return verdict
    by = like or cell.metric
    return replace(
        verdict,
        without=bare.metrics[cell.metric],
        differs=point.metrics[by].differs(bare.metrics[by]),
    )


def judge_cell_in(points: list[Point], cell: Cell, metric: str) -> CellVerdict:
    """Put a published number beside a metric of the one of these points that has its levels."""
    point = the_one_point(points, cell.id, cell.levels, metric)
    return CellVerdict(cell, point.metrics[metric], None)


def judge_claim(claim: Claim, measured: Points) -> ClaimVerdict:
    """Put a published statement to the measurements that it speaks of."""
    return ClaimVerdict(
        claim, tuple(judge_parts(claim.parts, claim.experiment, measured, claim.check))
    )


def judge_parts(
    parts: Sequence[Mapping[str, Any]],
    experiment: str,
    measured: Points,
    published: Mapping[str, Any],
) -> list[tuple[str, Finding]]:
    """Judge all parts; a part's `check` with a kind stands alone, another adds details."""
    findings = []
    for part in parts:
        own = part.get("check", {})
        rules = own if "kind" in own else {**published, **own}
        try:
            found = groups(with_levels(part, rules), experiment, measured)
        except NothingLeftError as missing:
            findings.append(("", Finding(Verdict.FAILED, Estimate(math.nan), str(missing))))
            continue
        for group in found:
            findings += [(group.label, finding) for finding in check(rules, group)]
    return findings
