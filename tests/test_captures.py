"""Capture files of simulated links, read by ourselves and by tshark."""

import json
import shutil
import struct
import subprocess

import pyarrow.parquet as pq
import pytest
from support import ROOT, SMALL

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


def test_packets_are_a_table_too(tmp_path):
    (one,) = tidegate.capture(SMALL, out=tmp_path, table=True)
    table = pq.read_table(one.table)
    assert one.table == one.path.with_suffix(".parquet")
    assert table.num_rows == one.packets
    packets = list(records(one.path))
    assert table["time_ns"].to_pylist() == [at for at, _, _ in packets]
    assert table["bytes"].to_pylist() == [length for _, _, length in packets]
    sequences = [struct.unpack_from(">I", header, 24)[0] for _, header, _ in packets]
    assert table["sequence"].to_pylist() == sequences
    groups = set(tidegate.load_scenario(SMALL).groups)
    assert set(table["group"].to_pylist()) <= groups
    assert set(table["ecn"].to_pylist()) <= {"Not-ECT", "ECT(0)", "ECT(1)", "CE"}
    assert not list(tmp_path.glob(".*")), "no drafts"
    (same,) = tidegate.capture(SMALL, out=tmp_path)
    assert (same.table, same.digest) == (None, one.digest)


def test_a_table_has_udp_without_sequence_numbers(tmp_path):
    scenario = ROOT / "scenarios" / "poisson.toml"
    (one,) = tidegate.capture(scenario, packets=5, out=tmp_path, table=True)
    table = pq.read_table(one.table)
    assert table["sequence"].to_pylist() == [None] * 5
    assert table["payload_bytes"].to_pylist() == [1472] * 5


def sequences(path):
    """Records of JSON text sequences (RFC 7464)."""
    return [json.loads(one) for one in path.read_text().split("\x1e")[1:]]


def test_qlog_has_what_a_sender_sends_and_hears(tmp_path):
    """As many transmissions as the sender counts, and as many losses as retransmissions."""
    settings = {"warm_up": "0 s"}
    (_, log) = tidegate.capture(SMALL, set=settings, out=tmp_path, qlog=["heavy.0.0"])
    head, *events = sequences(log.path)
    assert (head["qlog_version"], head["qlog_format"]) == ("0.4", "JSON-SEQ")
    assert len(events) == log.packets
    times = [event["time"] for event in events]
    assert times == sorted(times)
    of = {
        name: [e["data"] for e in events if e["name"] == name]
        for name in {e["name"] for e in events}
    }
    sent = of["quic:packet_sent"]
    numbers = [one["header"]["packet_number"] for one in sent]
    assert numbers == list(range(len(sent)))
    flows = tidegate.simulate(SMALL, set=settings, replications=1).flows
    assert abs(len(sent) - flows["packets_sent"][0].as_py()) <= 50, (
        "but what waits in the access link"
    )
    lost = len(of.get("recovery:packet_lost", []))
    assert abs(lost - flows["retransmits"][0].as_py()) <= 50
    acked = [
        r
        for one in of["quic:packet_received"]
        for f in one.get("frames", [])
        for r in f["acked_ranges"]
    ]
    covered = [number for first, last in acked for number in range(first, last + 1)]
    assert len(covered) == len(set(covered)), "a transmission is acknowledged once"
    windows = [one["congestion_window"] for one in of["recovery:metrics_updated"]]
    assert max(windows) > 10 * 1448


def test_an_unknown_flow_is_refused(tmp_path):
    with pytest.raises(
        tidegate.UsageError, match=r"no flow heavy\.9\.0; a flow is GROUP\.USER\.FLOW"
    ):
        tidegate.capture(SMALL, qlog=["heavy.9.0"], out=tmp_path)
