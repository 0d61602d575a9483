"""Ranking, which papers rank rivals by."""

import math

import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.model import Series
from tidegate.studies.rankings import Ranking, stars, with_rankings

from .synthetic import book

ROWS = [({"case": case, "r": r}, value) for case, best in (("A", 1.0), ("B", 1.1), ("C", 3.0))
        for r, value in ((1, best), (2, best + 5))]  # fmt: skip


def test_the_best_has_as_many_stars_as_there_are_rivals():
    assert stars({"A": Estimate(1.0), "B": Estimate(2.0), "C": Estimate(3.0)}) == {
        "A": 3, "B": 2, "C": 1,
    }  # fmt: skip


def test_who_cannot_be_told_apart_has_the_same_number():
    close = {"A": Estimate(1.0, 0.2, 9), "B": Estimate(1.1, 0.2, 9), "C": Estimate(3.0, 0.2, 9)}
    assert stars(close) == {"A": 3, "B": 3, "C": 1}


def test_one_run_tells_nobody_apart():
    alone = {"A": Estimate(1.0, math.nan, 1), "B": Estimate(9.0, math.nan, 1)}
    assert stars(alone) == {"A": 2, "B": 2}


def awarded(part, half_width):
    measured = book(ROWS, half_width=half_width)
    series = Series("stars", (), 0, ranking=Ranking("case", {"fairness": part}))
    points = with_rankings(measured, {("t", "stars"): series}).series(("t", "stars"))
    return {point.levels["case"]: point.metrics["fairness"].mean for point in points}


def test_a_series_of_stars_is_made_of_another():
    part = {"series": "e:s", "metric": "m", "derive": {"min": "r"}}
    assert awarded(part, 0.01) == {"A": 3, "B": 2, "C": 1}
    assert awarded(part, 0.2) == {"A": 3, "B": 3, "C": 1}


def test_several_values_for_one_rival_are_an_error():
    with pytest.raises(ReproductionError, match="several values for one case"):
        awarded({"series": "e:s", "metric": "m"}, 0.01)
