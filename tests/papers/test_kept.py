"""What was read of a paper's runs is kept beside the report, and not simulated again."""

from dataclasses import replace

import pytest

from tidegate.studies.papers.experiments import load_paper
from tidegate.studies.papers.kept import KeptRuns
from tidegate.studies.papers.points import Points, fill
from tidegate.studies.papers.readings import Read
from tidegate.studies.papers.reproduction import reproduce
from tidegate.studies.papers.runs import Runner
from tidegate.studies.papers.study import wanted_series

from .synthetic import FakeSimulation

RUNS = 2


class Unrunnable(FakeSimulation):
    def run(self, seed):
        raise AssertionError(f"seed {seed} was run before")


@pytest.fixture(scope="module")
def paper():
    return load_paper("abc")


@pytest.fixture(scope="module")
def wanted(paper):
    return wanted_series(paper, [paper.experiments["table2"]], [])


def measured(paper, wanted, engine, kept):
    points, runner = Points(), Runner(engine, paper.measures, kept=kept.runs)
    fill(points, wanted, runner, RUNS)
    return points, runner


def test_points_are_the_same_without_a_run(tmp_path, paper, wanted):
    kept = KeptRuns.beside(tmp_path, paper.measures)
    points, runner = measured(paper, wanted, FakeSimulation, kept)
    assert (runner.run_count > 0, runner.kept_count) == (True, 0)
    kept.write(points, wanted, runner)

    again, later = measured(paper, wanted, Unrunnable, KeptRuns.beside(tmp_path, paper.measures))
    assert again == points
    assert later.kept_count == later.run_count == runner.run_count


def test_what_was_read_by_other_rules_does_not_count(tmp_path, paper, wanted):
    kept = KeptRuns.beside(tmp_path, paper.measures)
    kept.write(*_in_order(measured(paper, wanted, FakeSimulation, kept), wanted))
    more = {**paper.measures.reads, "more": Read("flows", "losses")}
    assert KeptRuns.beside(tmp_path, paper.measures).runs
    assert not KeptRuns.beside(tmp_path, replace(paper.measures, reads=more)).runs


def _in_order(found, wanted):
    points, runner = found
    return points, wanted, runner


def test_a_report_that_is_asked_for_again_is_the_same_and_costs_nothing(tmp_path):
    first, second = (reproduce("abc/table4", quick=True, out=tmp_path)[0] for _ in range(2))
    assert (first.effort.kept, second.effort.kept) == (0, first.effort.runs)
    assert second.summaries == first.summaries
    assert second.effort.packets == first.effort.packets
