"""Progress within runs, and estimates before sweeps."""

import json
import re
import sys

import pytest
from support import SMALL, SWEEP

import tidegate
from tidegate.runs import progress
from tidegate.runs.estimate import estimate, packets_of
from tidegate.runs.progress import Board, listening, shown
from tidegate.runs.sweeping import expected
from tidegate.scenarios.reading import parse

LONG = SMALL.replace('duration = "2 s"', 'duration = "400 s"')


def test_a_run_reports_how_far_it_is():
    scenario, reports = parse(LONG), []
    output = scenario.run(1, lambda *at: reports.append(at))
    assert output["run"]["digest"] == scenario.run(1)["run"]["digest"], (
        "nobody's look changes a run"
    )
    for simulated_s, share, hops in reports:
        assert share == pytest.approx(min(simulated_s / 401, 1.0))
        assert hops >= 0
    assert reports == sorted(reports)


def test_what_a_report_raises_ends_no_run(monkeypatch):
    seen, unraisable = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: unraisable.append(one.exc_value))

    def report(*at):
        seen.append(at)
        raise ValueError("of the one who looks")

    assert parse(LONG).run(1, report)["run"]["digest"] == parse(LONG).run(1)["run"]["digest"]
    # A fast machine may be done before the first report is due.
    assert [str(one) for one in unraisable] == ["of the one who looks"] * len(seen)


def test_a_board_sums_runs_that_are_done_and_under_way():
    drawn = []
    board = Board(lambda one: drawn.append((one.completed, one.text())))
    board(0, 4)
    with board.run() as report:
        report(3.0, 0.25, 1_000)
        report(6.0, 0.5, 2_500_000)
        assert board.completed == pytest.approx(0.5)
    board(1, 4)
    assert drawn[2] == (0.5, "6 s simulated, 2.5 M packet-hops")
    assert drawn[-1] == (1, "")
    assert board.hops == 2_500_000


def test_the_time_left_follows_what_is_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    board = Board(lambda _: None)
    board(0, 4)
    assert board.left_s is None
    now[0] = 110.0
    board(1, 4)
    assert board.left_s == pytest.approx(30.0)


def test_runs_have_a_listener_only_where_progress_is_shown():
    assert listening() is None
    with shown(progress.LINES) as tell:
        assert listening() is tell
    assert listening() is None
    with shown(True):
        assert listening() is None, "standard error is no terminal"


def test_lines_come_where_they_are_asked_for(tidegate_command):
    quiet = tidegate_command("simulate", "small.toml", "--no-save")
    assert "runs" not in quiet.stderr
    done = tidegate_command("simulate", "small.toml", "--no-save", "--progress")
    assert done.stderr.splitlines()[-1] == "3 of 3 runs"
    swept = tidegate_command("sweep", "sweep.toml", "-r", "1", "--progress", "--out", "s")
    assert swept.stderr.splitlines()[-1] == "4 of 4 runs"
    assert swept.returncode == 0


def test_packets_of_an_estimate_are_those_of_links_that_are_never_idle():
    scenario = parse(SMALL)
    assert packets_of(scenario) == pytest.approx(10e6 * 3 / (8 * 1500), rel=0.02)
    (row,) = [r for r in scenario.run(1)["links"]["departures"] if r > 1000][:1]
    assert row <= packets_of(scenario)


def test_an_estimate_counts_points_and_runs():
    found = expected(SWEEP, (), replications=5, jobs=2)
    assert (found.points, found.runs, found.jobs) == (4, 20, 2)
    assert found.packets == pytest.approx(20 * packets_of(parse(SMALL)))
    assert found.seconds == pytest.approx(found.packets / found.packets_per_s / 2)
    assert expected(SWEEP, (), mechanisms=["fq-codel"], replications=5, jobs=2).points == 8
    one = estimate([(parse(SMALL), 1)], jobs=8)
    assert one.seconds == pytest.approx(one.packets / one.packets_per_s), "one run has one thread"


def test_the_command_prints_an_estimate_and_runs_nothing(tidegate_command):
    done = tidegate_command("sweep", "sweep.toml", "--estimate", "-j", "2")
    assert done.returncode == 0
    said = r"12 runs of 4 points, .* million packets at the bottlenecks at most: about .*\n"
    assert re.fullmatch(said, done.stdout)
    assert not (tidegate_command.folder / "results").exists()


def test_a_sweep_takes_mechanisms_and_some_of_its_variants(tmp_path, tidegate_command):
    swept = '\n[sweep]\n"users.heavy.flows" = [1, 4]\n'
    text = SMALL + swept + '[variants.plain]\nbottleneck.differentiation = "none"\n[variants.abc]\n'
    with pytest.raises(tidegate.UsageError, match="did you mean 'plain'"):
        tidegate.sweep(text, only=["plane"], out=tmp_path / "none")
    made = tidegate.sweep(
        text, only=["plain"], mechanisms=["fq-codel"], out=tmp_path / "s", replications=1
    )
    rows = made.summary().to_pylist()
    assert {row["variant"] for row in rows} == {"plain", "fq-codel"}
    by_hand = tidegate.compare(SMALL, mechanisms=["fq-codel"], replications=1)
    digests = {
        (point.values["variant"], point.values["users.heavy.flows"]): point.digests
        for point in tidegate.load_sweep(tmp_path / "s").points
    }
    assert digests["fq-codel", 4] == by_hand["fq-codel"].digests
    (tidegate_command.folder / "v.toml").write_text(SMALL + swept)
    done = tidegate_command("sweep", "v.toml", "--with", "drr", "-r", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert [point["settings"]["variant"] for point in points] == [
        *["as in the file"] * 2, *["drr"] * 2,
    ]  # fmt: skip
