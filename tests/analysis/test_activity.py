"""The activity meter: the recursion (1) to (3) against the closed forms that follow from it."""

import math

import numpy as np
import pytest

from tidegate.analysis import (
    Meter,
    burst_bytes_for_one_more,
    cbr_trace,
    decay_s,
    onset_s,
    smallest_smooth_inertia_s,
    stationary_activity,
)

MBPS = 1e6


def meter(reference_mbps=1.0, **options):
    return Meter(reference_rate_bps=reference_mbps * MBPS, **({"inertia_s": 0.1, **options}))


@pytest.mark.parametrize(("sent_mbps", "expected"), [(2, 1.0), (8, 3.0), (3, math.log2(3))])
@pytest.mark.parametrize("inertia_s", [0.1, 1.0])
def test_stationary_activity_is_log2_of_the_rate_ratio(sent_mbps, expected, inertia_s):
    trace = cbr_trace(meter(inertia_s=inertia_s), rate_bps=sent_mbps * MBPS, stop_s=30)
    closed = stationary_activity(rate_bps=sent_mbps * MBPS, reference_rate_bps=MBPS)
    assert closed == pytest.approx(expected)
    assert trace.activity[-1] == pytest.approx(expected, abs=1e-6)


def test_a_sender_within_its_reference_rate_has_no_activity():
    assert stationary_activity(rate_bps=MBPS / 2, reference_rate_bps=MBPS) == 0.0
    # A packet finds the tokens of the time since the one before, so the bucket never runs dry.
    trace = cbr_trace(meter(burst_allowance_bytes=3000), rate_bps=MBPS / 2, stop_s=10)
    assert not trace.activity.any()
    assert math.isnan(trace.onset_s)


@pytest.mark.parametrize(("sent_mbps", "paper_s"), [(2, 0.8), (8, 0.11)])
def test_burst_allowance_delays_the_onset(sent_mbps, paper_s):
    rate = sent_mbps * MBPS
    closed = onset_s(rate_bps=rate, reference_rate_bps=MBPS, burst_allowance_bytes=100_000)
    trace = cbr_trace(meter(burst_allowance_bytes=100_000), rate_bps=rate, stop_s=5)
    packet_s = 12_000 / rate
    assert closed == pytest.approx(paper_s, abs=0.005)
    assert trace.onset_s == pytest.approx(closed, abs=1.5 * packet_s)


def test_activity_decays_to_zero_within_inertia_times_activity():
    trace = cbr_trace(meter(inertia_s=1.0), rate_bps=8 * MBPS, stop_s=30)
    expected = decay_s(inertia_s=1.0, activity=3.0)
    assert trace.decay_s(30.0) == pytest.approx(expected, abs=0.005)
    later = trace.activity_after(np.array([30.0, 30.0 + expected / 2, 30.0 + 2 * expected]))
    assert later == pytest.approx([3.0, 1.5, 0.0], abs=0.01)


@pytest.mark.parametrize("reference_mbps", [0.1, 0.5, 1.0])
def test_burst_for_one_more_does_not_depend_on_the_reference_rate(reference_mbps):
    rate, inertia_s = 8 * MBPS, 1.0
    trace = cbr_trace(
        meter(reference_mbps, inertia_s=inertia_s), rate_bps=rate, stop_s=30, burst_packets=2000
    )
    before = trace.activity.size - 2000
    packets = int(np.flatnonzero(trace.activity >= trace.activity[before] + 1)[0]) - before
    closed = burst_bytes_for_one_more(
        rate_bps=rate, reference_rate_bps=reference_mbps * MBPS, inertia_s=inertia_s
    )
    assert packets * 1500 == pytest.approx(closed, rel=0.01)
    assert rate * inertia_s / 8 <= closed < 2 * rate * inertia_s / 8  # the paper's bounds


def test_equation_8_is_where_packets_stop_to_upset_the_meter():
    inertia_s = smallest_smooth_inertia_s(reference_rate_bps=0.01 * MBPS)
    assert inertia_s == pytest.approx(1.2)
    smooth = cbr_trace(meter(0.01, inertia_s=1.2), rate_bps=0.02 * MBPS, stop_s=5).activity
    rough = cbr_trace(meter(0.01, inertia_s=0.3), rate_bps=0.02 * MBPS, stop_s=5).activity
    assert (np.diff(smooth) >= 0).all()
    assert smooth.max() <= 1.0
    assert rough[1] == pytest.approx(2.0)  # the second packet: A = 0.6 s / I
    assert (np.diff(rough) < 0).any()


def test_granularity_rounds_up():
    exact = cbr_trace(meter(), rate_bps=3 * MBPS, stop_s=5)
    coarse = meter(granularity=0.5).activity(exact.last_fill_bits)
    assert coarse == 2.0  # log2(3) = 1.58
