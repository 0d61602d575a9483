"""Shapes of a curve that a paper describes in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Curve = list[tuple[float, float]]


def peak_then_below(curve: Curve, event: Mapping[str, Any]) -> bool:
    """Exceed `level` within `between`, by more than at its upper end, and fall below it later.

    What the curve does after that is another statement's business.
    """
    low, high = event["between"]
    inside = [(x, y) for x, y in curve if low <= x <= high]
    x_peak, y_peak = max(inside, key=lambda point: point[1])
    later = [y for x, y in curve if x > x_peak]
    first_outside = next((y for x, y in curve if x > high), y_peak)
    falls = first_outside < y_peak and any(y < event["level"] for y in later)
    return bool(y_peak > event["level"] and falls)


def rises_at_the_end(curve: Curve, event: Mapping[str, Any]) -> bool:
    """End above the smallest value beyond `beyond` by `by` (relative)."""
    smallest = min(y for x, y in curve if x > event["beyond"])
    return bool(curve[-1][1] >= smallest * (1.0 + event["by"]))


EVENTS: Mapping[str, Callable[[Curve, Mapping[str, Any]], bool]] = {
    "peak-then-below": peak_then_below,
    "rises-at-the-end": rises_at_the_end,
}
