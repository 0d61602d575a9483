"""Fluid and loop as each other's proof: within 0.1 %, for each pair of a source and a signal."""

import math

import pytest

from tidegate.analysis import (
    AdaptiveRed,
    Bottleneck,
    Cubic,
    DirectWindow,
    Pc1,
    Pc2,
    Pc3,
    Pi2,
    Pie,
    PiecewiseLinear,
    Red,
    Reno,
    SbrmQueue,
    SbrmSource,
    SbrmSteps,
    Scalable,
    TcpRm,
    critical_delay,
    growth_per_s,
    scaled,
)

# The round trip is only where the search begins; parameters are such that each pair tips somewhere.
SIGNALS = {
    "red": Red(),
    "uniform": Red(spacing="uniform"),
    "adaptive": AdaptiveRed(min_threshold_packets=50, max_threshold_packets=250),
    "piecewise": PiecewiseLinear(points=((50, 0), (550, 0.1))),
    "sbrm": SbrmQueue(),
    "pc1": Pc1(gamma_per_packet=0.006),
    "pc2": Pc2(gamma_per_packet=2.0, base=1.003),
    "pc3": Pc3(gamma_per_packet=0.006, alpha=0.001, base=math.e),
    "pie": Pie(),
    "pi2": Pi2(),
}
SOURCES = {
    "reno": Reno(count=30, base_rtt_s=0.05),
    "delayed": Reno(count=30, base_rtt_s=0.05, packets_per_ack=2),
    # So many that the cubic law, which has no loop, gives less.
    "cubic": Cubic(count=90, base_rtt_s=0.05),
    "scalable": Scalable(count=30, base_rtt_s=0.05),
    "sbrm": SbrmSource(count=30, base_rtt_s=0.05),
    "steps": SbrmSteps(count=30, base_rtt_s=0.05),
    "direct": DirectWindow(count=30, base_rtt_s=0.05, gain=0.2),
    "tcp-rm": TcpRm(count=30, base_rtt_s=0.05),
}
# Slow signals need a source that answers more, and adaptive RED a p* well within its marks.
OTHERS = {
    ("sbrm", "red"): SbrmSource(count=30, base_rtt_s=0.05, gain=2.0),
    ("sbrm", "piecewise"): SbrmSource(count=30, base_rtt_s=0.05, gain=2.0),
    ("sbrm", "adaptive"): SbrmSource(count=30, base_rtt_s=0.05, gain=2.0, willingness_pps=17),
    ("steps", "red"): SbrmSteps(count=30, base_rtt_s=0.05, gain=2.0),
    ("steps", "piecewise"): SbrmSteps(count=30, base_rtt_s=0.05, gain=2.0),
    ("steps", "adaptive"): SbrmSteps(count=30, base_rtt_s=0.05, gain=2.0, willingness_pps=17),
    ("direct", "red"): DirectWindow(count=30, base_rtt_s=0.05, gain=2.0),
    ("direct", "piecewise"): DirectWindow(count=30, base_rtt_s=0.05, gain=2.0),
    ("cubic", "adaptive"): Cubic(count=30, base_rtt_s=0.05),
    ("scalable", "adaptive"): Scalable(count=10, base_rtt_s=0.05),
}
STEEPER = {
    ("scalable", "adaptive"): AdaptiveRed(min_threshold_packets=50, max_threshold_packets=150)
}


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_swing_begins_to_grow_at_the_critical_delay(source, signal):
    sends = OTHERS.get((source, signal), SOURCES[source])
    says = STEEPER.get((source, signal), SIGNALS[signal])
    link = Bottleneck(capacity_pps=1e4, signal=says, sources=(sends,))
    tips = critical_delay(link).factor
    below, above = (growth_per_s(scaled(link, base_rtt=tips * by)) for by in (0.999, 1.001))
    assert below < 0 < above
