"""The best shares: published numbers, closed forms, and the conditions of an optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.analysis import Flow, optimum
from tidegate.errors import AnalysisError

TWO_LINKS = {"first": 1.0, "second": 1.0}
LONG_AND_SHORT = [Flow(links=("first", "second")), Flow(links=("first",)), Flow(links=("second",))]


def test_two_links_in_a_row_are_shared_as_in_figure_3_2_2():
    fair = optimum(TWO_LINKS, LONG_AND_SHORT)
    assert fair.rates == pytest.approx((1 / 3, 2 / 3, 2 / 3), rel=1e-6)
    assert list(fair.prices.values()) == pytest.approx([1.5, 1.5], rel=1e-6)
    equal = optimum(TWO_LINKS, LONG_AND_SHORT, fairness="max-min")
    assert equal.rates == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.parametrize("w", [1e-3, 0.05, 0.3, 0.9])
def test_with_vqms_source_a_short_way_has_two_thirds_and_a_third_of_w(w):
    """Section 5.1.2: the share of a single link is (2 + w/c)/3."""
    flows = [Flow(links=flow.links, weight=w) for flow in LONG_AND_SHORT]
    shares = optimum(TWO_LINKS, flows, fairness="vqm").rates
    assert shares[1] == pytest.approx((2 + w) / 3, rel=1e-6)


def test_one_link_is_shared_by_weight():
    flows = [Flow(links=("link",), count=n, weight=w) for n, w in ((3, 1), (2, 5), (10, 0.2))]
    best = optimum({"link": 45e6}, flows)
    assert np.array(best.rates) == pytest.approx(45e6 * np.array([1, 5, 0.2]) / 15, rel=1e-6)
    assert best.prices["link"] == pytest.approx(15 / 45e6, rel=1e-5)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(1, 10), min_size=2, max_size=6),
    st.lists(
        st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(1, 20), st.floats(0.5, 5)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([0.5, 1, 2, "proportional", "vqm", "sbrm", "sbrm-steps"]),
)
def test_everywhere_marginal_utility_is_the_price_of_the_way(capacities, ways, fairness):
    """Karush, Kuhn and Tucker: a rate is worth its price, and only a full link has one."""
    links = {f"l{i}": capacity for i, capacity in enumerate(capacities)}
    flows = [
        Flow(links=tuple(f"l{i % len(capacities)}" for i in sorted(way)), count=n, weight=w)
        for way, n, w in ways
    ]
    if fairness == "sbrm":
        # Nobody has less than he pays for: Σ w is below every link.
        paid = {link: sum(f.count * f.weight for f in flows if link in f.links) for link in links}
        least = max(paid[link] / capacity for link, capacity in links.items())
        flows = [replace(flow, weight=flow.weight * 0.8 / least) for flow in flows]
    best = optimum(links, flows, fairness=fairness)
    used = dict.fromkeys(links, 0.0)
    for flow, rate in zip(flows, best.rates, strict=True):
        price = sum(best.prices[link] for link in set(flow.links))
        if fairness == "vqm":
            marginal = flow.weight / (rate + flow.weight)
            nothing = rate < 1e-6 * max(best.rates) and price > marginal * (1 - 1e-5)
            assert price == pytest.approx(marginal, rel=1e-5) or nothing
        elif fairness == "sbrm":
            assert price == pytest.approx(-np.log1p(-flow.weight / rate), rel=1e-4)
        elif fairness == "sbrm-steps":
            assert price == pytest.approx(np.log1p(flow.weight / rate), rel=1e-4)
        else:
            alpha = 1 if fairness == "proportional" else fairness
            assert price == pytest.approx(flow.weight * rate**-alpha, rel=1e-4)
        for link in set(flow.links):
            used[link] += flow.count * rate
    assert min(best.rates) >= 0
    near = 1e-5
    for link, capacity in links.items():
        assert used[link] <= capacity * (1 + near)
        if used[link] < capacity * (1 - near):
            assert best.prices[link] < 1e-5 * max(best.prices.values())


def test_with_vqms_source_who_pays_too_little_gets_nothing_and_no_less():
    """w ln(x + w) goes on below a rate of 0, where nobody is."""
    links = {"a": 11.27, "b": 3.386, "c": 1.842, "d": 1.666}
    flows = [
        Flow(links=("c",), count=2, weight=8.332),
        Flow(links=("b", "c", "d"), weight=13.82),
        Flow(links=("a", "b"), weight=2.056),
        Flow(links=("a", "b"), count=3, weight=2.592),
        Flow(links=("b", "c"), count=3, weight=0.1158),
        Flow(links=("a", "d"), weight=0.5049),
    ]
    best = optimum(links, flows, fairness="vqm")
    assert best.rates[4] == 0
    assert best.rates[1] == 0
    for flow, rate in zip(flows, best.rates, strict=True):
        price = sum(best.prices[link] for link in flow.links)
        marginal = flow.weight / (rate + flow.weight)
        assert price == pytest.approx(marginal, rel=1e-9) or (rate == 0 and price > 1)


def test_a_large_alpha_comes_near_to_max_min():
    links = {"narrow": 1.0, "wide": 1.5}
    flows = [Flow(links=("narrow", "wide")), Flow(links=("narrow",)), Flow(links=("wide",))]
    near = optimum(links, flows, fairness=5.0).rates
    assert near == pytest.approx(optimum(links, flows, fairness="max-min").rates, rel=0.1)


def test_max_min_shares_one_link_by_weight():
    flows = [Flow(links=("link",), count=n, weight=w) for n, w in ((3, 1), (2, 5), (10, 0.2))]
    shares = optimum({"link": 45e6}, flows, fairness="max-min").rates
    assert shares == pytest.approx(45e6 * np.array([1, 5, 0.2]) / 15, rel=1e-12)


def test_weighted_max_min_over_two_links():
    """By hand: `a` stops the long way at 3/(1 + 2) each unit of weight; `b` has 10 − 1 left."""
    flows = [
        Flow(links=("a", "b"), weight=1.0),
        Flow(links=("a",), weight=2.0),
        Flow(links=("b",), weight=3.0, count=2),
    ]
    assert optimum({"a": 3.0, "b": 10.0}, flows, fairness="max-min").rates == pytest.approx(
        (1.0, 2.0, 4.5), rel=1e-12
    )


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(1, 10), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(1, 20), st.floats(0.01, 50)),
        min_size=1,
        max_size=12,
    ),
)
def test_with_max_min_every_flow_has_a_full_link_on_which_none_has_more_per_weight(
    capacities, ways
):
    """The condition of Bertsekas and Gallager (section 6.5.2) that makes an allocation max-min."""
    links = {f"l{i}": capacity for i, capacity in enumerate(capacities)}
    flows = [
        Flow(links=tuple(f"l{i % len(capacities)}" for i in sorted(way)), count=n, weight=w)
        for way, n, w in ways
    ]
    rates = optimum(links, flows, fairness="max-min").rates
    level = [rate / flow.weight for rate, flow in zip(rates, flows, strict=True)]
    used = {
        link: sum(r * f.count for r, f in zip(rates, flows, strict=True) if link in f.links)
        for link in links
    }
    for number, flow in enumerate(flows):
        bottlenecks = [
            link
            for link in flow.links
            if used[link] == pytest.approx(links[link], rel=1e-9)
            and all(
                level[number] >= other * (1 - 1e-9)
                for other, who in zip(level, flows, strict=True)
                if link in who.links
            )
        ]
        assert bottlenecks, f"flow {number} could have more"
    assert all(used[link] <= links[link] * (1 + 1e-9) for link in links)


def test_200_flows_over_50_links_satisfy_every_link():
    dice = np.random.default_rng(1)
    links = {f"l{i}": float(dice.uniform(1, 10)) for i in range(50)}
    flows = [
        Flow(links=tuple(f"l{i}" for i in dice.choice(50, size=dice.integers(1, 6), replace=False)))
        for _ in range(200)
    ]
    best = optimum(links, flows)
    for link, capacity in links.items():
        used = sum(r for r, f in zip(best.rates, flows, strict=True) if link in f.links)
        assert used <= capacity * (1 + 1e-6)


def test_errors_are_reported_together():
    flows = [Flow(links=("b",), count=0), Flow(links=(), weight=-1)]
    with pytest.raises(AnalysisError) as reported:
        optimum({"a": 0.0}, flows)
    for word in ("capacity of 'a'", "no link 'b'", "flow 0: count", "no link", "flow 1: weight"):
        assert word in str(reported.value)
    with pytest.raises(AnalysisError, match="alpha has to be above 0"):
        optimum({"a": 1.0}, [Flow(links=("a",))], fairness=-1.0)
