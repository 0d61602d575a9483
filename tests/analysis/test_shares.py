"""CBR users on a link with ABC: the numbers that the paper states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.analysis import (
    CbrUser,
    cbr_shares,
    intended_shares_bps,
    smallest_rate_reaching_bps,
)

MBPS = 1e6
C_B = 10 * MBPS
GAMMAS = [0, 0.5, 1, 1.5, 2, 3, 4, 5]


def throughput_0_mbps(r0_mbps, r1_mbps=7.5, gamma=3.0, **options):
    users = [CbrUser(r0_mbps * MBPS, 2 * MBPS), CbrUser(r1_mbps * MBPS, MBPS)]
    return cbr_shares(users, capacity_bps=C_B, gamma=gamma, **options).throughput_bps[0] / MBPS


@pytest.mark.parametrize("gamma", GAMMAS)
def test_all_curves_meet_at_15_mbps_with_equal_activities(gamma):
    users = [CbrUser(15 * MBPS, 2 * MBPS), CbrUser(7.5 * MBPS, MBPS)]
    shares = cbr_shares(users, capacity_bps=C_B, gamma=gamma)
    assert shares.activity == pytest.approx((2.91, 2.91), abs=0.005)
    assert shares.throughput_bps[0] / MBPS == pytest.approx(6.67, abs=0.005)


def test_without_differentiation_the_link_is_shared_by_rate():
    assert throughput_0_mbps(20, gamma=0) == pytest.approx(10 * 20 / 27.5)


@pytest.mark.parametrize("gamma", [1.5, 2, 3, 4, 5])
def test_large_rates_get_only_what_the_other_user_leaves(gamma):
    assert throughput_0_mbps(1e5, gamma=gamma) == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize("gamma", [1.5, 2, 3, 4, 5])
def test_a_second_operating_point_reaches_the_share_with_less_loss(gamma):
    rate = smallest_rate_reaching_bps(
        C_B * 2 / 3,
        lambda rate: throughput_0_mbps(rate / MBPS, gamma=gamma) * MBPS,
        (np.arange(5, 20, 0.1) * MBPS).tolist(),
    )
    assert C_B * 2 / 3 * (1 - 1e-9) <= rate < 15 * MBPS


def test_three_users_leave_at_least_4_06_to_the_modest_one():
    def throughput(r1_mbps):
        users = [CbrUser(rate * MBPS, MBPS) for rate in (4.7, r1_mbps, 10)]
        return cbr_shares(users, capacity_bps=C_B, gamma=3).throughput_bps[0] / MBPS

    lowest = min(throughput(r1) for r1 in np.linspace(0.1, 30, 500))
    assert lowest == pytest.approx(4.06, abs=0.005)


def test_intended_shares_follow_the_reference_rates():
    users = [CbrUser(1.0, 2.0), CbrUser(9.0, 1.0)]
    assert intended_shares_bps(users, capacity_bps=9.0) == (6.0, 3.0)


def test_no_loss_below_capacity():
    users = [CbrUser(2 * MBPS, MBPS), CbrUser(3 * MBPS, MBPS)]
    shares = cbr_shares(users, capacity_bps=C_B, gamma=3)
    assert shares.throughput_bps == (2 * MBPS, 3 * MBPS)
    assert shares.loss_probability == (0.0, 0.0)


@given(
    rates=st.lists(st.floats(0.1, 100), min_size=2, max_size=6),
    gamma=st.floats(0, 6),
    scale=st.floats(0.01, 0.1),
)
def test_the_link_is_filled_and_the_scale_of_reference_rates_does_not_matter(rates, gamma, scale):
    def shares(reference):
        users = [CbrUser(rate, reference) for rate in rates]
        return cbr_shares(users, capacity_bps=0.6 * sum(rates), gamma=gamma).throughput_bps

    full = shares(0.1)
    assert sum(full) == pytest.approx(0.6 * sum(rates), rel=1e-6)
    # Equations (9) and (10): the same as long as all send more than they are assigned.
    assert shares(0.1 * scale) == pytest.approx(full, rel=1e-6)


@pytest.mark.parametrize("base", [2.718281828, 10])
def test_another_base_with_its_own_gamma_changes_nothing(base):
    other = throughput_0_mbps(10, gamma=3 * np.log2(base), base=base)
    assert other == pytest.approx(throughput_0_mbps(10))
