"""QoE of videos that stall: equation (2) of Sanhaji et al. 2015, by hand and as runs tell it."""

import math

import numpy as np
import pytest

import tidegate
from tidegate.analysis import quality_of_experience

VIDEO = """
version = 1
warm_up = "0 s"
duration = "30 s"

[bottleneck]
rate = "1 Mb/s"
delay = "10 ms"
buffer = "40 packets"

[users.viewer]
count = 3
traffic = { kind = "video", rate = "500 kb/s", length = "20 s" }
"""


@pytest.mark.parametrize(("mean_s", "stalls"), [(0.0, 0), (5.0, 1), (1.0, 2), (0.2, 7)])
def test_quality_falls_with_stalls_and_their_length(mean_s, stalls):
    want = 3.5 * math.exp(-(0.15 * mean_s + 0.19) * stalls) + 1.5
    assert quality_of_experience(mean_s, stalls) == pytest.approx(want, rel=1e-12)


def test_a_run_tells_the_same():
    result = tidegate.simulate(tidegate.load_scenario(VIDEO), replications=1)
    table = result.applications
    what, value = np.array(table["what"].to_pylist()), table["amount"].to_numpy()
    reported = {name: value[what == name] for name in ("stalls", "mean_stall_s", "qoe")}
    assert reported["stalls"].max() > 0
    assert reported["qoe"] == pytest.approx(
        quality_of_experience(reported["mean_stall_s"], reported["stalls"]), rel=1e-12
    )
