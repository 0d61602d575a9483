"""How long replications go on: until an interval is as narrow as was asked for.

A. M. Law and W. D. Kelton, *Simulation Modeling and Analysis*, on obtaining a specified precision:
the sequential procedure. After a first batch of runs the half-width h of each group's 95 % interval
(Student's t) is compared with what was asked for, d, or d = γ·|mean| where that is a share γ of the
mean. While h > d somewhere, more runs follow. Since h shrinks with √n, n·(h/d)² runs are likely to
do; a batch goes there, but adds no less than a tenth and no more than as many as there are.

Who looks at an interval until it is narrow stops a little too often when it is narrow by chance, so
that it covers the truth somewhat less often than 95 % say. A first batch of ten or more, and
batches instead of looking after each run, keep that small. Each group's interval has 95 % on its
own; that all hold at once is less likely.

What is decided follows from the results alone, so that the same runs are done on any machine.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.results.columns import unit_of
from tidegate.results.summary import GROUP_METRICS, LINK_METRICS
from tidegate.runs.execution import MAX_REPLICATIONS
from tidegate.runs.swept_values import UNITS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tidegate.results.summary import Row

FIRST_BATCH = 10
"""Runs before the first look; fewer say little about how much runs differ."""
AT_MOST = 1_000

_METRICS = (*GROUP_METRICS, *LINK_METRICS)
_DIMENSIONS = {"bit/s": "bps", "s": "s", "B": "bytes", "packets": "packets"}
_EXAMPLES = {"bit/s": "10 kb/s", "s": "1 ms", "B": "1 kB", "packets": "2 packets"}
_AMOUNT = re.compile(
    r"((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*([a-z%/]*)", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class Target:
    """A half-width that was asked for."""

    metric: str
    amount: float
    """In the metric's unit, or as a share of the mean."""
    relative: bool
    text: str
    """As it was asked for: ``2 %``."""

    def width(self, row: Row) -> float:
        """The half-width that this row may have."""
        return self.amount * abs(row.mean) if self.relative else self.amount

    def met(self, row: Row) -> bool:
        """Whether the row is known well enough."""
        return row.ci95 <= self.width(row)

    def shortfall(self, row: Row) -> str:
        """In words, for a row that is not."""
        if math.isnan(row.ci95):
            have = "nothing is known from a single value"
        elif self.relative and row.mean:
            have = f"± {100 * row.ci95 / abs(row.mean):.2g} %"
        else:
            have = f"± {row.ci95:.3g} {row.unit}".rstrip()
        return f"{self.metric} of {row.name}: {have}, not {self.text}"


@dataclass(frozen=True)
class Until:
    """When there are runs enough."""

    targets: tuple[Target, ...]
    first: int
    """Runs before the first look."""
    at_most: int

    def lacking(self, rows: Iterable[Row]) -> list[tuple[Target, Row]]:
        """What is not known well enough; what no run has a value of cannot be known."""
        known = [row for row in rows if row.runs]
        return [
            (target, row)
            for target in self.targets
            for row in known
            if row.metric == target.metric and not target.met(row)
        ]

    def check(self, known: Collection[str]) -> None:
        """Refuse what no run has a value of; `known` are the metrics that some run has."""
        unknown = [target.metric for target in self.targets if target.metric not in known]
        if unknown and known:
            there = ", ".join(metric for metric in _METRICS if metric in known)
            raise UsageError(f"until: nothing in this scenario has a {unknown[0]}; it has {there}")

    def next_count(self, rows: Sequence[Row], count: int) -> int:
        """How many runs there shall be, of a point that has `count`."""
        lacking = self.lacking(rows)
        if not lacking:
            return count
        likely = max(_likely(target, row, count) for target, row in lacking)
        batch = min(max(likely, count + math.ceil(count / 10)), 2 * count)
        return max(count, min(batch, self.at_most))


def until_of(
    texts: str | Sequence[str] | None, first: int | None, default_first: int, at_most: int | None
) -> Until | None:
    """Read what was asked for; all errors are reported together.

    Parameters
    ----------
    texts
        Such as ``"throughput_bps 2 %"`` or ``"p95_sojourn_s 1 ms"``.
    first
        Runs before the first look, where given.
    default_first
        The scenario's number of replications.
    at_most
        Runs after which there is an end in any case; default: 1000.

    """
    asked = [texts] if isinstance(texts, str) else list(texts or ())
    if not asked:
        if at_most is not None:
            raise UsageError("at most how many runs is a question with --until only")
        return None
    errors, targets = [], []
    for text in asked:
        try:
            targets.append(_target(text))
        except UsageError as error:
            errors.append(str(error))
    start = max(default_first, FIRST_BATCH) if first is None else first
    most = max(AT_MOST, start) if at_most is None else at_most
    if start < 2:
        errors.append("until: one run has no interval; start with 2 replications or more")
    if not start <= most <= MAX_REPLICATIONS:
        errors.append(f"at most {most} runs is not between {start}, the first batch, and "
                        f"{MAX_REPLICATIONS}")  # fmt: skip
    if errors:
        raise UsageError("\n".join(errors))
    return Until(tuple(targets), start, most)


def _target(text: str) -> Target:
    """Read ``throughput_bps 2 %``.

    >>> _target("throughput_bps 2 %").amount, _target("p95_sojourn_s 1 ms").amount
    (0.02, 0.001)
    """
    metric, _, rest = text.strip().partition(" ")
    if metric not in _METRICS:
        near = get_close_matches(metric, _METRICS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(_METRICS)}"
        raise UsageError(f"until: there is no quantity {metric!r}; {hint}")
    found = _AMOUNT.fullmatch(rest.strip())
    unit = unit_of(metric)
    if found is None:
        raise UsageError(f"until: {text!r} has no half-width; {_example(metric, unit)}")
    number, given = float(found[1]), found[2]
    scale = 0.01 if given == "%" else _scale(unit, given)
    if scale is None:
        raise UsageError(f"until: {rest.strip()!r} is no amount of {metric}; "
                         f"{_example(metric, unit)}")  # fmt: skip
    if not 0 < number * scale < math.inf:
        raise UsageError(f"until: {text!r} asks for an interval without width, which no number of "
                         "runs gives")  # fmt: skip
    return Target(metric, number * scale, given == "%", rest.strip())


def _scale(unit: str, given: str) -> float | None:
    if unit in _DIMENSIONS:
        return UNITS[_DIMENSIONS[unit]].get(given)
    return 1.0 if not given else None


def _example(metric: str, unit: str) -> str:
    return f"write e.g. '{metric} 2 %' or '{metric} {_EXAMPLES.get(unit, '0.01')}'"


def _likely(target: Target, row: Row, count: int) -> int:
    """Runs that are likely to do: h shrinks with the square root of their number."""
    width = target.width(row)
    if math.isnan(row.ci95) or width == 0.0:
        return 2 * count
    return math.ceil(min(count * (row.ci95 / width) ** 2, 2.0 * count))
