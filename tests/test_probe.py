"""`tidegate probe`: real datagrams with ECN, on this machine's loopback."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tidegate.probing.answering import answer, listening
from tidegate.probing.asking import Answers, Probing, Verdict
from tidegate.probing.packets import CE, ECT_0, NOT_ECT, Probe, ecn_of, udp_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUICK = ("--spacing", "0.001", "--patience", "60")


@contextmanager
def meanwhile(work: Callable[[socket.socket], None], opened: socket.socket) -> Iterator[int]:
    """Work at a socket's port, until it is closed and nothing reads from it any more.

    A thread that still waited would read from whatever has the descriptor next.
    """
    thread = threading.Thread(target=work, args=(opened,), daemon=True)
    thread.start()
    try:
        yield opened.getsockname()[1]
    finally:
        with suppress(OSError):  # it wakes who waits, and then says that it is not connected
            opened.shutdown(socket.SHUT_RDWR)
        opened.close()
        thread.join()


@pytest.fixture
def answering() -> Iterator[int]:
    """Somebody who answers, and at which port."""

    def until_it_is_closed(opened: socket.socket) -> None:
        try:
            answer(opened)
        except OSError:
            if opened.fileno() >= 0:
                raise

    with meanwhile(until_it_is_closed, listening("127.0.0.1", 0)) as port:
        yield port


@pytest.fixture
def nobody() -> Iterator[int]:
    """A port where nobody listens, and nobody can: who has it hears somebody else alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.connect(("127.0.0.1", 9))
        yield opened.getsockname()[1]


@pytest.fixture
def marking(answering: int) -> Iterator[int]:
    """A path to somebody who answers, on which each fourth probe is marked."""

    def pass_on(near: socket.socket) -> None:
        with udp_socket(socket.AF_INET, ECT_0) as plain, udp_socket(socket.AF_INET, CE) as marked:
            while True:
                payload, sender = near.recvfrom(2048)
                if not payload:
                    return
                probe = Probe.parse(payload)
                far = marked if probe and probe.number % 4 == 3 else plain
                far.sendto(payload, ("127.0.0.1", answering))
                near.sendto(far.recv(2048), sender)

    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    near.bind(("127.0.0.1", 0))
    with meanwhile(pass_on, near) as port:
        yield port


def test_a_path_without_marks_admits(tidegate_command, answering):
    done = tidegate_command("probe", "127.0.0.1", "--port", str(answering), *QUICK)
    assert done.returncode == 0, done.stderr
    assert "10 probes to 127.0.0.1: 0 marked, 0 lost" in done.stdout
    assert "admit" in done.stdout


def test_one_mark_refuses_and_what_one_pays_may_be_more(tidegate_command, marking):
    where = ("probe", "127.0.0.1", "--port", str(marking), "--format", "json", *QUICK)
    refused = tidegate_command(*where)
    assert refused.returncode == 5
    reported = json.loads(refused.stdout)
    assert (reported["marked"], reported["price"], reported["threshold"]) == (2, 0.2, 0.1)
    assert tidegate_command(*where, "--rate", "200", "-w", "60").returncode == 0
    assert tidegate_command(*where, "--rate", "200", "-w", "30").returncode == 5


def test_where_nobody_answers_it_says_how_to_start_the_other_end(tidegate_command, nobody):
    done = tidegate_command("probe", "127.0.0.1", "--port", str(nobody), "--patience", "0.05")
    assert done.returncode == 1
    assert f"tidegate probe --answer --port {nobody}" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("localhost", "--answer"),
        ("localhost", "--rate", "200"),
        ("localhost", "--rate", "200", "-w", "300"),
        ("localhost", "--probes", "0"),
        ("localhost", "--size", "10"),
        ("no.such.host.invalid",),
    ],
)
def test_wrong_usage_is_told(tidegate_command, wrong):
    done = tidegate_command("probe", *wrong)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ecn", [NOT_ECT, 1, ECT_0, CE])
def test_an_answer_tells_the_ecn_field_that_the_kernel_saw(answering, ecn):
    with udp_socket(socket.AF_INET, ecn) as opened:
        opened.settimeout(60)
        opened.sendto(b"nothing of ours", ("127.0.0.1", answering))
        opened.sendto(Probe(b"12345678", 3).emit(100), ("127.0.0.1", answering))
        payload, ancillary, _, _ = opened.recvmsg(2048, 64)
    assert Probe.parse(payload) == Probe(b"12345678", 3, ecn)
    assert ecn_of(ancillary) == NOT_ECT
    assert len(payload) < 100


def test_the_same_over_ipv6():
    try:
        opened = listening("::1", 0)
    except Exception:  # noqa: BLE001 - a machine without IPv6
        pytest.skip("no IPv6 here")
    with opened:
        threading.Thread(target=answer, args=(opened,), kwargs={"most": 3}, daemon=True).start()
        answers = Probing(3, 0.001, 100, 60).ask("::1", opened.getsockname()[1])
    assert answers.ecn == dict.fromkeys(range(3), ECT_0)


def test_a_path_that_clears_the_field_says_nothing():
    assert Answers(2, {0: NOT_ECT, 1: NOT_ECT}).verdict(None) is Verdict.blind
    assert Answers(2, {}).verdict(None) is Verdict.silent
    assert Answers(4, {0: ECT_0, 1: ECT_0, 2: ECT_0}).verdict(None) is Verdict.refuse
    assert Answers(4, {0: ECT_0, 1: ECT_0, 2: ECT_0}).verdict(0.3) is Verdict.admit
