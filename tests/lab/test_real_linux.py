"""The lab with the real program, a real kernel and real packets: short, with root or in a guest."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support import (
    PATIENCE_S,
    SMALL,
    comes,
    lab_lacking,
    lab_that_counts,
    where_the_lab_runs,
)

import tidegate
from tidegate.laboratory import process

LACKING = lab_lacking()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"the lab cannot run here: {'; '.join(LACKING)}"),
    pytest.mark.xdist_group("lab"),
]
HERE = process.missing()
on_this_kernel = pytest.mark.skipif(bool(HERE), reason=f"not on this kernel: {'; '.join(HERE)}")


def held_by(pid):
    """Network namespaces that a process holds open."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        found += [link] if target.startswith("net:") else []
    return found


def child_of(process):
    """The program that the command has started."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        for children in Path(f"/proc/{process.pid}/task").glob("*/children"):
            try:
                for child in children.read_text().split():
                    words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
                    if words[1:2] == ["run"]:  # before, it has asked what is missing
                        return int(child)
            except OSError:
                continue  # a thread or the child has ended meanwhile
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"no run has started: {process.communicate()}")


def alive_in_group(group):
    """Threads of processes in a process group, but zombies, which hold nothing any more."""
    for stat in Path("/proc").glob("[0-9]*/task/*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            yield stat


@pytest.mark.parametrize("ip", [4, 6])
def test_real_packets_fill_the_link_and_their_tables(ip):
    result = lab_that_counts(SMALL, ip=ip)
    (about,) = result.lab.to_pylist()
    assert about["ip"] == ip
    assert about["packets"] > 1000
    assert about["malformed"] == about["without_room"] == 0
    bottleneck = result.links.to_pylist()[0]
    assert 0.5 < bottleneck["utilization"] <= 1.0
    assert bottleneck["drops_aqm"] > 0
    assert 0.003 < bottleneck["mean_sojourn_s"] < 0.06
    flows = result.flows.to_pylist()
    # Not flow by flow: one that repairs an old loss gives its application more than just came in.
    goodput, throughput = (
        sum(flow[name] for flow in flows) for name in ("goodput_bps", "throughput_bps")
    )
    assert 0.5 * throughput < goodput < 1.2 * throughput
    (heavy, light) = result.link_groups["mean_activity"].to_pylist()
    assert heavy > light > 0, "activity travels in the packets"


def test_the_parts_of_a_real_measurement_add_up():
    parts = SMALL.replace('duration = "2 s"', 'intervals = { count = 2, length = "1 s" }')
    result = lab_that_counts(parts)
    assert result.interval_groups["interval"].to_pylist() == [0, 0, 1, 1]
    assert result.interval_groups["group"].to_pylist() == ["heavy", "light"] * 2
    both = sum(result.interval_groups["throughput_bps"].to_pylist()) / 2
    assert both == pytest.approx(sum(result.flows["throughput_bps"].to_pylist()))
    (link,) = (row for row in result.links.to_pylist() if row["monitored"])
    drops = result.interval_links["drops"].to_pylist()
    assert sum(drops) == link["drops_aqm"] + link["drops_full"] + link["drops_wire"]
    assert len(drops) == 2


def test_simulated_and_real_can_be_compared():
    both = tidegate.compare_results(
        tidegate.simulate(SMALL, replications=1), lab_that_counts(SMALL)
    )
    metrics = {(row.name, row.metric): row for row in both.differences}
    full = metrics["bottleneck", "utilization"]
    assert full.b.mean == pytest.approx(full.a.mean, abs=0.1)


@on_this_kernel
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_nothing_is_left_however_it_ends(tidegate_command, how):
    process = tidegate_command.start("lab", "small.toml", "--set", "duration=600 s", "-r", "1")
    child = child_of(process)
    hosts_are_there = comes(lambda: len(held_by(child)) >= 4)
    process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert hosts_are_there, "three users and the servers"
    assert process.returncode == (130 if how == "interrupt" else -signal.SIGKILL)
    # Nothing but this process held the namespaces open, so that they are gone with it.
    assert comes(lambda: not any(alive_in_group(child)))


@on_this_kernel
def test_the_command_prints_tables_and_declared_shares(tidegate_command):
    done = tidegate_command("lab", "small.toml", "-r", "1", "--format", "json")
    assert done.returncode in {0, 6}, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["kernel"] == os.uname().release
    assert run["lateness_p99_s"] >= 0


def test_a_scenario_that_only_a_kernel_can_run(tmp_path):
    kernel = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if "bbr" not in kernel and not HERE:
        pytest.skip("this kernel has no bbr")
    scenario = tidegate.load_scenario(SMALL, set={"users.heavy.tcp.congestion_control": "bbr"})
    result = tidegate.lab(scenario, replications=1, **where_the_lab_runs())
    assert result.flows.num_rows == 6


@pytest.fixture
def anyones_program():
    """A copy of the program where everyone may enter; the checkout may be root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield shutil.copy(process.find(), folder)


@on_this_kernel
def test_a_user_without_root_is_told(anyones_program):
    if subprocess.run(["id", "nobody"], capture_output=True).returncode:
        pytest.skip("there is no user nobody")
    command = [anyones_program, "run", "--seed", "1"]
    done = subprocess.run(
        command, input=tidegate.load_scenario(SMALL).to_toml(), capture_output=True, text=True,
        user="nobody", cwd="/",
    )  # fmt: skip
    assert done.returncode == 77
    assert "root" in done.stderr


def test_hosts_are_there_whose_packets_are_too_small_for_ipv6():
    """A device for less than 1,280 bytes has none, and nothing to be switched off."""
    run = tidegate.lab(
        SMALL, set={"packet_size": "1000 B", "warm_up": "0 s", "duration": "1 s"}, replications=1,
        **where_the_lab_runs(),
    )  # fmt: skip
    assert sum(run.flows["throughput_bps"].to_pylist()) > 0
