"""Values that are made of several measured points, as a part of a claim asks for by `derive`.

============  ==================================================================================
max, min      the largest or smallest over these factors, or over all of them ("all")
mean          the mean over these factors, or over all of them
over          value over an expression of its levels
ratio         { of = where, to = where }, paired by the levels that neither names
difference    { of = where, to = where }, the first less the second
crossing      { of = factor, level = number }: up to where values stay below a limit, the last
              level where all do; for a level relative to the value at one place, { of = factor,
              rise = 0.1, from = level }
width         { over = factor, below = expression }: on how much of the axis values are below it
spread        largest less smallest over this factor, as a share of their mean
interval      "relative": half of the 95 % interval, as a share of the mean
least_step    at the how-manieth level of this factor (from 0) the value is least
beside_least  { over = factor, keep = side, metric = name }: the data `below`, `at`, `near` (a step
              away at most) or `from` the level at which that metric is least in their curve or,
              with `where` and `series`, in the one of other data that these name
having        { metric = name, min = .., max = .. }: the data at whose points it is in that range,
              where they have it
============  ==================================================================================
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.results.statistics import Estimate, difference_ci95
from tidegate.studies.data import Datum, apart_from, curves, points_of
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate
from tidegate.studies.matching import matches, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.studies.data import Place

Look: TypeAlias = "Callable[[Mapping[str, Any]], list[Datum]]"
"""Gives the data of the same part, with these keys of it replaced."""


def derived(found: list[Datum], derive: Mapping[str, Any], look: Look) -> list[Datum]:
    """Make the derived values, one derivation after the other."""
    for kind, argument in derive.items():
        if kind == "beside_least":
            found = _beside_least(found, argument, look)
        elif kind in _DERIVATIONS:
            found = _DERIVATIONS[kind](found, argument)
        else:
            there = ", ".join(sorted({*_DERIVATIONS, "beside_least"}))
            raise ReproductionError(f"no derivation {kind!r}; there are {there}")
    return found


def spread(curve: list[Datum]) -> Estimate:
    """Largest less smallest value, as a share of their mean."""
    top, bottom = (pick(curve, key=_mean_of).value for pick in (max, min))
    scale = sum(map(_mean_of, curve)) / len(curve)
    if scale == 0:
        return Estimate(math.nan, math.nan)
    half = difference_ci95(top, bottom) / abs(scale)
    return Estimate((top.mean - bottom.mean) / abs(scale), half, min(top.runs, bottom.runs))


def mean(values: list[Estimate]) -> Estimate:
    """Mean of independent estimates."""
    half = math.hypot(*(value.ci95 for value in values)) / len(values)
    total = sum(value.mean for value in values)
    return Estimate(total / len(values), half, min(value.runs for value in values))


def _mean_of(datum: Datum) -> float:
    return datum.value.mean


def _names(factors: str | list[str], found: list[Datum]) -> set[str]:
    if factors == "all":
        return {name for datum in found for name in datum.levels}
    return {factors} if isinstance(factors, str) else set(factors)


def _folded(
    found: list[Datum], factors: str | list[str], choose: Callable[..., Datum]
) -> list[Datum]:
    chosen = {
        rest: choose(curve, key=_mean_of)
        for rest, curve in curves(found, _names(factors, found)).items()
    }
    return [Datum(dict(rest), datum.value, datum.points) for rest, datum in chosen.items()]


def _of_curves(
    found: list[Datum], factors: str | list[str], make: Callable[[list[Datum]], Estimate]
) -> list[Datum]:
    return [
        Datum(dict(rest), make(curve), points_of(curve))
        for rest, curve in curves(found, _names(factors, found)).items()
    ]


def _pairs(found: list[Datum], argument: Mapping[str, Any]) -> list[tuple[Place, Datum, Datum]]:
    """Data `of` one choice beside those `to` another, by the levels that neither names."""
    of, to = argument["of"], argument["to"]
    named = {*of, *to}
    others = {apart_from(named, d.levels): d for d in found if matches(d.levels, to)}
    pairs = [(apart_from(named, d.levels), d) for d in found if matches(d.levels, of)]
    return [(rest, datum, others[rest]) for rest, datum in pairs if rest in others]


def _ratio(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    return [
        Datum(dict(rest), top.value.over(below.value), top.points + below.points)
        for rest, top, below in _pairs(found, argument)
    ]


def _difference(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    return [
        Datum(dict(rest), one.value.less(other.value), one.points + other.points)
        for rest, one, other in _pairs(found, argument)
    ]


def _crossing(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    """Level of a factor up to which the values stay below a limit.

    Between points by the level's logarithm, or along a straight line from a level of 0 or less; its
    interval by moving the curve up and down.
    """
    factor = argument["of"]

    def crossing(curve: list[Datum]) -> Estimate:
        limit = _limit(curve, argument)
        low, at, high = (_first_above(curve, factor, limit, shift) for shift in (-1, 0, 1))
        return Estimate(at, abs(high - low) / 2, min(datum.value.runs for datum in curve))

    return _of_curves(found, factor, crossing)


def _limit(curve: list[Datum], argument: Mapping[str, Any]) -> float:
    if "level" in argument:
        return float(argument["level"])
    start = next(datum for datum in curve if datum.levels[argument["of"]] == argument["from"])
    return start.value.mean * (1.0 + float(argument["rise"]))


def _first_above(curve: list[Datum], factor: str, limit: float, shift: float) -> float:
    points = sorted(
        (float(datum.levels[factor]), datum.value.mean + shift * datum.value.ci95)
        for datum in curve
    )
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if y0 <= limit < y1:
            share = (limit - y0) / (y1 - y0)
            if x0 <= 0:  # no logarithm
                return x0 + share * (x1 - x0)
            return math.exp(math.log(x0) + share * (math.log(x1) - math.log(x0)))
    below = all(value <= limit for _, value in points)
    return points[-1][0] if below else math.nan


def _width(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    """On how much of the axis a curve is below a limit; its interval by moving it up and down."""
    factor = argument["over"]

    def width(curve: list[Datum]) -> Estimate:
        def at(shift: float) -> float:
            points = sorted(
                (
                    float(datum.levels[factor]),
                    datum.value.mean
                    + shift * datum.value.ci95
                    - evaluate(argument["below"], datum.levels),
                )
                for datum in curve
            )
            return sum(_below_zero(*pair) for pair in itertools.pairwise(points))

        half = abs(at(-1.0) - at(1.0)) / 2
        return Estimate(at(0.0), half, min(datum.value.runs for datum in curve))

    return _of_curves(found, factor, width)


def _below_zero(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Length of the part of a straight line's axis on which it is below zero."""
    (x0, y0), (x1, y1) = start, end
    if (y0 < 0) == (y1 < 0):
        return x1 - x0 if y0 < 0 else 0.0
    return (x1 - x0) * min(y0, y1) / (min(y0, y1) - max(y0, y1))


def _interval(found: list[Datum], kind: str) -> list[Datum]:
    if kind != "relative":
        raise ReproductionError(f"no interval {kind!r}; there is relative")
    return [
        Datum(d.levels, Estimate(_relative_half(d.value), runs=d.value.runs), d.points)
        for d in found
    ]


def _relative_half(value: Estimate) -> float:
    """Half of the interval as a share of the mean; infinite where the mean alone is 0."""
    if value.mean == 0:
        return math.inf if value.ci95 > 0 else math.nan
    return value.ci95 / abs(value.mean)


def _over(found: list[Datum], expression: str) -> list[Datum]:
    divisors = [(datum, evaluate(expression, datum.levels)) for datum in found]
    for datum, divisor in divisors:
        if divisor == 0:
            raise ReproductionError(f"{expression!r} is 0 at {datum.levels}; nothing is over it")
    return [Datum(d.levels, d.value.scaled(1.0 / divisor), d.points) for d, divisor in divisors]


def _least_step(found: list[Datum], factor: str) -> list[Datum]:
    def step(curve: list[Datum]) -> Estimate:
        ordered = sorted(curve, key=lambda datum: float(datum.levels[factor]))
        least = min(ordered, key=_mean_of)
        # As far as any level whose value is not seen to be larger.
        as_low = [n for n, d in enumerate(ordered) if not d.value.differs(least.value)]
        at = ordered.index(least)
        half = max(abs(number - at) for number in as_low) if as_low else math.nan
        return Estimate(float(at), float(half), min(datum.value.runs for datum in curve))

    return _of_curves(found, factor, step)


def _beside_least(found: list[Datum], argument: Mapping[str, Any], look: Look) -> list[Datum]:
    factor, metric = argument["over"], argument["metric"]
    named = argument.get("where", {})
    other = {key: argument[key] for key in ("series", "where") if key in argument}
    reference = look({**other, "metric": metric}) if other else found
    least = {
        apart_from({factor, *named}, curve[0].levels): _steps(curve, factor, metric)
        for curve in curves(reference, {factor}).values()
    }
    keep = _SIDES[argument["keep"]]
    chosen = []
    for datum in found:
        rests = [rest for rest in least if set(rest) <= set(datum.levels.items())]
        if len(rests) != 1:
            raise ReproductionError(f"{len(rests)} curves, not one, to find the least {metric} of")
        steps, at = least[rests[0]]
        level = float(datum.levels[factor])
        if level in steps and keep(steps.index(level) - at):
            chosen.append(datum)
    return chosen


_SIDES: Mapping[str, Callable[[int], bool]] = {
    "below": lambda steps: steps < 0,
    "at": lambda steps: steps == 0,
    "near": lambda steps: abs(steps) <= 1,
    "from": lambda steps: steps >= 0,
}


def _steps(curve: list[Datum], factor: str, metric: str) -> tuple[list[float], int]:
    """Levels of a curve, and the number of the one where another metric is least."""
    measured = {float(d.levels[factor]): d.points[0].metrics[metric].mean for d in curve}
    steps = sorted(measured)
    return steps, steps.index(min(measured, key=measured.__getitem__))


def _having(found: list[Datum], argument: Mapping[str, Any]) -> list[Datum]:
    return [
        datum
        for datum in found
        if all(
            within(point.metrics[argument["metric"]].mean, argument)
            for point in datum.points
            if argument["metric"] in point.metrics
        )
    ]


_DERIVATIONS: Mapping[str, Callable[[list[Datum], Any], list[Datum]]] = {
    "max": lambda found, factors: _folded(found, factors, max),
    "min": lambda found, factors: _folded(found, factors, min),
    "mean": lambda found, factors: _of_curves(
        found, factors, lambda curve: mean([datum.value for datum in curve])
    ),
    "over": _over,
    "ratio": _ratio,
    "difference": _difference,
    "crossing": _crossing,
    "width": _width,
    "spread": lambda found, factor: _of_curves(found, factor, spread),
    "interval": _interval,
    "least_step": _least_step,
    "having": _having,
}
