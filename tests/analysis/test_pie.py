"""PIE and DualPI2's controller as loops: recomputed numbers, laws, and the fluid as judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.analysis import (
    Bottleneck,
    Pi2,
    Pie,
    Reno,
    Scalable,
    critical_delay,
    fluid,
    growth_per_s,
    pie_gain,
    scaled,
    stability,
    stable_delays,
    swing_hz,
)

PPS = 1e8 / 12_000
"""100 Mb/s in packets of 1500 bytes."""


def link(signal, *sources, capacity_pps=PPS):
    return Bottleneck(capacity_pps=capacity_pps, signal=signal, sources=sources)


def critical_ms(bottleneck):
    [source, *_] = bottleneck.sources
    return np.round(critical_delay(bottleneck).factor * source.base_rtt_s * 1e3, 1)


def test_critical_delays_are_those_of_an_independent_computation():
    counts = np.array([20.0, 50.0])
    assert critical_ms(link(Pie(), Reno(count=50, base_rtt_s=0.1))) == 114.1
    assert critical_ms(link(Pi2(), Reno(count=counts, base_rtt_s=0.1))).tolist() == [120.5, 128.8]
    uncoupled = Pi2(coupling=1)
    assert critical_ms(link(uncoupled, Scalable(count=counts, base_rtt_s=0.1))).tolist() == [
        163.7,
        173.6,
    ]


def test_pie_settles_again_beyond_a_step_of_its_gain():
    """RFC 8033, section 4.2: from 0.1 % on the adjustment is an eighth, below it a 32nd."""
    bottleneck = link(Pie(), Reno(count=20, base_rtt_s=1e-3))
    (_, first), (second, last) = stable_delays(bottleneck, smallest=1, largest=400)
    assert (round(first, 1), round(last, 1)) == (82.2, 108.7)
    step = scaled(bottleneck, base_rtt=second).equilibrium
    assert step.probability == pytest.approx(0.001, rel=1e-6)


def test_a_range_of_stable_delays_may_begin_late_or_be_all():
    calm = link(Pi2(), Reno(count=50, base_rtt_s=0.1))
    assert stable_delays(calm, smallest=0.5, largest=1) == ((0.5, 1),)
    assert stable_delays(calm, smallest=2, largest=3) == ()
    [(low, high)] = stable_delays(calm, smallest=1, largest=3)
    assert low == 1
    assert high == pytest.approx(float(critical_delay(calm).factor), rel=1e-6)


def test_the_steps_are_those_of_rfc_8033():
    below = np.array([1e-7, 5e-6, 5e-5, 5e-4, 5e-3, 5e-2, 0.5])
    assert (1 / pie_gain(below)).tolist() == [2048, 512, 128, 32, 8, 2, 1]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 100), st.floats(1e3, 1e5), st.floats(0.005, 0.2))
def test_the_delay_is_the_target_and_windows_are_what_the_link_holds(count, pps, base_rtt_s):
    for signal in (Pie(target_s=0.02), Pi2(target_s=0.02)):
        source = Reno(count=count, base_rtt_s=base_rtt_s)
        at = link(signal, source, capacity_pps=pps).equilibrium
        window = pps * (base_rtt_s + 0.02) / count
        assert at.queue_packets == pytest.approx(0.02 * pps)
        assert at.window_packets[0] == pytest.approx(window, rel=1e-9)
        assert at.met_probability[0] == pytest.approx(2 / (2 + window**2), rel=1e-9)


def test_coupled_sources_of_equal_round_trip_get_about_the_same():
    """RFC 9332, section 2.1, for k = 2: windows √2/p′ and 2/(2 p′), and Reno's (1 − p) less."""
    at = link(
        Pi2(), Reno(count=10, base_rtt_s=0.03), Scalable(count=10, base_rtt_s=0.03)
    ).equilibrium
    p = float(at.probability)
    assert at.met_probability == pytest.approx((p**2, 2 * p))
    ratio = float(at.rate_pps[0] / at.rate_pps[1])
    assert ratio == pytest.approx(np.sqrt(2 * (1 - p**2)), rel=1e-6)


SIGNALS = st.sampled_from([Pie(), Pi2()])


@settings(max_examples=15, deadline=None)
@given(SIGNALS, st.integers(3, 80), st.floats(0.01, 0.2), st.floats(1.1, 50))
def test_more_flows_on_a_link_faster_by_as_much_are_as_stable(signal, count, base_rtt_s, factor):
    few = link(signal, Reno(count=count, base_rtt_s=base_rtt_s))
    many = scaled(few, count=factor, capacity=factor)
    assert stability(many).gain_margin == pytest.approx(
        float(stability(few).gain_margin), rel=1e-6, nan_ok=True
    )


@settings(max_examples=15, deadline=None)
@given(SIGNALS, st.integers(3, 80), st.floats(0.01, 0.2), st.floats(1.05, 4))
def test_margins_fall_with_the_gain(signal, count, base_rtt_s, factor):
    source = Reno(count=count, base_rtt_s=base_rtt_s)
    steeper = type(signal)(alpha_hz=factor * signal.alpha_hz, beta_hz=factor * signal.beta_hz)
    small, large = (stability(link(one, source)) for one in (signal, steeper))
    assert large.gain_margin == pytest.approx(float(small.gain_margin) / factor, rel=1e-6)


@pytest.mark.parametrize(
    ("capacity_pps", "signal", "sources"),
    [
        (PPS, Pie(), (Reno(count=50, base_rtt_s=0.1),)),
        (PPS, Pie(), (Reno(count=30, base_rtt_s=0.05), Reno(count=30, base_rtt_s=0.13))),
        (PPS, Pi2(), (Reno(count=20, base_rtt_s=0.1),)),
        (PPS, Pi2(), (Scalable(count=20, base_rtt_s=0.1),)),
        (PPS, Pi2(), (Reno(count=20, base_rtt_s=0.1), Scalable(count=20, base_rtt_s=0.06))),
        (PPS, Pie(), (Scalable(count=400, base_rtt_s=0.1),)),
        (PPS / 10, Pie(), (Reno(count=5, base_rtt_s=0.1),)),
    ],
)
def test_the_fluid_begins_to_swing_where_the_loop_says_so(capacity_pps, signal, sources):
    bottleneck = link(signal, *sources, capacity_pps=capacity_pps)
    tipping = critical_delay(bottleneck)
    below, above = (
        growth_per_s(scaled(bottleneck, base_rtt=tipping.factor * f)) for f in (0.999, 1.001)
    )
    assert below < 0 < above


@settings(max_examples=6, deadline=None)
@given(SIGNALS, st.integers(20, 80), st.floats(0.01, 0.06))
def test_a_stable_fluid_settles_from_cold(signal, count, base_rtt_s):
    bottleneck = link(signal, Reno(count=count, base_rtt_s=base_rtt_s))
    end = fluid(bottleneck, duration_s=100).after(99)
    at = bottleneck.equilibrium
    assert end.queue_packets == pytest.approx(float(at.queue_packets), rel=1e-3)
    assert end.probability == pytest.approx(float(at.probability), rel=1e-2)


def test_the_fluid_swings_at_the_critical_frequency():
    bottleneck = link(Pi2(), Reno(count=20, base_rtt_s=0.1))
    tipping = critical_delay(bottleneck)
    beyond = fluid(scaled(bottleneck, base_rtt=tipping.factor * 1.01), start="near")
    assert swing_hz(beyond.after(50)) == pytest.approx(float(tipping.frequency_hz), rel=0.03)
