"""What a study runs, and the book in which it keeps what came out."""

import json
import pickle
from functools import partial

import pytest

from tidegate.errors import ResultError
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import load_scenario
from tidegate.studies.book import Book, Entry
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine
from tidegate.studies.running import Task, Trial, each_done, simulate

SCENARIO = """\
version = 1
warm_up = "0 s"
duration = "1 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"

[users.heavy]
flows = 3

[users.light]
"""


def of_run(_scenario, tables):
    """Numbers of a run, one of them of each flow."""
    rates = tables["flows"]["throughput_bps"].to_pylist()
    return {"total": sum(rates), "rates": rates}


def quiet(_done, _total):
    """Nobody watches."""


def test_runs_come_back_in_their_order_wherever_they_ran():
    trials = [Trial(load_scenario(SCENARIO), range(1, 6), of_run) for _ in range(2)]
    found = simulate(trials, Threads(3), quiet)
    assert [[run["seed"] for run in runs] for runs in found] == [[1, 2, 3, 4, 5]] * 2
    assert found[0] == found[1]
    assert found == simulate(trials, Threads(1), quiet)


def test_the_first_failure_ends_it():
    class Broken:
        def run(self, seed):
            raise ArithmeticError(seed)

    with pytest.raises(ArithmeticError, match="7"):
        list(each_done([Task(Broken(), 7, lambda _scenario, columns: columns)], Threads(1), quiet))


def tasks():
    """A task of each kind of study."""
    league = load_study("league", quick=True)
    setting = league.experiments["equals"].series["mechanisms"].settings[1]
    keep = partial(league.measures.keep, names=setting.names)
    yield Task(native_engine(setting.base, setting.overrides), 1, keep)
    yield Task(native_engine(SCENARIO, []), 1, load_study("abc").measures.keep)
    trial = Trial(load_scenario(SCENARIO), [1], of_run)
    yield Task(trial.scenario, 1, trial.read)


@pytest.mark.parametrize("kind", range(3))
def test_a_task_travels_to_another_process(kind):
    task = list(tasks())[kind]
    # Written out, for a NaN is not equal to itself.
    assert repr(pickle.loads(pickle.dumps(task)).do()) == repr(task.do())


def test_a_book_gives_back_what_it_was_given(tmp_path):
    book = Book(tmp_path / "results")
    assert book.read("one") == {}
    runs = [{"seed": 1, "ratio": 1.23456789, "parts": [0.1, 2.0]}, {"seed": 2, "ratio": None}]
    entry = Entry.of("abc", [*runs, {"seed": 3, "valid": False, "ratio": 9.0}], kernel="6.12")
    book.write("one", {"linux": entry})
    kept = book.read("one")["linux"]
    assert kept == entry
    assert kept.runs[0]["ratio"] == 1.23457
    assert kept.values("ratio") == [1.23457]
    assert kept.estimate("ratio").runs == 1
    assert kept.metrics == ["ratio", "parts"]
    assert book.cases == ["one"]


@pytest.mark.parametrize("text", ["{", json.dumps({"linux": {"runs": []}}), json.dumps([1])])
def test_a_damaged_book_is_named(tmp_path, text):
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(ResultError, match=r"one\.json cannot be read"):
        Book(tmp_path).read("one")
