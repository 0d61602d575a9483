"""What fails beside the gateway: a clear line, and traffic flows."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.box import SERVER, Box, lacking, needing
from gateway.traffic import flood

pytestmark = needing(lacking())


@contextmanager
def lines_of(process: subprocess.Popen[str]) -> Iterator[list[str]]:
    """Lines that a control loop writes from now on."""
    lines: list[str] = []

    def read() -> None:
        assert process.stderr
        lines.extend(iter(process.stderr.readline, ""))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    yield lines
    reader.join(timeout=5)


def awaited(lines: list[str], text: str) -> bool:
    for _ in range(200):
        if any(text in line for line in lines):
            return True
        time.sleep(0.05)
    return False


def passes(box: Box) -> None:
    with flood(box, box.address("heavy", "ipv4"), SERVER["ipv4"], rate=1_000) as sent:
        time.sleep(1)
    assert sent.sent > 100
    assert sent.came == sent.sent


def judged(box: Box) -> int:
    counts = box.totals()
    return counts["clear"] + counts["no-signal"] + counts["passed"]


def test_an_interface_that_vanishes_and_returns_is_judged_again(box: Box) -> None:
    with box.control_loop("enforce") as process, lines_of(process) as lines:
        passes(box)
        box.inside("g", "ip", "link", "del", "c0")
        assert awaited(lines, "c0 is gone; waiting for it"), lines
        box.connect_customers()
        assert awaited(lines, "c0 is back"), lines
        before = judged(box)
        passes(box)
        assert judged(box) >= before + 100
        box.gateway("off")


def test_an_uplink_that_vanishes_and_returns_is_read_again(box: Box) -> None:
    with box.control_loop("enforce") as process, lines_of(process) as lines:
        box.inside("g", "ip", "link", "del", "u0")
        assert awaited(lines, "upload: the device is not there"), lines
        assert box.status(0.1)["upload"]["signal"] == "the device is not there"
        assert process.poll() is None
        box.connect_server()
        box.shape("u0", 50)
        assert awaited(lines, "upload: ok"), lines
        passes(box)
        box.gateway("off")


def test_activities_that_cannot_be_saved_are_one_line_and_stop_nothing(box: Box) -> None:
    folder = Path(box.state_folder)
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", folder], check=True)
    try:
        (folder / "filler").write_bytes(bytes(4096))
        words = ["--set", 'state_interval="1 s"']
        with box.control_loop("enforce", *words) as process, lines_of(process) as lines:
            for _ in range(3):
                passes(box)
            assert awaited(lines, "No space left on device"), lines
            full = box.gateway_streams("capture", "--seconds", "1", "--output", f"{folder}/x.toml")
            assert process.poll() is None
            box.gateway("off")
        assert sum("activities are not saved" in line for line in lines) == 1, lines
    finally:
        subprocess.run(["umount", folder], check=True)
    # Nobody may have sent anything in that second.
    assert full.returncode == 1
    assert "No space left" in full.stderr or "no packet" in full.stderr


def test_a_full_disk_is_a_line_and_stops_nothing(box: Box) -> None:
    folder = Path(box.state_folder)
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", folder], check=True)
    try:
        (folder / "filler").write_bytes(bytes(4096))
        heavy = box.address("heavy", "ipv4")
        lines = "".join(f"n{n},10.9.{n // 250}.{n % 250}\n" for n in range(1_000))
        path = box.file("customers.csv", f"id,addresses\nheavy,{heavy}\n{lines}")
        words = ["--set", f'customer_file="{path}"']
        with box.control_loop("enforce", *words):
            done = box.gateway_streams("reload", *words)
            passes(box)
            assert box.status(0.2)["customers_known"] >= 1
        assert done.returncode == 0
        assert "No space left on device" in done.stderr
    finally:
        subprocess.run(["umount", folder], check=True)


def test_programs_of_others_stay_and_have_their_say(box: Box) -> None:
    box.inside("g", "tc", "qdisc", "add", "dev", "c0", "clsact")
    box.inside(
        "g", "tc", "filter", "add", "dev", "c0", "ingress", "protocol", "ip", "prio", "7",
        "u32", "match", "ip", "dport", "9", "0xffff", "flowid", "1:1",
    )  # fmt: skip
    for how in ("tcx", "clsact"):
        with box.control_loop("enforce", "--attach", how):
            before = judged(box) if how == "tcx" else 0
            passes(box)
            # With tcx ours comes first; a filter that takes a packet is the last at a clsact qdisc.
            assert how == "clsact" or judged(box) >= before + 100
        shown = box.inside("g", "tc", "filter", "show", "dev", "c0", "ingress")
        assert "pref 7" in shown
        assert "tidegate" not in shown


def test_off_says_that_a_loop_does_not_end(box: Box) -> None:
    with box.control_loop("enforce") as process:
        process.send_signal(signal.SIGSTOP)
        try:
            done = box.gateway_streams("off")
        finally:
            os.kill(process.pid, signal.SIGCONT)
        process.wait()
    assert (done.returncode, "a control loop does not end" in done.stderr) == (1, True)


def test_a_loop_that_hangs_lets_everything_pass(box: Box) -> None:
    box.shape("u0", 5)
    with box.control_loop("enforce") as process, box.duel(7):
        time.sleep(3)
        process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(1)
            report = box.status()["upload"]
        finally:
            os.kill(process.pid, signal.SIGCONT)
    assert report["fresh"] is False
    assert report["verdicts"]["dropped"]["packets"] == 0
    assert report["verdicts"]["no-signal"]["packets"] > 0
