"""Several bottlenecks: their equilibrium and eigenloci, with one link and the optimum as judges."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.analysis import (
    Cbr,
    Flow,
    Link,
    Network,
    Red,
    Reno,
    RenoRed,
    Route,
    SbrmQueue,
    SbrmSource,
    critical_delay,
    critical_network_delay,
    network_stability,
    optimum,
    stability,
)
from tidegate.errors import AnalysisError, NoEquilibriumError


def network(links, routes, signal=None):
    """Links by name and rate; routes of a source and the links' names."""
    signal = signal or Red()
    return Network(
        links={name: Link(capacity_pps=c, signal=signal) for name, c in links.items()},
        routes=tuple(Route(source=source, links=tuple(way)) for source, way in routes),
    )


def test_one_link_is_a_bottleneck():
    one = RenoRed(n=30, c_pps=1e4, d_s=0.05).bottleneck
    same = network({"a": 1e4}, [(one.sources[0], "a")])
    assert same.equilibrium.queue_packets["a"] == pytest.approx(
        float(one.equilibrium.queue_packets)
    )
    s = 2j * np.pi * np.array([0.1, 0.5, 1, 3, 10])
    assert same.loop(s)[:, 0, 0] == pytest.approx(one.loop(s))
    found, want = network_stability(same), stability(one)
    assert found.gain_margin == pytest.approx(float(want.gain_margin), rel=1e-4)
    assert found.phase_margin_deg == pytest.approx(float(want.phase_margin_deg), rel=1e-3)
    assert critical_network_delay(same) == pytest.approx(
        float(critical_delay(one).factor), rel=1e-4
    )


def test_links_without_common_flows_are_apart():
    slow, fast = Reno(count=30, base_rtt_s=0.07), Reno(count=30, base_rtt_s=0.03)
    both = network({"a": 1e4, "b": 1e4}, [(slow, "a"), (fast, "b")])
    margins = [
        float(stability(RenoRed(n=30, c_pps=1e4, d_s=d_s)).gain_margin) for d_s in (0.07, 0.03)
    ]
    assert network_stability(both).gain_margin == pytest.approx(min(margins), rel=1e-4)
    assert not network_stability(both).stable


def test_a_link_that_is_not_full_has_neither_queue_nor_say():
    flows = Reno(count=30, base_rtt_s=0.05)
    alone = network({"a": 1e4}, [(flows, "a")]).equilibrium
    beside = network({"a": 1e4, "wide": 1e5}, [(flows, ["a", "wide"])]).equilibrium
    assert beside.full == ("a",)
    assert (beside.queue_packets["wide"], beside.probability["wide"]) == (0, 0)
    assert beside.rate_pps == pytest.approx(alone.rate_pps)


WAYS = st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=5)


ABOUT_EQUAL = ((15376.0, 4e3, 15364.0), [{"a", "c"}], [5.0] * 5)
HARDLY_APART = ((2e4, 2e4, 3e3), [{"b", "c"}, {"a", "b"}, {"a", "c"}, {"a", "b", "c"}], [5.0] * 5)


# All that is paid for is less than the slowest link.
@settings(max_examples=25, deadline=None)
@example(*ABOUT_EQUAL)
@example(*HARDLY_APART)
@given(
    st.tuples(*[st.floats(2.1e3, 2e4)] * 3),
    WAYS,
    st.lists(st.floats(5, 40), min_size=5, max_size=5),
)
def test_sbrms_equilibrium_is_the_optimum_of_its_utility(capacities, ways, pays):
    """Companion of the paper, section 5: the queues are b0 plus the prices over γ."""
    links = {
        name: c for name, c in zip("abc", capacities, strict=True) if any(name in w for w in ways)
    }
    routes = [
        (SbrmSource(count=10, base_rtt_s=0.05, willingness_pps=w), sorted(way))
        for w, way in zip(pays, ways, strict=False)
    ]
    at = network(links, routes, SbrmQueue()).equilibrium
    flows = [Flow(links=way, count=10, weight=source.willingness_pps) for source, way in routes]
    best = optimum(links, flows, fairness="sbrm")
    assert at.rate_pps == pytest.approx(best.rates, rel=1e-5)
    # Links that all flows share in the same way have no price of their own, but their sum.
    for _, way in routes:
        asked = sum(0.006 * (at.queue_packets[name] - 50) for name in way if name in at.full)
        assert asked == pytest.approx(sum(best.prices[name] for name in way), rel=1e-4)


def test_everybody_answers_to_all_links_of_his_way():
    """Reno's law at the sum of what the links signal, on a round trip with all their queues."""
    long, short = Reno(count=10, base_rtt_s=0.1), Reno(count=20, base_rtt_s=0.05)
    constant = Cbr(count=1, base_rtt_s=0.1, offered_pps=3e3)
    at = network(
        {"a": 1e4, "b": 1e4}, [(long, "ab"), (short, "a"), (short, "b"), (constant, "a")]
    ).equilibrium
    p = 1 - (1 - at.probability["a"]) * (1 - at.probability["b"])
    rtt_s = 0.1 + (at.queue_packets["a"] + at.queue_packets["b"]) / 1e4
    assert at.rate_pps[0] == pytest.approx(np.sqrt(2 * (1 - p) / p) / rtt_s)
    assert 10 * at.rate_pps[0] + 20 * at.rate_pps[1] + 3e3 == pytest.approx(1e4)
    assert at.rate_pps[3] == 3e3


def test_what_has_no_equilibrium_is_told():
    greedy = SbrmSource(count=600, base_rtt_s=0.05)
    with pytest.raises(NoEquilibriumError, match="at a the sources want more than it has"):
        _ = network({"a": 1e4}, [(greedy, "a")], SbrmQueue()).equilibrium
    with pytest.raises(NoEquilibriumError, match="no link is full"):
        _ = network({"a": 1e4}, [(Cbr(count=1, base_rtt_s=0.1, offered_pps=1.0), "a")]).equilibrium
    many = Reno(count=np.array([1.0, 2.0]), base_rtt_s=0.1)
    with pytest.raises(AnalysisError, match="none an array"):
        _ = network({"a": 1e4}, [(many, "a")]).equilibrium
