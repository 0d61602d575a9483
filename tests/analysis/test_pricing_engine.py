"""The engine's price rules and sources beside the same as formulas."""

import pytest
from support import ROOT

import tidegate
from tidegate.analysis.signals import SbrmQueue
from tidegate.analysis.sources import SbrmSource, SbrmSteps

WILLINGNESS = {"bronze": 100, "silver": 200, "gold": 400}
SECOND_VARIANT = {
    f"users.{name}.tcp.congestion_control": {
        "kind": "direct-window",
        "price": "mark",
        "willingness_to_pay": w,
        "kappa": 0.05,
    }
    for name, w in WILLINGNESS.items()
}


@pytest.fixture(scope="module", params=[({}, SbrmSteps), (SECOND_VARIANT, SbrmSource)])
def measured(request):
    """Of each replication: links' and flows' rows; and the law of the sources."""
    settings, law = request.param
    result = tidegate.simulate(ROOT / "scenarios/sbrm.toml", set=settings, replications=3)
    links = [row for row in result.links.to_pylist() if row["name"] == "bottleneck"]
    return links, result.flows.to_pylist(), law


def shares(links):
    """Of marked packets, which have 1000 bytes each."""
    return [row["marks"] / (row["departed_bytes"] / 1000) for row in links]


def test_the_queue_marks_what_its_formula_says_of_its_mean(measured):
    """(5.4.1), whose curve is straight enough over the few packets by which the queue varies."""
    links, *_ = measured
    queue = SbrmQueue(steepness_per_packet=0.02, target_packets=10)
    for row, share in zip(links, shares(links), strict=True):
        waiting = row["mean_backlog_packets"] - row["utilization"]
        assert share == pytest.approx(float(queue.probability(waiting)), rel=0.05)


def test_sources_get_the_rate_at_which_marks_cost_what_they_pay(measured):
    """x = w/p by (4.2.3), x = (1 − p) w/p by (5.1.2) and (5.1.3), whatever the round trip."""
    links, flows, law = measured
    probability = sum(shares(links)) / len(links)
    for row in flows:
        name = row["group"]
        w = WILLINGNESS[name] if isinstance(name, str) else list(WILLINGNESS.values())[name]
        source = law(count=1, base_rtt_s=0.02, gain=0.05, willingness_pps=w)
        rate = row["throughput_bps"] / 8000
        assert rate == pytest.approx(float(source.rate_pps(probability, 0.05)), rel=0.15)
