"""What is read off a trace, on traces that are known."""

import numpy as np
import pytest

from tidegate.studies.traces import Trace, trace_of


def trace(policed, throughput=10e6):
    steps = len(policed)
    time_s = np.arange(1, steps + 1) / 10
    rates = np.broadcast_to(np.asarray(throughput, dtype=float), steps)
    return Trace(time_s, rates.reshape(-1, 1), np.zeros(steps), np.asarray(policed, dtype=float))


def test_steady_drops_vary_little_and_are_one_cluster():
    found = trace([1] * 100).metrics()
    assert found["policing_gap_variation"] == pytest.approx(0.0, abs=1e-9)
    assert found["drops_per_policing_cluster"] == 100
    assert np.isnan(found["policing_cluster_distance"])


def test_bursts_ten_seconds_apart():
    found = trace(([5] + [0] * 99) * 10).metrics()
    assert found["policing_gap_variation"] > 1.0
    assert found["policing_cluster_distance"] == pytest.approx(10.0)
    assert found["drops_per_policing_cluster"] == 5
    assert found["policing_drops_per_s"] == pytest.approx(50 / 99.9)


def test_a_link_idle_half_of_the_time_is_underused_then():
    found = trace([0] * 100, [10e6] * 50 + [0.0] * 50).metrics()
    assert found["underused_share"] == 0.5
    assert np.isnan(found["policing_gap_variation"])


def test_without_samples_there_is_no_trace():
    assert trace_of({"link_series": {"time_s": []}, "group_series": {}}, "bottleneck") is None
