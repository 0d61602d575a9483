"""Delay, completion times and places of drops: what a result answers about its users."""

import numpy as np
import pytest
from support import ROOT

import tidegate
from tidegate.results.columns import DELAYS
from tidegate.results.completions import size_class
from tidegate.results.findings import busy_links, drops, warnings
from tidegate.results.show import place_grids
from tidegate.results.tables import numbers

TRANSFERS = """
version = 1
seed = 1
warm_up = "1 s"
duration = "20 s"
drain_limit = "5 s"
[bottleneck]
rate = "20 Mb/s"
delay = "5 ms"
[users.small]
traffic = { kind = "short-flows", size = "5 kB", every = "50 ms" }
[users.large]
traffic = { kind = "short-flows", size = "500 kB", every = "1 s" }
[users.greedy]
traffic = { kind = "greedy", lasts = "1 s" }
"""


@pytest.fixture(scope="module")
def transfers():
    return tidegate.simulate(TRANSFERS, replications=2)


def test_groups_have_the_delays_of_their_packets(transfers):
    groups = transfers.groups
    for name in DELAYS[:12]:
        assert np.all(numbers(groups, name) >= 0.0), name
    one_way, queueing = (numbers(groups, f"p95_{d}_delay_s") for d in ("one_way", "queueing"))
    # 5 ms, 0.1 ms on the access link, and 0.6 ms for a full packet.
    assert one_way - queueing == pytest.approx(5.7e-3, abs=0.7e-3)
    assert np.isnan(numbers(groups, "jitter_s")).all()


def test_completion_times_are_those_of_the_transfers(transfers):
    first = transfers.groups.filter(np.asarray(transfers.groups["replication"]) == 0)
    own = transfers.transfers.filter(np.asarray(transfers.transfers["replication"]) == 0)
    for row in first.to_pylist():
        of_group = np.asarray(own["group"].cast("string")) == row["group"]
        times = numbers(own, "completion_s")[of_group]
        ideal = numbers(own, "empty_path_s")[of_group]
        finished = times[~np.isnan(times)]
        assert row["transfers_finished"] == finished.size
        assert row["transfers_unfinished"] == times.size - finished.size
        if finished.size:
            assert row["max_completion_s"] == finished.max()
            assert row["p99_completion_s"] == np.quantile(finished, 0.99, method="inverted_cdf")
            slowdown = (times / ideal)[~np.isnan(times)]
            assert row["mean_slowdown"] == pytest.approx(slowdown.mean())
            assert slowdown.min() > 0.9, "nothing is much faster than over an empty path"


def test_sizes_are_told_apart_by_powers_of_ten(transfers):
    rows = transfers.completions.to_pylist()
    classes = {(row["group"], row["size_class"]) for row in rows}
    assert classes == {("small", "1 kB to 10 kB"), ("large", "100 kB to 1 MB")}
    finished = sum(row["transfers_finished"] for row in rows)
    assert finished == sum(transfers.groups["transfers_finished"].to_pylist())
    assert [size_class(power) for power in (0, 2, 6)] == [
        "1 B to 10 B", "100 B to 1 kB", "1 MB to 10 MB",
    ]  # fmt: skip


def test_their_distribution_is_drawn(transfers, tmp_path):
    names = {path.name for path in transfers.plot(tmp_path)}
    assert {"completions-small.png", "completions-large.png"} <= names
    assert "completions-greedy.png" not in names


def test_unfinished_transfers_are_a_warning():
    crowded = {"users.large.traffic.every": "50 ms", "drain_limit": "0 s"}
    result = tidegate.simulate(TRANSFERS, set=crowded)
    (text,) = [one for one in warnings(result) if "users.large" in one]
    assert "transfers had not finished" in text


def test_nothing_is_doubtful_where_the_bottleneck_drops(transfers):
    assert warnings(transfers) == []
    assert {one.place for one in drops(transfers)} == {"bottleneck"}
    assert place_grids({"": transfers}) == []


NARROW_ACCESS = """
version = 1
warm_up = "1 s"
duration = "5 s"
[bottleneck]
rate = "100 Mb/s"
[access]
rate = "5 Mb/s"
buffer = "20 packets"
[users.home]
flows = 3
"""


def test_a_link_that_drops_is_listed_though_it_is_no_bottleneck():
    result = tidegate.simulate(NARROW_ACCESS)
    (link,) = busy_links(result)
    assert link.name == "home.0.access"
    assert link.utilization > 0.9
    assert link.drops > 0
    (text,) = warnings(result)
    assert text.startswith("100% of the packets that links dropped")
    links, reasons = place_grids({"": result})
    assert links.cells[0][0] == "home.0.access"
    assert reasons.cells[0][:2] == ["home.0.access", "buffer full"]


def test_a_short_warm_up_of_calls_is_a_warning():
    path = ROOT / "scenarios/calls.toml"
    short = {"warm_up": "1 s", "duration": "10 s"}
    texts = warnings(tidegate.simulate(path, set=short, replications=1))
    assert any("three mean holding times" in text for text in texts)


POLICED = """
version = 1
seed = 1
warm_up = "1 s"
duration = "20 s"
[bottleneck]
rate = "100 Mb/s"
[users.bursts]
traffic = { kind = "on-off", on = "100 ms", off = "900 ms", rate = "20 Mb/s" }
ingress = [{ kind = "policer", rate = "10 Mb/s", burst = "10 kB" }]
"""


def test_a_policer_that_drops_packets_of_users_below_its_rate_is_a_warning():
    (text,) = warnings(tidegate.simulate(POLICED))
    assert text.startswith("users.bursts: bursts.0.ingress.0 drops")
    calm = {"users.bursts.ingress": [{"kind": "policer", "rate": "30 Mb/s", "burst": "1 MB"}]}
    assert warnings(tidegate.simulate(POLICED, set=calm)) == []
