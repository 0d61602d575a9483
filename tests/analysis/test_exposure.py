"""Figures 2 and 6 of the ConEx paper, from the engine's own code."""

import numpy as np
import pytest
from support import SMALL

from tidegate import load_scenario
from tidegate.analysis import policer_probability, red_probability

CONEX = "scenarios/conex.toml"


@pytest.mark.parametrize(
    ("settings", "points"),
    [
        # Figure 2: 0 up to the lower threshold, p_max at the upper one, 1 from there on.
        ({}, {0: 0, 10: 0, 55: 0.5, 91: 0.9, 100: 1, 500: 1}),
        ({"max_probability": 0.1}, {10: 0, 55: 0.05, 91: 0.09, 100: 1}),
        # The gentle mode that the text mentions has no step there.
        ({"max_probability": 0.1, "gentle": True}, {55: 0.05, 100: 0.1, 150: 0.55, 200: 1}),
    ],
)
def test_red_marks_as_figure_2_has_it(settings, points):
    red = {"kind": "red", "min_threshold": "10 packets", "max_threshold": "100 packets"}
    red |= {"max_probability": 1.0} | settings
    conex = load_scenario(CONEX, set={"bottleneck.aqm": red, "bottleneck.buffer": "1000 packets"})
    assert red_probability(conex, list(points)) == pytest.approx(list(points.values()))


@pytest.mark.parametrize(
    ("curve", "full_at"), [("strict", 0.0), ("mild", 0.1), ("soft", 1.0), ("observe", None)]
)
def test_policers_drop_as_figure_6_has_it(curve, full_at):
    fills = np.linspace(-1, 1, 81)
    policer = {"kind": "conex-policer", "fill_rate": "540 kb/s", "depth": "67500 B"}
    conex = load_scenario(CONEX, set={"users.heavy.ingress": [policer | {"curve": curve}]})
    probability = policer_probability(conex, fills)
    if full_at is None:
        assert not probability.any()
    elif full_at == 0.0:
        assert probability.tolist() == (fills <= 0).astype(float).tolist()
    else:
        assert probability == pytest.approx(np.clip(-fills / full_at, 0, 1))


def test_a_scenario_without_them_says_so():
    small = load_scenario(SMALL)
    with pytest.raises(ValueError, match="no link with RED"):
        red_probability(small, 1)
    with pytest.raises(ValueError, match="no ConEx policer"):
        policer_probability(small, 0)
