"""Loops of a bottleneck: published numbers recomputed, laws, and the fluid as judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.analysis import (
    Bottleneck,
    Red,
    Reno,
    SbrmQueue,
    SbrmSource,
    Scalable,
    critical_capacity,
    critical_count,
    critical_delay,
    fluid,
    growth_per_s,
    scaled,
    stability,
    swing_hz,
)
from tidegate.errors import AnalysisError

COUNTS = np.array([20.0, 30.0, 40.0, 50.0, 60.0])[:, None]
CAPACITIES_PPS = np.arange(8, 16) * 1e3


def red(count=30.0, capacity_pps=1e4, base_rtt_s=0.07):
    sources = (Reno(count=count, base_rtt_s=base_rtt_s),)
    return Bottleneck(capacity_pps=capacity_pps, signal=Red(), sources=sources)


def sbrm(count=30.0, capacity_pps=1e4, base_rtt_s=0.07, **options):
    pays = {name: options.pop(name) for name in ("gain", "willingness_pps") if name in options}
    sources = (SbrmSource(count=count, base_rtt_s=base_rtt_s, **pays),)
    return Bottleneck(capacity_pps=capacity_pps, signal=SbrmQueue(**options), sources=sources)


def critical_ms(bottleneck, form="fluid"):
    base_rtt_s = bottleneck.sources[0].base_rtt_s
    return np.round(critical_delay(bottleneck, form=form).factor * base_rtt_s * 1e3, 1)


def test_critical_delays_are_those_of_an_independent_computation():
    """Rows: 20 to 60 sources; columns: 8 to 15 packets/ms. By (6.5.21) and (6.5.22)."""
    assert critical_ms(red(COUNTS, CAPACITIES_PPS), "paper")[:, [0, 2, 7]].tolist() == [
        [62.0, 49.6, 33.1],
        [77.0, 61.6, 41.1],
        [89.6, 71.7, 47.8],
        [100.6, 80.5, 53.7],
        [110.5, 88.4, 58.9],
    ]
    assert critical_ms(sbrm(COUNTS, CAPACITIES_PPS), "paper")[:, [0, 2, 7]].tolist() == [
        [108.0, 85.5, 56.2],
        [111.0, 87.3, 57.0],
        [114.1, 89.3, 57.8],
        [117.4, 91.3, 58.6],
        [121.0, 93.4, 59.5],
    ]


def test_gain_margins_are_those_of_an_independent_computation():
    """b0 of 10 to 200 packets, and w of 10 to 80 packets/s, at 86 ms."""
    by_target = stability(
        sbrm(base_rtt_s=0.086, target_packets=np.array([10, 25, 50, 100, 200])), form="paper"
    )
    assert by_target.gain_margin == pytest.approx([1.061, 1.043, 1.014, 0.962, 0.872], abs=5e-4)
    by_pay = stability(
        sbrm(base_rtt_s=0.086, willingness_pps=np.array([10, 20, 40, 80])), form="paper"
    )
    assert by_pay.gain_margin == pytest.approx([0.985, 1.014, 1.079, 1.237], abs=5e-4)


@given(st.integers(2, 60), st.floats(1, 40), st.floats(1e3, 5e4), st.floats(0.01, 0.3))
def test_the_equilibrium_of_sbrm_is_table_5_5_1(count, pays, capacity_pps, base_rtt_s):
    if count * pays >= 0.95 * capacity_pps:
        return
    at = sbrm(count, capacity_pps, base_rtt_s, willingness_pps=pays).equilibrium
    p = count * pays / capacity_pps
    assert at.probability == pytest.approx(p, rel=1e-9)
    assert at.queue_packets == pytest.approx(50 - np.log1p(-p) / 0.006, rel=1e-9)
    assert at.rate_pps[0] == pytest.approx(capacity_pps / count, rel=1e-9)


@given(st.integers(2, 60), st.floats(2e3, 5e4), st.floats(0.01, 0.3))
def test_the_equilibrium_of_reno_is_table_5_5_1(count, capacity_pps, base_rtt_s):
    at = red(count, capacity_pps, base_rtt_s).equilibrium
    [rtt_s], [window] = at.rtt_s, at.window_packets
    assert at.probability == pytest.approx(2 / (2 + (capacity_pps * rtt_s / count) ** 2), rel=1e-9)
    assert window == pytest.approx(capacity_pps * rtt_s / count, rel=1e-9)
    assert rtt_s == pytest.approx(base_rtt_s + at.queue_packets / capacity_pps)


def test_unequal_sources_share_by_round_trip_or_by_what_they_pay():
    """(5.5.1) and (5.5.2)."""
    near, far = Reno(count=3, base_rtt_s=0.02), Reno(count=5, base_rtt_s=0.1)
    at = Bottleneck(capacity_pps=5e3, signal=Red(), sources=(near, far)).equilibrium
    assert at.rate_pps[0] / at.rate_pps[1] == pytest.approx(at.rtt_s[1] / at.rtt_s[0])
    assert 3 * at.rate_pps[0] + 5 * at.rate_pps[1] == pytest.approx(5e3)
    little = SbrmSource(count=3, base_rtt_s=0.02, willingness_pps=10)
    much = SbrmSource(count=5, base_rtt_s=0.1, willingness_pps=40)
    at = Bottleneck(capacity_pps=5e3, signal=SbrmQueue(), sources=(little, much)).equilibrium
    assert at.rate_pps == pytest.approx((5e3 * 10 / 230, 5e3 * 40 / 230))


def test_where_sources_want_more_than_there_is_there_is_no_equilibrium():
    with pytest.raises(AnalysisError, match="no equilibrium"):
        _ = sbrm(count=600).equilibrium


def test_a_part_of_a_group_is_a_group():
    whole = stability(sbrm(count=30))
    parts = tuple(SbrmSource(count=count, base_rtt_s=0.07) for count in (10, 20))
    split = stability(Bottleneck(capacity_pps=1e4, signal=SbrmQueue(), sources=parts))
    assert split.gain_margin == pytest.approx(whole.gain_margin, rel=1e-9)
    assert split.phase_margin_deg == pytest.approx(whole.phase_margin_deg, rel=1e-6)


@given(st.floats(0.03, 0.2), st.floats(1.05, 3))
def test_margins_fall_with_the_gain(base_rtt_s, factor):
    small = stability(sbrm(base_rtt_s=base_rtt_s, gain=0.2))
    large = stability(sbrm(base_rtt_s=base_rtt_s, gain=0.2 * factor))
    assert large.gain_margin < small.gain_margin


def test_a_margin_of_gain_is_what_the_verdict_says():
    at = stability(red(base_rtt_s=np.array([0.04, 0.06, 0.062, 0.1])))
    assert at.stable.tolist() == [True, True, False, False]
    assert (at.phase_margin_deg > 0).tolist() == at.stable.tolist()
    assert (at.gain_margin > 1).tolist() == at.stable.tolist()


def test_what_tips_a_loop_lies_on_its_edge():
    for tips, name in ((critical_count, "count"), (critical_capacity, "capacity")):
        at = red(base_rtt_s=0.07)
        factor = tips(at).factor
        margin = stability(scaled(at, **{name: factor})).gain_margin
        assert margin == pytest.approx(1, rel=1e-6)
        assert not stability(at).stable
    assert critical_count(at).factor > 1, "more flows calm RED"
    assert critical_capacity(at).factor < 1, "a faster link upsets it"


MIXES = [
    (Red(), (Reno(count=30, base_rtt_s=0.07),)),
    (SbrmQueue(), (SbrmSource(count=30, base_rtt_s=0.07),)),
    (SbrmQueue(), (Scalable(count=30, base_rtt_s=0.07),)),
    (Red(), (Scalable(count=30, base_rtt_s=0.07),)),
    (SbrmQueue(), (Reno(count=30, base_rtt_s=0.07),)),
    (Red(), (Reno(count=20, base_rtt_s=0.04), Reno(count=10, base_rtt_s=0.12))),
    (
        SbrmQueue(),
        tuple(
            SbrmSource(count=1 + i, base_rtt_s=0.03 + 0.02 * i, willingness_pps=10 + 10 * i)
            for i in range(4)
        ),
    ),
]


@pytest.mark.parametrize(("signal", "sources"), MIXES)
def test_the_fluid_begins_to_swing_where_the_loop_says_so(signal, sources):
    bottleneck = Bottleneck(capacity_pps=1e4, signal=signal, sources=sources)
    tipping = critical_delay(bottleneck)
    below, above = (
        growth_per_s(scaled(bottleneck, base_rtt=tipping.factor * f)) for f in (0.999, 1.001)
    )
    assert below < 0 < above


@pytest.mark.parametrize(("signal", "sources"), MIXES[:2])
def test_the_fluid_swings_at_the_critical_frequency(signal, sources):
    bottleneck = Bottleneck(capacity_pps=1e4, signal=signal, sources=sources)
    tipping = critical_delay(bottleneck)
    beyond = fluid(scaled(bottleneck, base_rtt=tipping.factor * 1.01), duration_s=60, start="near")
    assert swing_hz(beyond.after(30)) == pytest.approx(float(tipping.frequency_hz), rel=0.03)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.02, 0.05), st.integers(10, 50))
def test_a_stable_fluid_settles_at_the_equilibrium(base_rtt_s, count):
    bottleneck = sbrm(count=count, base_rtt_s=base_rtt_s)
    end = fluid(bottleneck, duration_s=60).after(59)
    at = bottleneck.equilibrium
    assert end.queue_packets == pytest.approx(float(at.queue_packets), rel=1e-4)
    assert end.window_packets[0] == pytest.approx(float(at.window_packets[0]), rel=1e-4)


def test_a_fluid_is_of_one_case():
    with pytest.raises(AnalysisError, match="none an array"):
        fluid(red(count=COUNTS))
    with pytest.raises(AnalysisError, match="jumps over the shortest lag"):
        fluid(red(), step_s=0.05)


def test_with_the_ack_clock_sbrm_is_stable_up_to_140_ms():
    """K d = π/2 with K = κ c γ (1 − p) has 139 ms without the pole of the window and its round trip
    (docs/analysis/stability.md); packets are calm up to there."""
    clocked = critical_delay(sbrm(), form="clocked")
    assert float(clocked.value) == pytest.approx(0.139, rel=0.02)
    assert float(clocked.value) > 1.5 * float(critical_delay(sbrm()).value)


@given(st.integers(1, 40), st.floats(0.02, 0.2), st.floats(0.1, 0.9))
def test_groups_that_are_alike_are_one_with_the_ack_clock(count, base_rtt_s, share):
    whole = sbrm(2 * count, base_rtt_s=base_rtt_s)
    parts = tuple(
        SbrmSource(count=2 * count * s, base_rtt_s=base_rtt_s) for s in (share, 1 - share)
    )
    split = Bottleneck(capacity_pps=1e4, signal=SbrmQueue(), sources=parts)
    margins = [float(stability(one, form="clocked").gain_margin) for one in (whole, split)]
    assert margins[1] == pytest.approx(margins[0], rel=1e-9)


def test_the_loop_with_the_ack_clock_is_that_of_windows_that_are_in_the_queue_at_once():
    """By hand for one group: L = −N x (g_p m + g_R/c) e^(−d s)/(s − x g_W), b = N W − c d."""
    one = sbrm(base_rtt_s=0.1)
    at, [source] = one.equilibrium, one.sources
    window, p, rtt = at.window_packets[0], at.met_probability[0], at.rtt_s[0]
    slopes = source.slopes(window, p, rtt)
    s = 2j * np.pi * np.array([0.3, 1.0, 4.0])
    marks = 0.006 * (1 - p)
    answer = -(slopes.of_probability * marks + slopes.of_round_trip / 1e4)
    by_hand = 30 * window / rtt * answer * np.exp(-0.1 * s) / (s - window / rtt * slopes.of_window)
    assert one.loop(s, form="clocked") == pytest.approx(by_hand, rel=1e-9)


def test_unequal_round_trips_shift_shares_as_the_static_queue_does():
    """Slowly, b = Σ N W/R / Σ φ/R: what keeps Σ W/(d + b/c) at c."""
    sources = tuple(SbrmSource(count=15, base_rtt_s=d) for d in (0.03, 0.11))
    link = Bottleneck(capacity_pps=1e4, signal=SbrmQueue(), sources=sources)
    at = link.equilibrium
    s = np.array([1e-4j])
    shares = [15 * float(x) / 1e4 for x in at.rate_pps]
    moves = 0
    for source, window, p, rtt in zip(
        sources, at.window_packets, at.met_probability, at.rtt_s, strict=True
    ):
        slopes = source.slopes(window, p, rtt)
        answer = slopes.of_probability * 0.006 * (1 - p) + slopes.of_round_trip / 1e4
        moves = moves - 15 * answer / -slopes.of_window / rtt
    static = moves / sum(share / rtt for share, rtt in zip(shares, at.rtt_s, strict=True))
    assert link.loop(s, form="clocked").real == pytest.approx(float(static), rel=1e-2)


def test_without_a_change_it_is_said_how_far_was_looked():
    """Reno on a wide RED never tips within a fiftieth to fifty times."""
    calm = critical_delay(sbrm(gain=1e-4))
    assert np.isnan(calm.factor)
    assert [float(end) for end in calm.searched] == pytest.approx([0.02, 50.0])
    assert not np.isnan(critical_delay(sbrm()).factor)
