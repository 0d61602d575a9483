"""Shapes of a curve that a paper describes in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Curve = list[tuple[float, float]]


def peak_then_below(curve: Curve, event: Mapping[str, Any]) -> bool:
    """Peak above `level`, within `between`, and fall below `level` later."""
    x_peak, y_peak = max(curve, key=lambda point: point[1])
    low, high = event["between"]
    later = [y for x, y in curve if x > x_peak]
    fell = any(y < event["level"] for y in later)
    return bool(y_peak > event["level"] and low <= x_peak <= high and fell)


def rises_at_the_end(curve: Curve, event: Mapping[str, Any]) -> bool:
    """Fall after the peak, then end above the smallest value by `by` (relative)."""
    x_peak, _ = max(curve[:-1], key=lambda point: point[1])
    smallest = min(y for x, y in curve if x > x_peak)
    return bool(curve[-1][1] >= smallest * (1.0 + event["by"]))


EVENTS: Mapping[str, Callable[[Curve, Mapping[str, Any]], bool]] = {
    "peak-then-below": peak_then_below,
    "rises-at-the-end": rises_at_the_end,
}
