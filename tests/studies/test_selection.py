"""Which measurements a claim is put to."""

import pytest

from tidegate.studies.errors import ReproductionError
from tidegate.studies.selection import data, groups, needs

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


def test_levels_may_be_complete_in_some_places_only():
    rows = [({"p": "a", "r": r}, r) for r in (1, 2, 3)] + [({"p": "b", "r": 2}, 5)]
    levels = {"a": {"p": "a"}, "b": {"p": "b"}}
    part = {"metric": "m", "each": ["r"], "levels": levels}
    with pytest.raises(ReproductionError, match="nothing for"):
        groups(part, "e", book(rows))
    (only,) = groups({**part, "complete": True}, "e", book(rows))
    assert only.label == "r=2"


def test_what_levels_do_not_name_may_be_told_apart_as_a_whole():
    levels = {"few": {"u": 1}, "many": {"u": 9}}
    found = groups({"metric": "m", "each": "others", "levels": levels}, "e", book(ROWS))
    assert {group.label for group in found} == {"d=5", "d=50"}


def test_needs_names_the_series_of_all_levels():
    part = {
        "metric": "m",
        "where": {"d": 5},
        "levels": {"a": {"series": "s", "u": 1}, "b": {"series": "t:r"}},
    }
    assert needs(part, "e") == [(("e", "s"), {"d": 5, "u": 1}), (("t", "r"), {"d": 5})]
