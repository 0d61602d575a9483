"""Which queues swing, as data of the engine: models beside runs, and what each claim is put to."""

import pytest

from tidegate.studies.judge import judge_claim
from tidegate.studies.load import load_study
from tidegate.studies.points import Point, Points
from tidegate.studies.sides.model import compute
from tidegate.studies.verdict import Verdict, most_of

from .synthetic import estimate


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


def test_models_say_what_the_page_says():
    pie = compute(
        "reno-on-queue",
        {"queue": "pie", "rate_mbps": 100, "flows": 50, "base_rtt_ms": 100},
        lambda _: None,
    )
    assert round(float(pie["gain_margin"]), 2) == 1.76
    delays = compute("reno-delays", {"queue": "pie", "rate_mbps": 100, "flows": 20}, lambda _: None)
    ends = ("stable_to_1_ms", "stable_from_2_ms", "stable_to_2_ms")
    assert [round(delays[name]) for name in ends] == [82, 92, 109]
