"""What a check finds, and the comparisons that all kinds of checks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate
from tidegate.studies.verdict import Margin, Tolerance, Verdict, margin_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.results.statistics import Estimate
    from tidegate.studies.data import Datum, Group
    from tidegate.studies.points import Point


@dataclass(frozen=True)
class Finding:
    """A value that was looked at, whether it satisfies the claim, and how it reads."""

    verdict: Verdict
    value: Estimate
    text: str
    points: tuple[Point, ...] = ()
    """What was compared: more runs of these may decide."""
    margin: Margin | None = None
    """What the verdict rests on; `None`: on several of them, or on what is exact."""

    @property
    def held(self) -> bool:
        """Whether it satisfies the claim."""
        return self.verdict is Verdict.HELD


def found(margin: Margin, value: Estimate, text: str, points: tuple[Point, ...] = ()) -> Finding:
    """Give the finding that a margin decides."""
    return Finding(margin.verdict, value, text, points, margin)


def near(value: Estimate, expected: float, rules: Mapping[str, Any]) -> Margin:
    """Of being within the larger of the relative and the absolute tolerance."""
    tolerance = Tolerance(rules.get("rel_tol", 0.0), rules.get("abs_tol", 0.0))
    return tolerance.margin(value, expected)


def below(a: Estimate, b: Estimate, rules: Mapping[str, Any]) -> Margin:
    """Of a < b, by `min_rel_gap` of a where an effect of that size is stated."""
    gap = rules.get("min_rel_gap", 0.0) * abs(a.mean)
    return margin_below(a, b, gap=gap, ties_ok=rules.get("ties_ok", False))


def names_of(rules: Mapping[str, Any], datum: Datum) -> dict[str, Any]:
    """Give what an expression of a check may name.

    These are the levels, other metrics of the point that was measured there, if it is one, and what
    `variables` computes from the levels (to match an expression's units).
    """
    variables = rules.get("variables", {})
    computed = {name: evaluate(text, datum.levels) for name, text in variables.items()}
    metrics = datum.points[0].metrics if len(datum.points) == 1 else {}
    return {**{name: one.mean for name, one in metrics.items()}, **datum.levels, **computed}


def listed(item: object) -> list[str]:
    """Give the names of levels of an entry of a claim's list: one, or a list of its own."""
    return [str(name) for name in item] if isinstance(item, list) else [str(item)]


def named(group: Group, names: Iterable[str]) -> list[Datum]:
    """Give the data of these levels."""
    wanted = list(names)
    missing = [name for name in wanted if name not in group.data]
    if missing:
        raise ReproductionError(f"no level {missing} among {sorted(group.data)}")
    return [datum for name in wanted for datum in group.data[name]]


def one(group: Group, name: object) -> Datum:
    """Give the one value of a level."""
    found = named(group, listed(name))
    if len(found) != 1:
        raise ReproductionError(f"{len(found)} values, not one, for {name!r} in {group.label!r}")
    return found[0]
