"""The view `activity`: what each metered user's meter shows, how fast it rises and falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis.activity import (
    decay_s,
    onset_s,
    smallest_smooth_inertia_s,
    stationary_activity,
)
from tidegate.analysis.mapped.optimum import Sharing, solved
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views.answer import Answer, Rows, number

if TYPE_CHECKING:
    from tidegate.analysis.mapped.bundles import Bundle
    from tidegate.analysis.mapped.network import Mapped


def answer(mapped: Mapped) -> Answer:
    """A row for each group with a meter, of one of its users."""
    metered = [b for b in mapped.bundles if b.reference_rate_bps]
    if not metered:
        raise NoModelError(
            "users.*.meter", "no user has an activity meter", "give users a meter, as with ABC"
        )
    weights = [bundle.reference_rate_bps or 1e-9 for bundle in mapped.bundles]
    intended = solved(mapped, Sharing("proportional", True, weights, "")).rates
    rows: Rows = []
    for bundle, share_bps in zip(mapped.bundles, intended, strict=True):
        if bundle in metered:
            rows.append(_row(bundle, share_bps))
    return Answer(
        model="activity meter at a constant rate, Menth and Zeitler 2015, (1) to (8)",
        mapped={"users": "each alone; a greedy user at its intended share"},
        assumptions=(
            "a user with a constant rate sends it, a greedy one sends its intended share",
            "intended shares are in proportion to reference rates",
        ),
        tables={"groups": rows},
    )


def _row(bundle: Bundle, share_bps: float) -> dict[str, float | int | str | bool | None]:
    meter = next(stage for stage in bundle.stages if stage["kind"] == "activity-meter")
    reference_bps = meter["reference_rate_bps"]
    constant = bundle.traffic["kind"] == "cbr"
    sends_bps = bundle.traffic["rate_bps"] * bundle.flows_per_user if constant else share_bps
    active = stationary_activity(rate_bps=sends_bps, reference_rate_bps=reference_bps)
    return {
        "group": bundle.group,
        "users": bundle.users,
        "sends_bps": sends_bps,
        "reference_rate_bps": reference_bps,
        "stationary_activity": active,
        "onset_s": number(
            onset_s(
                rate_bps=sends_bps,
                reference_rate_bps=reference_bps,
                burst_allowance_bytes=meter["burst_allowance_bytes"],
            )
        ),
        "decay_s": decay_s(inertia_s=meter["inertia_s"], activity=active),
        "intended_share_bps": share_bps,
        "smallest_smooth_inertia_s": smallest_smooth_inertia_s(
            reference_rate_bps=reference_bps, len_bytes=bundle.packet_bits // 8
        ),
    }
