"""Checks of a curve over one factor: what they accept, and what they have to refuse."""

import pytest

from tidegate.studies.checks import check
from tidegate.studies.errors import ReproductionError
from tidegate.studies.verdict import all_of

from .synthetic import group


def held(rules, data):
    return all(finding.held for finding in check(rules, data))


def verdict(rules, data):
    return all_of(finding.verdict for finding in check(rules, data)).value


def test_monotonic():
    rules = {"kind": "monotonic", "over": "x", "direction": "decreasing"}
    assert held(rules, group({3: 1.0, 1: 3.0, 2: 2.0}))
    assert not held(rules, group({1: 3.0, 2: 3.5, 3: 1.0}))
    assert not held({**rules, "direction": "increasing"}, group({1: 3.0, 2: 2.0}))


@pytest.mark.parametrize(
    ("curve", "half_width", "ties_ok", "want"),
    [
        ({1: 1.0, 2: 2.0, 3: 2.2}, 0.1, False, "holds"),
        ({1: 1.0, 2: 2.0, 3: 2.01}, 0.1, False, "undecided"),  # the last step is not seen
        ({1: 1.0, 2: 2.0, 3: 2.01}, 0.1, True, "holds"),  # it need not be, where parts are level
        ({1: 1.0, 2: 1.99, 3: 2.0, 4: 1.99}, 0.1, True, "holds"),
        ({1: 1.0, 2: 2.05, 3: 2.0}, 0.1, False, "undecided"),
        ({1: 1.0, 2: 2.2, 3: 2.0}, 0.1, False, "fails"),
        ({1: 1.0, 2: 1.0}, 0.1, False, "undecided"),
        ({1: 1.0, 2: 1.0}, 0.1, True, "undecided"),
        ({1: 1.0, 2: 1.05, 3: 1.1}, 0.1, True, "undecided"),  # nor is the whole
        ({1: 1.0, 2: 1.0, 3: 1.0}, 0.0, True, "holds"),
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


RISES = {"kind": "monotonic", "over": "x", "direction": "increasing", "ties_ok": True}


@pytest.mark.parametrize(
    ("ends", "direction", "want"),
    [
        ({"from": "argmin"}, "increasing", "holds"),
        ({"to": "argmin"}, "decreasing", "holds"),
        ({"to": "argmin"}, "increasing", "fails"),
        ({}, "increasing", "fails"),
    ],
)
def test_a_curve_may_be_judged_from_its_least_value_on_or_up_to_it(ends, direction, want):
    valley = group({1: 3.0, 2: 2.0, 3: 1.0, 4: 5.0, 5: 5.0})
    assert verdict({**RISES, "direction": direction, **ends}, valley) == want


def test_a_curve_that_has_no_such_branch_does_not_have_it_rise_or_fall():
    rises = group({1: 1.0, 2: 2.0, 3: 3.0})
    falls_first = {**RISES, "direction": "decreasing", "to": "argmin"}
    assert verdict(falls_first, rises) == "fails"


def test_ends_that_are_numbers_are_chosen_by_the_data():
    assert held({**RISES, "from": 1, "to": "large"}, group({1: 1.0, 2: 2.0}))


U = {"kind": "unimodal", "over": "x", "shape": "U"}


@pytest.mark.parametrize(
    ("curve", "half_width", "want"),
    [
        ({1: 3.0, 2: 2.0, 3: 4.0}, 0.0, "holds"),
        ({1: 1.0, 2: 2.0, 3: 4.0}, 0.0, "fails"),  # rises from the first value on
        ({1: 4.0, 2: 2.0, 3: 1.0}, 0.0, "fails"),
        ({1: 1.9, 2: 2.0, 3: 4.0}, 0.1, "undecided"),
        ({1: 3.0, 2: 2.0, 3: 2.5, 4: 2.2, 5: 4.0}, 0.0, "fails"),  # two valleys
        ({1: 3.0, 2: 2.0, 3: 2.3, 4: 2.2, 5: 4.0}, 0.1, "undecided"),
    ],
)
def test_a_valley_has_one_least_value_and_that_inside(curve, half_width, want):
    assert verdict(U, group(curve, half_width)) == want
    upside_down = {level: -mean for level, mean in curve.items()}
    assert verdict({**U, "shape": "inverted-U"}, group(upside_down, half_width)) == want


def test_only_that_the_least_value_is_inside_may_be_asked():
    two_valleys = group({1: 3.0, 2: 2.0, 3: 2.5, 4: 2.2, 5: 4.0})
    assert held({**U, "interior_min": True}, two_valleys)
    assert not held({**U, "interior_min": True}, group({1: 1.0, 2: 2.0, 3: 4.0}))


def test_a_shape_of_two_values_or_without_a_name_is_an_error():
    with pytest.raises(ReproductionError, match="of 2 values"):
        check(U, group({1: 1.0, 2: 2.0}))
    with pytest.raises(ReproductionError, match="no shape 'W'"):
        check({**U, "shape": "W"}, group({1: 1.0, 2: 2.0, 3: 3.0}))


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
    assert verdict(rules, group({1: 0.1, 10: 1.0, 20: 1.2}, half_width=0.1)) == "holds"
    assert verdict(rules, group({1: 0.1, 10: 1.0, 20: 1.1}, half_width=0.1)) == "undecided"
    assert verdict(rules, group({1: 0.1, 10: 1.0, 20: 1.0}, half_width=0.1)) == "undecided"
