"""How many cells a search for explanations would explain by chance."""

import math

import pytest

from tidegate.results.statistics import Estimate
from tidegate.studies.chance import tried
from tidegate.studies.explanations import StudyExplanation, read_explanations, weigh
from tidegate.studies.judge import CellVerdict
from tidegate.studies.model import Cell

from .synthetic import book

PAPER = 10.0


def supports(tmp_path, *ours):
    """Explanations of every cell, under each of which we measure another value."""
    entries, measured = [], book([])
    for i, value in enumerate(ours):
        entries.append(
            f'[[explanation]]\nid = "a{i}"\ntext = "t"\nassuming = ["sensitivity:a{i}"]\n'
            'cells = [{ experiment = "e" }]\n'
        )
        (measured.points["sensitivity", f"a{i}"],) = book([({"u": 1}, value)]).points.values()
    file = tmp_path / "explanations.toml"
    file.write_text("".join(entries))
    return weigh(read_explanations(file, StudyExplanation), measured)


def out(ours, experiment="e"):
    return CellVerdict(Cell(experiment, {"u": 1}, "m", PAPER, "1"), Estimate(ours), None)


# Numbers that a measurement is within 10 % of span ln(1.1 / 0.9) of the ln 4 from half to twice.
ONE = math.log(1.1 / 0.9) / math.log(4)


@pytest.mark.parametrize(
    ("ours", "explained", "by_chance"),
    [
        ([10.5], 1, ONE),
        ([14.0], 0, ONE),
        ([10.5, 14.0], 1, 2 * ONE),  # far apart: two chances
        ([10.5, 10.5], 1, ONE),  # the same twice: one
        ([30.0], 0, 0.0),  # out of reach
        ([], 0, 0.0),
    ],
)
def test_each_other_assumption_is_another_chance(tmp_path, ours, explained, by_chance):
    # The base is out of reach, so that all numbers deviate from it.
    found = tried([out(100.0)], supports(tmp_path, *ours))
    assert (found.cells, found.explained) == (int(bool(ours)), explained)
    assert found.by_chance == pytest.approx(by_chance, abs=0.005)


def test_only_deviating_cells_that_are_listed_count(tmp_path):
    assumed = supports(tmp_path, 10.0)
    found = tried([out(10.1), out(100.0, "other"), out(100.0)], assumed)
    assert (found.cells, found.explained) == (1, 1)


def test_numbers_that_would_not_deviate_are_no_chance(tmp_path):
    # Where the assumption changes nothing, it explains no number that deviates.
    assert tried([out(12.0)], supports(tmp_path, 12.0)).by_chance == 0.0
