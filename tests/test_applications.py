"""What videos and short flows tell of themselves, in summaries and on the screen."""

import pytest

import tidegate
from tidegate.results.show import grids
from tidegate.results.summary import measures, rows

SCENARIO = """
version = 1
warm_up = "0 s"
duration = "20 s"
[bottleneck]
rate = "2 Mb/s"
delay = "20 ms"
buffer = "40 packets"
[users.viewer]
count = 3
traffic = { kind = "video", rate = "1 Mb/s", length = "10 s", burst = "3 s" }
[users.clicker]
traffic = { kind = "short-flows", size = "10 kB", every = "100 ms" }
[users.greedy]
flows = 2
"""


@pytest.fixture(scope="module")
def result():
    return tidegate.simulate(SCENARIO, replications=3)


def told(result, metric):
    (row,) = [row for row in rows(result.tables) if row.metric == metric]
    return row


def test_a_summary_has_the_mean_of_a_groups_applications(result):
    stalls = told(result, "stalls")
    assert (stalls.kind, stalls.name, stalls.runs) == ("application", "viewer", 3)
    found = result.applications.to_pylist()
    of_each = [row["amount"] for row in found if row["what"] == "stalls"]
    assert len(of_each) == 9
    assert stalls.mean == pytest.approx(sum(of_each) / 9)
    assert told(result, "finished").name == "clicker"


def test_a_single_run_has_the_same(result):
    first = {
        name: table.filter(table["replication"].to_numpy() == 0)
        for name, table in result.tables.items()
    }
    names = [(one.kind, one.name, one.metric) for one in measures(first)]
    assert names == [(row.kind, row.name, row.metric) for row in rows(result.tables)]


def test_the_screen_has_a_table_of_applications_where_there_are_some(result):
    *_, drawn = grids({"": result})
    assert drawn.title == "Applications"
    assert {"stalls", "qoe", "finished"} <= set(drawn.metrics)
    plain = SCENARIO.partition("[users.viewer]")[0] + "[users.greedy]\n"
    titles = [grid.title for grid in grids({"": tidegate.simulate(plain)})]
    assert titles == ["Who got what", "Bottlenecks"]
