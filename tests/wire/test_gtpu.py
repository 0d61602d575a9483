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
ECHO, ERROR, EXTENSIONS, DATA = "1", "26", "31", "255"
KINDS = {ECHO, "2", ERROR, EXTENSIONS, "254", DATA}


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
    reported = [*line[:5], *line[6:]]
    return [*reported[:5], "-"] if line[1] == ECHO else reported


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("wire") / "tunnel.pcap"
    return path, ours("write", path)


def test_the_capture_holds_every_kind_of_message(capture):
    path, lines = capture
    assert {line[1] for line in lines} == KINDS
    assert {line[6].count(":") > 0 for line in lines if line[1] == DATA} == {False, True}
    assert {line[4] for line in lines} == {"-", "3e", "85,3e"}
    assert {line[5] for line in lines} == {"-", "80", "a0"}
    assert ours("read", path) == lines


def test_scapy_reads_what_was_written(capture):
    path, lines = capture
    assert scapys("read", path) == [without_ours(line) for line in lines]


def test_what_scapy_writes_is_read(tmp_path):
    path = tmp_path / "scapy.pcap"
    lines = scapys("write", path)
    assert {line[1] for line in lines} == KINDS
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
        if kind == DATA:
            _, *v4 = zip(row["ip.src"].split(","), row["ip.dst"].split(","), strict=True)
            v6 = [(row["ipv6.src"], row["ipv6.dst"])] if row["ipv6.src"] else []
            assert [*v4, *v6] == [tuple(rest)]
        if kind == ECHO:
            assert row["gtp.ext_id"] == "32473", "the report is a private extension"
        if kind == ERROR:
            assert [str(int(row["gtp.teid_data"], 16)), row["gtp.gsn_ipv4"]] == rest
        if kind == EXTENSIONS:
            assert [f"{int(row['gtp.ext_hdr_type']):02x}"] == rest


def tshark(path):
    fields = [
        "ip.dsfield.ecn", "gtp.message", "gtp.teid", "gtp.seq_number", "gtp.ext_hdr.next",
        "gtp.ext_id", "gtp.teid_data", "gtp.gsn_ipv4", "gtp.ext_hdr_type",
        "ip.src", "ip.dst", "ipv6.src", "ipv6.dst",
        "udp.checksum.status", "ip.checksum.status", "_ws.malformed",
    ]  # fmt: skip
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    checks += ["-d", "udp.port==40000,data"]
    wanted = [word for name in fields for word in ("-e", name)]
    form = ["-T", "fields", "-E", "header=y", "-E", "separator=;"]
    command = ["tshark", "-n", "-r", str(path), *checks, *form, *wanted]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return list(csv.DictReader(io.StringIO(done.stdout), delimiter=";"))
