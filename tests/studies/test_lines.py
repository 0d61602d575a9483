"""Which lines a figure has, and what its legend says of them."""

from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from tidegate.studies.figures.lines import Panel, draw_line, legend, lines_of
from tidegate.studies.points import Point, Points

from .synthetic import estimate

STYLES = {
    "taken": {"line": "-", "name": "as taken"},
    "none": {"line": ":", "name": "no policer", "plain": True},
    "worded": {"line": "--", "name": "as worded", "marked": False},
}


def panel(depths, **changed):
    book = {
        ("fig", series): [
            Point({"d": depth, "r": r}, {"unfairness": estimate(depth + r)})
            for depth in (depths if series != "none" else [45]) for r in (1, 2)
        ]
        for series in STYLES
    }  # fmt: skip
    spec = {
        "series": list(STYLES), "x": "r", "lines": ["d"], "line_name": "d = {d}",
        "metric": "unfairness", "styles": STYLES, **changed,
    }  # fmt: skip
    return Panel(
        SimpleNamespace(name="fig", cells=[], series=dict.fromkeys(STYLES), factors={}),
        Points(book),
        spec,
    )


def labels(one):
    axes = Figure().subplots()
    lines = lines_of(one)
    for line in lines:
        draw_line(axes, line, one.spec, None)
    legend(axes, one.spec, lines)
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_level_has_one_colour_in_every_style():
    lines = lines_of(panel([5, 45]))
    drawn = {(line.series, line.label): line for line in lines}
    for depth in ("d = 5", "d = 45"):
        assert drawn["taken", depth].look == drawn["worded", depth].look
    looks = {drawn["taken", "d = 5"].look, drawn["taken", "d = 45"].look}
    assert len({*looks, drawn["none", "d = 45"].look}) == 3
    assert {line.series: line.style for line in lines} == {
        "taken": "-",
        "none": ":",
        "worded": "--",
    }


def test_the_legend_tells_levels_and_styles_apart():
    assert labels(panel([5, 45])) == ["d = 5", "d = 45", "as taken", "no policer", "as worded"]
    assert labels(panel([45])) == ["as taken", "no policer", "as worded"]


def test_without_styles_each_line_has_a_look_of_its_own():
    one = panel([5, 45])
    own = Panel(one.experiment, one.measured, {k: v for k, v in one.spec.items() if k != "styles"})
    lines = lines_of(own)
    assert len({line.look for line in lines}) == len(lines) == 5
    assert labels(own) == ["d = 5", "d = 45", "d = 45", "d = 5", "d = 45"]


def test_kinds_without_an_order_have_points_beside_each_other_and_no_lines():
    spec = {"series": ["taken"], "x": "d", "lines": ["r"], "line_name": "r = {r}"}
    one = panel([5, 45], **spec, joined=False)
    one.spec.pop("styles")
    lines = lines_of(one)
    assert [(line.style, line.shift) for line in lines] == [("none", -0.06), ("none", 0.06)]
    axes = Figure().subplots()
    draw_line(axes, lines[0], one.spec, None)
    (drawn, *_) = axes.get_lines()
    assert drawn.get_linestyle() == "None"
    assert drawn.get_xdata().tolist() == pytest.approx([4.94, 44.94])


def test_a_point_that_has_its_place_for_itself_stays_there():
    one = panel([5], series=["taken", "none"], x="d", lines=["r"], line_name="{r}", joined=False)
    one.spec.pop("styles")
    places = {line.points[0].levels["d"]: [] for line in lines_of(one)}
    for line in lines_of(one):
        places[line.points[0].levels["d"]].append(line.shift)
    assert places == {5: [-0.06, 0.06], 45: [-0.06, 0.06]}
