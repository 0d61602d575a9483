"""Videos and calls over real UDP sockets: short, and with root or in a guest."""

from pathlib import Path

import pytest
from support import lab_lacking, lab_that_counts

import tidegate

LACKING = lab_lacking()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("lab"),
]
SCENARIOS = Path(__file__).parents[2] / "scenarios" / "lab"
SHORT = {"warm_up": "4 s", "duration": "8 s"}
# Of 40 calls at once, as in the file, but shorter ones: a short run has enough of them.
CALLS = {**SHORT, "users.site.traffic.holding": "4 s", "users.site.traffic.every": "100 ms"}


def reported(result, what):
    rows = result.applications.to_pylist()
    return [row["amount"] for row in rows if row["what"] == what]


def bottleneck(result):
    (link,) = [link for link in result.links.to_pylist() if link["name"] == "bottleneck"]
    return link


def calls_with(own):
    return lab_that_counts(SCENARIOS / "calls.toml", set={**CALLS, **own})


@pytest.fixture(scope="module")
def unasked():
    """Calls that begin whatever the queue marks."""
    return calls_with({"users.site.traffic.admission": "none"})


@pytest.mark.parametrize(
    "aqm",
    [
        {"kind": "red", "min_threshold": "3000 B", "max_threshold": "30000 B",
         "max_probability": 0.4, "weight": 0.01},
        {"kind": "sbrm-queue", "gamma": 0.01, "target": "5 packets"},
        {"kind": "virtual-queue", "scale": 0.9, "capacity": "20 packets"},
    ],
    ids=["red", "sbrm", "virtual-queue"],
)  # fmt: skip
def test_probes_that_come_back_marked_keep_calls_out_and_the_queue_short(aqm, unasked):
    asked = calls_with({"bottleneck.aqm": aqm})
    assert reported(unasked, "blocking") == [0.0]
    assert reported(asked, "probes")[0] > 10
    (blocking,), (offered,) = reported(asked, "blocking"), reported(asked, "offered")
    assert offered > 40
    assert 0.2 < blocking < 0.8
    assert bottleneck(asked)["marks"] > 0
    (lost, lost_unasked) = (one.flows["losses"].to_pylist()[0] for one in (asked, unasked))
    assert lost < lost_unasked / 2
    assert bottleneck(asked)["mean_sojourn_s"] < bottleneck(unasked)["mean_sojourn_s"]


def test_videos_learn_the_price_of_their_path_by_reports():
    series = {"sample_interval": "1 s", "sampled_flows": 2}
    result = lab_that_counts(SCENARIOS / "adaptive-video.toml", set={**SHORT, **series})
    targets, prices = reported(result, "target_rate_bps"), reported(result, "price")
    assert len(targets) == len(prices) == 12
    # They grow from that of the worst quality.
    assert all(600e3 < target < 4e6 for target in targets)
    assert all(0.0 < price < 0.5 for price in prices)
    link = bottleneck(result)
    assert link["marks"] > 0
    assert 0.3 < link["utilization"] < 1.0
    flows = result.flows.to_pylist()
    assert all(flow["packets_sent"] > 100 and flow["goodput_bps"] > 60e3 for flow in flows)
    shown = result.application_series.to_pylist()
    assert {row["what"] for row in shown} == {"target_rate_bps", "quality", "price"}
    assert len({row["flow"] for row in shown}) == 6, "two of each group"


def test_what_applications_tell_is_compared_with_a_simulation():
    scenario = tidegate.load_scenario(SCENARIOS / "calls.toml", set=CALLS)
    real = lab_that_counts(scenario)
    both = tidegate.compare_results(tidegate.simulate(scenario, replications=1), real)
    rows = {(row.kind, row.metric): row for row in both.differences}
    offered = rows["application", "offered"]
    # Ten a second for 8 s, at random: four and a half standard deviations.
    assert 40 < offered.a.mean < 120
    assert 40 < offered.b.mean < 120
    assert abs(rows["application", "blocking"].difference) < 0.4
    assert {"calls", "set_up_s"} <= {metric for kind, metric in rows if kind == "application"}


def test_ipv6_is_refused_with_its_remedy():
    with pytest.raises(
        tidegate.ScenarioError, match=r"videos and calls travel over IPv4 in the lab"
    ):
        tidegate.lab(SCENARIOS / "calls.toml", set=CALLS, replications=1, ip=6)
