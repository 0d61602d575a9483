"""The page on stability says what is kept, and what is kept is what comes out."""

from collections import Counter

import numpy as np
import pytest
from markdown_tables import table
from support import ROOT

from tidegate.analysis import (
    Bottleneck,
    Pi2,
    Scalable,
    critical_delay,
    fluid,
    stability,
    stable_delays,
)
from tidegate.runs.execution import Threads
from tidegate.studies import running
from tidegate.studies.running import Trial
from tidegate.studies.stability import abc_page, abc_tcp, aicp, cases, mixed, page, verdicts
from tidegate.studies.stability.cases import Case, model
from tidegate.studies.stability.verdicts import Promise, Verdict


@pytest.fixture(scope="module")
def found():
    return verdicts.read(ROOT / page.RESULTS)


def test_the_page_is_what_the_results_make_of_its_template(found):
    written = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert written == page.text(ROOT, found), "run `make stability ARGS=--page`"


def test_all_cases_were_simulated_as_often(found):
    assert [verdict.case for verdict in found] == list(cases.read(ROOT))
    rows = (ROOT / page.RESULTS).read_text(encoding="utf-8").splitlines()[1:]
    assert set(Counter(row.rsplit(",", 4)[0] for row in rows).values()) == {3}


def test_nine_of_ten_promises_are_kept(found):
    promised = [verdict for verdict in found if verdict.promise is not Promise.BETWEEN]
    assert len(promised) >= 20
    assert sum(verdict.right for verdict in promised) >= 0.9 * len(promised)


@pytest.mark.parametrize(
    ("margin", "spread", "utilization", "right"),
    [
        ("steady", 0.49, 0.9981, True),
        ("steady", 0.51, 0.9981, False),
        ("steady", 0.49, 0.9979, False),
        ("swings", 0.61, 0.9949, True),
        ("swings", 0.59, 0.9949, False),
        ("swings", 0.61, 0.9951, False),
        ("between", 3.0, 0.1, True),
    ],
)
def test_a_promise_is_kept_or_not(margin, spread, utilization, right):
    base_rtt_ms = {"steady": 20, "between": 110, "swings": 240}[margin]
    verdict = Verdict(Case("pie", 100, 50, base_rtt_ms), utilization, 100.0, spread)
    assert (verdict.promise, verdict.right) == (margin, right)


@pytest.mark.parametrize("case", [Case("red", 20, 10, 40), Case("pie", 20, 40, 240)])
def test_simulated_anew_a_case_has_the_same_verdict(case, found):
    [kept] = [verdict for verdict in found if verdict.case == case]
    trial = Trial(cases.read(ROOT)[case], [1], verdicts.of_run)
    [runs] = running.simulate([trial], Threads(), lambda _done, _all: None)
    anew = verdicts.verdict_of(case, runs)
    assert (anew.promise, anew.right) == (kept.promise, kept.right)


def test_what_the_page_says_of_models_is_so():
    pie = stability(model("pie", 100, 50, 100))
    assert (round(float(pie.gain_margin), 2), round(float(pie.critical_frequency_hz), 2)) == (
        1.76,
        0.73,
    )
    ranges = stable_delays(model("pie", 100, 20, 1), smallest=1, largest=400)
    assert [(round(low), round(high)) for low, high in ranges] == [(1, 82), (92, 109)]
    alone = Bottleneck(
        capacity_pps=1e8 / 12_000, signal=Pi2(), sources=(Scalable(count=20, base_rtt_s=0.1),)
    )
    assert round(100 * float(critical_delay(alone).factor)) == 135
    mix = mixed.Mix(160)
    tips_ms = [160 * float(critical_delay(link).factor) for link in (mix.link, mix.together)]
    assert [round(ms) for ms in tips_ms] == [101, 134]
    queue = fluid(mix.link, duration_s=100).after(50).queue_packets
    assert round(float(np.std(queue) / np.mean(queue)), 1) == 1.2
    swing = fluid(model("dualpi2", 100, 20, 160), duration_s=140).after(40).queue_packets
    assert round(float(np.std(swing) / np.mean(swing)), 1) == 0.4
    # Reno's gain goes with W/p: so much smaller is p in packets.
    assert round(float(stability(model("pie", 20, 40, 110)).gain_margin) * 4.7 / 6.9, 1) == 1.8


def test_the_page_on_abc_is_what_the_results_make_of_its_template():
    written = (ROOT / abc_page.PAGE).read_text(encoding="utf-8")
    assert written == abc_page.text(ROOT), "run `make stability ARGS=--page`"


def test_abc_over_tcp_has_eighteen_cells_of_table_2_or_more():
    cells = abc_tcp.published(ROOT, abc_tcp.TABLE2)
    assert len(cells) == 24
    assert sum(abc_tcp.near(cell.ratio, want) for cell, want in cells.items()) >= 18


def test_what_was_simulated_of_table_2_is_what_the_paper_s_reproduction_has():
    reproduced = {
        (int(row["D_b_ms"]), int(row["u_0"]), float(row["gamma"])): float(row["ours"].split()[0])
        for row in table("studies/abc/RESULTS.md", "gamma", "ours")
        if row["metric"] == "throughput_ratio_T_R" and "u_0" in row
    }
    for cell, found in abc_tcp.kept(ROOT).items():
        if cell.law == "paper":
            ours = reproduced[cell.delay_ms, cell.heavy, cell.gamma]
            assert found["ratio"] == pytest.approx(ours, rel=0.06)


def test_of_aicp_what_has_a_margin_is_calm_and_what_has_none_swings():
    for policer, found in aicp.kept(ROOT).items():
        spread = found["queue_sd_packets"] / found["queue_packets"]
        margin = policer.margin.gain_margin
        assert (spread < 0.25) == (margin > 1), (policer, spread, margin)
        if margin > 0.1:
            measured = (found["heavy_pps"], found["light_pps"])
            assert measured == pytest.approx(policer.link.equilibrium.throughput_pps, rel=0.15)


def test_mixed_flows_on_dualpi2_are_calm_where_the_model_has_a_margin_of_two():
    for mix, found in mixed.kept(ROOT).items():
        spread = found["queue_sd_packets"] / found["queue_packets"]
        if mix.gain_margin >= verdicts.STEADY_MARGIN:
            assert spread < verdicts.STEADY_SPREAD
            assert found["utilization"] > verdicts.STEADY_UTILIZATION
        if mix.gain_margin <= verdicts.SWINGING_MARGIN:
            assert spread > verdicts.STEADY_SPREAD
