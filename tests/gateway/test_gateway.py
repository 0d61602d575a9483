"""The gateway between real hosts: fair by customer, and nothing is lost when it dies."""

import ctypes
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from gateway.box import CUSTOMERS, PROGRAM, SERVER, Box, lacking, needing

pytestmark = needing(lacking())

DROPS = ("dropped", "marked", "would-drop", "would-mark")


def verdicts(report: dict[str, Any], names: tuple[str, ...]) -> int:
    return sum(
        report[direction]["verdicts"][name]["packets"]
        for direction in ("upload", "download")
        for name in names
    )


def test_ten_flows_get_what_one_flow_gets_and_observing_touches_no_packet(box: Box) -> None:
    box.shape("u0", 20)
    with box.control_loop("observe"), box.duel(16) as duel:
        time.sleep(4)
        observed = box.status()
        box.gateway("enforce")
        time.sleep(6)
        enforced = box.status(2)
    assert observed["mode"] == "observe"
    assert verdicts(observed, ("dropped", "marked")) == 0
    assert verdicts(observed, ("would-drop",)) > 0
    assert enforced["mode"] == "enforce"
    assert verdicts(enforced, ("dropped",)) > 0
    assert enforced["customers_active"] == len(CUSTOMERS)
    assert duel.ratio(5, 10) <= 1.6, duel.rates


def test_nothing_is_dropped_where_nothing_is_congested_or_understood(box: Box) -> None:
    box.shape("u0", 500)
    with box.control_loop("enforce"):
        hostile = hostile_frames(random.Random(1), 3_000)
        send_frames(box, hostile)
        send_datagrams(box, 100)
        # Counters begin with the programs.
        counts = box.status(0.1)
        all_packets = box.totals()
    assert counts["control_loop"]
    assert sum(all_packets.values()) > 3_000
    assert not any(all_packets[name] for name in DROPS), all_packets
    assert all_packets["not-understood"] > 0, all_packets


def test_without_a_control_loop_everything_passes_within_a_second(box: Box) -> None:
    box.shape("u0", 5)
    with box.control_loop("enforce") as process, box.duel(6):
        time.sleep(2)
        before = box.status()
        process.kill()
        process.wait()
        time.sleep(1)
        after = box.status()
    assert verdicts(before, ("dropped",)) > 0
    assert verdicts(after, DROPS) == 0
    assert verdicts(after, ("no-signal",)) > 0


def test_off_leaves_nothing_behind(box: Box) -> None:
    for how in ("tcx", "clsact"):
        with box.control_loop("observe", "--attach", how):
            send_datagrams(box, 10)
            packets = box.totals()
            assert packets["clear"] + packets["no-signal"] >= 10
        assert "clsact" not in box.inside("g", "tc", "qdisc", "show", "dev", "c0")
        assert box.gateway("off") == "off: there was nothing\n"


def test_what_cannot_be_is_refused_with_a_clear_line(box: Box) -> None:
    for words, code, text in (
        (["observe", "nope0", "--uplink", "u0"], 1, "nope0: there is no such interface"),
        (["observe", "c0"], 2, "--uplink"),
        (["observe", "c0", "--uplink", "c0"], 3, "is the interface of the customers"),
        (["observe", "c0", "--uplink", "u0", "--set", "abc.gama=2"], 3, 'did you mean "gamma"'),
    ):
        done = subprocess.run(
            box.command("g", PROGRAM, *words, "--pins", "/nowhere/t"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, text in done.stderr) == (code, True), done
    check = box.gateway_code("check", "c0", "--uplink", "u0")
    assert check[0] == 0
    assert "u0 has no queue" in check[1]


def hostile_frames(rng: random.Random, count: int) -> list[bytes]:
    """Frames that are cut off or wrong, in tags and sessions, and of other protocols."""
    ether = bytes.fromhex("020000000001020000000002")
    ipv4 = bytes.fromhex("4500002800010000400600000a0100020a020009") + bytes(20)
    ipv6 = (
        bytes.fromhex("6000000000143a40")
        + bytes.fromhex("fd010000000000020000000000000002" * 2)
        + bytes(20)
    )
    heads = [b"\x08\x00" + ipv4, b"\x86\xdd" + ipv6, b"\x81\x00\x00\x05\x08\x00" + ipv4,
             b"\x88\xa8\x00\x05\x81\x00\x00\x06\x86\xdd" + ipv6,
             b"\x88\x64\x11\x00\x00\x01\x00\x2a\x00\x21" + ipv4,
             b"\x88\xcc" + bytes(30), b"\x08\x06" + bytes(28)]  # fmt: skip
    frames = []
    for _ in range(count):
        frame = bytearray(ether + rng.choice(heads))
        for _ in range(rng.randrange(6)):
            frame[rng.randrange(12, len(frame))] = rng.randrange(256)
        frames.append(bytes(frame[: rng.randrange(15, len(frame) + 1)]))
    return frames


def send_frames(box: Box, frames: list[bytes]) -> None:
    """Send frames to the gateway, as they are."""

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind(("c1", 0))
            for frame in frames:
                raw.send(frame)

    among_customers(box, send)


def send_datagrams(box: Box, count: int) -> None:
    """Send datagrams of the heavy customer to the server."""

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind((box.address("heavy", "ipv4"), 0))
            for _ in range(count):
                udp.sendto(bytes(100), (SERVER["ipv4"], 9))

    among_customers(box, send)


def among_customers(box: Box, act: Callable[[], None]) -> None:
    """Act in the customers' namespace, by a process that enters it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(f"/run/netns/{box.name}-c") as namespace:  # noqa: PTH123
                # setns(2), which os has from Python 3.12 on.
                ctypes.CDLL(None).setns(namespace.fileno(), 0)
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
