"""Tunnels of a mobile network: tshark and scapy read what `crates/wire` has written, and it reads
what scapy has."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import PATIENCE_S, ROOT

SCAPY = Path(__file__).with_name("gtpu_by_scapy.py")


def ours(*arguments):
    example = ["--package", "tidegate-wire", "--example", "gtpu_pcap", "--", *map(str, arguments)]
    command = ["cargo", "run", "--quiet", "--profile", "dev-release", "--locked", *example]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def scapys(*arguments):
    command = [sys.executable, str(SCAPY), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return [line.split() for line in done.stdout.splitlines()]


def without_ours(line):
    """Without what only we know: what was re-inserted, and reports."""
    told, addresses = [*line[:5], *line[6:]], line[6:]
    return told if line[1] == "255" else [*told[:5], *("-" if addresses else "")]


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("wire") / "tunnel.pcap"
    return path, ours("write", path)


def test_the_capture_holds_every_kind_of_message(capture):
    path, lines = capture
    assert {line[1] for line in lines} == {"1", "2", "254", "255"}
    assert {line[4] for line in lines} == {"-", "3e", "85,3e"}
    assert {line[5] for line in lines} == {"-", "80", "a0"}
    assert ours("read", path) == lines


def test_scapy_reads_what_was_written(capture):
    path, lines = capture
    assert scapys("read", path) == [without_ours(line) for line in lines]


def test_what_scapy_writes_is_read(tmp_path):
    path = tmp_path / "scapy.pcap"
    lines = scapys("write", path)
    assert {line[1] for line in lines} == {"1", "2", "254", "255"}
    assert [without_ours(line) for line in ours("read", path)] == lines


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_reads_what_was_written_inner_packets_included(capture):
    path, lines = capture
    for row, line in zip(tshark(path), lines, strict=True):
        ecn, kind, teid, sequence, extensions, _, *rest = line
        first = extensions.split(",")[0]
        assert row["_ws.malformed"] == ""
        checksums = f"{row['udp.checksum.status']},{row['ip.checksum.status']}"
        assert set(checksums.split(",")) == {"1"}
        assert int(row["ip.dsfield.ecn"].split(",")[0]) == int(ecn, 2)
        assert row["gtp.message"] == f"0x{int(kind):02x}"
        assert int(row["gtp.teid"], 16) == int(teid)
        assert row["gtp.seq_number"] == ("" if sequence == "-" else f"0x{int(sequence):04x}")
        assert row["gtp.ext_hdr.next"].split(",")[0] == ("" if first == "-" else f"0x{first}")
        if kind == "255":
            assert [row["ip.src"].split(",")[1], row["ip.dst"].split(",")[1]] == rest
        if kind == "1":
            assert row["gtp.ext_id"] == "32473", "the report is a private extension"


def tshark(path):
    fields = [
        "ip.dsfield.ecn", "gtp.message", "gtp.teid", "gtp.seq_number", "gtp.ext_hdr.next",
        "gtp.ext_id", "ip.src", "ip.dst", "udp.checksum.status", "ip.checksum.status",
        "_ws.malformed",
    ]  # fmt: skip
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    checks += ["-d", "udp.port==40000,data"]
    wanted = [word for name in fields for word in ("-e", name)]
    form = ["-T", "fields", "-E", "header=y", "-E", "separator=;"]
    command = ["tshark", "-n", "-r", str(path), *checks, *form, *wanted]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return list(csv.DictReader(io.StringIO(done.stdout), delimiter=";"))
