"""What videos and short flows tell of themselves, in summaries and on the screen."""

import subprocess
import sys

import numpy as np
import pytest

import tidegate
from tidegate.results.batch import Batch
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


def reported(result, metric):
    (row,) = [row for row in rows(result.tables) if row.metric == metric]
    return row


def test_a_summary_has_the_mean_of_a_groups_applications(result):
    stalls = reported(result, "stalls")
    assert (stalls.kind, stalls.name, stalls.runs) == ("application", "viewer", 3)
    found = result.applications.to_pylist()
    of_each = [row["amount"] for row in found if row["what"] == "stalls"]
    assert len(of_each) == 9
    assert stalls.mean == pytest.approx(sum(of_each) / 9)
    assert reported(result, "finished").name == "clicker"


def test_a_single_run_has_the_same():
    first = tidegate.simulate(SCENARIO, replications=1)
    (own,) = measures(Batch.of_runs([first.tables], [first.scenario]))
    summed = list(rows(first.tables))
    assert own.labels == tuple((row.kind, row.name, row.metric) for row in summed)
    np.testing.assert_array_equal(own.values, [row.mean for row in summed])


def test_the_screen_has_a_table_of_applications_where_there_are_some(result):
    *_, drawn = grids({"": result})
    assert drawn.title == "Applications"
    assert {"stalls", "qoe", "finished"} <= set(drawn.metrics)
    plain = SCENARIO.partition("[users.viewer]")[0] + "[users.greedy]\n"
    titles = [grid.title for grid in grids({"": tidegate.simulate(plain)})]
    assert titles == ["Throughput by group", "Bottlenecks"]


CALLS = """
version = 1
warm_up = "5 s"
duration = "20 s"
[bottleneck]
rate = "2 Mb/s"
delay = "20 ms"
buffer = "100 kB"
ecn = true
[users.site]
traffic = { kind = "calls", rate = "200 kb/s", every = "1 s", holding = "5 s" }
[users.film]
[users.film.traffic]
kind = "frames"
rate = "400 kb/s"
adaptation = { kind = "price", willingness = "10 kb/s", better = [{ rate = "800 kb/s" }] }
"""


def test_calls_and_films_tell_of_themselves_and_are_compared():
    result = tidegate.simulate(CALLS, replications=2)
    calls = reported(result, "calls")
    assert (calls.name, calls.runs) == ("site", 2)
    target = reported(result, "target_rate_bps")
    assert (target.name, target.unit) == ("film", "bit/s")
    *_, drawn = grids({"": result})
    assert {"offered", "calls", "target_rate_bps"} <= set(drawn.metrics)
    more = tidegate.simulate(CALLS, set={"users.site.traffic.every": "500 ms"}, replications=2)
    both = tidegate.compare_results(result, more)
    (offered,) = [row for row in both.differences if row.metric == "offered"]
    assert (offered.kind, offered.name) == ("application", "site")
    assert (
        offered.difference == reported(more, "offered").mean - reported(result, "offered").mean > 0
    )


# A run of 60 s and one of 600 s of ConEx's short flows, whose ends are not listed one by one, in a
# process of its own: the most memory that it ever had, in KiB, after each.
PEAKS = """
import resource
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

series = load_study("conex").experiments["fig20"].series["tcp"]
setting = next(one for one in series.settings if one.levels["r"] == 5)
unlisted = [(f"users.{group}.traffic.listed", "false") for group in ("heavy", "light")]
for duration in ("60 s", "600 s"):
    own = [*setting.overrides, *unlisted, ("duration", f'"{duration}"')]
    native_engine(setting.base, own).run(1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_short_flows_take_no_more_memory_after_600_s_than_after_60():
    """Of 100,000 that begin, those that are open are kept: 80 bytes of each would be 8 MB."""
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True)
    after_60_s, after_600_s = map(int, done.stdout.split())
    assert after_600_s - after_60_s < 4096, "KiB"
