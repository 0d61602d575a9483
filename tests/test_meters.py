"""One A_avg for all CPUs, or one for each that are merged: does it change who gets what?"""

import tidegate

SCENARIO = """
version = 1
warm_up = "10 s"
duration = "20 s"
sample_interval = "off"

[bottleneck]
rate = "20 Mb/s"
delay = "10 ms"
buffer = "100 ms"
aqm = { kind = "pie", derandomised = false }
differentiation = { kind = "abc" }

[access]
delay = "5 ms"

[users.heavy]
count = 2
flows = 10
meter = { reference_rate = "50 kb/s" }

[users.light]
count = 10
meter = { reference_rate = "50 kb/s" }
"""


def ratio(meters: int, judged_by: str) -> float:
    key = "bottleneck.differentiation"
    changes = {f"{key}.meters": meters, f"{key}.judged_by": judged_by}
    result = tidegate.simulate(SCENARIO, replications=4, set=changes)
    rates = {
        row["name"]: row["mean"]
        for row in result.summary().to_pylist()
        if row["metric"] == "throughput_bps"
    }
    return rates["heavy"] / rates["light"]


def test_meters_that_are_merged_share_as_one_meter_does() -> None:
    # A heavy customer has ten flows, and 1.10 ± 0.01 times what a light one gets (95 %). A bound of
    # five times that interval is missed by chance in fewer than one of 10^6 runs.
    one = ratio(1, "merged")
    assert abs(one - 1.1) < 0.05
    for meters in (4, 16):
        assert abs(ratio(meters, "merged") - one) < 0.05, meters
