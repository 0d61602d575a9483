"""What sockets of other programs pay: short, and only with root and `tidegate-bpf`."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import lacking_for_controls

from tidegate.errors import OfferError
from tidegate.laboratory import bpf, offers
from tidegate.laboratory.process import find_program

LACKING = lacking_for_controls()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("controls"),
]

# Connects by the congestion controls named, says its ports, and waits to be told to end.
PROGRAM = """
import socket, sys
kept = []
for control in sys.argv[2:]:
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    one.connect(("127.0.0.1", int(sys.argv[1])))
    kept.append(one)
print(*[one.getsockname()[1] for one in kept], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(own_turn):
    process = subprocess.Popen(
        [find_program(bpf.PROGRAM), "hold"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "ready\n"
        yield
        process.terminate()


@contextmanager
def another(*prefix):
    """Another program with two sockets that pay and one that does not, and their ports."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [*prefix, sys.executable, "-c", PROGRAM, str(server.getsockname()[1])]
        running = subprocess.Popen(
            [*command, "tg_sbrm", "tg_tcprm", "reno"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with running:
            ports = [int(port) for port in running.stdout.readline().split()]
            yield running.pid, ports
            running.terminate()


@pytest.fixture
def program(held):
    with another() as running:
        yield running


@pytest.fixture
def group():
    """A control group of its own, below that of this process."""
    groups = Path("/proc/self/cgroup").read_text().splitlines()
    (path,) = [line[3:] for line in groups if line.startswith("0::")]
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    (mount,) = {fields[1] for fields in mounts if fields[2] == "cgroup2"}
    made = Path(mount) / path.strip("/") / f"tidegate-test-{os.getpid()}"
    made.mkdir()
    yield made
    made.rmdir()


def of(pid, port=None):
    return {int(one.local.split(":")[1]): one for one in offers.payers([pid], port)}


def test_a_new_offer_reaches_the_sockets_that_pay_and_no_others(program):
    pid, (sbrm, tcprm, reno) = program
    before = of(pid)
    assert [before[port].control for port in (sbrm, tcprm, reno)] == ["tg_sbrm", "tg_tcprm", "reno"]
    assert before[sbrm].willingness == before[tcprm].willingness == 20.0
    assert before[reno].willingness is None
    assert not before[reno].pays
    offers.offer(before[sbrm], 250.0)
    offers.offer(before[tcprm], 0.5, kappa=0.125)
    after = of(pid)
    assert (after[sbrm].willingness, after[sbrm].kappa) == (250.0, before[sbrm].kappa)
    assert (after[tcprm].willingness, after[tcprm].kappa) == (0.5, 0.125)
    assert list(of(pid, tcprm)) == [tcprm]


def test_the_command_names_what_it_leaves_alone(program):
    pid, (sbrm, tcprm, reno) = program
    code = "from tidegate.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "price", "--pid", str(pid), "-w", "300", "-f", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    paid = {int(one["local"].split(":")[1]): one["willingness"] for one in json.loads(done.stdout)}
    assert paid == {sbrm: 300.0, tcprm: 300.0}
    assert f"left alone: process {pid}, 127.0.0.1:{reno}, which goes by reno" in done.stderr


def test_offers_are_taken_while_a_second_holder_tries(program):
    pid, (sbrm, *_) = program
    socket_that_pays = of(pid)[sbrm]
    with subprocess.Popen(
        [find_program(bpf.PROGRAM), "check"], stderr=subprocess.DEVNULL
    ) as second:
        while second.poll() is None:
            offers.offer(socket_that_pays, 123.0)
    assert second.returncode == 1, "the names are taken"
    assert of(pid)[sbrm].willingness == 123.0


def test_a_process_that_is_not_there_is_named():
    with pytest.raises(OfferError, match="there is no process 999999999"):
        offers.processes(pid=999999999)


def test_an_offer_to_a_control_group_reaches_its_processes_and_no_others(program, group):
    outside, (sbrm_outside, *_) = program
    joining = ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(group)]
    with another(*joining) as (inside, (sbrm, tcprm, reno)):
        assert offers.processes(cgroup=str(group)) == [inside]
        code = "from tidegate.cli import main; main()"
        options = ["--cgroup", str(group), "-w", "300", "-f", "json"]
        done = subprocess.run(
            [sys.executable, "-c", code, "price", *options],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        reported = {
            int(one["local"].split(":")[1]): one["willingness"] for one in json.loads(done.stdout)
        }
        assert reported == {sbrm: 300.0, tcprm: 300.0}
        assert of(inside)[sbrm].willingness == 300.0
        assert f"left alone: process {inside}, 127.0.0.1:{reno}" in done.stderr
    assert of(outside)[sbrm_outside].willingness == 20.0
