"""Prices that links ask and sources pay: the optimum as judge, and a plain integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT

import tidegate
from tidegate.analysis import (
    Bottleneck,
    DirectWindow,
    Flow,
    Link,
    Network,
    Pc2,
    Pc3,
    Route,
    Sbrm,
    SbrmSource,
    TcpRm,
    VegasCp,
    beside_theory,
    critical_delay,
    equilibrium,
    fluid,
    optimum,
    scaled,
    stability,
)
from tidegate.errors import AnalysisError

WAYS = st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=4)


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(*[st.floats(2e3, 2e4)] * 3), WAYS, st.lists(st.floats(5, 40), min_size=4, max_size=4)
)
def test_who_pays_for_prices_shares_proportionally_in_any_network(capacities, ways, pays):
    """(3.2.7) and (3.2.21): λ x = w, whatever the base of the marks."""
    links = {
        name: c for name, c in zip("abc", capacities, strict=True) if any(name in w for w in ways)
    }
    signal = Pc2(gamma_per_packet=0.01, target_packets=20, base=1.5)
    routes = tuple(
        Route(
            source=DirectWindow(count=10, base_rtt_s=0.05, willingness_pps=w, base=1.5),
            links=tuple(sorted(way)),
        )
        for w, way in zip(pays, ways, strict=False)
    )
    asked = Network(
        links={name: Link(capacity_pps=c, signal=signal) for name, c in links.items()},
        routes=routes,
    )
    flows = [
        Flow(links=route.links, count=10, weight=w) for route, w in zip(routes, pays, strict=False)
    ]
    best = optimum(links, flows)
    assert asked.equilibrium.rate_pps == pytest.approx(best.rates, rel=1e-5)


def test_by_pc2_a_queue_is_as_long_as_the_price_and_by_pc3_as_its_target():
    pays = (DirectWindow(count=30, base_rtt_s=0.05, willingness_pps=20.0),)
    by_queue = Bottleneck(
        capacity_pps=1e4, signal=Pc2(gamma_per_packet=0.006, target_packets=50), sources=pays
    ).equilibrium
    assert by_queue.queue_packets == pytest.approx(50 + 0.06 / 0.006)
    by_both = Bottleneck(
        capacity_pps=1e4, signal=Pc3(target_packets=18, base=np.e), sources=pays
    ).equilibrium
    assert by_both.queue_packets == pytest.approx(18)
    assert -np.log1p(-by_both.probability) == pytest.approx(0.06)


def test_with_the_same_source_pc2_is_sbrms_queue():
    source = (SbrmSource(count=30, base_rtt_s=0.07),)
    pc2 = Bottleneck(
        capacity_pps=1e4, signal=Pc2(gamma_per_packet=0.006, target_packets=50), sources=source
    )
    sbrm = Sbrm(n=30, c_pps=1e4, d_s=0.07)
    assert pc2.equilibrium.queue_packets == pytest.approx(float(equilibrium(sbrm).queue_packets))
    assert stability(pc2).gain_margin == pytest.approx(float(stability(sbrm).gain_margin))


def test_tcp_rm_goes_by_the_root_of_what_it_pays():
    """W² = w R/p where marks are few."""
    p, rtt_s = np.asarray(1e-6), np.asarray(0.1)
    few = TcpRm(count=1, base_rtt_s=0.1, willingness_pps=20.0)
    window = few.rate_pps(p, rtt_s) * rtt_s
    assert window == pytest.approx(np.sqrt(20 * 0.1 / 1e-6), rel=2e-3)
    more = TcpRm(count=1, base_rtt_s=0.1, willingness_pps=80.0)
    assert more.rate_pps(p, rtt_s) / few.rate_pps(p, rtt_s) == pytest.approx(2, rel=3e-3)


def slopes_by_differences(at, per_ack):
    """Of each of window, probability and round trip."""
    slopes = []
    for i, value in enumerate(at):
        above, below = ([*at[:i], value * by, *at[i + 1 :]] for by in (1 + 1e-6, 1 - 1e-6))
        slopes.append((per_ack(*above) - per_ack(*below)) / (2e-6 * value))
    return slopes


@pytest.mark.parametrize(
    ("source", "per_ack"),
    [
        (
            DirectWindow(count=1, base_rtt_s=0.1, gain=0.2, willingness_pps=20.0, base=1.5),
            lambda w, p, r: 0.2 * (20 * r / w + np.log1p(-p) / np.log(1.5)),
        ),
        (
            TcpRm(count=1, base_rtt_s=0.1, gain=0.1, willingness_pps=20.0),
            lambda w, p, r: 0.1 * ((1 - p) * 20 * r / w - (1 - (1 - p) ** w)),
        ),
    ],
)
def test_slopes_are_those_of_what_an_ack_does(source, per_ack):
    p, rtt_s = np.asarray(0.02), np.asarray(0.1)
    window = source.rate_pps(p, rtt_s) * rtt_s
    assert per_ack(window, p, rtt_s) == pytest.approx(0, abs=1e-9)
    found = source.slopes(window, p, rtt_s)
    want = slopes_by_differences([window, p, rtt_s], per_ack)
    assert [found.of_window, found.of_probability, found.of_round_trip] == pytest.approx(
        want, rel=1e-5
    )


def integrated(bottleneck, duration_s, step_s=1e-3):
    """Late over middle size of the swing, of `DirectWindow` over `Pc3`, by Heun's method."""
    [source], signal, at = bottleneck.sources, bottleneck.signal, bottleneck.equilibrium
    c, n, d = bottleneck.capacity_pps, source.count, float(source.base_rtt_s)
    k, w, target = source.gain, source.willingness_pps, signal.target_packets
    integral = signal.gamma_per_packet * signal.alpha / signal.interval_s
    steps = int(duration_s / step_s)
    rates, prices, queues = [float(at.rate_pps[0])], [w / float(at.rate_pps[0])], []
    window, queue, price = float(at.window_packets[0]) * 1.0001, float(at.queue_packets), prices[0]

    def ago(past, lag, ahead):
        place = len(past) - 1 - max(lag / step_s - ahead, 0)
        if place <= 0:
            return past[0]
        low = int(place)
        high = min(low + 1, len(past) - 1)
        return past[low] + (place - low) * (past[high] - past[low])

    def change(window, queue, ahead):
        rtt = d + queue / c
        arriving = n * ago(rates, rtt / 2, ahead) - c
        answer = k * (w * rtt / window - ago(prices, rtt / 2, ahead))
        rise = integral * (queue - target) + signal.gamma_per_packet * arriving
        return answer * ago(rates, rtt, ahead), arriving, rise

    for _ in range(steps):
        first = change(window, queue, 0)
        second = change(window + first[0] * step_s, queue + first[1] * step_s, 1)
        moved = [(a + b) / 2 * step_s for a, b in zip(first, second, strict=True)]
        window, queue, price = window + moved[0], queue + moved[1], price + moved[2]
        rates.append(window / (d + queue / c))
        prices.append(price)
        queues.append(abs(queue - target))
    middle, late = queues[steps // 2 : 3 * steps // 4], queues[3 * steps // 4 :]
    return max(late) / max(middle)


def test_the_loop_of_prices_tips_where_a_plain_integration_begins_to_swing():
    bottleneck = Bottleneck(
        capacity_pps=5e3,
        signal=Pc3(gamma_per_packet=1e-3, alpha=0.01, target_packets=50, base=np.e),
        sources=(DirectWindow(count=20, base_rtt_s=0.05, gain=0.5, willingness_pps=20.0),),
    )
    tips = critical_delay(bottleneck).factor
    assert np.isfinite(tips)
    grows, settles = (integrated(scaled(bottleneck, base_rtt=tips * by), 30) for by in (1.02, 0.98))
    assert settles < 1 < grows


def test_who_moves_by_whole_segments_has_no_fluid_and_says_so():
    bottleneck = Bottleneck(
        capacity_pps=5e3, signal=Pc3(), sources=(VegasCp(count=20, base_rtt_s=0.05),)
    )
    with pytest.raises(AnalysisError, match="VegasCp has no fluid; its loop and equilibrium do"):
        fluid(bottleneck)


def rates_mbps(path):
    """Predicted by group."""
    rows = tidegate.analyse(ROOT / path, "equilibrium")["equilibrium"].tables["groups"]
    return {row["group"]: row["rate_bps"] / 1e6 for row in rows}


def test_scenarios_with_prices_are_mapped():
    """Three who pay 1 : 2 : 4; two links of whose prices who takes both pays the sum."""
    sbrm = rates_mbps("scenarios/sbrm.toml")
    assert sbrm == pytest.approx({"bronze": 10 / 7, "silver": 20 / 7, "gold": 40 / 7}, rel=1e-6)
    reported = rates_mbps("scenarios/explicit-prices.toml")
    assert reported == pytest.approx({"one": 16, "other": 16, "both": 8}, rel=1e-6)
    rem = rates_mbps("scenarios/rem.toml")
    assert rem["double"] == pytest.approx(2 * rem["single"])
    marked = rates_mbps("scenarios/tcp-rm.toml")
    assert marked["bronze"] < marked["gold"] < 4 * marked["bronze"]


@pytest.mark.parametrize("path", ["scenarios/sbrm.toml", "scenarios/explicit-prices.toml"])
def test_simulated_prices_share_as_predicted(path):
    """Rates within a tenth, which nothing was fitted to."""
    rows = beside_theory(tidegate.simulate(ROOT / path, replications=2)).to_pylist()
    rates = [row for row in rows if row["metric"] == "throughput_bps"]
    assert rates
    assert all(abs(row["deviation"]) < 0.1 for row in rates), rates


def test_what_prices_lack_is_told():
    with pytest.raises(AnalysisError, match=r"Vegas/CP .* has no loop"):
        tidegate.analyse(ROOT / "scenarios/rem.toml", "stability")
    with pytest.raises(AnalysisError, match=r"price_encoding: .*largest price"):
        tidegate.analyse(ROOT / "scenarios/virtual-queue.toml", "equilibrium")
