"""Checks that compare levels with each other: what they accept, and what they have to refuse."""

import math

import pytest

from tidegate.studies.checks import check
from tidegate.studies.errors import ReproductionError
from tidegate.studies.judge import judge_claim
from tidegate.studies.model import Claim
from tidegate.studies.verdict import all_of

from .synthetic import book, curve_groups, named


def verdict(rules, data):
    return all_of(finding.verdict for finding in check(rules, data)).value


def judged(check_rules, rows, half_width=0.0, **part):
    claim = Claim("c", "e", "", "", "", check_rules, ({"metric": "m", **part},))
    return judge_claim(claim, book(rows, half_width=half_width))


def depths(*rows):
    """Rows over depth and rate, from (rate, {depth: mean})."""
    return [({"d": d, "r": r}, mean) for r, means in rows for d, mean in means.items()]


ORDER = {"kind": "order", "factor": "d", "less": [5, 12, 2.5]}


@pytest.mark.parametrize(
    ("low", "high", "half_width", "want"),
    [
        ({5: 1.0, 12: 2.0, 2.5: 3.0}, {5: 4.0, 12: 5.0, 2.5: 6.0}, 0.0, "holds"),
        ({5: 1.0, 12: 2.0, 2.5: 3.0}, {5: 5.1, 12: 5.0, 2.5: 6.0}, 0.0, "fails"),
        ({5: 1.0, 12: 2.0, 2.5: 3.0}, {5: 5.1, 12: 5.0, 2.5: 6.0}, 0.1, "undecided"),
    ],
)
def test_an_order_over_a_factor_is_asked_at_equal_levels_of_all_others(low, high, half_width, want):
    found = judged(ORDER, depths((1, low), (3, high)), half_width)
    assert found.verdict.value == want
    assert {label for label, _ in found.findings} == {"r=1", "r=3"}


def test_levels_of_a_factor_that_were_not_measured_are_an_error():
    with pytest.raises(ReproductionError, match=r"no m where \{'d': 12\}"):
        judged(ORDER, depths((1, {5: 1.0, 2.5: 3.0})))


def test_same_over_a_factor_compares_each_with_the_first():
    rules = {"kind": "same", "factor": "d", "items": [5, 90], "rel_tol": 0.1}
    close = depths((1, {5: 1.0, 90: 1.09}), (3, {5: 10.0, 90: 9.1}))
    assert judged(rules, close).held
    apart = depths((1, {5: 1.0, 90: 1.09}), (3, {5: 10.0, 90: 8.9}))
    assert judged(rules, apart).verdict.value == "fails"


def test_without_items_same_is_that_all_are_near_their_mean():
    rules = {"kind": "same", "over": "x", "rel_tol": 0.1}
    assert verdict(rules, named({"": [0.95, 1.0, 1.05]})) == "holds"
    assert verdict(rules, named({"": [0.8, 1.0, 1.2]})) == "fails"


def test_same_steps_on_a_grid():
    rows = [
        ({"p": p, "r": r}, (r - best) ** 2) for p, best in (("a", 3), ("b", 4)) for r in range(9)
    ]
    rules = {"kind": "same", "items": ["a", "b"], "tol_grid_steps": 1}
    levels = {"a": {"p": "a"}, "b": {"p": "b"}}
    part = {"levels": levels, "derive": {"least_step": "r"}}
    assert judged(rules, rows, **part).held
    assert not judged({**rules, "tol_grid_steps": 0}, rows, **part).held


def test_a_ratio_of_two_levels():
    rules = {"kind": "ratio", "numerator": "a", "denominator": "b", "expect": 1.5, "rel_tol": 0.1}
    assert verdict(rules, named({"a": 3.2, "b": 2.0})) == "holds"
    assert verdict(rules, named({"a": 2.6, "b": 2.0})) == "fails"
    assert verdict(rules, named({"a": math.nan, "b": 2.0})) == "fails"


SPREAD = {"kind": "spread_order", "over": "x", "less": ["flat", ["steep", "wild"]]}


@pytest.mark.parametrize(
    ("flat", "half_width", "want"),
    [
        ({1: 100.0, 2: 101.0}, 0.0, "holds"),  # a larger range, but not relative to its mean
        ({1: 1.0, 2: 4.0}, 0.0, "fails"),
        ({1: 1.0, 2: 2.1}, 0.2, "undecided"),
    ],
)
def test_spreads_are_relative(flat, half_width, want):
    curves = {"flat": flat, "steep": {1: 1.0, 2: 2.0}, "wild": {1: 1.0, 2: 3.0}}
    assert verdict(SPREAD, curve_groups(curves, half_width)) == want


def test_a_spread_is_the_mean_over_what_else_varies_and_each_name_may_have_its_factor():
    rows = depths((1, {5: 1.0, 90: 1.1}), (3, {5: 4.0, 90: 4.4}))
    both = {"over d": {}, "over r": {}}
    rules = {"kind": "spread_order", "over": {"over d": "d", "over r": "r"}}
    assert judged({**rules, "less": ["over d", "over r"]}, rows, levels=both).held
    assert not judged({**rules, "less": ["over r", "over d"]}, rows, levels=both).held


def test_a_spread_of_one_value_is_an_error():
    curves = {"flat": {1: 1.0}, "steep": {1: 1.0, 2: 2.0}, "wild": {1: 1.0, 2: 3.0}}
    with pytest.raises(ReproductionError, match="single value"):
        check(SPREAD, curve_groups(curves))


GAP = {"kind": "gap", "a": "cubic", "b": "compound", "over": "x", "max_variation": 0.25}


def test_a_gap_is_constant_where_its_deviation_is_small_against_its_mean():
    compound = {1: 1.0, 2: 4.0, 3: 9.0}
    constant = {1: 6.0, 2: 9.5, 3: 13.5}
    growing = {1: 2.0, 2: 6.0, 3: 14.0}
    assert verdict(GAP, curve_groups({"cubic": constant, "compound": compound})) == "holds"
    assert verdict(GAP, curve_groups({"cubic": growing, "compound": compound})) == "fails"
    # Against a mean of nothing no deviation is small.
    crossing = {1: 2.0, 2: 4.0, 3: 8.0}
    assert verdict(GAP, curve_groups({"cubic": crossing, "compound": compound})) == "fails"


def test_what_has_its_limit_inside_the_interval_is_undecided():
    alike = {"kind": "same", "items": ["a", "b"], "rel_tol": 0.1}
    for b, want in ((1.02, "holds"), (1.07, "undecided"), (1.13, "undecided"), (1.2, "fails")):
        assert verdict(alike, named({"a": 1.0, "b": b}, 0.05)) == want, b
    quotient = {
        "kind": "ratio", "numerator": "a", "denominator": "b", "expect": 1.5, "rel_tol": 0.1
    }  # fmt: skip
    for a, want in ((3.0, "holds"), (3.2, "undecided"), (3.4, "undecided"), (3.7, "fails")):
        assert verdict(quotient, named({"a": a, "b": 2.0}, 0.1)) == want, a
    curves = {"cubic": {1: 6.0, 2: 9.5, 3: 13.5}, "compound": {1: 1.0, 2: 4.0, 3: 9.0}}
    assert verdict(GAP, curve_groups(curves, 0.1)) == "holds"
    assert verdict(GAP, curve_groups(curves, 2.0)) == "undecided"


def test_where_the_least_value_lies_is_as_sure_as_the_values():
    rules = {"kind": "same", "items": ["a", "b"], "tol_grid_steps": 1}
    curves = {"a": {1: 3.0, 2: 1.0, 3: 2.0}, "b": {1: 3.0, 2: 2.0, 3: 1.0}}
    rows = [({"p": p, "r": r}, mean) for p, curve in curves.items() for r, mean in curve.items()]
    part = {"levels": {"a": {"p": "a"}, "b": {"p": "b"}}, "derive": {"least_step": "r"}}
    assert judged(rules, rows, 0.1, **part).verdict.value == "holds"
    assert judged(rules, rows, 1.0, **part).verdict.value == "undecided"


def test_a_claim_is_repeated_only_where_more_runs_may_decide_it():
    rules = {"kind": "order", "factor": "d", "less": [5, 12]}

    def repeated(*pairs):
        found = judged(rules, depths(*((r, {5: 1.0, 12: 1.0 + gap}) for r, gap in pairs)), 0.1)
        assert found.verdict.value == "undecided"
        return {point.levels["r"] for point in found.undecided_points}

    assert repeated((1, 0.2), (3, 0.1)) == {3}  # 0.1 of 0.14; 0.08 with three times the runs
    assert repeated((1, 0.2), (3, 0.01)) == set()
    assert repeated((1, 0.1), (3, 0.01)) == set()  # the other would stay open
    assert repeated((1, -0.1), (3, 0.01)) == {1}  # but may fail


def test_a_gap_needs_a_limit_and_both_curves_at_the_same_levels():
    curves = {"cubic": {1: 2.0, 2: 3.0}, "compound": {1: 1.0, 3: 2.0}}
    with pytest.raises(ReproductionError, match=r"between \[1, 2\] and \[1, 3\]"):
        check(GAP, curve_groups(curves))
    with pytest.raises(ReproductionError, match=r"no level \['compound'\]"):
        check(GAP, curve_groups({"cubic": curves["cubic"]}))
    rules = {key: value for key, value in GAP.items() if key != "max_variation"}
    with pytest.raises(ReproductionError, match="needs max_variation"):
        check(rules, curve_groups(curves))
