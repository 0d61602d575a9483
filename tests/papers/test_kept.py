"""Runs of a paper are kept as they end, by what they depend on, and none is done twice."""

from dataclasses import replace

import numpy as np
import pytest

from tidegate.runs.execution import Threads
from tidegate.studies.papers.factors import Setting
from tidegate.studies.papers.kept import KeptRuns
from tidegate.studies.papers.metrics import Measures, Run
from tidegate.studies.papers.readings import Read
from tidegate.studies.papers.reproduction import reproduce
from tidegate.studies.papers.runs import Runner
from tidegate.studies.papers.traces import Trace
from tidegate.studies.running import Task

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

    def simulate(measures=MEASURES, points=POINTS, **how):
        ran.clear()
        kept = KeptRuns(tmp_path, measures, **how)
        runner = Runner(Telling, measures, Threads(1), kept=kept)
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


def test_a_file_that_is_damaged_costs_the_runs_of_its_scenario(simulated, tmp_path):
    simulated()
    path = min(tmp_path.glob("*.json"))
    path.write_text(path.read_text()[:-20])
    assert 0 < len(simulated()[0]) < 5
    assert simulated()[0] == []


def test_time_series_are_kept_beside_the_runs(tmp_path):
    trace = Trace(np.arange(3.0), np.ones((3, 2)), np.zeros(3), np.array([0.1, 0.0, 2.0]))
    kept, run = KeptRuns(tmp_path, Measures()), Run({"warm_up_s": 5.0}, 7, trace)
    kept.add("scenario", 1, run)
    again = kept.of("scenario")[1]
    assert replace(again, trace=None) == replace(run, trace=None)
    for name, column in vars(trace).items():
        assert np.array_equal(getattr(again.trace, name), column), name
    next(tmp_path.glob("*.npz")).write_bytes(b"PK")
    assert kept.of("scenario") == {}


def test_an_interrupted_reproduction_goes_on_and_gives_the_same_page(tmp_path, monkeypatch):
    def pages(out):
        (done,) = reproduce("abc/table4", quick=True, out=out, executor=Threads(1))
        return done, {path.name: path.read_bytes() for path in done.folder.glob("*.md")}

    whole, page = pages(tmp_path / "whole")
    assert whole.effort.kept == 0

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
    assert 0 < rest.effort.kept <= 5
    assert resumed == page
    assert rest.effort.packets == whole.effort.packets

    again, page_again = pages(tmp_path / "parts")
    assert again.effort.kept == again.effort.runs == whole.effort.runs
    assert page_again == page
