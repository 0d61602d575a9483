"""Tunnels of a mobile network between real namespaces. Short, and only with root."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate
from tidegate.laboratory import process
from tidegate.scenarios.reading import load_scenario

LACKING = process.missing()
pytestmark = pytest.mark.skipif(
    bool(LACKING), reason=f"the lab cannot run here: {'; '.join(LACKING)}"
)
PEER = Path(__file__).with_name("enodeb_by_scapy.py")
SHORT = {"warm_up": "1 s", "duration": "3 s"}
GATEWAY, ENODEB = "g1-r1.entry.0", "bottleneck.exit.0"
FLOOD = 4


def counted(result, stage):
    """What a stage has counted, by user."""
    rows = result.stages.to_pylist()
    return {(row["user"], row["count"]): row["value"] for row in rows if row["stage"] == stage}


def messages(result):
    (about,) = result.lab.to_pylist()
    pairs = (text.rsplit(" ", 1) for text in about["messages"].split("; "))
    return {what: int(count) for what, count in pairs}


@pytest.fixture(scope="module")
def flooded():
    return tidegate.lab("scenarios/lte-flood.toml", set=SHORT, replications=1)


def test_what_enters_tunnels_leaves_them_and_is_reported(flooded):
    gateway, enodeb = counted(flooded, GATEWAY), counted(flooded, ENODEB)
    for user in range(5):
        entered, received = gateway[user, "entered_packets"], enodeb[user, "received"]
        under_way = 100  # in a queue, when counters are read
        assert received > 100
        assert abs(entered - received) < under_way
        assert gateway[user, "reports"] > 0
        assert gateway[user, "reports_forged"] == gateway[user, "reports_from_strangers"] == 0
    (about,) = flooded.lab.to_pylist()
    assert about["malformed"] == about["refused"] == about["foreign"] == 0
    got = messages(flooded)
    assert set(got) == {"data", "echo requests", "echo responses"}
    assert got["data"] > got["echo requests"] >= got["echo responses"] > 0


def test_a_flood_of_real_packets_is_held_to_its_bucket(flooded):
    rates = dict(zip(*(flooded.flows[name].to_pylist() for name in ("flow", "throughput_bps")),
                     strict=True))  # fmt: skip
    alone = tidegate.lab(
        "scenarios/lte-flood.toml", replications=1,
        set={**SHORT, "links.g1-r1.entry": ["pdn-gateway"]},
    )  # fmt: skip
    assert rates[FLOOD] < 5.5e6, "4 Mb/s, and what its bucket had at first"
    assert alone.flows["throughput_bps"].to_pylist()[FLOOD] > 15e6
    assert counted(flooded, GATEWAY)[FLOOD, "dropped: bucket empty"] > 1000


def test_scapy_in_the_place_of_an_enodeb_understands_the_gateway_and_is_understood(tmp_path):
    command = [
        process.find(), "run", "--seed", "1", "--ip", "4", "--generator", "own", "--verbose",
    ]  # fmt: skip
    # Long enough for scapy to begin on a busy machine.
    scenario = load_scenario("scenarios/lte-flood.toml", set={**SHORT, "duration": "15 s"})
    output = tmp_path / "run.json"
    with output.open("w") as file, subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE, text=True
    ) as run:  # fmt: skip
        run.stdin.write(scenario.to_toml())
        run.stdin.close()
        found = {}
        while ENODEB not in found:
            line = run.stderr.readline()
            assert line, "the run tells how to look into its hosts"
            name, address, namespace = re.match(r"(\S+) (\S+): nsenter (\S+)", line).groups()
            found[name] = (address, namespace)
        (gateway, _), (own, namespace) = found[GATEWAY], found[ENODEB]
        peer = subprocess.run(
            ["nsenter", namespace, sys.executable, PEER, "tidegate0", gateway],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        run.stderr.read()
    assert peer.returncode == 0, peer.stderr
    told = json.loads(peer.stdout)
    assert told["echo"] == {"kind": 2, "seq": 77}
    numbers = {}
    for packet in told["data"]:
        assert packet["sums"]
        assert packet["len"]
        assert packet["extension"] == 0x3E
        assert packet["ecn"] != 0, "all that is in a tunnel may be marked"
        assert packet["from"].startswith("198.18.")
        assert packet["to"] == "198.19.0.1"
        assert packet["protocol"] in {6, 17}
        numbers.setdefault(packet["teid"], []).append(packet["seq"])
    assert all(each == sorted(set(each)) for each in numbers.values())
    forwarder = json.loads(output.read_text())["forwarder"]
    counts = dict(text.rsplit(" ", 1) for text in forwarder["messages"])
    for what in ("data for no tunnel", "error indications", "end markers", "malformed"):
        assert 1 <= int(counts.get(what, 0)) <= told["times"], (what, counts)
    assert int(counts["error indications"]) <= int(counts["data for no tunnel"])
    assert own != gateway
