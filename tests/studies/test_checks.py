"""Each kind of check: what it accepts, and what it has to refuse."""

import math

import pytest

from tidegate.studies.checks import check
from tidegate.studies.errors import ReproductionError
from tidegate.studies.verdict import all_of

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


@pytest.mark.parametrize(
    ("rules", "holds", "open_", "fails"),
    [
        ({"kind": "value", "expect": 10, "rel_tol": 0.1}, 10.4, 10.6, 11.6),
        ({"kind": "range", "min": 9, "max": 11}, 10.4, 11.4, 8.4),
        ({"kind": "threshold", "op": "<", "value": 11}, 10.4, 11.4, 11.6),
        ({"kind": "threshold", "op": ">=", "value": 9}, 9.6, 9.4, 8.4),
        ({"kind": "threshold", "op": ">", "value": 9, "min_rel_margin": 0.1}, 10.5, 10.3, 9.3),
        ({"kind": "formula", "expr": "10*x", "abs_tol": 1}, 10.4, 10.6, 8.4),
    ],
)
def test_a_limit_inside_the_interval_decides_nothing_on_either_side(rules, holds, open_, fails):
    for value, want in ((holds, "holds"), (open_, "undecided"), (fails, "fails")):
        assert verdict(rules, group({1: value}, half_width=0.5)) == want, value


def test_what_was_computed_exactly_is_decided_at_the_limit_itself():
    assert verdict({"kind": "threshold", "op": ">=", "value": 9}, group({1: 9.0})) == "holds"
    assert verdict({"kind": "threshold", "op": ">", "value": 9}, group({1: 9.0})) == "fails"


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
        (0.88, 0.08, False, "holds"),  # 0.12 apart, where 0.113 may be chance
        (0.9, 0.08, False, "undecided"),
        (1.1, 0.08, False, "undecided"),
        (1.12, 0.08, False, "fails"),
        (1.1, 0.0, False, "fails"),  # nothing is left to chance
        (1.0, 0.08, False, "undecided"),
        (1.0, 0.0, False, "fails"),  # a tie that the text does not allow
        (0.88, 0.08, True, "holds"),
        (1.0, 0.08, True, "undecided"),  # "not worse" is not seen either
        (1.0, 0.0, True, "holds"),
        (1.1, 0.08, True, "undecided"),
        (1.12, 0.08, True, "fails"),
        (math.nan, 0.08, True, "fails"),
    ],
)
def test_an_order_holds_or_fails_beyond_the_joint_interval_and_a_tie_is_undecided(
    a, half_width, ties_ok, want
):
    rules = {"kind": "order", "less": ["a", "b"], "ties_ok": ties_ok}
    assert verdict(rules, named({"a": a, "b": 1.0}, half_width)) == want


def test_a_claim_fails_where_one_of_its_pairs_does_and_else_is_undecided_where_one_is():
    rules = {"kind": "order", "less": ["a", ["b", "c"]]}
    assert verdict(rules, named({"a": 1.0, "b": 1.2, "c": 1.05}, 0.1)) == "undecided"
    assert verdict(rules, named({"a": 1.0, "b": 0.5, "c": 0.95}, 0.1)) == "fails"


def test_one_run_decides_nothing():
    rules = {"kind": "order", "less": ["a", "b"]}
    assert verdict(rules, named({"a": 9.0, "b": 1.0}, math.inf)) == "undecided"
    assert verdict(rules, named({"a": 1.0, "b": 9.0}, math.inf)) == "undecided"


def test_nine_microseconds_within_38_are_no_order():
    """Of `conex-fig20-heavy-policed-below-15`, a pair that is not seen to differ."""
    rules = {"kind": "order", "less": ["unpoliced", "policed"]}
    pair = named({"unpoliced": 0.417_000, "policed": 0.417_009}, 27e-6)
    assert verdict(rules, pair) == "undecided"


def test_order_of_groups_compares_every_pair():
    rules = {"kind": "order", "less": [["a", "b"], ["c"]]}
    assert held(rules, named({"a": 1, "b": 2, "c": [3, 4]}))
    assert not held(rules, named({"a": 1, "b": 5, "c": [6, 4]}))


def test_a_stated_effect_has_to_be_seen_beyond_the_interval():
    rules = {"kind": "order", "less": ["a", "b"], "min_rel_gap": 0.1}
    assert held(rules, named({"a": 1.0, "b": 1.2}, half_width=0.05))
    assert not held(rules, named({"a": 1.0, "b": 1.05}, half_width=0.01))
    assert verdict(rules, named({"a": 1.0, "b": 1.2}, half_width=0.5)) == "undecided"
    assert verdict(rules, named({"a": 1.0, "b": 1.05}, half_width=0.01)) == "fails"


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
