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


def test_monotonic():
    rules = {"kind": "monotonic", "over": "x", "direction": "decreasing"}
    assert held(rules, group({3: 1.0, 1: 3.0, 2: 2.0}))
    assert not held(rules, group({1: 3.0, 2: 3.5, 3: 1.0}))
    assert not held({**rules, "direction": "increasing"}, group({1: 3.0, 2: 2.0}))


@pytest.mark.parametrize(
    ("curve", "half_width", "ties_ok", "want"),
    [
        ({1: 1.0, 2: 2.0, 3: 2.01}, 0.1, False, "holds"),
        ({1: 1.0, 2: 2.05, 3: 2.0}, 0.1, False, "undecided"),
        ({1: 1.0, 2: 2.2, 3: 2.0}, 0.1, False, "fails"),
        ({1: 1.0, 2: 1.0}, 0.1, False, "undecided"),
        ({1: 1.0, 2: 1.0}, 0.1, True, "holds"),
        ({1: 1.0, 2: 0.9, 3: 0.8, 4: 0.7}, 0.1, True, "fails"),  # small steps, but they add up
    ],
)
def test_a_monotonic_step_is_an_order(curve, half_width, ties_ok, want):
    rules = {"kind": "monotonic", "over": "x", "direction": "increasing", "ties_ok": ties_ok}
    assert verdict(rules, group(curve, half_width)) == want


def test_monotonic_over_an_expression_and_with_a_formula():
    rules = {"kind": "monotonic", "over": "2*x", "direction": "increasing", "formula": "x*x"}
    assert held({**rules, "rel_tol": 0.01}, group({1: 1.0, 2: 4.0}))
    assert not held({**rules, "rel_tol": 0.01}, group({1: 1.0, 2: 5.0}))


def test_same():
    rules = {"kind": "same", "items": ["a", "b"], "rel_tol": 0.2}
    assert held(rules, named({"a": 1.0, "b": 1.19}))
    assert not held(rules, named({"a": 1.0, "b": 0.79}))


def test_formula_with_variables_in_other_units():
    rules = {"kind": "formula", "expr": "B/8", "variables": {"B": "x*1000"}, "rel_tol": 0.01}
    assert held(rules, group({8: 1000.0}))
    assert not held(rules, group({8: 1100.0}))


def test_events():
    peak = {"kind": "peak-then-below", "over": "x", "level": 1.0, "between": [0.3, 3]}
    rules = {"kind": "event", "event": peak}
    assert held(rules, group({0.5: 0.8, 1: 1.5, 10: 0.6}))
    assert not held(rules, group({0.5: 0.8, 1: 1.5, 10: 1.2}))  # never falls below 1
    assert not held(rules, group({0.5: 0.8, 1: 0.9, 10: 0.6}))  # never exceeds 1
    assert not held(rules, group({0.5: 0.8, 9: 1.5, 10: 0.6}))  # peaks elsewhere
    assert not held(rules, group({0.5: 0.8, 2: 1.5, 5: 1.6, 10: 0.6}))  # still rising there
    assert held(rules, group({0.5: 0.8, 1: 1.5, 10: 0.6, 30: 5.0}))  # may rise again
    rise = {"kind": "rises-at-the-end", "over": "x", "by": 0.05, "beyond": 3}
    assert held({"kind": "event", "event": rise}, group({1: 0.1, 10: 0.5, 20: 0.6}))
    assert not held({"kind": "event", "event": rise}, group({1: 0.1, 10: 0.5, 20: 0.51}))


def test_a_check_that_does_not_exist_or_looks_at_nothing_is_an_error():
    with pytest.raises(ReproductionError, match="no check 'vaguely'"):
        check({"kind": "vaguely"}, group({1: 1.0}))
    with pytest.raises(ReproductionError, match="looked at nothing"):
        check({"kind": "value", "expect": 1}, group({}))


@pytest.mark.parametrize(
    ("curve", "want"),
    [
        ({0.5: 0.8, 1: 1.5, 10: 0.6}, "holds"),
        ({0.5: 0.8, 1: 0.95, 10: 0.6}, "undecided"),  # may exceed 1
        ({0.5: 0.8, 1: 1.5, 10: 1.05}, "undecided"),  # may fall below 1
        ({0.5: 0.8, 1: 0.8, 10: 0.6}, "fails"),
    ],
)
def test_an_event_is_decided_as_orders_are(curve, want):
    event = {"kind": "peak-then-below", "over": "x", "level": 1.0, "between": [0.3, 3]}
    assert verdict({"kind": "event", "event": event}, group(curve, half_width=0.1)) == want
    rises = {"kind": "rises-at-the-end", "over": "x", "by": 0.05, "beyond": 3}
    rules = {"kind": "event", "event": rises}
    assert verdict(rules, group({1: 0.1, 10: 1.0, 20: 1.1}, half_width=0.1)) == "holds"
    assert verdict(rules, group({1: 0.1, 10: 1.0, 20: 1.0}, half_width=0.1)) == "undecided"
