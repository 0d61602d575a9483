"""Values that are made of several measured points."""

import math

import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.data import Datum
from tidegate.studies.derivations import derived
from tidegate.studies.errors import ReproductionError
from tidegate.studies.points import Point, Points
from tidegate.studies.selection import data

from .synthetic import book, estimate

ROWS = [
    ({"u": 1, "d": 5}, 2.0),
    ({"u": 1, "d": 50}, 3.0),
    ({"u": 9, "d": 5}, 1.0),
    ({"u": 9, "d": 50}, 4.0),
]


def means(part, rows=ROWS):
    return [datum.value.mean for datum in data({"metric": "m", **part}, "e", book(rows))]


def test_maximum_over_several_factors():
    assert means({"derive": {"max": ["u", "d"]}}) == [4.0]
    assert means({"derive": {"min": "d"}}) == [2.0, 1.0]


def test_ratio_pairs_by_the_other_levels_and_keeps_the_interval():
    part = {"metric": "m", "derive": {"ratio": {"of": {"u": 9}, "to": {"u": 1}}}}
    ratios = data(part, "e", book(ROWS, half_width=0.1))
    assert [datum.value.mean for datum in ratios] == pytest.approx([0.5, 4 / 3])
    assert ratios[0].levels == {"d": 5}
    assert ratios[0].value.ci95 == pytest.approx(0.5 * (0.05**2 + 0.1**2) ** 0.5)


def test_crossing_is_read_off_on_a_logarithmic_axis():
    rows = [({"x": x}, y) for x, y in ((0.1, 1.0), (1.0, 1.0), (10.0, 3.0))]
    part = {"metric": "m", "derive": {"crossing": {"of": "x", "level": 2.0}}}
    (datum,) = data(part, "e", book(rows))
    assert datum.value.mean == pytest.approx(10**0.5)
    part["derive"]["crossing"]["level"] = 5.0
    (datum,) = data(part, "e", book(rows))
    assert datum.value.mean == 10.0  # all stay below: up to the last level
    part["derive"]["crossing"] = {"of": "x", "rise": 1.0, "from": 0.1}
    (datum,) = data(part, "e", book(rows))
    assert datum.value.mean == pytest.approx(10**0.5)


def test_values_over_an_expression():
    assert means({"where": {"u": 9}, "derive": {"over": "d/5"}}) == [1.0, 0.4]


def test_means_keep_the_interval_of_independent_values():
    (few, many) = data({"metric": "m", "derive": {"mean": "d"}}, "e", book(ROWS, half_width=0.3))
    assert (few.value.mean, many.value.mean) == (2.5, 2.5)
    assert few.value.ci95 == pytest.approx(0.3 / 2**0.5)


def test_a_difference_is_of_two_places_that_are_alike_in_all_else():
    derive = {"difference": {"of": {"d": 50}, "to": {"d": 5}}}
    assert means({"derive": derive}) == [1.0, 3.0]


def test_a_spread_is_relative_to_the_mean():
    assert means({"derive": {"spread": "d"}}) == pytest.approx([0.4, 1.2])
    assert math.isnan(means({"derive": {"spread": "d"}}, [({"d": 1}, -1.0), ({"d": 2}, 1.0)])[0])


def test_an_interval_is_relative_to_its_mean():
    datum = Datum({}, Estimate(-4.0, 1.0, 3), ())
    found = derived([datum], {"interval": "relative"}, lambda _: [])
    assert [one.value.mean for one in found] == [0.25]
    with pytest.raises(ReproductionError, match="no interval 'absolute'"):
        derived([datum], {"interval": "absolute"}, lambda _: [])


def valley(best, factor="r", **levels):
    return [({factor: r, **levels}, 10.0 * abs(r - best) + 1) for r in (1, 2, 3, 5, 10)]


def test_the_step_at_which_a_curve_is_least():
    assert means({"derive": {"least_step": "r"}}, valley(5)) == [3.0]


@pytest.mark.parametrize(
    ("keep", "levels"),
    [("below", [1, 2]), ("at", [3]), ("near", [2, 3, 5]), ("from", [3, 5, 10])],
)
def test_data_beside_the_least_value_of_their_own_curve(keep, levels):
    derive = {"beside_least": {"over": "r", "keep": keep, "metric": "m"}}
    found = data({"metric": "m", "derive": derive}, "e", book(valley(3)))
    assert [datum.levels["r"] for datum in found] == levels


def test_data_where_another_curve_is_least():
    rows = [
        *valley(3, case="full", n=9),
        *valley(5, case="full", n=36),
        *valley(1, case="drop", n=36),
    ]
    argument = {"over": "r", "keep": "at", "metric": "m", "where": {"case": "full"}}
    part = {"metric": "m", "where": {"case": "drop"}, "derive": {"beside_least": argument}}
    (found,) = data(part, "e", book(rows))
    assert found.levels == {"r": 5, "case": "drop", "n": 36}
    without_its_own = [*valley(3, case="full", n=9), *valley(1, case="drop", n=36)]
    with pytest.raises(ReproductionError, match="0 curves, not one"):
        data(part, "e", book(without_its_own))


def test_data_where_another_metric_is_in_a_range():
    points = [
        Point({"r": r}, {"m": estimate(r), "drops": estimate(drops)})
        for r, drops in ((1, 0.2), (2, 0.1), (3, 0.0))
    ]
    part = {"metric": "m", "derive": {"having": {"metric": "drops", "min": 0.1}}}
    found = data(part, "e", Points({("e", "s"): points}))
    assert [datum.levels["r"] for datum in found] == [1, 2]


def test_the_width_on_which_a_curve_is_low():
    rows = [({"r": r, "n": 10}, mean) for r, mean in ((0, 12.0), (2, 8.0), (4, 4.0), (8, 12.0))]
    part = {"metric": "m", "derive": {"width": {"over": "r", "below": "0.8*n"}}}
    (found,) = data(part, "e", book(rows, half_width=1.0))
    assert found.value.mean == pytest.approx(4.0)  # from 2 to 6
    assert found.value.ci95 == pytest.approx(1.0)  # a limit one higher or lower: 5 or 3


def test_a_derivation_that_does_not_exist_is_an_error():
    with pytest.raises(ReproductionError, match="no derivation 'guess'; there are beside_least"):
        means({"derive": {"guess": "r"}})
