"""Who is policed at which filling rate: numbers recomputed independently, and the scenarios."""

import math

import pytest
from support import ROOT

import tidegate
from tidegate.analysis import (
    Customer,
    PiecewiseLinear,
    Red,
    Reno,
    compatible_rate_bps,
    policed_shares,
)
from tidegate.errors import AnalysisError, NoEquilibriumError

CPQ = ROOT / "scenarios/cpq-aggressiveness.toml"
CONEX = ROOT / "scenarios/conex-paper.toml"


def groups(path, view="equilibrium", **set_):
    found = tidegate.analyse(path, view, set={k.replace("__", "."): v for k, v in set_.items()})
    return {row["group"]: row for row in found[view].tables["groups"]}


def test_two_who_are_policed_get_half_each_whatever_their_flows():
    """300 B/s each of 10 Mb/s: p = 4.8e-4; the paper's table II has Jain's index 0.999."""
    heavy, light = groups(CPQ).values()
    assert heavy["policed"]
    assert light["policed"]
    assert heavy["rate_bps"] == pytest.approx(5e6)
    assert light["rate_bps"] == pytest.approx(5e6)
    assert heavy["p"] == pytest.approx(4.8e-4)


def test_with_ten_times_the_filling_rate_only_five_flows_are_policed():
    rates = {"bottleneck__differentiation__fill_rate": "3000 B/s"}
    heavy, light = groups(CPQ, **rates).values()
    assert heavy["policed"]
    assert not light["policed"]
    assert heavy["rate_bps"] > light["rate_bps"]


def test_who_may_cause_much_is_not_policed_at_all():
    flows = [Reno(count=n, base_rtt_s=0.1) for n in (5, 1)]
    customers = tuple(Customer(count=1, source=source, fill_pps=1e3) for source in flows)
    found = policed_shares(customers, capacity_pps=1000, signal=Red())
    assert found.policed == (False, False)
    assert found.rate_pps == pytest.approx((5000 / 6, 1000 / 6))


def test_a_function_that_ends_below_1_is_told():
    customers = (Customer(count=1, source=Reno(count=9, base_rtt_s=1e-3), fill_pps=1e3),)
    short = PiecewiseLinear(points=((10, 0.0), (20, 0.001)))
    with pytest.raises(NoEquilibriumError, match="ends below 1"):
        policed_shares(customers, capacity_pps=100, signal=short)


FIGURE_8 = """\
version = 1
profile = "classic"
[bottleneck]
rate = "100 Mb/s"
delay = "5 ms"
buffer = "833 packets"
ecn = true
aqm = { kind = "red", min_threshold = "83 packets", max_threshold = "833 packets", max_probability = 1.0, spacing = "geometric" }
[access]
rate = "1 Gb/s"
delay = "45 ms"
[tcp]
ecn = true
congestion_control = "reno"
feedback = "accurate"
conex = "per-signal"
[users.heavy]
count = 10
flows = 36
[users.light]
count = 90
"""  # noqa: E501


def figure_8(fill_rate):
    policer = {
        "kind": "conex-policer",
        "fill_rate": f"{fill_rate} packets/s",
        "depth": "45 packets",
        "tokens": "packets",
    }
    set_ = {"users.heavy.ingress": [policer], "users.light.ingress": [policer]}
    return tidegate.analyse(FIGURE_8, "equilibrium", set=set_)["equilibrium"].tables["groups"]


def test_at_conex_figure_8_nobody_is_policed_above_166_packets_a_second():
    """By Reno's law for 450 flows: p = 0.249, a light user declares 4.6 packets/s."""
    heavy, light = figure_8(180)
    assert heavy["p"] == pytest.approx(0.249, abs=2e-3)
    assert heavy["declares_pps"] == pytest.approx(166, abs=1.5)
    assert light["declares_pps"] == pytest.approx(4.6, abs=0.05)


def test_where_drops_are_declared_too_there_is_a_sentence_instead_of_a_number():
    with pytest.raises(
        AnalysisError, match=r"users\.heavy\.ingress.fill_rate: .* declares 16.* than the 45"
    ):
        figure_8(45)
    with pytest.raises(AnalysisError, match="nothing settles"):
        tidegate.analyse(CONEX, "stability", set={"bottleneck.rate": "5 Mb/s"})


def test_users_at_constant_rates_share_as_abc_says_and_leave_the_queue_of_11():
    """Menth and Zeitler 2015, section 4.2; the queue is where pf-11-17-24-0.01 says p."""
    found = tidegate.analyse(ROOT / "scenarios/two-cbr-users.toml", "equilibrium")["equilibrium"]
    gold, silver = found.tables["groups"]
    [link] = found.tables["links"]
    assert gold["rate_bps"] + silver["rate_bps"] == pytest.approx(10e6)
    assert gold["activity"] == pytest.approx(math.log2(5))
    p, queue = link["p"], link["queue_packets"]
    assert p == pytest.approx(0.01 + (queue - 17) / 7 * 0.99)


def test_without_abc_constant_rates_lose_alike():
    plain = {"bottleneck__differentiation": {"kind": "none"}}
    gold, silver = groups(ROOT / "scenarios/two-cbr-users.toml", **plain).values()
    assert gold["p"] == pytest.approx(silver["p"])
    assert gold["p"] == pytest.approx(1 - 10 / 17.5)


def test_a_compatible_rate_is_s_over_t_root_p_times_a_constant():
    rate_bps = compatible_rate_bps(0.01, rtt_s=0.1, segment_bytes=1500)
    assert rate_bps == pytest.approx(math.sqrt(1.5) * 1500 * 8 / 0.1 / 0.1)


def test_by_aicp_both_are_held_as_well_each_at_a_loss_of_his_own():
    """Y = r/p, whatever the flows; the bucket of who would take more is emptier."""
    aicp = {"bottleneck__differentiation": {"kind": "aicp-b"}}
    heavy, light = groups(CPQ, **aicp).values()
    assert heavy["rate_bps"] == pytest.approx(5e6, rel=1e-4)
    assert light["rate_bps"] == pytest.approx(5e6, rel=1e-4)
    assert heavy["p"] > light["p"]
    assert heavy["fill"] < light["fill"] < 1
    with pytest.raises(AnalysisError, match=r"differentiation\.charge: .*aqm"):
        groups(CPQ, bottleneck__differentiation={"kind": "aicp-a"})
