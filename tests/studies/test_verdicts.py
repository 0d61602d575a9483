"""Cells within their tolerance, and explanations that have to be shown."""

from dataclasses import replace

import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.explanations import StudyExplanation, read_explanations, weigh
from tidegate.studies.judge import CellVerdict, judge_cell, judge_claim
from tidegate.studies.model import TEN_PER_CENT, Cell, Claim, Experiment
from tidegate.studies.outcome import Outcome
from tidegate.studies.verdict import Tolerance

from .synthetic import book, estimate

TOLERANCES = {"throughput_ratio_T_R": Tolerance(0.1, 0.1)}


def cell(value, metric="throughput_ratio_T_R"):
    return Cell("e", {"u": 1}, metric, value, "1", TOLERANCES.get(metric, TEN_PER_CENT))


def claim(**check):
    return Claim("c", "e", "text", "", "1", check, ({"metric": "m", "where": {"u": 1}},))


@pytest.mark.parametrize(
    ("paper", "ours", "metric", "within"),
    [
        (10.0, 11.0, "throughput_ratio_T_R", True),
        (10.0, 11.1, "throughput_ratio_T_R", False),
        (0.8, 0.89, "throughput_ratio_T_R", True),  # 11 %, but only 0.09 apart
        (0.8, 0.91, "throughput_ratio_T_R", False),
        (0.8, 0.89, "upload_time", False),
        (0.8, float("nan"), "throughput_ratio_T_R", False),
    ],
)
def test_a_cell_is_within_10_percent_or_a_tenth_of_a_ratio(paper, ours, metric, within):
    assert CellVerdict(cell(paper, metric), Estimate(ours), None).within is within


def test_a_cell_that_no_point_speaks_of_is_an_error():
    measured = book([({"u": 1}, 2.0)], "throughput_ratio_T_R")
    assert judge_cell(cell(2.1), measured).within
    other = Cell("e", {"u": 3}, "throughput_ratio_T_R", 2.0, "1")
    with pytest.raises(ReproductionError, match="0 points, not one"):
        judge_cell(other, measured)


def test_a_claim_about_a_side_that_a_curve_has_not_fails():
    rises = book([({"r": r}, float(r)) for r in (1, 2, 3)])
    derive = {"beside_least": {"over": "r", "keep": "below", "metric": "m"}}
    part = {"metric": "m", "derive": derive}
    rules = {"kind": "threshold", "op": ">", "value": 0}
    verdict = judge_claim(Claim("c", "e", "t", "", "1", rules, (part,)), rises)
    assert verdict.verdict.value == "fails"
    assert "nothing to compare" in verdict.measured
    # A name that selects nothing is an error all the same.
    with pytest.raises(ReproductionError, match="no m where"):
        judge_claim(Claim("c", "e", "t", "", "1", rules, ({**part, "where": {"r": 9}},)), rises)


EXPLANATION = """
[[explanation]]
id = "why"
text = "because"
claims = ["c"]
cells = [{{ experiment = "e", u = [1, 2] }}]
derived_in = "tests/x.py::test_x"
[[explanation.shown_by]]
series = "e:s"
metric = "m"
levels = {{ without = {{ u = 1 }}, with = {{ u = 9 }} }}
check = {{ kind = "order", less = ["without", "with"], min_rel_gap = {gap} }}
"""


def outcome(tmp_path, gap):
    file = tmp_path / "explanations.toml"
    file.write_text(EXPLANATION.format(gap=gap))
    measured = book([({"u": 1}, 1.0), ({"u": 9}, 1.3)])
    failing = judge_claim(claim(kind="value", expect=5), measured)
    out = CellVerdict(cell(9.0), Estimate(1.0), None)
    good = CellVerdict(cell(1.0), Estimate(1.0), None)
    experiment = Experiment("e", "", "", {}, (), (), None, "", {})
    return Outcome(
        experiment,
        (out, good),
        (failing,),
        weigh(read_explanations(file, StudyExplanation), measured),
    )


def test_what_is_only_explained_is_neither_within_nor_held(tmp_path):
    summary = outcome(tmp_path, gap=0.2).summary("p")
    assert summary == {
        "experiment": "p/e",
        "cells": 2,
        "cells_within": 1,
        "claims": 1,
        "claims_held": 0,
        "claims_undecided": 0,
        "undecided": [],
        "explained": ["e: u=1 throughput_ratio_T_R", "c"],
        "by_another_reading": [],
        "unexplained": [],
        "cannot_fail": [],
        "without_mechanism": 0,
        "without_mechanism_held": 0,
        "ok": True,
    }


def test_an_undecided_claim_is_neither_held_nor_explained_nor_a_miss(tmp_path):
    file = tmp_path / "explanations.toml"
    file.write_text(EXPLANATION.format(gap=0.2))
    measured = book([({"u": 1}, 1.0), ({"u": 9}, 1.3)], half_width=0.01)
    reversed_within = {"kind": "order", "less": ["nine", "one"]}
    levels = {"one": {"u": 1}, "nine": {"u": 9}}
    part = {"metric": "m", "levels": levels}
    wide = book([({"u": 1}, 1.0), ({"u": 9}, 1.3)], half_width=0.3)
    undecided = judge_claim(Claim("c", "e", "t", "", "1", reversed_within, (part,)), wide)
    supports = weigh(read_explanations(file, StudyExplanation), measured)
    experiment = Experiment("e", "", "", {}, (), (), None, "", {})
    summary = Outcome(experiment, (), (undecided,), supports).summary("p")
    assert summary["ok"]
    assert summary["claims_held"] == 0
    assert (summary["claims_undecided"], summary["undecided"]) == (1, ["c"])
    assert summary["explained"] == summary["unexplained"] == []
    assert {point.levels["u"] for point in undecided.undecided_points} == {1, 9}


def test_an_explanation_that_is_not_shown_any_more_explains_nothing(tmp_path):
    stale = outcome(tmp_path, gap=0.5)
    summary = stale.summary("p")
    assert not summary["ok"]
    assert summary["unexplained"] == ["e: u=1 throughput_ratio_T_R", "c"]
    assert stale.supports[0].stale
    assert stale.listed_for(stale.claims[0])


def test_an_explanation_without_a_measurement_is_refused(tmp_path):
    file = tmp_path / "explanations.toml"
    file.write_text('[[explanation]]\nid = "a"\ntext = "b"\nclaims = ["c"]\n')
    with pytest.raises(ReproductionError, match="names no measurement"):
        read_explanations(file, StudyExplanation)


def test_an_explanation_of_a_cell_that_does_not_test_its_value_is_refused(tmp_path):
    file = tmp_path / "explanations.toml"
    file.write_text(EXPLANATION.format(gap=0.1).replace("derived_in", "# derived_in"))
    with pytest.raises(ReproductionError, match="tests no cell's value"):
        read_explanations(file, StudyExplanation)


def test_another_assumption_explains_only_the_cells_that_it_brings_within(tmp_path):
    file = tmp_path / "explanations.toml"
    file.write_text(
        '[[explanation]]\nid = "why"\ntext = "because"\nassuming = ["sensitivity:other"]\n'
        'cells = [{ experiment = "e" }]\n'
    )
    measured = book([({"u": 1}, 1.0), ({"u": 2}, 1.0)], "throughput_ratio_T_R")
    other = book([({"u": 1}, 2.1), ({"u": 2}, 2.1)], "throughput_ratio_T_R")
    measured.points["sensitivity", "other"] = next(iter(other.points.values()))
    cells = (cell(2.0), Cell("e", {"u": 2}, "throughput_ratio_T_R", 3.0, "1"))
    supports = weigh(read_explanations(file, StudyExplanation), measured)
    verdicts = tuple(judge_cell(one, measured) for one in cells)
    experiment = Experiment("e", "", "", {}, cells, (), None, "", {})
    summary = Outcome(experiment, verdicts, (), supports).summary("p")
    assert summary["cells_within"] == 0
    assert summary["by_another_reading"] == [cells[0].id]
    assert summary["explained"] == []
    assert summary["unexplained"] == [cells[1].id]


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ('derived_in = "tests/x.py::test_x"', "explained"),
        ('parameter = "the size of packets"', "explained"),
        ("", "by_another_reading"),
    ],
)
def test_a_derivation_or_one_open_parameter_explains_and_all_else_is_another_reading(
    tmp_path, more, where
):
    file = tmp_path / "explanations.toml"
    shown = EXPLANATION.format(gap=0.1).replace('cells = [{ experiment = "e", u = [1, 2] }]\n', "")
    file.write_text(shown.replace('derived_in = "tests/x.py::test_x"', more))
    measured = book([({"u": 1}, 1.0), ({"u": 9}, 1.3)])
    supports = weigh(read_explanations(file, StudyExplanation), measured)
    failing = judge_claim(claim(kind="value", expect=5), measured)
    experiment = Experiment("e", "", "", {}, (), (), None, "", {})
    summary = Outcome(experiment, (), (failing,), supports).summary("p")
    assert summary[where] == ["c"]
    assert summary["ok"]


def test_what_cannot_fail_is_counted_apart():
    measured = book([({"u": 1}, 5.0)])
    fitted = replace(claim(kind="value", expect=5), cannot_fail="fitted to it")
    typed_in = replace(cell(5.0, "m"), cannot_fail="put in and comes back")
    experiment = Experiment("e", "", "", {}, (), (), None, "", {})
    one = Outcome(
        experiment, (judge_cell(typed_in, measured),), (judge_claim(fitted, measured),), ()
    )
    summary = one.summary("p")
    assert (summary["cells"], summary["claims"], summary["claims_held"]) == (0, 0, 0)
    assert summary["cannot_fail"] == ["e: u=1 m", "c"]


def test_an_assumption_on_what_was_counted_reads_another_metric(tmp_path):
    file = tmp_path / "explanations.toml"
    file.write_text(
        '[[explanation]]\nid = "why"\ntext = "because"\nassuming = ["e:s"]\n'
        'cells = [{ experiment = "e" }]\n'
        'read_as = { throughput_ratio_T_R = "unmarked_throughput_ratio" }\n'
    )
    measured = book([({"u": 1}, 5.0)], "throughput_ratio_T_R")
    (point,) = measured.points["e", "s"]
    point.metrics["unmarked_throughput_ratio"] = estimate(2.1)
    (support,) = weigh(read_explanations(file, StudyExplanation), measured)
    assert support.explains_cell(cell(2.0))
    assert not support.explains_cell(cell(5.0))
