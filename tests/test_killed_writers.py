"""Writers that are killed at any step: the old or the new is there, and no leftovers stay.

The n-th time that a writer asks something of the file system it dies, for each n: nothing of it is
done from then on, as after `kill -9`.
"""

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest
from support import SMALL, SWEEP

import tidegate
from tidegate.results import atomic
from tidegate.runs.execution import Threads

SHORT = SMALL.replace('"2 s"', '"0.2 s"').replace('"1 s"', '"0.1 s"')
SHORT_SWEEP = SWEEP.replace('"2 s"', '"0.2 s"').replace('"1 s"', '"0.1 s"')
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """Nobody catches it, and whoever cleans up meets it again."""


class Steps:
    """Counts what is asked of the file system in a folder, and kills."""

    def __init__(self):
        self.folder, self.left = None, 0
        sys.addaudithook(self.hear)

    def hear(self, event, arguments):
        if self.folder is None:
            return
        writes = event.startswith(("os.", "shutil.", "exchange")) or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        )
        if writes and any(self.folder in str(one) for one in arguments):
            self.left -= 1
            if self.left < 0:
                raise Killed

    def kills(self, number, folder, write):
        """Whether `write` was killed at its step of this number; else it has fewer."""
        self.folder, self.left = str(folder), number
        try:
            write()
        except Killed:
            return True
        finally:
            self.folder = None
        return False


@pytest.fixture(scope="module")
def steps():
    return Steps()


@pytest.fixture(scope="module")
def results():
    against = {"bottleneck.differentiation.kind": "none"}
    return [tidegate.compare(SHORT, against=against, replications=count) for count in (1, 2)]


def no_exchange(_old, _new):
    return False


@pytest.mark.parametrize("exchange", ["exchange", "two renames"])
def test_a_result_that_is_replaced_is_there_whenever_its_writer_is_killed(
    steps, results, tmp_path, monkeypatch, exchange
):
    old, new = results
    place, found = tmp_path / "kept", set()
    if exchange != "exchange":
        monkeypatch.setattr(atomic, "_renameat2", no_exchange)
    for number in range(1_000):
        shutil.rmtree(place, ignore_errors=True)
        old.save(place)
        (place / "notes.txt").write_text("mine")
        (place / "more").mkdir()
        (place / "more/notes.txt").write_text("mine as well")
        killed = steps.kills(number, tmp_path, lambda: new.save(place))
        with monkeypatch.context() as later:
            later.setattr(atomic, "_is_alive", lambda _process: False)
            if exchange != "exchange":
                atomic.clear_leftovers(tmp_path)
            found.update(one.replications for one in tidegate.load(place).values())
            assert (place / "notes.txt").read_text() == "mine"
            assert (place / "more/notes.txt").read_text() == "mine as well"
            new.save(place)
        assert [path.name for path in tmp_path.iterdir()] == ["kept"], "no leftovers"
        assert (place / "more/notes.txt").read_text() == "mine as well"
        if not killed:
            break
    assert number > 50, "there are many steps"
    assert found == {1, 2}, "some were killed before and some after"


def test_a_sweep_that_is_extended_can_be_read_whenever_it_is_killed(steps, tmp_path, monkeypatch):
    first = tmp_path / "first"
    tidegate.sweep(SHORT_SWEEP, out=first, replications=1)
    whole = tidegate.sweep(SHORT_SWEEP, out=tmp_path / "whole", replications=2).summary()
    renamed = SHORT_SWEEP.replace('name = "small"', 'name = "other"')
    monkeypatch.setattr(atomic, "_is_alive", lambda _process: False)

    def go_on(place, text=renamed):
        return tidegate.sweep(text, out=place, replications=2, executor=Threads(1))

    for number in range(1_000):
        place = tmp_path / f"kept-{number}"
        shutil.copytree(first, place)
        killed = steps.kills(number, place, lambda place=place: go_on(place))
        assert {len(point.digests) for point in tidegate.load_sweep(place).points} <= {1, 2}
        assert tidegate.load_sweep(place).summary().num_rows == whole.num_rows
        assert go_on(place).summary().equals(whole)
        assert tidegate.load_sweep(place).scenario.name == "other"
        assert not list(place.rglob(".*")), "no leftovers"
        shutil.rmtree(place)
        if not killed:
            break
    assert number > 10


def test_a_file_is_the_old_or_the_new_whenever_its_writer_is_killed(steps, tmp_path, monkeypatch):
    path = tmp_path / "file"
    monkeypatch.setattr(atomic, "_is_alive", lambda _process: False)
    for number in range(20):
        path.write_text("old")
        killed = steps.kills(
            number, tmp_path, lambda: atomic.replace_file(path, lambda at: at.write_text("new"))
        )
        assert path.read_text() in {"old", "new"}
        atomic.clear_leftovers(tmp_path, "file")
        assert [one.name for one in tmp_path.iterdir()] == ["file"]
        if not killed:
            assert path.read_text() == "new"
            break
    assert 3 < number < 20


def test_only_drafts_of_writers_that_are_gone_are_removed(tmp_path):
    """Nothing is followed, and nothing is taken for a draft that has not the form of one."""
    mine = atomic.draft_of(tmp_path / "kept")
    gone = mine.name.replace(f".{os.getpid()}.", ".999999999.")
    elsewhere = tmp_path / "elsewhere"
    for folder in (mine, tmp_path / gone, elsewhere, tmp_path / ".kept.tmp"):
        folder.mkdir()
        (folder / "file").touch()
    (tmp_path / gone.replace(".kept.", ".linked.")).symlink_to(elsewhere)
    (tmp_path / gone.replace(".kept.", ".other.")).touch()
    (tmp_path / ".vimrc.1.tmp").touch()
    atomic.clear_leftovers(tmp_path, "kept")
    assert not (tmp_path / gone).exists()
    assert (tmp_path / gone.replace(".kept.", ".other.")).exists()
    atomic.clear_leftovers(tmp_path)
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {mine.name, "elsewhere", ".kept.tmp", ".vimrc.1.tmp"}
    assert (elsewhere / "file").exists()


def test_a_link_in_a_drafts_place_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    atomic.draft_of(tmp_path / "file").symlink_to(victim)
    atomic.replace_file(tmp_path / "file", lambda path: path.write_text("new"))
    assert (victim.read_text(), (tmp_path / "file").read_text()) == ("precious", "new")


def test_a_link_to_a_result_folder_stays_one(results, tmp_path):
    results[0].save(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    results[1].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert [one.replications for one in tidegate.load(tmp_path / "real").values()] == [2, 2]
    assert {path.name for path in tmp_path.iterdir()} == {"real", "link"}


def test_an_exchange_that_fails_is_told_and_leaves_the_old(results, tmp_path, monkeypatch):
    results[0].save(tmp_path / "kept")

    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(atomic, "_renameat2", fails)
    with pytest.raises(tidegate.ResultError, match=r"cannot write .*Input/output error"):
        results[1].save(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert [one.replications for one in tidegate.load(tmp_path / "kept").values()] == [1, 1]


def test_files_that_cannot_be_linked_are_copied(results, tmp_path, monkeypatch):
    results[0].save(tmp_path / "kept")
    (tmp_path / "kept/notes.txt").write_text("mine")

    def no_links(*_, **__):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    results[1].save(tmp_path / "kept")
    assert Path(tmp_path / "kept/notes.txt").read_text() == "mine"
