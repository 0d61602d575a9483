"""The league's figure: all of its text can be read where it is as wide as a page."""

import itertools

import pytest
from matplotlib import rc_context
from support import ROOT

from tidegate.figures.look import STYLE
from tidegate.studies.league import standings
from tidegate.studies.league.field import read_mechanisms, read_situations
from tidegate.studies.league.figure import heat_map
from tidegate.studies.league.scores import Scores

PAGE_WIDTH_PX = 830  # of README on GitHub, and a little less than a page of the documentation
LEGIBLE_PX = 8.0


@pytest.fixture(scope="module")
def figure():
    data = ROOT / "studies/league"
    found = standings.load(data / "results")
    with rc_context(STYLE):
        figure = heat_map(Scores(found, read_situations(data), read_mechanisms(data)))
        figure.draw_without_rendering()
        return figure


def texts_of(figure):
    axes = figure.axes[0]
    return [*axes.texts, *axes.get_yticklabels()]


def test_no_letters_are_too_small_to_read_at_page_width(figure):
    pixels_per_point = PAGE_WIDTH_PX / figure.get_figwidth() / 72
    sizes = {text.get_fontsize() * pixels_per_point for text in texts_of(figure)}
    assert min(sizes) >= LEGIBLE_PX


def test_no_text_lies_over_another(figure):
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(figure)]
    over = [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(boxes, 2)
        if a.overlaps(b)
    ]  # fmt: skip
    assert over == []
