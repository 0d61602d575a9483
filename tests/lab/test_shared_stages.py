"""A bucket that a group shares, on real packets: short, and with root or in a guest."""

import pytest
from support import lab_lacking, lab_that_counts

LACKING = lab_lacking()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("lab"),
]

# Three who send 3 Mb/s each by UDP, of which a bucket lets 4 Mb/s in, beside kernel TCP.
FAMILY = """
version = 1
warm_up = "2 s"
duration = "4 s"
[bottleneck]
rate = "20 Mb/s"
delay = "5 ms"
[users.family]
count = 3
traffic = { kind = "cbr", rate = "3 Mb/s" }
[[users.family.ingress]]
kind = "re-ecn-policer"
buckets = "together"
fill_rate = "4 Mb/s"
depth = "50 kB"
round_trip = "20 ms"
[users.tcp]
"""


@pytest.mark.parametrize(("shared", "mbps"), [(True, 4.0), (False, 9.0)])
def test_a_group_may_share_the_bucket_where_its_packets_enter(tmp_path, shared, mbps):
    scenario = tmp_path / "family.toml"
    scenario.write_text(FAMILY, encoding="utf-8")
    result = lab_that_counts(scenario, set={"users.family.shares_stages": shared})
    rows = [row for row in result.flows.to_pylist() if row["group"] == "family"]
    assert len(rows) == 3
    assert sum(row["throughput_bps"] for row in rows) / 1e6 == pytest.approx(mbps, rel=0.03)
