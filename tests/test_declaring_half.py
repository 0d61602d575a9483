"""A user who declares half of what it meets, beside one who declares all: both are policed."""

import math
from statistics import mean, stdev

import pytest

import tidegate

ALLOWED = {"kind": "conex-policer", "fill_rate": "480 kb/s", "depth": "67500 B"}
ONCE = {**ALLOWED, "drops": "declared", "charge_dropped": False}
NEAR = {"kind": "conex-auditor", "losses": "repeat"}
USERS = ("heavy", "liar", "light")
RUNS = 12
# Student's t for 11 degrees of freedom, one-sided, 99.5 %.
QUANTILE = 3.106


def gain(ingress, egress):
    """Throughput of the liar over that of the honest user: its log, one for each run."""
    settings = {"users.liar.tcp.conex.cheat": {"kind": "understate", "share": 0.5}}
    settings |= {f"users.{user}.ingress": ingress for user in USERS}
    settings |= {f"users.{user}.egress": egress for user in USERS}
    result = tidegate.simulate("scenarios/conex.toml", set=settings, replications=RUNS)
    of = {}
    for row in result.groups.to_pylist():
        of.setdefault(row["replication"], {})[row["group"]] = row["throughput_bps"]
    assert len(of) == RUNS
    return [math.log(run["liar"] / run["heavy"]) for run in of.values()]


def test_without_auditors_it_gains():
    gains = gain([ALLOWED], [])
    assert mean(gains) - QUANTILE * stdev(gains) / math.sqrt(RUNS) > 0


@pytest.mark.parametrize("rate", ["120 kb/s", "480 kb/s", "1920 kb/s"])
def test_charged_once_and_audited_at_both_ends_it_gets_no_more(rate):
    gains = gain([NEAR, {**ONCE, "fill_rate": rate}], ["conex-auditor"])
    assert mean(gains) + QUANTILE * stdev(gains) / math.sqrt(RUNS) < math.log(1.05)
