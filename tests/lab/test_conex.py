"""Senders of a real kernel that declare congestion, or lie: short, and only with `tidegate-bpf`."""

from pathlib import Path

import pytest
from support import lab_that_counts, lacking_for_controls

LACKING = lacking_for_controls()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("controls"),
    pytest.mark.usefixtures("own_turn"),
]
SCENARIOS = Path(__file__).parents[2] / "scenarios"
DECLARES = {"kind": "rfc7786", "repeats_lost": False}
POLICER = {
    "kind": "conex-policer",
    "tokens": "packets",
    "fill_rate": "10 packets/s",
    "depth": "45 packets",
}


def throughput(result, group):
    rows = result.flows.to_pylist()
    return sum(row["throughput_bps"] for row in rows if row["group"] == group)


@pytest.mark.parametrize("audited", [True, False])
def test_who_declares_nothing_gains_without_auditors_and_not_with_them(audited):
    """Twenty simulations of this length have the liar at 6.3 to 7.4 times the other, or at 0."""
    settings = {
        "warm_up": "6 s", "duration": "10 s", "tcp.ecn_fallback": False, "tcp.conex": DECLARES,
        "users.liar.tcp.conex": {**DECLARES, "cheat": "never"},
    }  # fmt: skip
    if not audited:
        settings |= {f"users.{user}.egress": [] for user in ("heavy", "liar", "light")}
    result = lab_that_counts(SCENARIOS / "conex.toml", set=settings, ip=6)
    liar, honest = throughput(result, "liar"), throughput(result, "heavy")
    assert liar < 0.3 * honest if audited else liar > 2 * honest


@pytest.mark.parametrize("policed", [True, False])
def test_videos_stall_beside_greedy_flows_that_are_not_policed(policed):
    """Of forty simulations of this length each has 7 to 10 stalls, and none with policers."""
    settings = {"profile": "linux", "tcp.conex": "per-signal"}
    settings |= {"duration": "16 s", "users.light.start": "0 s"}
    if policed:
        settings |= {f"users.{user}.ingress": [POLICER] for user in ("heavy", "light")}
    result = lab_that_counts(SCENARIOS / "video.toml", set=settings)
    stalls = [row for row in result.applications.to_pylist() if row["what"] == "stalls"]
    assert len(stalls) == 5
    total = sum(row["amount"] for row in stalls)
    assert total == 0 if policed else total >= 4
