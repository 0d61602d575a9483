"""Runs of a paper are kept as they end, by what they depend on, and none is done twice."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import PATIENCE_S, held

from tidegate.errors import ResultError
from tidegate.results import atomic
from tidegate.runs.execution import Threads
from tidegate.studies.factors import Setting
from tidegate.studies.metrics import Measures, Run
from tidegate.studies.reads import Read
from tidegate.studies.reproduce import reproduce
from tidegate.studies.runner import Runner
from tidegate.studies.running import Task
from tidegate.studies.store import RunStore
from tidegate.studies.traces import Trace

from .synthetic import FakeSimulation

MEASURES = Measures(
    {"losses": Read("flows", "losses"), "each": Read("flows", "losses", {}, "each")}
)
POINTS = [(Setting({}, (), "a"), 3), (Setting({}, (), "b"), 2)]


@pytest.fixture
def simulated(tmp_path):
    """Give a function that does `POINTS` with what is kept, and tells what had to be run."""
    ran = []

    class Telling(FakeSimulation):
        def run(self, seed):
            ran.append((self.text[0], seed))
            return super().run(seed)

    def simulate(measures=MEASURES, points=POINTS, folder=tmp_path, **how):
        ran.clear()
        store = RunStore(folder, measures, **how)
        runner = Runner(Telling, measures, Threads(1), store=store)
        runner.prepare(points)
        return list(ran), [runner.runs(*point) for point in points]

    return simulate


def test_nothing_is_run_twice_and_what_is_kept_has_every_digit(simulated):
    ran, first = simulated()
    assert ran == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    assert simulated() == ([], first)


def test_more_runs_of_a_point_and_a_scenario_that_has_changed_are_run_alone(simulated):
    simulated()
    assert simulated(points=[(POINTS[0][0], 4)])[0] == [("a", 4)]
    changed = Setting({}, (("seed", "2"),), "b")
    assert simulated(points=[POINTS[0], (changed, 2)])[0] == [("b", 1), ("b", 2)]


def test_another_engine_runs_all_anew_and_stays(simulated):
    simulated()
    assert len(simulated(engine="another")[0]) == 5
    assert simulated(engine="another")[0] == []


def test_a_reading_that_is_new_or_means_something_else_needs_its_runs_anew(simulated):
    simulated()
    fewer = Measures({"losses": MEASURES.reads["losses"]})
    assert simulated(fewer)[0] == []
    more = Measures({**MEASURES.reads, "more": Read("flows", "marks")})
    assert len(simulated(more)[0]) == 5
    other = Measures({**more.reads, "more": Read("flows", "timeouts")})
    assert len(simulated(other)[0]) == 5


def test_without_resume_all_is_run_anew_and_kept(simulated):
    simulated(points=POINTS[:1])
    assert len(simulated(resume=False)[0]) == 5
    assert simulated()[0] == []


DAMAGES = {
    "cut": lambda content: content[:-20],
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
    "another digit": lambda content: content.replace(b'"seed": 2', b'"seed": 9'),
    "no text": lambda content: b"\xff" + content,
    "no entries": lambda _: b"[]",
    "no lines": lambda _: b'{"runs": ["seed"]}',
    "no check": lambda content: b"".join(
        line for line in content.splitlines(keepends=True) if b'"check"' not in line
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_file_that_is_damaged_costs_the_runs_of_its_scenario(simulated, tmp_path, damage):
    _, whole = simulated()
    path = min(tmp_path.glob("*.json"))
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert path.read_bytes() != content
    ran, again = simulated()
    assert len(ran) == content.count(b'"seed"')
    assert again == whole
    assert simulated()[0] == []


def test_a_full_disk_is_told_and_what_is_finished_stays(simulated, tmp_path, monkeypatch):
    write, written = Path.write_text, []

    def fills_up(path, *content, **how):
        if len(written) == 3:
            write(path, "half of it")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(path, *content, **how)

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", fills_up)
        with pytest.raises(ResultError, match="No space left on device; the finished runs are"):
            simulated()
    assert not list(tmp_path.glob(".*.tmp")), "nothing half-written is left"
    assert len(simulated()[0]) == 2


def test_a_file_in_the_place_of_the_folder_is_told(simulated, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ResultError, match="cannot write"):
        simulated(folder=tmp_path / "file" / "runs")


def test_what_killed_writers_left_is_cleared_away_and_what_is_being_written_is_not(tmp_path):
    fresh = atomic.draft_of(tmp_path / "case.json")
    left = fresh.with_name(fresh.name.replace(f".{os.getpid()}.", ".999999999."))
    others = tmp_path / ".case.json.swp.tmp"
    for path in (fresh, left, others):
        path.touch()
    RunStore(tmp_path, Measures()).clear_away()
    assert [path.exists() for path in (fresh, left, others)] == [True, False, True]


def test_time_series_are_kept_beside_the_runs(tmp_path):
    trace = Trace(np.arange(3.0), np.ones((3, 2)), np.zeros(3), np.array([0.1, 0.0, 2.0]))
    kept, run = RunStore(tmp_path, Measures()), Run({"warm_up_s": 5.0}, 7, trace)
    kept.add("scenario", 1, run)
    again = kept.of("scenario")[1]
    assert replace(again, trace=None) == replace(run, trace=None)
    for name, column in vars(trace).items():
        assert np.array_equal(getattr(again.trace, name), column), name
    archive = next(tmp_path.glob("*.npz"))
    content = archive.read_bytes()
    for at in range(0, len(content), 17):
        archive.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        there = kept.of("scenario").get(1)
        assert there is None or np.array_equal(there.trace.policed, trace.policed), at
    for at in range(0, len(content), 17):
        archive.write_bytes(content[:at])
        assert kept.of("scenario") == {}, at


def test_an_interrupted_reproduction_goes_on_and_gives_the_same_page(tmp_path, monkeypatch):
    def pages(out):
        (done,) = reproduce("abc/table4", quick=True, out=out, executor=Threads(1))
        return done, {path.name: path.read_bytes() for path in done.folder.glob("*.md")}

    whole, page = pages(tmp_path / "whole")
    assert whole.effort.cached == 0

    done, do = [], Task.do

    def interrupted(task):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(task)
        return do(task)

    monkeypatch.setattr(Task, "do", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pages(tmp_path / "parts")
    monkeypatch.setattr(Task, "do", do)
    rest, resumed = pages(tmp_path / "parts")
    assert 0 < rest.effort.cached <= 5
    assert resumed == page
    assert rest.effort.packets == whole.effort.packets

    again, page_again = pages(tmp_path / "parts")
    assert again.effort.cached == again.effort.runs == whole.effort.runs
    assert page_again == page


ASKED = ("reproduce", "abc/table4", "--quick", "--jobs", "1", "--format", "json")
IN_ALL = 192  # 96, and as many without differentiation


def started_and(tidegate_command, end):
    """Begin the reproduction and end it once some runs are kept; what it said."""
    hold = held("parts/reproduce-runs/abc/*.json", 4)
    process = tidegate_command.start(*ASKED, "--out", "parts", hold=hold)
    folder = tidegate_command.folder / "parts" / "reproduce-runs" / "abc"
    while len(list(folder.glob("*.json"))) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(end)
    # It has heard, and says so before it waits for the run that is under way.
    output = next((line for line in process.stderr if "interrupted" in line), "")
    tidegate_command.go_on()
    _, rest = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output + rest, folder


def pages(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*/RESULTS.md")}


def lines(*paths):
    return sum(path.read_text().count('"readings"') for path in paths)


def test_a_killed_reproduction_goes_on_and_comes_to_the_same(tidegate_command):
    whole = tidegate_command(*ASKED, "--out", "whole")
    code, _, folder = started_and(tidegate_command, signal.SIGKILL)
    assert code == -signal.SIGKILL, "it was not over"
    # What a kill cannot do, a power cut can.
    cut = min(folder.glob("*.json"))
    cut.write_bytes(cut.read_bytes()[:-30])
    kept = lines(*set(folder.glob("*.json")) - {cut})
    assert 0 < kept < IN_ALL
    untouched = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    rest = tidegate_command(*ASKED, "--out", "parts")
    assert f"{IN_ALL} runs ({kept} of them cached)" in rest.stderr
    assert (rest.returncode, rest.stdout) == (whole.returncode, whole.stdout)
    assert pages(tidegate_command.folder / "parts") == pages(tidegate_command.folder / "whole")
    same = [path for path, at in untouched.items() if path.stat().st_mtime_ns == at]
    assert len(same) >= 2, "files with all their runs are read, not written"
    again = tidegate_command(*ASKED, "--out", "parts")
    assert f"{IN_ALL} runs ({IN_ALL} of them cached)" in again.stderr
    assert again.stdout == whole.stdout


def test_an_interrupted_reproduction_says_where_it_goes_on(tidegate_command):
    code, output, folder = started_and(tidegate_command, signal.SIGINT)
    assert code == 130
    assert "the finished runs are kept in parts/reproduce-runs" in output
    assert "Traceback" not in output
    kept = lines(*folder.glob("*.json"))
    rest = tidegate_command(*ASKED, "--out", "parts")
    assert f"({kept} of them cached)" in rest.stderr


def test_what_cannot_be_written_is_told_before_anything_runs(tidegate_command):
    (tidegate_command.folder / "file").touch()
    (tidegate_command.folder / "results").mkdir()
    (tidegate_command.folder / "results" / "reproduce-runs").touch()
    for out, what in (("file", "file is not a folder"), ("results", "is not a folder")):
        done = tidegate_command(*ASKED, "--out", out)
        assert (done.returncode, done.stdout) == (1, "")
        assert what in done.stderr
        assert "Traceback" not in done.stderr


ADDS = """
import sys
from pathlib import Path
from tidegate.studies.store import RunStore
from tidegate.studies.metrics import Measures, Run

first = int(sys.argv[2])
for seed in range(first, first + 40):
    RunStore(Path(sys.argv[1]), Measures()).add("scenario", seed, Run({"warm_up_s": 5.0}, 7))
"""


def test_two_processes_that_keep_runs_at_once_lose_none(tmp_path):
    adding = [
        subprocess.Popen([sys.executable, "-c", ADDS, tmp_path, str(first)]) for first in (0, 1000)
    ]
    assert [one.wait(timeout=PATIENCE_S) for one in adding] == [0, 0]
    kept = RunStore(tmp_path, Measures()).of("scenario")
    assert sorted(kept) == [*range(40), *range(1000, 1040)]


def test_a_run_is_entered_under_a_lock(tmp_path, monkeypatch):
    enter = RunStore._enter

    def locked(kept, *run):
        with (tmp_path / ".lock").open("r+") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        enter(kept, *run)

    monkeypatch.setattr(RunStore, "_enter", locked)
    RunStore(tmp_path, Measures()).add("scenario", 1, Run({"warm_up_s": 5.0}, 7))
    assert list(RunStore(tmp_path, Measures()).of("scenario")) == [1]
