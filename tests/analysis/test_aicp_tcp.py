"""AICP over TCP: laws of its equilibrium, and its loop against the equations followed in time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_fluid import AicpFluid

from tidegate.analysis import (
    AicpA,
    AicpB,
    AicpOverTcp,
    CustomerGroup,
    Padhye,
    PiecewiseLinear,
    Red,
    Reno,
    aicp_stability,
)

RED = Red(
    min_threshold_packets=60.0, max_threshold_packets=115.0, max_probability=0.01, weight=0.008
)
STRETCHED = AicpA(min_threshold=60.0, max_threshold=115.0, max_probability=0.01)


def link(policing, *groups, signal=RED, law=Reno, base_rtt_s=0.1, **options):
    """Each group: how many customers, with how many flows."""
    customers = tuple(
        CustomerGroup(count=count, flows=law(count=flows, base_rtt_s=base_rtt_s))
        for count, flows in groups
    )
    return AicpOverTcp(
        capacity_pps=1e7 / 12_000,
        signal=signal,
        customers=customers,
        policing=policing,
        **options,
    )


@pytest.mark.parametrize("law", [Reno, Padhye])
def test_two_who_are_policed_settle_at_what_their_buckets_get(law):
    """At 300 B/s and 10 Mb/s: p = 2r/c = 4.8e-4, whatever their flows and their law."""
    at = link(AicpB(), (1, 5), (1, 1), law=law).equilibrium
    assert at.probability == pytest.approx(4.8e-4, rel=1e-6)
    assert at.throughput_pps == pytest.approx((1e7 / 24_000, 1e7 / 24_000), rel=1e-6)


def test_an_empty_bucket_of_aicp_a_holds_nobody_below_what_red_does():
    at = link(STRETCHED, (1, 5), (1, 1)).equilibrium
    assert at.state == (0.0, 0.0)
    assert at.loss == pytest.approx((at.probability, at.probability))
    assert at.throughput_pps[0] / at.throughput_pps[1] == pytest.approx(5)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([AicpB(), STRETCHED]),
    st.integers(1, 8),
    st.integers(1, 12),
    st.floats(0.05, 5),
)
def test_an_equilibrium_is_one(policing, flows, lights, fill_pps):
    here = link(policing, (1, flows), (lights, 1), fill_pps=fill_pps)
    at = here.equilibrium
    through = at.throughput_pps
    total = sum(each.count * y for each, y in zip(here.customers, through, strict=True))
    assert total == pytest.approx(1e7 / 12_000, rel=1e-6)
    rtt_s = 0.1 + at.queue_packets / here.capacity_pps
    for each, x, y, p, fill in zip(
        here.customers, at.offered_pps, through, at.loss, at.state, strict=True
    ):
        assert x == pytest.approx(each.offered_pps(p, rtt_s), rel=1e-8)
        assert max(policing.loss(at.probability, fill), 1e-12) == pytest.approx(p, rel=1e-4)
        charged = at.probability * y
        if fill == 1:
            assert charged <= fill_pps * (1 + 1e-9)
        elif fill == 0:
            assert charged >= fill_pps * (1 - 1e-9)
        else:
            assert charged == pytest.approx(fill_pps, rel=1e-6)


@given(st.sampled_from([AicpB(), STRETCHED]), st.floats(0.006, 0.3), st.floats(0.01, 0.24))
def test_slopes_are_those_of_the_loss(policing, probability, fill):
    if isinstance(policing, AicpA) and probability - fill * 0.0109 < 1e-3:
        return
    by_own, by_fill = policing.slopes(probability, fill)
    h = 1e-7
    own = policing.loss(probability + h, fill) - policing.loss(probability - h, fill)
    filled = policing.loss(probability, fill + h) - policing.loss(probability, fill - h)
    assert by_own == pytest.approx(own / 2 / h, rel=1e-4)
    assert by_fill == pytest.approx(filled / 2 / h, rel=1e-4)
    loss = policing.loss(probability, fill)
    assert policing.fill(probability, loss) == pytest.approx(fill, rel=1e-6)


def test_the_margin_of_buckets_goes_with_their_depth():
    shallow, deep = (
        aicp_stability(link(AicpB(), (1, 5), (1, 1), depth_packets=depth))[0]
        for depth in (150.0, 300.0)
    )
    assert deep.gain_margin == pytest.approx(2 * shallow.gain_margin, rel=0.02)
    assert deep.frequency_hz == pytest.approx(shallow.frequency_hz, rel=0.02)


def test_it_begins_to_swing_where_the_loop_says_so():
    points = ((0.0, 0.0), (2000.0, 1.0))
    signal = PiecewiseLinear(points=points)

    def here(depth):
        groups = ((2, 2), (4, 1))
        return link(AicpB(), *groups, depth_packets=depth, signal=signal, fill_pps=0.5)

    low, high = 1.0, 1e5
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        tips = aicp_stability(here(middle))[0].gain_margin < 1
        low, high = (middle, high) if tips else (low, middle)
    for factor, grows in ((0.99, True), (1.01, False)):
        tipping = here(low * factor)
        trajectory = AicpFluid(tipping, points, step_s=4e-3).follow(40.0, shifted=[1e-4, 1e-4])
        swing = abs(trajectory[:, -1] - trajectory[0, -1])
        third, fourth = np.split(swing[-len(swing) // 2 :][: len(swing) // 4 * 2], 2)
        assert (fourth.max() / third.max() > 1) == grows
