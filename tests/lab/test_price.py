"""What sockets of other programs pay: short, and only with root and `tidegate-bpf`."""

import json
import socket
import subprocess
import sys

import pytest

from tidegate.errors import OfferError
from tidegate.laboratory import bpf, offers
from tidegate.laboratory.process import find_program, missing

LACKING = missing() or bpf.missing()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not on this machine: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("lab"),
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


@pytest.fixture(scope="module")
def held():
    process = subprocess.Popen(
        [find_program(bpf.PROGRAM), "hold"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "ready\n"
        yield
        process.terminate()


@pytest.fixture
def program(held):
    """Another program with two sockets that pay and one that does not, and their ports."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", PROGRAM, str(server.getsockname()[1])]
        running = subprocess.Popen(
            [*command, "tg_sbrm", "tg_tcprm", "reno"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with running:
            ports = [int(port) for port in running.stdout.readline().split()]
            yield running.pid, ports
            running.terminate()


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


def test_a_process_that_is_not_there_is_named():
    with pytest.raises(OfferError, match="there is no process 999999999"):
        offers.processes(pid=999999999)
