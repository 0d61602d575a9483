"""What disks and people do to a sweep: a clear word, and nothing lost."""

import errno
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support import PATIENCE_S, SWEEP

import tidegate
from tidegate.runs import run_files
from tidegate.runs.catalogue import CATALOGUE, Catalogue
from tidegate.runs.execution import Threads

TINY = SWEEP.replace('duration = "2 s"', 'duration = "0.2 s"').replace('"1 s"', '"0.1 s"')


def finished(folder):
    catalogue = Catalogue(folder / CATALOGUE, writable=False)
    return sum(len(catalogue.runs(number)) for number, _ in catalogue.points())


def test_a_full_disk_is_told_and_the_sweep_goes_on_when_there_is_room(tmp_path, monkeypatch):
    files = []

    def fsync(_):
        files.append(1)
        if len(files) > 2:  # the token of this use, and a file of runs
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(run_files.os, "fsync", fsync)
        with pytest.raises(tidegate.ResultError) as reported:
            tidegate.sweep(TINY, out=tmp_path / "kept", executor=Threads(1))
    assert "No space left on device; the finished runs are kept" in str(reported.value)
    assert str(tmp_path / "kept" / "runs") in str(reported.value)
    there = finished(tmp_path / "kept")
    assert 0 < there < 12
    assert not list((tmp_path / "kept/runs").glob(".*.tmp")), "nothing half-written is left"
    seen = []
    done = tidegate.sweep(TINY, out=tmp_path / "kept", progress=lambda *at: seen.append(at))
    # Several runs may finish before the first report.
    assert there <= seen[0][0] <= 12, "what was finished is not done again"
    assert sum(len(point.digests) for point in done.points) == 12


def test_a_catalogue_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    tidegate.sweep(TINY, out=tmp_path / "kept", replications=1)
    (tmp_path / "kept" / CATALOGUE).write_bytes(b"SQLite format 3\0 and then nothing" * 100)
    again = tidegate.sweep(TINY, out=tmp_path / "kept", replications=1)
    assert sum(len(point.digests) for point in again.points) == 4, "it is made anew"
    assert {len(path.read_bytes()) > 0 for path in (tmp_path / "kept/runs").iterdir()} == {True}


def test_a_file_that_was_written_and_not_entered_is_found(tmp_path):
    done = tidegate.sweep(TINY, out=tmp_path / "kept", replications=2)
    (tmp_path / "kept" / CATALOGUE).unlink()
    seen = []
    again = tidegate.sweep(
        TINY, out=tmp_path / "kept", replications=2, progress=lambda *at: seen.append(at)
    )
    assert seen == [(8, 8)], "nothing is run"
    assert [point.digests for point in again.points] == [point.digests for point in done.points]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(tidegate.ResultError, match="cannot be written to"):
        tidegate.sweep(TINY, out=tmp_path / "kept")


def test_a_file_in_the_place_of_the_folder_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(tidegate.ResultError, match="is not a folder"):
        tidegate.sweep(TINY, out=tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "mine"


@pytest.mark.xdist_group("cluster")
def test_an_interrupted_sweep_ends_the_cluster_that_it_started(tidegate_command):
    longer = SWEEP.replace('duration = "2 s"', 'duration = "60000 s"')
    (tidegate_command.folder / "sweep.toml").write_text(longer)
    process = tidegate_command.start("sweep", "sweep.toml", "--engine", "dask", "--jobs", "1")
    workers = []
    while not workers or not any(busy(worker) for worker in workers):
        assert process.poll() is None, process.communicate()
        workers = children(process.pid)
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "the same command goes on from there" in output
    assert "Traceback" not in output
    until = time.monotonic() + PATIENCE_S
    while left := [worker for worker in workers if alive(worker)]:
        assert time.monotonic() < until, f"{left} go on"
        time.sleep(0.05)


def children(pid):
    """Processes that any of its threads has started, and theirs."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    own = [int(one) for reported in lists for one in reported.split()]
    return own + [other for one in own for other in children(one)]


def busy(pid, cpu_s=5.0):
    """A worker needs less to start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") > cpu_s


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_killed_writer_left_is_cleared_away_at_the_end(tmp_path):
    """Who was killed is listed until somebody waits for him; what the living write is left."""
    files = run_files.RunFiles(tmp_path)
    files.prepare()
    host = socket.gethostname().replace(".", "-")
    with subprocess.Popen(["sleep", "60"]) as killed, subprocess.Popen(["sleep", "60"]) as alive:
        left, kept = (
            tmp_path / f".0.parquet.{host}.{writer.pid}.1.tmp" for writer in (killed, alive)
        )
        try:
            left.touch()
            kept.touch()
            killed.kill()
            os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
            files.tidy()
            assert (left.exists(), kept.exists()) == (False, True)
        finally:
            alive.kill()
