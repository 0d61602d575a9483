"""Replications go on until intervals are as narrow as asked for, and no longer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import SWEEP

import tidegate
from tidegate.results.statistics import estimate
from tidegate.results.summary import Row
from tidegate.runs.execution import Threads
from tidegate.runs.precision import until_of

TINY = SWEEP.replace('duration = "2 s"', 'duration = "0.5 s"').replace('"1 s"', '"0.5 s"')


def throughput(mean, ci95, runs=10, name="heavy"):
    return Row("group", name, "throughput_bps", "bit/s", mean, ci95, runs)


def test_errors_are_reported_together_and_with_the_nearest_names():
    with pytest.raises(tidegate.UsageError) as refused:
        until_of(["throughput 2 %", "p95_sojourn_s 3", "share", "marks 2 ms", "share 0 %"], 1, 3, 0)
    reported = str(refused.value).splitlines()
    assert "did you mean throughput_bps or total_throughput_bps?" in reported[0]
    assert reported[1].endswith("write e.g. 'p95_sojourn_s 2 %' or 'p95_sojourn_s 1 ms'")
    assert "has no half-width; write e.g. 'share 2 %' or 'share 0.01'" in reported[2]
    assert "'2 ms' is no amount of marks" in reported[3]
    assert "without width" in reported[4]
    assert "one run has no interval" in reported[5]
    assert "at most 0 runs is not between 1, the first batch, and 10000" in reported[6]


def test_without_a_width_there_is_nothing_to_end_at():
    assert until_of(None, 3, 3, None) is None
    with pytest.raises(tidegate.UsageError, match="--until"):
        until_of([], None, 3, 20)


def test_the_first_batch_is_ten_runs_unless_more_or_others_are_asked_for():
    assert until_of("share 2 %", None, 3, None).first == 10
    assert until_of("share 2 %", None, 50, None).first == 50
    assert until_of("share 2 %", 4, 50, None).first == 4


def test_every_group_has_to_be_known_well_enough():
    until = until_of("throughput_bps 2 %", 10, 1, None)
    assert until.next_count([throughput(100.0, 2.0), throughput(1.0, 0.01)], 10) == 10
    assert until.next_count([throughput(100.0, 2.0), throughput(1.0, 0.03)], 10) > 10
    absolute = until_of("throughput_bps 2 kb/s", 10, 1, None)
    assert absolute.next_count([throughput(1e6, 1999.0)], 10) == 10
    assert absolute.next_count([throughput(1e6, 2001.0)], 10) > 10


def test_a_batch_goes_where_the_width_is_likely_to_do():
    until = until_of("throughput_bps 2 %", 10, 1, 1000)
    assert until.next_count([throughput(100.0, 2.4)], 100) == 144, "n (h/d)²"
    assert until.next_count([throughput(100.0, 2.01)], 100) == 110, "and a tenth at least"
    assert until.next_count([throughput(100.0, 50.0)], 100) == 200, "and twice as many at most"
    assert until.next_count([throughput(100.0, 50.0)], 900) == 1000
    assert until.next_count([throughput(100.0, 50.0)], 1000) == 1000, "and there is an end"


def test_what_has_no_value_is_not_waited_for():
    until = until_of("throughput_bps 2 %", 10, 1, None)
    assert until.next_count([throughput(math.nan, math.nan, 0)], 10) == 10
    assert until.next_count([throughput(5.0, math.nan, 1)], 10) == 20
    assert until.next_count([throughput(0.0, 0.0)], 10) == 10, "nothing at all is known exactly"
    assert until.next_count([throughput(0.0, 1.0)], 10) == 20


@given(st.lists(st.floats(1.0, 100.0), min_size=2, max_size=30), st.integers(1, 50))
def test_it_ends_with_the_width_that_was_asked_for_or_at_the_end(values, percent):
    until = until_of(f"throughput_bps {percent} %", 2, 1, 60)
    count = 2
    while True:
        sample = [values[number % len(values)] for number in range(count)]
        rows = [Row("group", "heavy", "throughput_bps", "bit/s", *estimate(sample))]
        more = until.next_count(rows, count)
        if more == count:
            break
        assert count < more <= min(60, 2 * count)
        count = more
    assert count == 60 or rows[0].ci95 <= percent / 100 * rows[0].mean
    assert bool(until.lacking(rows)) == (rows[0].ci95 > percent / 100 * rows[0].mean)


def test_a_sweep_takes_what_each_point_needs_the_same_on_any_number_of_threads(tmp_path):
    asked = {"replications": 4, "until": "throughput_bps 20 %", "at_most": 32}
    one = tidegate.sweep(TINY, **asked, out=tmp_path / "one", executor=Threads(1))
    two = tidegate.sweep(TINY, **asked, out=tmp_path / "two", executor=Threads(2))
    assert [point.digests for point in one.points] == [point.digests for point in two.points]
    counts = [len(point.digests) for point in one.points]
    assert len(set(counts)) > 1, counts
    for point in one.points:
        rows = [row for row in point.summary() if row.metric == "throughput_bps"]
        narrow = all(row.ci95 <= 0.2 * row.mean for row in rows)
        assert narrow or len(point.digests) == 32
        assert narrow == (point.label not in {other.label for other, _ in one.imprecise})
        assert {row.runs for row in rows} == {len(point.digests)}, "and it is told"
    seen = []
    again = tidegate.sweep(
        TINY, **asked, out=tmp_path / "one", progress=lambda *at: seen.append(at)
    )
    assert all(done == total for done, total in seen), "nothing is run again"
    assert [point.digests for point in again.points] == [point.digests for point in one.points]


def test_simulate_goes_on_as_well_and_says_what_it_did_not_reach(tidegate_command):
    (tidegate_command.folder / "tiny.toml").write_text(TINY.partition("[sweep]")[0])
    simulate = ("simulate", "tiny.toml", "--no-save", "--format", "json", "-r", "2")
    found = tidegate_command.json(*simulate, "--until", "throughput_bps 30 %")
    rows = [row for row in found["summary"] if row["metric"] == "throughput_bps"]
    assert all(row["ci95"] <= 0.3 * row["mean"] for row in rows)
    assert {row["runs"] for row in rows} == {len(found["runs"])}
    done = tidegate_command(*simulate, "--until", "mean_sojourn_s 1 us", "--at-most", "5")
    assert done.returncode == 5
    assert "after 5 runs, mean_sojourn_s of bottleneck: ± " in done.stderr
    assert done.stderr.strip().endswith("s, not 1 us")


def test_variants_are_run_equally_often():
    both = tidegate.compare(
        TINY.partition("[sweep]")[0], against={"bottleneck.differentiation.kind": "none"},
        replications=2, until="throughput_bps 10 %", at_most=9,
    )  # fmt: skip
    assert len({tuple(seed for seed, _ in result.digests) for result in both.values()}) == 1


@pytest.mark.parametrize(("text", "amount"), [
    ("throughput_bps .5 %", 0.005),
    ("throughput_bps 1E-1 kb/s", 100.0),
    ("throughput_bps 1e+1 kb/s", 1e4),
    ("throughput_bps 5. %", 0.05),
    ("throughput_bps 2%", 0.02),
    ("p95_sojourn_s 1.5E0 ms", 0.0015),
    ("share .01", 0.01),
    ("throughput_bps 1E6 Gb/s", 1e15),
])  # fmt: skip
def test_a_width_is_any_number_with_its_unit(text, amount):
    assert until_of(text, None, 3, None).targets[0].amount == pytest.approx(amount)


@pytest.mark.parametrize("width", [".", "e5 %", "1e %", "-1 %", "1 KB/S", "٣ %", "1 2 %", "nan %"])
def test_what_is_no_width_is_refused(width):
    with pytest.raises(tidegate.UsageError, match="until: "):
        until_of(f"throughput_bps {width}", None, 3, None)


def test_a_quantity_that_nothing_has_is_an_error(tidegate_command, tmp_path):
    asked = ("--until", "mean_completion_s 5 %", "-r", "2")
    reported = "until: nothing in this scenario has a mean_completion_s; it has throughput_bps, "
    for command in (("simulate", "small.toml"), ("sweep", "sweep.toml")):
        done = tidegate_command(*command, *asked, "--set", "duration=0.2 s")
        assert (done.returncode, done.stdout) == (2, "")
        assert reported in done.stderr
        assert "Traceback" not in done.stderr
    with pytest.raises(tidegate.UsageError, match="nothing in this scenario has a mean_completion"):
        tidegate.simulate(TINY, until=["throughput_bps 90 %", "mean_completion_s 5 %"])


def test_a_quantity_that_one_group_or_one_point_has_is_none():
    until = until_of("mean_completion_s 50 %", 2, 1, None)
    until.check({"throughput_bps", "mean_completion_s"})
    until.check(set())  # nothing has run
    with pytest.raises(tidegate.UsageError, match="nothing in this scenario"):
        until.check({"throughput_bps"})
