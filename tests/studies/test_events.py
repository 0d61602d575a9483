"""Shapes of a curve that a paper describes in words."""

from __future__ import annotations

import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.checks.events import levels_off, nearly_straight
from tidegate.studies.reads import Read


def _curve(*values: float) -> list[tuple[float, Estimate]]:
    return [(float(x), Estimate(y)) for x, y in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0, 10, 20, 30), "holds"),
        ((0, 7, 17, 30), "holds"),  # 3 of 30 below the line
        ((0, 3, 11, 30), "fails"),
        ((5, 5, 5, 5), "holds"),
    ],
)
def test_a_curve_is_nearly_straight_where_it_stays_near_the_line_of_its_ends(values, verdict):
    assert nearly_straight(_curve(*values), {"by": 0.15}).value == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0, 20, 28, 30), "holds"),  # 2 of 30 from 2 on
        ((0, 10, 20, 30), "fails"),
        ((30, 20, 10, 10), "fails"),  # falls
    ],
)
def test_a_curve_levels_off_where_the_last_part_of_its_rise_is_small(values, verdict):
    assert levels_off(_curve(*values), {"beyond": 2, "by": 0.2}).value == verdict


def test_the_most_of_ten_rows_in_a_row_is_a_mean_of_ten():
    tables = {"link_series": {"backlog_packets": [0.0] * 10 + [1.0, 3.0] * 5 + [9.0] * 9}}
    assert Read("link_series", "backlog_packets", fold="slow-max").of(tables, []) == 2.0
    short = {"link_series": {"backlog_packets": [1.0] * 9}}
    assert Read("link_series", "backlog_packets", fold="slow-max").of(short, []) is None
