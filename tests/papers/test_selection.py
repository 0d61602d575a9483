"""Which measurements a claim is put to."""

import pytest

from tidegate.studies.papers.errors import ReproductionError
from tidegate.studies.papers.selection import data, groups, needs

from .synthetic import book

ROWS = [
    ({"u": 1, "d": 5}, 2.0),
    ({"u": 1, "d": 50}, 3.0),
    ({"u": 9, "d": 5}, 1.0),
    ({"u": 9, "d": 50}, 4.0),
]


def means(part):
    return [datum.value.mean for datum in data({"metric": "m", **part}, "e", book(ROWS))]


def test_where_keeps_levels_lists_and_ranges():
    assert means({"where": {"u": 9}}) == [1.0, 4.0]
    assert means({"where": {"u": [1, 9], "d": {"min": 6}}}) == [3.0, 4.0]


def test_nothing_selected_is_an_error_and_so_is_a_missing_level():
    with pytest.raises(ReproductionError, match="no m where"):
        means({"where": {"u": 2}})
    part = {"metric": "m", "each": ["d"], "levels": {"few": {"u": 1}, "many": {"u": 9}}}
    with pytest.raises(ReproductionError, match="nothing for"):
        groups({**part, "levels": {"few": {"u": 1}, "far": {"u": 9, "d": 5}}}, "e", book(ROWS))
    assert len(groups(part, "e", book(ROWS))) == 2


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
    assert datum.value.mean != datum.value.mean  # NaN: never crossed
    part["derive"]["crossing"] = {"of": "x", "rise": 1.0, "from": 0.1}
    (datum,) = data(part, "e", book(rows))
    assert datum.value.mean == pytest.approx(10**0.5)


def test_values_over_an_expression():
    assert means({"where": {"u": 9}, "derive": {"over": "d/5"}}) == [1.0, 0.4]


def test_needs_names_the_series_of_all_levels():
    part = {
        "metric": "m",
        "where": {"d": 5},
        "levels": {"a": {"series": "s", "u": 1}, "b": {"series": "t:r"}},
    }
    assert needs(part, "e") == [(("e", "s"), {"d": 5, "u": 1}), (("t", "r"), {"d": 5})]
