"""Tasks of a study."""

import pickle
from functools import partial

import pytest

from tidegate.runs.execution import Threads
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine
from tidegate.studies.running import Task, each_done

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


def quiet(_done, _total):
    """Nobody watches."""


def test_each_task_is_done_once_wherever_it_runs():
    tasks = [
        Task(native_engine(SCENARIO, []), seed, load_study("abc").measures.keep)
        for seed in range(1, 6)
    ]
    one, three = (dict(each_done(tasks, Threads(jobs), quiet)) for jobs in (1, 3))
    assert sorted(one) == [0, 1, 2, 3, 4]
    assert repr([one[number] for number in range(5)]) == repr(
        [three[number] for number in range(5)]
    )


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


@pytest.mark.parametrize("kind", range(2))
def test_a_task_travels_to_another_process(kind):
    task = list(tasks())[kind]
    # Written out, for a NaN is not equal to itself.
    assert repr(pickle.loads(pickle.dumps(task)).do()) == repr(task.do())
