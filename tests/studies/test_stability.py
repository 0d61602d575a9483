"""Which queues swing, as data of the engine: models beside runs, and what each claim is put to."""

import numpy as np
import pytest
from markdown_tables import table

from tidegate.analysis import (
    Bottleneck,
    DualQueues,
    Pi2,
    Reno,
    Scalable,
    critical_delay,
    fluid,
    stability,
    stable_delays,
)
from tidegate.studies.judge import judge_claim
from tidegate.studies.load import load_study
from tidegate.studies.metrics import Run
from tidegate.studies.points import Point, Points
from tidegate.studies.runner import native_engine
from tidegate.studies.sides.model import loops
from tidegate.studies.verdict import Verdict, most_of

from .synthetic import estimate

PAGES = ("", "-abc-and-aicp", "-filling-rates")


@pytest.fixture(scope="module")
def study():
    return load_study("stability")


def test_a_read_begins_with_the_end_of_the_warm_up(study):
    tables = {"link_series": {"time_s": [1.0, 2.0, 3.0], "backlog_packets": [1.0, 10.0, 100.0]}}
    assert study.measures.reads["queue_packets"].of(tables, [], {"begin_s": 2.0}) == 55.0


def test_published_numbers_are_points(study):
    series = study.experiments["shares"].series["paper"]
    assert not series.simulated
    assert len(series.settings) == 24
    assert series.settings[0].known == {"throughput_ratio_T_R": 9.8}


def test_a_statement_about_most_places_is_undecided_where_some_are():
    held, failed, still_open = Verdict.HELD, Verdict.FAILED, Verdict.UNDECIDED
    assert most_of([held, held, held, failed], 0.75) is held
    assert most_of([held, held, failed, failed], 0.75) is failed
    assert most_of([held, held, still_open, failed], 0.75) is still_open


@pytest.mark.parametrize(
    ("wrong", "verdict"), [(0, Verdict.HELD), (1, Verdict.HELD), (2, Verdict.FAILED)]
)
def test_nine_of_ten_queues_have_to_be_steady(study, wrong, verdict):
    points = [
        Point(
            {"queue": "red", "rate_mbps": 20, "flows": 10, "base_rtt_ms": rtt},
            {"unsteady": estimate(2.0 if rtt < wrong else 0.5), "gain_margin": estimate(3.0)},
        )
        for rtt in range(10)
    ]
    claim = study.experiments["promises"].claims[0]
    judged = judge_claim(claim, Points({("promises", "cases"): points}))
    assert judged.verdict is verdict
    assert judged.measured.startswith(f"{10 - wrong} of 10: ")


@pytest.mark.parametrize(
    ("promise", "spread", "utilization", "kept"),
    [
        ("unsteady", 0.49, 0.9981, True),
        ("unsteady", 0.51, 0.9981, False),
        ("unsteady", 0.49, 0.9979, False),
        ("swinging", 0.61, 0.9949, True),
        ("swinging", 0.59, 0.9949, False),
        ("swinging", 0.61, 0.9951, False),
    ],
)
def test_a_promise_is_kept_or_not(study, promise, spread, utilization, kept):
    readings = dict.fromkeys(study.measures.reads) | {
        "utilization": utilization, "queue_packets": 100.0, "queue_sd_packets": 100.0 * spread,
    }  # fmt: skip
    value = study.measures.of([Run(readings, 0)])[promise].mean
    assert (value < 1 if promise == "unsteady" else value > 1) == kept


@pytest.mark.parametrize("levels", [("red", 20, 10, 40), ("pie", 20, 40, 240)])
def test_simulated_anew_a_case_keeps_its_promise(study, levels):
    (setting,) = (
        one
        for one in study.experiments["promises"].series["cases"].settings
        if tuple(one.levels.values()) == levels
    )
    simulation = native_engine(setting.base, setting.overrides)
    run = study.measures.keep(simulation, simulation.run(simulation.seed))
    found = study.measures.of([run])
    margin = float(stability(queue(*levels)).gain_margin)
    assert margin >= 2 or margin <= 0.5
    assert found["unsteady"].mean < 1 if margin >= 2 else found["swinging"].mean > 1


def queue(name, rate_mbps, flows, base_rtt_ms):
    return loops.reno_link({
        "queue": name, "rate_mbps": rate_mbps, "flows": flows, "base_rtt_ms": base_rtt_ms,
    })  # fmt: skip


def test_what_the_page_says_of_models_is_so():
    pie = stability(queue("pie", 100, 50, 100))
    assert round(float(pie.gain_margin), 2) == 1.76
    assert round(float(pie.critical_frequency_hz), 2) == 0.73
    ranges = stable_delays(queue("pie", 100, 20, 1), smallest=1, largest=400)
    assert [(round(low), round(high)) for low, high in ranges] == [(1, 82), (92, 109)]
    alone = Bottleneck(
        capacity_pps=1e8 / 12_000, signal=Pi2(), sources=(Scalable(count=20, base_rtt_s=0.1),)
    )
    assert round(100 * float(critical_delay(alone).factor)) == 135
    mixed, together = (
        kind(
            capacity_pps=1e8 / 12_000,
            signal=Pi2(),
            sources=(Reno(count=25, base_rtt_s=0.16), Scalable(count=25, base_rtt_s=0.16)),
        )
        for kind in (DualQueues, Bottleneck)
    )
    ends_ms = [160 * float(critical_delay(link).factor) for link in (mixed, together)]
    assert [round(ms) for ms in ends_ms] == [101, 134]
    swing = fluid(mixed, duration_s=100).after(50).queue_packets
    assert round(float(np.std(swing) / np.mean(swing)), 1) == 1.2
    swing = fluid(queue("dualpi2", 100, 20, 160), duration_s=140).after(40).queue_packets
    assert round(float(np.std(swing) / np.mean(swing)), 1) == 0.4
    # Reno's gain is proportional to W/p: so much smaller is p in packets.
    assert round(float(stability(queue("pie", 20, 40, 110)).gain_margin) * 4.7 / 6.9, 1) == 1.8


def test_the_pages_have_claims_that_hold():
    rows = [row for page in PAGES for row in table(f"studies/stability/RESULTS{page}.md", "asked")]
    assert len(rows) == 12
    assert {row["verdict"] for row in rows} == {"holds"}


def test_what_was_simulated_of_table_2_is_what_the_paper_s_reproduction_has():
    reproduced = {
        (row["D_b_ms"], row["u_0"], row["gamma"]): float(row["ours"].split()[0])
        for row in table("studies/abc/RESULTS.md", "gamma", "ours")
        if row["metric"] == "throughput_ratio_T_R" and "u_0" in row
    }
    rows = table("studies/stability/RESULTS-abc-and-aicp.md", "γ", "paper", "simulated")
    assert len(rows) == 24
    for row in rows:
        ours = reproduced[row["delay [ms]"], row["heavy users"], row["γ"]]
        assert float(row["simulated"].split()[0]) == pytest.approx(ours, rel=0.06)
