"""Means of 0, which nothing can be divided by and which have no logarithm."""

import math

import numpy as np
import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.chance import tried
from tidegate.studies.checks import check
from tidegate.studies.data import Datum, Group
from tidegate.studies.derivations import derived
from tidegate.studies.errors import ReproductionError
from tidegate.studies.expressions import evaluate, evaluate_all, evaluate_asking
from tidegate.studies.judge import CellVerdict
from tidegate.studies.model import TEN_PER_CENT, Cell
from tidegate.studies.report.sensitivity import _BASE, _entry, _ranking

from .synthetic import book

ZERO, SOME = Estimate(0.0, 0.0, 5), Estimate(2.0, 0.2, 5)


def test_a_quotient_with_zero_is_zero_or_unknown():
    assert ZERO.over(SOME) == Estimate(0.0, 0.0, 5)
    assert Estimate(0.0, 1.0, 5).over(SOME).ci95 == pytest.approx(0.5)
    for top in (ZERO, SOME):
        assert math.isnan(top.over(ZERO).mean)
        assert math.isnan(top.over(ZERO).ci95)
    assert SOME.over(SOME).ci95 == pytest.approx(math.hypot(0.1, 0.1))


@pytest.mark.parametrize(("ours", "base", "change"), [
    (2.2, 2.0, 0.1), (0.0, 2.0, -1.0), (2.0, 0.0, math.inf), (-2.0, 0.0, -math.inf),
    (0.0, 0.0, math.nan),
])  # fmt: skip
def test_a_change_from_zero_is_infinite_or_unknown(ours, base, change):
    found = Estimate(ours).change_from(Estimate(base))
    assert found == pytest.approx(change, nan_ok=True)


def data(*values, **levels):
    ((name, steps),) = levels.items()
    return [Datum({name: level}, value) for level, value in zip(steps, values, strict=True)]


def test_derived_values_of_zero():
    found = data(ZERO, SOME, n=(1, 2))
    (ratio,) = derived(found, {"ratio": {"of": {"n": 2}, "to": {"n": 1}}}, None)
    assert math.isnan(ratio.value.mean)
    (ratio,) = derived(found, {"ratio": {"of": {"n": 1}, "to": {"n": 2}}}, None)
    assert ratio.value.mean == 0.0
    intervals = derived(
        [*found, Datum({"n": 3}, Estimate(0.0, 0.3, 5))], {"interval": "relative"}, None
    )
    assert [one.value.mean for one in intervals] == pytest.approx(
        [math.nan, 0.1, math.inf], nan_ok=True
    )
    with pytest.raises(ReproductionError, match=r"'n - 1' is 0 at"):
        derived(found, {"over": "n - 1"}, None)


def test_a_crossing_that_begins_at_zero_lies_on_a_straight_line():
    found = data(ZERO, Estimate(4.0), n=(0, 8))
    (crossing,) = derived(found, {"crossing": {"of": "n", "level": 1.0}}, None)
    assert crossing.value.mean == pytest.approx(2.0)


def test_a_ratio_that_cannot_be_told_does_not_hold():
    group = Group("", {"a": data(SOME, n=(1,)), "b": data(ZERO, n=(1,))})
    rules = {"kind": "ratio", "numerator": "a", "denominator": "b", "expect": 1.0, "rel_tol": 0.1}
    (finding,) = check(rules, group)
    assert not finding.held
    assert "nan" in finding.text


def test_a_published_zero_can_be_compared_with():
    cell = Cell("e", {"u": 1}, "m", 0.0, "0", TEN_PER_CENT)
    verdict = CellVerdict(cell, SOME, None)
    assert not verdict.within
    assert verdict.deviation == math.inf
    assert f"{100 * verdict.deviation:+.1f} %" == "+inf %"
    assert tried([verdict], []).cells == 0


def test_a_trait_beside_a_base_of_zero():
    points = book([({"trait": "base"}, 0.0), ({"trait": "other"}, 2.0)], "m")
    base, other = next(iter(points.points.values()))
    by_place = {("cell", _BASE): base, ("cell", "other"): other}
    assert "inf" in _entry(by_place, "cell", "other", "m")
    assert "nan" in _entry({**by_place, ("cell", "other"): base}, "cell", "other", "m")
    assert "other" in _ranking(by_place, {"cell": "m"}, [_BASE, "other"])


@pytest.mark.parametrize("text", [
    "1 / zero", "log(zero)", "log2(zero - 1)", "sqrt(zero - 1)", "zero ** -1", "(zero - 8) ** 0.5",
    "10 ** (10 ** 9)", "jain(zero, zero)", "exp(10 ** 9)",
])  # fmt: skip
def test_arithmetic_without_a_value_is_an_error_in_a_line(text):
    for ask in (
        lambda: evaluate(text, {"zero": 0}),
        lambda: evaluate_asking(text, {"zero": 0.0}, None),
    ):
        with pytest.raises(ReproductionError, match="has no value: ") as reported:
            ask()
        assert "\n" not in str(reported.value)


def test_measured_columns_with_zero_are_no_error():
    columns = {"a": np.array([0.0, 1.0]), "b": np.array([0.0, 0.0])}
    assert np.isnan(evaluate_all("a / b", columns)).tolist() == [True, False]
