"""What is taken from an engine's tables."""

import pytest

from tidegate.studies.papers.metrics import measure
from tidegate.studies.papers.runs import Run

from .synthetic import FakeSimulation


def test_unmarked_throughput_leaves_out_each_flows_share_of_marks():
    """By hand: flow 0 has 50 of 100 packets marked, flow 1 40 of the 80 that were not lost."""
    simulation = FakeSimulation("", ())
    run = Run.from_tables(simulation.run(3), simulation.warm_up_s)
    assert run.user_throughput_bps == pytest.approx((5e6, 5e5))
    assert run.user_unmarked_bps == pytest.approx((2.5e6, 5e5))
    metrics = measure([run])
    assert metrics["throughput_ratio_T_R"].mean == pytest.approx(10.0)
    assert metrics["unmarked_throughput_ratio"].mean == pytest.approx(5.0)


def test_an_upload_is_timed_from_its_request_or_from_the_end_of_the_warm_up():
    simulation = FakeSimulation("", ())
    tables = simulation.run(3) | {"transfers": {"start_s": [25.0], "completion_s": [2.7]}}
    metrics = measure([Run.from_tables(tables, simulation.warm_up_s)])
    assert metrics["upload_time"].mean == pytest.approx(2.7)
    assert metrics["upload_time_since_warm_up"].mean == pytest.approx(12.7)
