"""Fluids of more than one queue, and of links that tell customers apart."""

from dataclasses import replace

import numpy as np
import pytest
from shared_fluid import AbcFluid

from tidegate.analysis import (
    AbcOverTcp,
    Bottleneck,
    Customer,
    CustomerGroup,
    DirectWindow,
    DualQueues,
    Link,
    Network,
    Padhye,
    Pc1,
    Pc2,
    Pi2,
    Pie,
    PiecewiseLinear,
    PolicedLink,
    Red,
    Reno,
    Route,
    SbrmQueue,
    SbrmSource,
    Scalable,
    abc_stability,
    critical_delay,
    critical_network_delay,
    fluid,
    growth_per_s,
    scaled,
)
from tidegate.analysis.eigenloci import slower
from tidegate.errors import AnalysisError

RENO = Reno(count=20, base_rtt_s=0.05)
PAYS = DirectWindow(count=20, base_rtt_s=0.05, gain=0.2)
# Signal, and sources of the first link and of the second.
NETWORKS = {
    "red": (Red(), RENO, RENO),
    "pie": (Pie(), RENO, RENO),
    "coupled": (Pi2(), RENO, Scalable(count=20, base_rtt_s=0.05)),
    "sbrm": (SbrmQueue(), *[SbrmSource(count=20, base_rtt_s=0.05)] * 2),
    "prices": (Pc2(gamma_per_packet=0.006), PAYS, PAYS),
}


def two_links(signal, first, second):
    """Two queues; who passes both, and who passes one of them at a shorter round trip."""
    links = {
        "a": Link(capacity_pps=1e4, signal=signal),
        "b": Link(capacity_pps=8e3, signal=signal),
    }
    both = Route(source=replace(first, base_rtt_s=0.06), links=("a", "b"))
    near = Route(source=replace(second, base_rtt_s=0.03), links=("b",))
    return Network(links=links, routes=(both, Route(source=first, links=("a",)), near))


@pytest.mark.parametrize("name", NETWORKS)
def test_several_queues_begin_to_swing_at_their_critical_delay(name):
    network = two_links(*NETWORKS[name])
    tips = critical_network_delay(network)
    below, above = (growth_per_s(slower(network, tips * by)) for by in (0.999, 1.001))
    assert below < 0 < above


def test_several_queues_settle_where_the_equilibrium_is_from_cold():
    network = slower(two_links(*NETWORKS["red"]), 0.5)
    late = fluid(network, duration_s=60).after(50)
    at = network.equilibrium
    assert late.queue_packets.mean(axis=1) == pytest.approx(
        list(at.queue_packets.values()), rel=1e-3
    )
    assert late.window_packets.mean(axis=1) == pytest.approx(at.window_packets, rel=1e-3)
    assert late.table.column_names[:3] == ["time_s", "queue_0_packets", "queue_1_packets"]


def test_a_link_that_is_not_full_stays_empty():
    network = two_links(Red(), RENO, RENO)
    idle = Link(capacity_pps=1e6, signal=Red())
    links = {**network.links, "b": idle}
    network = replace(network, links=links, routes=network.routes[:2])
    assert network.equilibrium.full == ("a",)
    late = fluid(network, duration_s=40).after(30)
    assert late.queues[1].max() == 0
    assert late.queues[0].min() > 0


@pytest.mark.parametrize(
    "sources",
    [
        (RENO, Scalable(count=20, base_rtt_s=0.05)),
        (
            Reno(count=30, base_rtt_s=0.05),
            Reno(count=5, base_rtt_s=0.02),
            Scalable(count=5, base_rtt_s=0.03),
        ),
    ],
)
def test_two_coupled_queues_begin_to_swing_at_their_critical_delay(sources):
    link = DualQueues(capacity_pps=1e4, signal=Pi2.for_rtt(), sources=sources)
    tips = critical_delay(link).factor
    below, above = (growth_per_s(scaled(link, base_rtt=tips * by)) for by in (0.999, 1.001))
    assert below < 0 < above


def test_who_is_scalable_does_not_wait_for_who_is_not():
    sources = (RENO, Scalable(count=20, base_rtt_s=0.05))
    link = DualQueues(capacity_pps=1e4, signal=Pi2.for_rtt(), sources=sources)
    at = link.equilibrium
    assert [float(rtt) for rtt in at.rtt_s] == pytest.approx([0.065, 0.05])
    waits_s = link.classic_queue_packets / (1e4 - link.scalable_pps)
    assert float(waits_s) == pytest.approx(0.015)
    late = fluid(link, duration_s=60).after(50)
    assert late.queue_packets.mean() == pytest.approx(float(link.classic_queue_packets), rel=1e-3)
    together = Bottleneck(capacity_pps=1e4, signal=Pi2.for_rtt(), sources=sources)
    assert critical_delay(link).factor < critical_delay(together).factor


def metered(inertia_s):
    """Five customers with eight flows, twenty with one."""
    customers = tuple(
        CustomerGroup(count=count, flows=Padhye(count=flows, base_rtt_s=0.05), reference_pps=5.0)
        for count, flows in ((5, 8), (20, 1))
    )
    signal = PiecewiseLinear(points=((0, 0.0), (400, 1.0)))
    return AbcOverTcp(capacity_pps=833.0, signal=signal, customers=customers, inertia_s=inertia_s)


def test_users_behind_meters_begin_to_swing_where_the_loop_says_so():
    low, high = 0.05, 5.0
    for _ in range(30):
        middle = np.sqrt(low * high)
        tips = abc_stability(metered(middle)).joint.gain_margin < 1
        low, high = (middle, high) if tips else (low, middle)
    # A slower meter is the calmer.
    above, below = (growth_per_s(metered(low * by), duration_s=40.0) for by in (0.999, 1.001))
    assert below < 0 < above


def test_meters_are_followed_as_by_a_plain_integration():
    link = metered(0.6)
    plain = AbcFluid(link, ((0, 0.0), (400, 1.0)), step_s=1e-3).follow(2.0, shifted=[1e-4, 1e-4])
    trajectory = fluid(link, duration_s=2.0, start="near", step_s=1e-3, keep_s=1e-3)
    assert trajectory.queue_packets == pytest.approx(plain[:, -1], abs=1e-4)
    assert trajectory.known[0] == pytest.approx(plain[:, 2], abs=1e-6)


def test_who_has_no_tokens_gets_what_his_bucket_pays_for():
    """Two customers with eight and with four flows, who may cause 0.2 packets/s each."""
    red = Red(
        min_threshold_packets=60, max_threshold_packets=115, max_probability=0.0012, weight=1e-4
    )
    link = PolicedLink(
        capacity_pps=1e7 / 12_000,
        signal=red,
        customers=tuple(
            Customer(count=1, source=Reno(count=flows, base_rtt_s=0.02), fill_pps=0.2)
            for flows in (8, 4)
        ),
        depth_packets=0.5,
    )
    at = link.equilibrium
    assert at.policed == (True, True)
    trajectory = fluid(link, duration_s=400).after(300)
    queue, probability = trajectory.queue_packets, trajectory.probability
    assert queue.mean() == pytest.approx(at.queue_packets, rel=0.02)
    assert probability.mean() == pytest.approx(at.probability, rel=0.02)
    assert trajectory.known.max() < 0.05
    with pytest.raises(AnalysisError, match="its bucket is empty; a cold start would do"):
        fluid(link, start="near")


def test_a_price_that_goes_by_the_rate_alone_keeps_the_queue_that_it_had():
    """From an empty queue it settles as PC2 without a target."""
    source = DirectWindow(count=30, base_rtt_s=0.03, gain=0.2)
    link = Bottleneck(capacity_pps=1e4, signal=Pc1(gamma_per_packet=0.006), sources=(source,))
    near = fluid(link, duration_s=60, start="near").after(50)
    assert near.queue_packets.mean() == pytest.approx(
        float(link.equilibrium.queue_packets), rel=1e-3
    )
    [reported] = link.signal.strained(10)
    assert "settles at any queue" in reported
