"""What can be computed without a simulation: activity of CBR traffic, shares of CBR users."""

from tidegate.analysis.activity import (
    Meter,
    Trace,
    burst_bytes_for_one_more,
    cbr_trace,
    decay_s,
    onset_s,
    smallest_smooth_inertia_s,
    stationary_activity,
)
from tidegate.analysis.shares import (
    CbrUser,
    Shares,
    cbr_shares,
    intended_shares_bps,
    smallest_rate_reaching_bps,
)

__all__ = [
    "CbrUser",
    "Meter",
    "Shares",
    "Trace",
    "burst_bytes_for_one_more",
    "cbr_shares",
    "cbr_trace",
    "decay_s",
    "intended_shares_bps",
    "onset_s",
    "smallest_rate_reaching_bps",
    "smallest_smooth_inertia_s",
    "stationary_activity",
]
