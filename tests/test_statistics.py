"""Statistics against a reference, and the way numbers are written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tidegate.results.show import uncertain
from tidegate.results.statistics import Estimate, band95, estimate, jain_index

REASONABLE = st.floats(-1e9, 1e9)


@given(st.lists(REASONABLE, min_size=2, max_size=50))
def test_intervals_are_students(values):
    found = estimate(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values) or 1e-30)
    assert found.mean == pytest.approx(np.mean(values))
    assert 2 * found.ci95 == pytest.approx(high - low, rel=1e-6, abs=1e-6)


def test_missing_values_do_not_count():
    assert estimate([1.0, float("nan"), 3.0])[::2] == (2.0, 2)
    assert np.isnan(estimate([]).mean)
    assert np.isnan(estimate([1.0]).ci95)


def test_a_band_is_an_interval_at_each_time():
    rows = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 60.0]])
    mean, half = band95(rows)
    for column in range(2):
        assert (mean[column], half[column]) == pytest.approx(estimate(rows[:, column])[:2])


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20))
def test_jains_index_lies_between_one_takes_all_and_all_equal(shares):
    assert 1 / len(shares) - 1e-9 <= jain_index(shares) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("mean", "half", "scale", "written"),
    [
        (913413.6, 5392.1, 1e-6, "0.913 ± 0.005"),
        (0.34, 0.0133, 100, "34.0 ± 1.3"),
        (17.4912, 0.0231, 1, "17.49 ± 0.02"),
        (1.0, 0.0, 1, "1.000"),
        (0.0, 0.0, 1, "0.0"),
        (123456.0, 2500.0, 1, "123456 ± 2500"),
        (float("nan"), float("nan"), 1, "–"),
    ],
)
def test_numbers_have_the_digits_that_they_are_worth(mean, half, scale, written):
    assert uncertain(Estimate(mean, half, 20), scale) == written


@pytest.mark.filterwarnings("error")
def test_an_infinite_value_has_a_mean_without_an_interval():
    one = estimate([1.0, float("inf")])
    assert one.mean == float("inf")
    assert np.isnan(one.ci95)
