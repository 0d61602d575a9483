"""Capture files of simulated links, read by ourselves and by tshark."""

import json
import shutil
import struct
import subprocess

import pytest
from support import SMALL

import tidegate

HEADER = struct.Struct("<IHHIIII")
RECORD = struct.Struct("<IIII")


def records(path):
    """Times [ns], headers and lengths of a file's packets."""
    content = path.read_bytes()
    magic, major, minor, _, _, _, linktype = HEADER.unpack_from(content)
    assert (magic, major, minor, linktype) == (0xA1B23C4D, 2, 4, 101)
    at = HEADER.size
    while at < len(content):
        seconds, nanoseconds, kept, length = RECORD.unpack_from(content, at)
        at += RECORD.size
        yield seconds * 10**9 + nanoseconds, content[at : at + kept], length
        at += kept


def test_a_capture_is_of_the_run_that_simulate_does(tmp_path):
    captures = tidegate.capture(SMALL, links=["bottleneck", "bottleneck.reverse"], out=tmp_path)
    result = tidegate.simulate(SMALL, replications=1)
    assert {one.digest for one in captures} == {digest for _, digest in result.digests}
    forward, reverse = (list(records(one.path)) for one in captures)
    assert [len(forward), len(reverse)] == [one.packets for one in captures]
    times = [at for at, _, _ in forward]
    assert times == sorted(times)
    assert all(length == 1500 for _, _, length in forward if length > 100)
    assert all(header[0] == 0x45 for _, header, _ in forward + reverse)
    assert not list(tmp_path.glob(".*")), "no drafts"


def test_a_limit_ends_the_file_and_is_reported(tmp_path, tidegate_command):
    (tmp_path / "small.toml").write_text(SMALL)
    done = tidegate_command("capture", "small.toml", "--packets", "10", "--format", "json")
    (row,) = json.loads(done.stdout)
    assert row["packets"] == 10
    assert row["beyond_limit"] > 10
    assert "are not in the file" in done.stderr
    assert len(list(records(tmp_path / row["path"]))) == 10


def test_an_unknown_link_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(tidegate.UsageError, match=r"no link bottlenek; did you mean bottleneck\?"):
        tidegate.capture(SMALL, links=["bottlenek"], out=tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error_in_a_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(tidegate.ResultError, match="cannot write a capture file"):
        tidegate.capture(SMALL, out=tmp_path / "file")


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_tshark_reads_tcp_as_it_was_simulated(tmp_path):
    """Two files joined by time have no acknowledgement of bytes that were not seen."""
    links = ["bottleneck", "bottleneck.reverse"]
    captures = tidegate.capture("scenarios/evening-peak.toml", links=links, out=tmp_path)
    both = tmp_path / "both.pcap"
    subprocess.run(
        ["mergecap", "-F", "nsecpcap", "-w", both, *(one.path for one in captures)], check=True
    )

    def count(display_filter):
        command = ["tshark", "-r", both, "-o", "ip.check_checksum:TRUE", "-Y", display_filter]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return len(done.stdout.splitlines())

    assert count("ip.checksum.status == 0") == 0
    assert count("tcp.analysis.ack_lost_segment") == 0
    assert count("tcp.analysis.lost_segment") > 100, "packets that the queue has dropped"
    assert count("tcp.options.sack_le") > 100
    assert count("tcp.options.timestamp.tsval") == sum(one.packets for one in captures)
    retransmitted = count(
        "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
        " || tcp.analysis.out_of_order"
    )
    assert retransmitted > 1000
