"""Each kind of check: what it accepts, and what it has to refuse."""

import math

import pytest

from tidegate.studies.judging import all_of
from tidegate.studies.papers.checks import check
from tidegate.studies.papers.errors import ReproductionError

from .synthetic import group, named


def held(rules, data):
    return all(finding.held for finding in check(rules, data))


def verdict(rules, data):
    return all_of(finding.verdict for finding in check(rules, data)).value


def test_value():
    rules = {"kind": "value", "expect": 10, "rel_tol": 0.1}
    assert held(rules, group({1: 10.9, 2: 9.1}))
    assert not held(rules, group({1: 10.9, 2: 11.1}))
    assert held({"kind": "value", "expect": 0, "abs_tol": 0.02}, group({1: 0.01}))
    assert not held(rules, group({1: math.nan}))


def test_a_value_without_tolerance_has_to_be_met_exactly():
    assert not held({"kind": "value", "expect": 10}, group({1: 10.0001}))


def test_range_with_limits_made_of_levels():
    rules = {"kind": "range", "min": "x", "max": "2*x"}
    assert held(rules, group({3: 4.0, 5: 9.9}))
    assert not held(rules, group({3: 6.1}))
    assert not held(rules, group({3: 2.9}))
    assert held({**rules, "slack": 0.05}, group({3: 6.1}))


def test_chance_decides_of_a_range_only_where_it_is_for_a_difference_of_ours():
    rules = {"kind": "range", "min": 0.0, "max": 0.006}
    ours = {**rules, "of_ours": True}
    assert verdict(rules, group({1: -0.003}, half_width=0.034)) == "fails"
    assert verdict(ours, group({1: -0.003, 2: 0.004}, half_width=0.034)) == "undecided"
    assert verdict(ours, group({1: 0.003}, half_width=0.034)) == "holds"
    assert verdict(ours, group({1: -0.003, 2: 0.05}, half_width=0.034)) == "fails"
    assert verdict(ours, group({1: math.nan})) == "fails"


@pytest.mark.parametrize(
    ("op", "good", "bad"), [("<", 0.99, 1.0), ("<=", 1.0, 1.01), (">", 1.01, 1.0), (">=", 1.0, 0.9)]
)
def test_threshold(op, good, bad):
    assert held({"kind": "threshold", "op": op, "value": 1}, group({1: good}))
    assert not held({"kind": "threshold", "op": op, "value": 1}, group({1: bad}))


def test_threshold_with_slack_and_with_a_level_as_limit():
    assert held({"kind": "threshold", "op": ">=", "value": 4.06, "abs_tol": 0.03}, group({1: 4.04}))
    assert not held({"kind": "threshold", "op": "<", "value": "x"}, group({11: 12.0}))


def test_threshold_with_published_values_wants_both():
    rules = {
        "kind": "threshold", "op": "<", "value": 1, "key": "x", "rel_tol": 0.1,
        "values": {"5": 0.89, "50": 0.86},
    }  # fmt: skip
    assert held(rules, group({5: 0.9, 50: 0.9}))
    assert not held(rules, group({5: 0.9, 50: 0.6}))


def test_order():
    rules = {"kind": "order", "less": ["a", "b", "c"]}
    assert held(rules, named({"a": 1, "b": 2, "c": 3}))
    assert not held(rules, named({"a": 1, "b": 3, "c": 2}))
    assert not held(rules, named({"a": 1, "b": 1, "c": 2}))
    assert held({**rules, "ties_ok": True}, named({"a": 1, "b": 1, "c": 2}))


@pytest.mark.parametrize(
    ("a", "half_width", "ties_ok", "want"),
    [
        (0.9, 0.0, False, "holds"),
        (0.99, 0.08, False, "holds"),  # in order is enough
        (1.1, 0.08, False, "undecided"),  # reversed by 0.1, where 0.113 may be chance
        (1.12, 0.08, False, "fails"),
        (1.1, 0.0, False, "fails"),  # nothing is left to chance
        (1.0, 0.08, False, "undecided"),  # a tie that the text does not allow
        (1.0, 0.0, False, "fails"),
        (1.0, 0.08, True, "holds"),  # "not worse"
        (1.0, 0.0, True, "holds"),
        (1.1, 0.08, True, "undecided"),  # not a tie, though it may be one
        (1.12, 0.08, True, "fails"),
        (math.nan, 0.08, True, "fails"),
    ],
)
def test_an_order_holds_by_its_means_and_fails_beyond_the_joint_interval(
    a, half_width, ties_ok, want
):
    rules = {"kind": "order", "less": ["a", "b"], "ties_ok": ties_ok}
    assert verdict(rules, named({"a": a, "b": 1.0}, half_width)) == want


def test_a_claim_fails_where_one_of_its_pairs_does_and_else_is_undecided_where_one_is():
    rules = {"kind": "order", "less": ["a", ["b", "c"]]}
    assert verdict(rules, named({"a": 1.0, "b": 1.2, "c": 0.95}, 0.1)) == "undecided"
    assert verdict(rules, named({"a": 1.0, "b": 0.5, "c": 0.95}, 0.1)) == "fails"


def test_one_run_decides_nothing():
    rules = {"kind": "order", "less": ["a", "b"]}
    assert verdict(rules, named({"a": 9.0, "b": 1.0}, math.inf)) == "undecided"


def test_order_of_groups_compares_every_pair():
    rules = {"kind": "order", "less": [["a", "b"], ["c"]]}
    assert held(rules, named({"a": 1, "b": 2, "c": [3, 4]}))
    assert not held(rules, named({"a": 1, "b": 5, "c": [6, 4]}))


def test_a_stated_effect_has_to_be_seen_beyond_the_interval():
    rules = {"kind": "order", "less": ["a", "b"], "min_rel_gap": 0.1}
    assert held(rules, named({"a": 1.0, "b": 1.2}, half_width=0.05))
    assert not held(rules, named({"a": 1.0, "b": 1.05}, half_width=0.01))
    assert not held(rules, named({"a": 1.0, "b": 1.2}, half_width=0.5))


def test_formula_with_variables_in_other_units():
    rules = {"kind": "formula", "expr": "B/8", "variables": {"B": "x*1000"}, "rel_tol": 0.01}
    assert held(rules, group({8: 1000.0}))
    assert not held(rules, group({8: 1100.0}))


POINTS = [{"x": 0, "value": 5.0}, {"x": 9, "value": 1.5}]


def test_a_formula_is_held_against_the_points_that_the_claim_prints():
    rules = {"kind": "formula", "expr": "3.5*exp(-x)+1.5", "abs_tol": 0.001, "points": POINTS}
    assert held(rules, group({0: 5.0, 9: 1.5004}))
    # Ours agrees with the expression that is given, but not with what was printed.
    wrong = {**rules, "expr": "3.5*exp(-x)+1.4"}
    assert not held(wrong, group({0: 4.9, 9: 1.4004}))
    # Where ours has no value, the expression has to agree.
    assert held(rules, group({0: 5.0}))
    assert not held({**rules, "expr": "3.5*exp(-x/9)+1.5"}, group({0: 5.0}))
    with pytest.raises(ReproductionError, match="without a value"):
        check({**rules, "points": [{"x": 0}]}, group({0: 5.0}))


@pytest.mark.parametrize(("value", "stays_away"), [(32.0, True), (33.0, False)])
def test_a_threshold_with_a_margin_is_more_than_the_right_side(value, stays_away):
    rules = {"kind": "threshold", "op": "<", "value": 36, "min_rel_margin": 0.1}
    assert held(rules, group({1: value})) is stays_away
    assert held({**rules, "op": ">"}, group({1: value})) is False


def test_a_check_that_does_not_exist_or_looks_at_nothing_is_an_error():
    with pytest.raises(ReproductionError, match="no check 'vaguely'"):
        check({"kind": "vaguely"}, group({1: 1.0}))
    with pytest.raises(ReproductionError, match="looked at nothing"):
        check({"kind": "value", "expect": 1}, group({}))
