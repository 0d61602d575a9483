"""ABC over TCP: laws of its equilibrium, published numbers, and its loop against the equations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_fluid import AbcFluid

from tidegate.analysis import (
    AbcOverTcp,
    CustomerGroup,
    Padhye,
    PiecewiseLinear,
    Reno,
    abc_stability,
    loci_margin,
)
from tidegate.analysis.abc_loop import own_margins
from tidegate.errors import AnalysisError

POINTS = ((0, 0.0), (400, 1.0))


def link(*groups, inertia_s=0.6, gamma=3.0, base_rtt_s=0.05):
    """Each group: how many customers, with how many flows."""
    customers = tuple(
        CustomerGroup(
            count=count,
            flows=Padhye(count=flows, base_rtt_s=base_rtt_s),
            reference_pps=5.0,
        )
        for count, flows in groups
    )
    return AbcOverTcp(
        capacity_pps=833.0,
        signal=PiecewiseLinear(points=POINTS),
        customers=customers,
        gamma=gamma,
        inertia_s=inertia_s,
    )


HEAVY, LIGHT = (5, 8), (20, 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(1, 60), st.floats(0, 6), st.floats(0.005, 0.1))
def test_an_equilibrium_is_one(heavy, light, gamma, base_rtt_s):
    here = link((heavy, 10), (light, 1), gamma=gamma, base_rtt_s=base_rtt_s)
    at = here.equilibrium
    assert sum(
        each.count * x for each, x in zip(here.customers, at.throughput_pps, strict=True)
    ) == pytest.approx(833.0, rel=1e-8)
    assert at.probability == pytest.approx(at.queue_packets / 400, rel=1e-6)
    rtt_s = base_rtt_s + at.queue_packets / 833.0
    for each, x, p, a in zip(here.customers, at.offered_pps, at.loss, at.state, strict=True):
        assert x == pytest.approx(each.offered_pps(p, rtt_s), rel=1e-8)
        assert a == pytest.approx(max(0.0, np.log2(x / 5.0)), abs=1e-9)
        own = at.probability ** (2 ** (-gamma * (a - at.mean_state)))
        assert p == pytest.approx(own, rel=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.floats(0, 5), st.floats(0.1, 2))
def test_a_larger_gamma_brings_users_closer(gamma, more):
    def ratio(gamma):
        heavy, light = link(HEAVY, LIGHT, gamma=gamma).equilibrium.throughput_pps
        return heavy / light

    assert ratio(0.0) == pytest.approx(8, rel=1e-6)
    assert ratio(gamma + more) < ratio(gamma)


def test_a_part_of_a_group_is_a_group():
    whole, parts = link(HEAVY, LIGHT), link(HEAVY, (5, 1), (15, 1))
    assert parts.equilibrium.queue_packets == pytest.approx(whole.equilibrium.queue_packets)
    tipping = abc_stability(parts)
    assert tipping.joint.gain_margin == pytest.approx(
        min(abc_stability(whole).joint.gain_margin, own_margins(whole)[1].gain_margin), rel=1e-6
    )


def test_the_margin_of_users_goes_with_inertia_over_gamma():
    """Where the meter is slow beside the loop."""
    slow, slower = (own_margins(link(HEAVY, LIGHT, inertia_s=i))[1].gain_margin for i in (20, 40))
    assert slower == pytest.approx(2 * slow, rel=0.02)
    assert own_margins(link(HEAVY, LIGHT, gamma=0.0))[1].gain_margin == np.inf


def critical_inertia_s(margin):
    low, high = 0.05, 5.0
    for _ in range(40):
        middle = np.sqrt(low * high)
        tips = margin(link(HEAVY, LIGHT, inertia_s=middle)) < 1
        low, high = (middle, high) if tips else (low, middle)
    return low


def growth(here, shifted, seen):
    """Of a swing, from the third quarter of a trajectory to the fourth."""
    trajectory = AbcFluid(here, POINTS, step_s=2e-3).follow(12.0, shifted=shifted)
    swing = abs(seen(trajectory))
    third, fourth = np.split(swing[-len(swing) // 2 :][: len(swing) // 4 * 2], 2)
    return fourth.max() / third.max()


def test_all_together_begin_to_swing_where_the_loop_says_so():
    critical_s = critical_inertia_s(lambda here: abc_stability(here).joint.gain_margin)
    for factor, grows in ((0.997, True), (1.003, False)):
        here = link(HEAVY, LIGHT, inertia_s=critical_s * factor)
        assert (growth(here, [1e-4, 1e-4], lambda at: at[:, -1] - at[0, -1]) > 1) == grows


def test_users_begin_to_swing_against_each_other_where_the_loop_says_so():
    critical_s = critical_inertia_s(lambda here: own_margins(here)[0].gain_margin)
    for factor, grows in ((0.997, True), (1.003, False)):
        halves = link((2.5, 8), (2.5, 8), LIGHT, inertia_s=critical_s * factor)
        shifted = [1e-4, -1e-4, 0.0]
        assert (growth(halves, shifted, lambda at: at[:, 0] - at[:, 1]) > 1) == grows


@given(st.floats(1e-4, 0.5), st.floats(0.01, 0.3))
def test_slopes_of_padhye_are_those_of_its_law(probability, rtt_s):
    source = Padhye(count=1, base_rtt_s=0.01)

    def per_ack(window, p, rtt):
        settles = source.rate_pps(p, rtt) * rtt
        return (1 / window - window / settles**2) / 2

    at = [source.rate_pps(probability, rtt_s) * rtt_s, probability, rtt_s]
    slopes = source.slopes(*map(np.asarray, at))
    found = (slopes.of_window, slopes.of_probability, slopes.of_round_trip)
    for place, slope in enumerate(found):
        off = np.array([np.array(at), np.array(at)])
        off[:, place] *= 1 + np.array([-1e-6, 1e-6])
        around = (per_ack(*off[1]) - per_ack(*off[0])) / (off[1, place] - off[0, place])
        if abs(probability - 8 / 54) > 1e-3:  # where 3 √(3bp/8) is 1, the law has a corner
            assert slope == pytest.approx(around, rel=1e-4)


def test_where_losses_are_few_padhye_is_the_square_root():
    source = Padhye(count=1, base_rtt_s=0.01, packets_per_ack=1.0)
    rate = source.rate_pps(np.asarray(1e-7), np.asarray(0.1))
    assert rate == pytest.approx(np.sqrt(1.5 / 1e-7) / 0.1, rel=1e-3)


def test_a_margin_of_a_known_loop():
    """k/(1 + s)³ tips at k = 8, ω = √3; of two such on the diagonal the larger gain counts."""

    def loop(omega):
        lag = 1 / (1 + 1j * omega) ** 3
        return np.stack([np.array([[4 * at, 0], [1, 2 * at]]) for at in lag])

    found = loci_margin(loop, lowest=0.01, highest=100)
    assert found.gain_margin == pytest.approx(2, rel=1e-6)
    assert found.frequency_hz == pytest.approx(np.sqrt(3) / 2 / np.pi, rel=1e-6)
    assert found.stable
    calm = loci_margin(lambda w: 1 / (1 + 1j * w)[:, None, None], lowest=0.01, highest=100)
    assert calm.gain_margin == np.inf


def test_who_has_no_rate_assigned_cannot_be_told_apart():
    nobody = CustomerGroup(count=1, flows=Reno(count=1, base_rtt_s=0.01))
    with pytest.raises(AnalysisError, match="need reference_pps"):
        _ = replace(link(HEAVY), customers=(nobody,)).equilibrium
