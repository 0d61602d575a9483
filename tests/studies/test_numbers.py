"""Numbers in the prose of a page."""

import pytest

from tidegate.studies.numbers import Numbers
from tidegate.studies.points import Points

from .synthetic import book

MEASURED = Points({
    (name, "s"): book(
        [({"at": name, "rule": rule}, mean) for rule, mean in means.items()], key=("e", "s")
    ).series(("e", "s"))
    for name, means in {"one": {"a": 1.0, "b": 3.0}, "two": {"a": 12.3, "b": 5.0}}.items()
})  # fmt: skip
NUMBERS = Numbers(
    factor="rule",
    places={"mean": {"series": ["one:s", "two:s"], "derive": {"mean": "at"}}},
    levels={"both": ["a", "b"]},
    forms={"m": {"scale": 1.0}},
)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{m(one, a)} of it", "1.00 of it"),
        ("{m(two, a)}", "12"),
        ("{m(one, both)}", "1.00 to 3.00"),
        ("{m(one|two, b)}", "3.00 to 5.00"),
        ("{m(one|one, a|a)}", "1.00"),
        ("{m(mean, b)}", "4.00"),
        ("{m(three, a)} and {n(one, a)}", "– and –"),
        ("{other} {m}", "{other} {m}"),
    ],
)
def test_a_name_is_the_mean_that_was_measured(text, filled):
    assert NUMBERS.filled(text, MEASURED) == filled


def test_forms_say_how_a_metric_is_written():
    forms = {"m": {"scale": 1e3, "unit": " ms", "digits": 0}}
    numbers = Numbers(factor="rule", forms=forms)
    assert numbers.filled("{m(one, b)}", MEASURED) == "3,000 ms"


def test_a_study_without_such_numbers_keeps_its_text():
    assert Numbers().filled("{m(one, a)}", MEASURED) == "{m(one, a)}"
