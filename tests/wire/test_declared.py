"""What packets declare and feed back: tshark and scapy read what `crates/wire` has written, and the
other way round."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import PATIENCE_S, ROOT

SCAPY = Path(__file__).with_name("by_scapy.py")
CHECKSUMS = ["ip.check_checksum", "tcp.check_checksum"]
FLAGS = ["tcp.flags.ace", "tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece"]
COUNTERS = [f"tcp.options.acc_ecn.{name}" for name in ("ee0b", "eceb", "ee1b")]


def ours(*arguments):
    example = [
        "--package",
        "tidegate-wire",
        "--example",
        "declared_pcap",
        "--",
        *map(str, arguments),
    ]
    command = ["cargo", "run", "--quiet", "--profile", "dev-release", "--locked", *example]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def scapys(*arguments):
    command = [sys.executable, str(SCAPY), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("wire") / "declared.pcap"
    return path, ours("write", path)


def test_the_capture_holds_every_combination(capture):
    path, lines = capture
    fields = [line.split() for line in lines]
    assert len({conex for _, conex, *_ in fields} - {"-"}) == 17
    assert {(ecn, re) for version, _, ecn, re, *_ in fields if version == "4"} == {
        (f"{ecn:02b}", re) for ecn in range(4) for re in "01"
    }
    assert {ace for *_, ace, _, _, _ in fields} == set("01234567")
    assert ours("read", path) == lines


def test_scapy_reads_what_was_written(capture):
    path, lines = capture
    assert scapys("read", path) == lines


def test_what_scapy_writes_is_read(tmp_path):
    path = tmp_path / "scapy.pcap"
    lines = scapys("write", path)
    assert len(lines) == 56
    assert ours("read", path) == lines


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_reads_what_was_written_and_finds_nothing_wrong(capture):
    path, lines = capture
    rows = tshark(path)
    assert [reported(row) for row in rows] == lines
    for row in rows:
        assert (row["_ws.malformed"], row["tcp.checksum.status"]) == ("", "1")
        assert row["ip.checksum.status"] == ("1" if row["ip.version"] == "4" else "")


def tshark(path):
    fields = [
        "ip.version", "ipv6.opt.type", "ipv6.opt.length", "ipv6.opt.experimental", "ip.dsfield.ecn",
        "ipv6.tclass.ecn", "ip.flags.rb", *FLAGS, *COUNTERS, "_ws.malformed", "tcp.checksum.status",
        "ip.checksum.status",
    ]  # fmt: skip
    checks = [word for name in CHECKSUMS for word in ("-o", f"{name}:TRUE")]
    wanted = [word for name in fields for word in ("-e", name)]
    form = ["-T", "fields", "-E", "header=y", "-E", "separator=;"]
    command = ["tshark", "-n", "-r", str(path), *checks, *form, *wanted]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return list(csv.DictReader(io.StringIO(done.stdout), delimiter=";"))


def reported(row):
    """The line of a packet, from what tshark says of it."""
    v4 = row["ip.version"] == "4"
    if not v4:
        assert (row["ipv6.opt.type"], row["ipv6.opt.length"]) == ("0x1e,0x01", "1,1")
    # Once tshark has taken a connection for one with accurate feedback, it shows the field whole.
    ace, *bits = (row[name] for name in FLAGS)
    whole = int(ace) if ace else int("".join(map(str, map(int, bits))), 2)
    ecn = int(row["ip.dsfield.ecn"] if v4 else row["ipv6.tclass.ecn"])
    conex = "-" if v4 else row["ipv6.opt.experimental"]
    counters = [row[name] or "-" for name in COUNTERS]
    return " ".join(
        map(
            str,
            ("4" if v4 else "6", conex, f"{ecn:02b}", row["ip.flags.rb"] or "-", whole, *counters),
        )
    )
