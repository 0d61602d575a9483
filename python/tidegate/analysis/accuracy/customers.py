"""Why packets differ from the equilibrium of links that tell customers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.accuracy.causes import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.analysis.mapped.bundles import Bundle

_ROUND_TRIPS_OF_INERTIA = 2.0
"""Round trips that a meter's inertia must last for its activity to be that of the mean rate."""
_SMALL_WINDOW = 2.5


def of_abc(
    key: str,
    bundles: Sequence[Bundle],
    windows: Sequence[float],
    rtt_s: Sequence[float],
    *,
    inertia_s: float,
) -> list[Cause]:
    """ABC's: what its formulas leave out, always; its meters' inertia; windows."""
    found = [
        Cause(
            "abc-formulas",
            key,
            "ABC over TCP takes Padhye's formula for the mean rate and the means of activities, "
            "which both go up and down",
        ),
        *small_windows(bundles, windows),
    ]
    longest_s = max(rtt_s)
    if inertia_s < _ROUND_TRIPS_OF_INERTIA * longest_s:
        what = (
            f"an inertia of {inertia_s:.3g} s is below {_ROUND_TRIPS_OF_INERTIA:g} round trips of "
            f"{1e3 * longest_s:.3g} ms, so that meters see bursts and not rates: the model does "
            "not depend on it, and heavy users get more than it says"
        )
        found.append(Cause("abc-inertia", f"{bundles[0].key}.meter.inertia", what))
    return found


def of_policed(kind: str, key: str, policed: Sequence[bool]) -> list[Cause]:
    """A policed customer is off the mean, since buckets run empty and fill in turn."""
    if not any(policed):
        return []
    what = {
        "afcp": "who is policed loses whatever comes while the bucket is empty, and sends less or "
        "more in turn, where the model has a steady rate",
        "icp": "ICP takes all, or much, from a customer whose bucket is empty until it has filled "
        "again, so that flows time out and the link is not full, as the model takes it to be",
    }[kind]
    return [Cause(f"policed-by-{kind}", f"{key}.differentiation", what)]


def of_aicp(kind: str, key: str) -> list[Cause]:
    """AICP's: what its formulas leave out, always."""
    what = (
        "AICP over TCP takes Padhye's formula for the mean rate, and fills of buckets for their "
        "means, which both go up and down"
    )
    return [Cause(kind, f"{key}.differentiation", what)]


def slow_buckets(key: str, *, depth_s: float, warm_up_s: float) -> list[Cause]:
    """Full buckets take their depth over their rate to show who is policed."""
    if depth_s <= warm_up_s:
        return []
    what = (
        f"buckets begin full and take {depth_s:.3g} s to fill, and the measurement begins after "
        f"{warm_up_s:.3g} s"
    )
    return [Cause("slow-buckets", f"{key}.differentiation", what)]


def small_windows(bundles: Sequence[Bundle], windows: Sequence[float]) -> list[Cause]:
    """Windows of single flows below which timers rule."""
    return [
        Cause(
            "small-windows",
            bundle.key,
            f"a window of {window:.2g} packets is below {_SMALL_WINDOW:g}, where timers and whole "
            "packets, not the law, set the rate",
        )
        for bundle, window in zip(bundles, windows, strict=True)
        if window < _SMALL_WINDOW
    ]
