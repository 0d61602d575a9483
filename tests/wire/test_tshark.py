"""tshark, which knows nothing of us, reads packets that `crates/wire` has written."""

import csv
import io
import shutil
import subprocess

import pytest
from support import PATIENCE_S, ROOT

PLUGIN = ROOT / "tools" / "wireshark" / "tidegate_activity.lua"
CHECKSUMS = ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"]
GOOD = "1"
CE = "3"

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="needs tshark (package tshark or wireshark-cli)"
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """A capture file, and for each of its packets IP version, protocol and steps of activity."""
    path = tmp_path_factory.mktemp("wire") / "activity.pcap"
    example = ["--package", "tidegate-wire", "--example", "activity_pcap", "--", str(path)]
    profile = ["--quiet", "--profile", "dev-release", "--locked"]
    command = ["cargo", "run", *profile, *example]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    packets = [line.split() for line in done.stdout.splitlines()]
    return path, [(version, protocol, int(steps)) for version, protocol, steps in packets]


def tshark(path, *arguments):
    checks = [word for name in CHECKSUMS for word in ("-o", f"{name}:TRUE")]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), *checks, *arguments],
        check=True, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.stdout


def fields(path, *names, arguments=()):
    """A dictionary for each packet; a field that a packet does not have is empty."""
    wanted = [word for name in names for word in ("-e", name)]
    form = ["-T", "fields", "-E", "header=y", "-E", "separator=,", "-E", "quote=d"]
    return list(csv.DictReader(io.StringIO(tshark(path, *arguments, *form, *wanted))))


def test_the_capture_holds_both_versions_and_both_ends_of_the_range(capture):
    _, packets = capture
    assert {version for version, _, _ in packets} == {"4", "6"}
    assert {protocol for _, protocol, _ in packets} == {"TCP", "UDP"}
    assert {0, 65535} <= {steps for _, _, steps in packets}


def test_nothing_is_malformed_and_every_checksum_is_right(capture):
    path, packets = capture
    status = [f"{protocol}.checksum.status" for protocol in ("ip", "tcp", "udp")]
    rows = fields(path, "_ws.malformed", "_ws.expert.message", *status)
    for row, (version, protocol, _) in zip(rows, packets, strict=True):
        assert (row["_ws.malformed"], row["_ws.expert.message"]) == ("", "")
        assert row["ip.checksum.status"] == (GOOD if version == "4" else "")
        assert row[f"{protocol.lower()}.checksum.status"] == GOOD


def test_the_ipv6_option_has_its_type_and_length(capture):
    path, packets = capture
    rows = fields(path, "ipv6.opt.type", "ipv6.opt.length", "ipv6.opt.experimental")
    for row, (version, _, steps) in zip(rows, packets, strict=True):
        wanted = ("0x1e", "4", f"5447{steps:04x}") if version == "6" else ("", "", "")
        assert tuple(row.values()) == wanted


def test_the_ipv4_option_has_its_type_and_length(capture):
    path, packets = capture
    # tshark has no field for a type that it does not know, but it says what it saw.
    text = tshark(path, "-V", "-Y", "ip")
    count = sum(version == "4" for version, _, _ in packets)
    assert text.count("Options: (8 bytes)") == count
    assert text.count("Unknown (0x9e) (6 bytes)") == count
    assert text.count("End of Options List (EOL)\n") == count


def test_packets_were_marked(capture):
    path, packets = capture
    rows = fields(path, "ip.dsfield.ecn", "ipv6.tclass.ecn")
    assert [row["ip.dsfield.ecn"] + row["ipv6.tclass.ecn"] for row in rows] == [CE] * len(packets)


def test_the_plugin_shows_the_activity_that_was_written(capture):
    path, packets = capture
    plugin = ["-X", f"lua_script:{PLUGIN}"]
    rows = fields(path, "tidegate.activity", "tidegate.activity.bits", arguments=plugin)
    shown = [(float(r["tidegate.activity"]), int(r["tidegate.activity.bits"], 16)) for r in rows]
    assert shown == [(steps / 256, steps) for _, _, steps in packets]


def test_the_plugin_can_be_filtered_by(capture):
    path, packets = capture
    plugin = ["-X", f"lua_script:{PLUGIN}"]
    rows = fields(path, "frame.number", arguments=[*plugin, "-Y", "tidegate.activity > 1.5"])
    wanted = [n for n, (_, _, steps) in enumerate(packets, 1) if steps > 384]
    assert [int(row["frame.number"]) for row in rows] == wanted


def test_the_plugin_passes_over_options_that_are_not_ours(capture, tmp_path):
    path, _ = capture
    # The experiment's number is another one: the same option, but of somebody else.
    foreign = tmp_path / "foreign.pcap"
    foreign.write_bytes(path.read_bytes().replace(b"\x54\x47", b"\x54\x48"))
    arguments = ["-X", f"lua_script:{PLUGIN}", "-Y", "tidegate.activity"]
    assert fields(foreign, "frame.number", arguments=arguments) == []
