"""Shapes of a curve that a paper describes in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tidegate.results.statistics import Estimate
from tidegate.studies.verdict import Margin, Verdict, all_of, any_of, compared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Curve = list[tuple[float, Estimate]]


def peak_then_below(curve: Curve, event: Mapping[str, Any]) -> Verdict:
    """Exceed `level` within `between`, by more than at its upper end, and fall below it later.

    What the curve does after that is another statement's business.
    """
    low, high = event["between"]
    level = Estimate(event["level"])
    x_peak, peak = max(
        ((x, y) for x, y in curve if low <= x <= high), key=lambda point: point[1].mean
    )
    beyond = [y for x, y in curve if x > high][:1]
    return all_of(
        [
            compared(level, peak),
            any_of(compared(y, peak) for y in beyond),
            any_of(compared(y, level) for x, y in curve if x > x_peak),
        ]
    )


def rises_at_the_end(curve: Curve, event: Mapping[str, Any]) -> Verdict:
    """End above the smallest value beyond `beyond` by `by` (relative)."""
    smallest = min((y for x, y in curve if x > event["beyond"]), key=lambda y: y.mean)
    return compared(smallest.scaled(1.0 + event["by"]), curve[-1][1], ties_ok=True)


def nearly_straight(curve: Curve, event: Mapping[str, Any]) -> Verdict:
    """Stay near the straight line from first to last point: `by`, as a share of its rise."""
    (first, low), (last, high) = curve[0], curve[-1]
    allowed = high.less(low).scaled(event["by"])
    margins = []
    for x, y in curve[1:-1]:
        share = (x - first) / (last - first)
        line = low.mean + share * (high.mean - low.mean)
        half = math.hypot(y.ci95, (1 - share) * low.ci95, share * high.ci95, allowed.ci95)
        margins.append(Margin(abs(allowed.mean) - abs(y.mean - line), half, ties_ok=True))
    return all_of(margin.verdict for margin in margins)


def levels_off(curve: Curve, event: Mapping[str, Any]) -> Verdict:
    """Rise, but beyond `beyond` by no more than a share `by` of all that it rises."""
    by, start, end = event["by"], curve[0][1], curve[-1][1]
    knee = next(y for x, y in curve if x >= event["beyond"])
    distance = by * (end.mean - start.mean) - (end.mean - knee.mean)
    half = math.hypot((1 - by) * end.ci95, by * start.ci95, knee.ci95)
    return all_of([compared(start, end), Margin(distance, half, ties_ok=True).verdict])


EVENTS: Mapping[str, Callable[[Curve, Mapping[str, Any]], Verdict]] = {
    "peak-then-below": peak_then_below,
    "rises-at-the-end": rises_at_the_end,
    "nearly-straight": nearly_straight,
    "levels-off": levels_off,
}
