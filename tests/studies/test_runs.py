"""What is read from an engine's tables, and what is made of it."""

import math
import pickle

import pytest

from tidegate.studies.errors import ReproductionError
from tidegate.studies.load import load_study
from tidegate.studies.metrics import Run, read_measures
from tidegate.studies.reads import Read, read_reads

from .synthetic import FakeSimulation

GROUPS = ["ug0", "ug1"]
TABLES = {
    "flows": {
        "group": [0, 0, 1],
        "user": [0, 0, 1],
        "throughput_bps": [3.0, 1.0, 2.0],
        "losses": [1, 0, 4],
    },
    "interval_groups": {
        "interval": [0, 0, 1, 1],
        "group": [0, 1, 0, 1],
        "throughput_bps": [4.0, 2.0, 3.0, 3.0],
    },
    "links": {"name": ["first", "second"], "utilization": [0.5, 1.0]},
    "transfers": {"completion_s": [3.0, math.nan, 1.0]},
    "group_series": {
        "time_s": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
        "group": [0, 0, 0, 1, 1, 1],
        "throughput_bps": [1.0, 2.0, 6.0, 0.0, 0.0, 0.0],
    },
}
# A slow wave of ±1 around 30 under a fast one; and a histogram with most at 0 and a summit near 60.
WAVE = [30.0 + slow + fast for slow in (1, -1) for fast in (5, -5) * 5]
HILLS = [0.0] * 90 + [30.0] * 2 + [57.0] * 3 + [59.0] * 9 + [61.0] * 5 + [90.0]


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (Read("flows", "throughput_bps", {"group": "ug0"}), 4.0),
        (Read("flows", "throughput_bps * losses", {"group": "ug1"}), 8.0),
        (Read("flows", "user", {"group": ["ug0", "ug1"]}, "kinds"), 2.0),
        (Read("flows", "losses", {"losses": {"min": 1}}, "mean"), 2.5),
        (Read("links", "utilization", {"name": "second"}, "max"), 1.0),
        (Read("transfers", "completion_s", fold="each"), (3.0, 1.0)),
        (Read("transfers", "completion_s", {"completion_s": {"min": 0}}, "min"), 1.0),
        (
            Read("group_series", "throughput_bps", {"group": "ug0", "time_s": {"min": 2}}, "mean"),
            4.0,
        ),
        (Read("interval_groups", "throughput_bps", {"group": "ug1"}, by="interval"), (2.0, 3.0)),
        (Read("interval_groups", "throughput_bps", fold="jain", by="interval"), (0.9, 1.0)),
        (Read("flows", "throughput_bps", {"group": "ug0"}, "deviation"), 1.0),
        (Read("flows", "throughput_bps", {"group": "ug0"}, "variation"), 0.5),
        (Read("flows", "throughput_bps", {"group": "ug0"}, "quotient"), 3.0),
    ],
)
def test_any_row_and_column_of_any_table_can_be_read(read, value):
    assert read.of(TABLES, GROUPS) == pytest.approx(value)


def test_of_a_series_there_is_what_changes_slowly_and_what_it_is_at_most_often():
    tables = {"link_series": {"backlog_packets": WAVE}}
    assert Read("link_series", "backlog_packets", fold="slow-deviation").of(tables, []) == 1.0
    tables = {"link_series": {"backlog_packets": HILLS}}
    summit = Read("link_series", "backlog_packets", fold="summit").of(tables, [])
    assert summit == pytest.approx(58.5)
    flat = {"link_series": {"backlog_packets": [0.0, 0.0, 1.0]}}
    assert math.isnan(Read("link_series", "backlog_packets", fold="summit").of(flat, []))


def test_of_nothing_there_is_a_sum_and_no_mean():
    for table in ("flows", "stages"):
        column = "losses" if table == "flows" else "value"
        assert Read(table, column, {"group": "ug7"}).of(TABLES, GROUPS) == 0.0
        assert Read(table, column, {"group": "ug7"}, "mean").of(TABLES, GROUPS) is None


def test_all_that_reads_and_metrics_get_wrong_is_told_at_once():
    with pytest.raises(ReproductionError) as error:
        read_reads({
            "a": {"table": "floes", "column": "losses"},
            "b": {"table": "flows", "column": "loses", "where": {"grup": "x"}, "fold": "med"},
        })  # fmt: skip
    for part in ("reads.a: no table 'floes'", "'loses' in flows", "'grup' in flows", "fold 'med'"):
        assert part in str(error.value)
    with pytest.raises(ReproductionError, match=r"metrics\.m: no 'lost' in"):
        read_measures({"metrics": {"m": "lost / 2"}})


def measured(metrics, *readings, reads=None):
    names = {name for one in readings for name in one}
    columns = {name: {"table": "flows", "column": "losses"} for name in names}
    measures = read_measures({"reads": columns, "metrics": metrics})
    return measures.of([Run(one, 1) for one in readings])


def test_each_run_is_a_sample_and_so_is_each_interval():
    runs = measured({"ratio": "a / b"}, {"a": 4.0, "b": 2.0}, {"a": 8.0, "b": 2.0})
    assert (runs["ratio"].mean, runs["ratio"].runs) == (3.0, 2)
    intervals = measured({"ratio": "a / b"}, {"a": (4.0, 8.0), "b": 2.0}, {"a": (6.0,), "b": 2.0})
    assert (intervals["ratio"].mean, intervals["ratio"].runs) == (3.0, 3)


def test_a_metric_without_anything_to_read_is_left_out():
    found = measured({"m": "a", "n": "a + b"}, {"a": 4.0, "b": None})
    assert found.keys() == {"m"}
    # What cannot be divided by is no value.
    assert math.isnan(measured({"m": "a / b"}, {"a": 0.0, "b": 0.0})["m"].mean)


def test_metrics_of_one_run_and_of_the_means_of_others():
    metrics = {"m": "a", "n": "b", "of": {"of_means": "m / n"}, "first": {"exact": "a"}}
    found = measured(metrics, {"a": 1.0, "b": 1.0}, {"a": 3.0, "b": 1.0})
    assert (found["of"].mean, found["of"].ci95, found["of"].runs) == (2.0, 0.0, 0)
    assert (found["first"].mean, found["first"].ci95) == (1.0, 0.0)


@pytest.fixture(scope="module")
def abc():
    return load_study("abc").measures


def test_what_is_kept_of_a_run_travels(abc):
    run = pickle.loads(pickle.dumps(abc.keep))(
        FakeSimulation("", ()), FakeSimulation("", ()).run(3)
    )
    assert run.packets == 90


def test_unmarked_throughput_leaves_out_each_flows_share_of_marks(abc):
    """By hand: flow 0 has 50 of 100 packets marked, flow 1 40 of the 80 that were not lost."""
    simulation = FakeSimulation("", ())
    metrics = abc.of([abc.keep(simulation, simulation.run(3))])
    assert metrics["throughput_0_mbps"].mean == pytest.approx(5.0)
    assert metrics["throughput_1_mbps"].mean == pytest.approx(0.5)
    assert metrics["throughput_ratio_T_R"].mean == pytest.approx(10.0)
    assert metrics["unmarked_throughput_ratio"].mean == pytest.approx(5.0)


def test_an_upload_is_timed_from_its_request_or_from_the_end_of_the_warm_up(abc):
    simulation = FakeSimulation("", ())
    tables = simulation.run(3) | {"transfers": {"start_s": [25.0], "completion_s": [2.7]}}
    metrics = abc.of([abc.keep(simulation, tables)])
    assert metrics["upload_time"].mean == pytest.approx(2.7)
    assert metrics["upload_time_since_warm_up"].mean == pytest.approx(12.7)


def test_of_what_there_is_none_of_there_is_no_metric():
    head = {
        "reads": {
            "rates": {
                "table": "interval_groups", "column": "throughput_bps",
                "where": {"group": "ug7"}, "by": "interval",
            }
        },
        "metrics": {"most": "largest(rates)"},
    }  # fmt: skip
    measures = read_measures(head)
    run = Run({"rates": measures.reads["rates"].of(TABLES, GROUPS)}, 0)
    assert run.readings == {"rates": ()}
    assert measures.of([run]) == {}
