"""Sweeps on a Dask cluster: the same results as with threads, whatever dies."""

import re
import signal
import socket
import sqlite3
import ssl
import sys
import urllib.request
from pathlib import Path

import distributed
import psutil
import pytest
from support import PATIENCE_S, SWEEP, held

import tidegate
from tidegate.errors import ClusterError
from tidegate.runs import cluster
from tidegate.runs.cluster import Cluster

sys.path.append(str(Path(__file__).parent))
from dask_commands import Dask, wait_until

# One after the other: clusters that start at once want the same port.
pytestmark = [
    pytest.mark.xdist_group("cluster"),
    # Where another program has Dask's port, its server leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LONG = SWEEP.replace("= 3\n", "= 6\n", 1)
# Workers hold further runs, so that what happens to them happens in the middle of the sweep.
HELD = held("kept/runs/*.parquet", 2)
TINY = SWEEP.replace('duration = "2 s"', 'duration = "0.2 s"').replace('"1 s"', '"0.1 s"')


def finished(folder):
    """Runs that the catalogue has."""
    try:
        with sqlite3.connect(f"file:{folder}/catalogue.sqlite?mode=ro", uri=True) as catalogue:
            return catalogue.execute("select count(*) from runs").fetchone()[0]
    except sqlite3.Error:
        return 0


def digests(sweep):
    return {
        (point.settings, seed): digest for point in sweep.points for seed, digest in point.digests
    }


def test_a_worker_that_is_killed_in_the_middle_costs_nothing(tidegate_command, tmp_path):
    (tmp_path / "sweep.toml").write_text(LONG)
    with Dask(tmp_path) as dask:
        workers = [dask.worker("--no-nanny", preload=HELD) for _ in range(2)]
        command = tidegate_command.start(
            "sweep", "sweep.toml", "--engine", "dask", "--scheduler", dask.address, "--out", "kept",
        )  # fmt: skip
        wait_until(lambda: finished(tmp_path / "kept") >= 2, command)
        workers[0].send_signal(signal.SIGKILL)
        assert finished(tmp_path / "kept") < 24, "in the middle"
        tidegate_command.go_on()
        _, output = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 0, output
    kept = tidegate.load_sweep(tmp_path / "kept")
    assert len(digests(kept)) == 24
    assert not list(tmp_path.glob("kept/runs/.*")), "nothing half-written is left"
    assert digests(kept) == digests(tidegate.sweep(LONG, out=tmp_path / "threads"))


POISON = """
import os, signal
from tidegate.runs import sweep_work

real = getattr(sweep_work.run_batch, "real", sweep_work.run_batch)  # the nanny preloads it, too

def run_batch(runs):
    texts = [scenario.to_toml() for scenario, _ in runs]
    if any("flows = 13" in text for text in texts):
        os.kill(os.getpid(), signal.SIGKILL)
    wrong = [
        number
        for number, (text, (_, seed)) in enumerate(zip(texts, runs))
        if "flows = 14" in text and seed == 6
    ]
    batch, failed = real([run for number, run in enumerate(runs) if number not in wrong])
    why = ValueError("something is wrong with this one")
    return batch, {**failed, **{number: why for number in wrong}}

run_batch.real = real
sweep_work.run_batch = run_batch
"""


def test_a_poisonous_point_fails_alone(tmp_path):
    swept = TINY.replace("[1, 4]", "[1, 13, 14, 4]").replace("[0.0, 3.0]", "[3.0]")
    with Dask(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as dask:
        for _ in range(2):
            dask.worker(preload=POISON)
        with Cluster(dask.address) as there:
            done = tidegate.sweep(swept, out=tmp_path / "kept", replications=2, executor=there)
    failures = {point.label.split()[2]: point.failures for point in done.points}
    assert {flows: set(why) for flows, why in failures.items()} == {
        "1,": set(), "13,": {5, 6}, "14,": {6}, "4,": set(),
    }  # fmt: skip
    assert "its worker died" in failures["13,"][5]
    assert failures["14,"][6] == "something is wrong with this one"
    threads = digests(tidegate.sweep(swept, out=tmp_path / "threads", replications=2))
    there = digests(done)
    assert len(there) == 5
    assert there.items() <= threads.items()


UNSHARED = """
from tidegate.runs.run_files import RunFiles
RunFiles.shared = lambda self, token: False
"""


def test_workers_elsewhere_send_what_they_computed(tmp_path):
    with Dask(tmp_path) as dask:
        dask.worker("--no-nanny", preload=UNSHARED)
        with Cluster(dask.address) as there:
            done = tidegate.sweep(TINY, out=tmp_path / "kept", executor=there)
    assert digests(done) == digests(tidegate.sweep(TINY, out=tmp_path / "threads"))


OTHER_BUILD = """
from tidegate.runs import cluster
here = cluster.build()
cluster.build = lambda: here._replace(engine="0123456789abcdef")
"""


def test_a_reproduction_that_is_killed_goes_on_from_what_workers_had_finished(
    tidegate_command, tmp_path
):
    asked = ("reproduce", "abc/table4", "--quick", "--format", "json")
    folder = tmp_path / "parts/reproduce-runs/abc"
    with Dask(tmp_path) as dask:
        for _ in range(2):
            dask.worker(preload=held("parts/reproduce-runs/abc/*.json", 4))
        there = ("--engine", "dask", "--scheduler", dask.address, "--out", "parts")
        command = tidegate_command.start(*asked, *there)
        wait_until(lambda: len(list(folder.glob("*.json"))) >= 4, command)
        command.send_signal(signal.SIGKILL)
        command.communicate(timeout=PATIENCE_S)
        tidegate_command.go_on()
        kept = sum(path.read_text().count('"readings"') for path in folder.glob("*.json"))
        assert 0 < kept < 192, "in the middle"
        rest = tidegate_command.process(*asked, *there)
    assert f"192 runs ({kept} of them cached)" in rest.stderr
    threads = tidegate_command(*asked, "--out", "threads")
    assert (rest.returncode, rest.stdout) == (threads.returncode, threads.stdout)


def test_a_worker_of_another_build_is_refused(tidegate_command, tmp_path):
    (tmp_path / "sweep.toml").write_text(TINY)
    with Dask(tmp_path) as dask:
        dask.worker("--no-nanny")
        dask.worker("--no-nanny", preload=OTHER_BUILD)
        dask.wait_for_workers(2)
        done = tidegate_command.process(
            "sweep", "sweep.toml", "--engine", "dask", "--scheduler", dask.address, "--out", "kept"
        )
    assert done.returncode == ClusterError.exit_code
    assert "has another build of tidegate (0.1.0, engine 01234567" in done.stderr
    assert "install this one there, or stop it" in done.stderr
    assert not (tmp_path / "kept").exists(), "before anything was run"


def test_a_scheduler_that_goes_away_leaves_what_was_finished(tidegate_command, tmp_path):
    (tmp_path / "sweep.toml").write_text(LONG)
    with Dask(tmp_path) as dask:
        for _ in range(2):
            dask.worker("--no-nanny", preload=HELD)
        command = tidegate_command.start(
            "sweep", "sweep.toml", "--engine", "dask", "--scheduler", dask.address, "--out", "kept",
        )  # fmt: skip
        wait_until(lambda: finished(tmp_path / "kept") >= 2, command)
        dask.scheduler.send_signal(signal.SIGKILL)
        _, output = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == ClusterError.exit_code
    assert f"the scheduler at {dask.address} went away; the finished runs are kept" in output
    assert "Traceback" not in output
    there = finished(tmp_path / "kept")
    assert 2 <= there < 24
    done = []
    resumed = tidegate.sweep(LONG, out=tmp_path / "kept", progress=lambda *at: done.append(at))
    assert done[0][0] >= there, "what was finished is not done again"
    assert len(digests(resumed)) == 24


@pytest.mark.parametrize(("address", "reported"), [
    ("nonsense", "is no address of a scheduler; write e.g. tcp://10.0.0.1:8786"),
    ("tls://127.0.0.1:9", "takes certificates, and Dask's configuration here names none"),
    ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
])  # fmt: skip
def test_a_scheduler_that_is_none_is_told_at_once(address, reported, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with pytest.raises(tidegate.TidegateError, match=re.escape(reported)):
        Cluster(address)


def test_a_scheduler_goes_with_the_engine_dask(tidegate_command):
    done = tidegate_command("simulate", "small.toml", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "--scheduler goes with --engine dask" in done.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(tidegate.UsageError, match=r"pip install 'tidegate\[dask\]'"):
        Cluster()


@pytest.fixture(scope="module")
def local():
    """A cluster that is started here."""
    with Cluster(jobs=1) as cluster:
        yield cluster


def listening():
    """Ports on which this process and those that it has started listen."""
    this = psutil.Process()
    sockets = [one for process in (this, *this.children(recursive=True))
               for one in process.net_connections("inet")]  # fmt: skip
    return {one.laddr for one in sockets if one.status == psutil.CONN_LISTEN}


def test_a_cluster_that_is_started_here_takes_whoever_has_its_certificate(local, tmp_path):
    assert local.address.startswith("tls://127.0.0.1:")
    done = tidegate.sweep(TINY, out=tmp_path / "kept", replications=1, executor=local)
    threads = tidegate.sweep(TINY, out=tmp_path / "threads", replications=1)
    assert digests(done) == digests(threads)


def answer_to_stranger(address, certificate=None):
    """What a port answers to somebody who encrypts, without a certificate or with this one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate)
    try:
        with (
            socket.create_connection(address, timeout=2) as plain,
            context.wrap_socket(plain) as encrypted,
        ):
            encrypted.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return encrypted.recv(1)
    except OSError:
        return b""


def test_a_cluster_that_is_started_here_takes_no_certificate_of_another(local, tmp_path):
    other, file = distributed.Security.temporary(), tmp_path / "other.pem"
    file.write_text(other.tls_client_key + other.tls_client_cert)
    for ip, port in listening():
        assert answer_to_stranger((ip, port), file) == b""


PAGES = ("", "health", "metrics", "info/main/workers.html", "json/counts.json", "api/v1")


def answer_to_http(ip, port, page):
    try:
        with urllib.request.urlopen(f"http://{ip}:{port}/{page}", timeout=2) as answer:
            return answer.read()
    except OSError:
        return b""


def test_no_port_of_a_cluster_that_is_started_here_answers_others(local):
    ports = listening()
    assert len(ports) >= 3, "scheduler, nanny and worker"
    assert {ip for ip, _ in ports} == {"127.0.0.1"}
    for ip, port in ports:
        assert answer_to_stranger((ip, port)) == b""
        assert [answer_to_http(ip, port, page) for page in PAGES] == [b""] * len(PAGES)


def test_a_cluster_elsewhere_takes_the_certificates_of_dasks_configuration(
    tidegate_command, tmp_path
):
    (tmp_path / "sweep.toml").write_text(TINY)
    own = distributed.Security.temporary()
    (tmp_path / "ca.pem").write_text(own.tls_ca_file)
    (tmp_path / "cert.pem").write_text(own.tls_client_cert)
    (tmp_path / "key.pem").write_text(own.tls_client_key)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    configured = {f"{tls}CA_FILE": str(tmp_path / "ca.pem")}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        for what in ("cert", "key"):
            configured[f"{tls}{role}__{what.upper()}"] = str(tmp_path / f"{what}.pem")
    asked = ("sweep", "sweep.toml", "-r", 1, "--engine", "dask", "--out", "kept")
    with Dask(tmp_path, protocol="tls", **configured) as dask:
        dask.worker("--no-nanny")
        assert dask.address.startswith("tls://")
        refused = tidegate_command.process(*asked, "--scheduler", dask.address)
        assert refused.returncode == ClusterError.exit_code
        assert "takes certificates, and Dask's configuration here names none" in refused.stderr
        done = tidegate_command.process(*asked, "--scheduler", dask.address, **configured)
    assert done.returncode == 0, done.stderr
    assert len(digests(tidegate.load_sweep(tmp_path / "kept"))) == 4


def test_without_cryptography_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(tidegate.UsageError, match=r"cryptography, .*'tidegate\[dask\]'"):
        Cluster()
