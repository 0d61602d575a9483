"""Executors: every task once, failures alone, nothing begun that nobody waits for."""

import threading
import time
from contextlib import closing

import pytest

from tidegate.runs.execution import MAX_GROUP, Counted, Done, Queue, Threads


def square(number):
    if number == 13:
        raise ValueError("thirteen")
    return number * number


def test_every_task_is_done_once_and_a_failure_costs_itself_only():
    outcomes = dict(Threads(2).work(range(5000), square))
    assert len(outcomes) == 5000
    assert str(outcomes.pop(13)) == "thirteen"
    assert all(outcome == number * number for number, outcome in outcomes.items())


def test_a_function_of_groups_that_fails_fails_with_its_tasks():
    def refuse(tasks):
        raise ValueError(f"not {next(iter(tasks))}")

    found = list(Threads(1).work_in_groups([7], refuse))
    assert [group for group, _ in found] == [[7]]
    assert str(found[0][1]) == "not 7"


def test_tasks_are_taken_only_a_few_ahead():
    taken = []
    tasks = (taken.append(number) or number for number in range(10_000))
    hold = threading.Event()
    with closing(Threads(2).work(tasks, lambda number: number and hold.wait())) as work:
        next(work)
        assert len(taken) < 100
        hold.set()
    assert len(taken) < 10_000, "what nobody waits for is not begun"


def test_when_the_work_is_left_a_group_under_way_begins_no_other_task():
    done = []
    until = threading.Event()

    def do(tasks):
        for number in tasks:
            done.append(number)
            if number >= 1:
                until.wait()
        ended.set()

    ended = threading.Event()
    unknown = (number for number in range(100))
    with closing(Threads(1).work_in_groups(unknown, do)) as work:
        next(work)
        # The second group has several tasks, and is at its first or not begun.
        ended.clear()
        while len(done) < 2:
            time.sleep(0.001)
    until.set()
    assert ended.wait(60)
    assert done == [0, 1]


def test_groups_grow_until_they_last_long_enough():
    queue = Queue(range(10_000))
    sizes = []
    for _ in range(8):
        group = queue.next_group()
        sizes.append(len(group))
        queue.finished(group, Done(None, len(group), 1e-6))
    assert sizes == [1, 4, 16, 64, 256, MAX_GROUP, MAX_GROUP, MAX_GROUP]


def test_each_group_of_tasks_of_known_number_is_a_share_of_what_is_left():
    queue = Queue(Counted(iter(range(20)), 20), 4)
    groups = [queue.next_group() for _ in range(10)]
    assert [len(group) for group in groups] == [5, 4, 3, 2, 2, 1, 1, 1, 1, 0]
    assert [task for group in groups for task in group] == list(range(20))
    queue.finished(groups[0], Done(None, 1, 3600.0))
    assert [queue.next_group() for _ in range(2)] == [[1], [2]], "those that it did not begin"


def test_a_share_of_short_tasks_lasts_long_beside_handing_it_over():
    queue = Queue(Counted(iter(range(200)), 200), 4)
    first = queue.next_group()
    queue.finished(first, Done(None, len(first), 1e-3 * len(first)))
    sizes = [len(queue.next_group()) for _ in range(8)]
    assert sizes == [38, 30, 30, 30, 22, 0, 0, 0]


def test_a_group_that_lasts_too_long_gives_the_rest_back():
    queue = Queue(range(100))
    queue.finished(queue.next_group(), Done(None, 1, 1e-6))
    group = queue.next_group()
    assert queue.finished(group, Done(None, 2, 3600.0)) == group[:2]
    assert queue.next_group() == group[2:3], "one by one from here, none left out"


def test_what_is_no_error_of_a_task_ends_the_work():
    def leave(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Threads(1).work([1], leave))
