"""Metrics of a point over those of another."""

import pytest

from tidegate.studies.relative import read_relatives, with_relatives

from .synthetic import book

ROWS = [
    ({"lie": "honest", "flows": 4, "defence": "both"}, 2.0),
    ({"lie": "honest", "flows": 8, "defence": "both"}, 1.0),
    ({"lie": "never", "flows": 4, "defence": "both"}, 3.0),
    ({"lie": "never", "flows": 8, "defence": "both"}, 3.0),
    ({"lie": "never", "flows": 8, "defence": "none"}, 5.0),
]


def gains(**to):
    relatives = read_relatives({"gain": {"of": "m", "to": to}})
    points = with_relatives(book(ROWS, half_width=0.1), relatives).series(("e", "s"))
    return [point.metrics["gain"].mean if "gain" in point.metrics else None for point in points]


def test_other_factors_stay_and_a_point_without_a_reference_lacks_the_metric():
    assert gains(lie="honest", flows=4) == [1.0, 0.5, 1.5, 1.5, None]


def test_a_level_may_be_that_of_a_factor():
    assert gains(lie="honest", flows="{flows}") == [1.0, 1.0, 1.5, 3.0, None]


def test_of_several_points_the_largest_is_taken():
    assert gains(lie="honest", flows={"max": "{flows}"}) == [1.0, 0.5, 1.5, 1.5, None]


def test_the_interval_is_that_of_a_quotient():
    relatives = read_relatives({"gain": {"of": "m", "to": {"lie": "honest"}}})
    point = with_relatives(book(ROWS, half_width=0.1), relatives).series(("e", "s"))[2]
    assert point.metrics["gain"].ci95 == pytest.approx((0.1**2 + (1.5 * 0.1) ** 2) ** 0.5 / 2.0)
