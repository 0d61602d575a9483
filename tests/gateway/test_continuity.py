"""No packet is lost when the control loop dies, returns, is upgraded, reloads or goes."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from gateway.box import PROGRAM, SERVER, Box, lacking, needing
from gateway.traffic import Flood, Stream, flood

pytestmark = needing(lacking())

# Packets per second, less what a sender that sleeps between bursts is late.
FULL_RATE = 24_000
HEADER = "id,addresses,reference_rate,ceiling\n"


def customers(count: int, more: str = "") -> str:
    lines = (f"n{n},10.{64 + n // 65536}.{n // 256 % 256}.{n % 256},,\n" for n in range(count))
    return HEADER + more + "".join(lines)


def nothing_lost(flood: Flood) -> None:
    # A busy machine sends fewer than asked for, and still each of them has to come.
    assert flood.sent > 1_000
    assert flood.lost() <= flood.machine_lost


def listed(box: Box, *words: str) -> dict[str, object]:
    return dict(json.loads(box.gateway("reload", "--format", "json", *words)))


def test_kill_loses_no_packet_and_a_restart_adopts(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    with box.control_loop("enforce") as process:
        with flood(box, heavy, SERVER["ipv4"]) as killed:
            time.sleep(1)
            process.kill()
            process.wait()
            time.sleep(1)
        status = box.status(0.2)
        assert (status["control_loop"], status["mode"]) == (False, "enforce")
        assert status["customers_known"] >= 1
        with (
            flood(box, heavy, SERVER["ipv4"]) as adopted,
            box.control_loop("observe"),
        ):
            again = box.status(0.2)
            time.sleep(1)
        assert again["control_loop"]
        assert again["customers_known"] >= status["customers_known"]
        assert box.gateway("status").startswith("off")
    nothing_lost(killed)
    nothing_lost(adopted)


def test_25_000_packets_a_second_survive_kill_upgrade_reload_and_off(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    with flood(box, heavy, SERVER["ipv4"]) as without:
        time.sleep(1)
    if without.rate() < FULL_RATE or without.lost():
        pytest.skip(f"not here: this machine carries {without.rate():.0f} packets/s by itself")
    own = f"heavy,{heavy},,\n"
    path = box.file("customers.csv", customers(1_000, own))
    words = ["--set", f'customer_file="{path}"']
    with (
        box.control_loop("enforce", *words) as process,
        flood(box, heavy, SERVER["ipv4"]) as flooded,
    ):
        path.write_text(customers(30_000, own))
        listed(box, *words, "--yes")
        process.kill()
        process.wait()
        # Until the last probability has expired, and packets pass for that.
        time.sleep(1)
        with box.control_loop("enforce", *words):
            time.sleep(0.5)
            box.gateway("off")
            time.sleep(0.5)
    nothing_lost(flooded)
    if flooded.rate() < FULL_RATE:
        pytest.skip(f"not here: {flooded.rate():.0f} packets/s beside the gateway, none lost")


def test_after_kill_everything_passes_within_a_second(box: Box) -> None:
    box.shape("u0", 5)
    with box.control_loop("enforce") as process, box.duel(10):
        while box.totals()["dropped"] == 0:
            time.sleep(0.2)
        process.kill()
        process.wait()
        time.sleep(1)
        before = box.totals()
        time.sleep(1)
        after = box.totals()
        box.gateway("off")
    assert after["dropped"] == before["dropped"]
    assert after["no-signal"] > before["no-signal"]


def test_activity_survives_a_reboot_for_as_long_as_it_would_last(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    words = ["--set", 'meter.inertia="60 s"', "--set", 'state_interval="1 s"']
    state = Path(box.state_folder) / "activity.json"
    with box.control_loop("enforce", *words) as process:
        with flood(box, heavy, SERVER["ipv4"]):
            time.sleep(2)
        before = box.status(0.2)["upload"]["average_activity"]
        while not state.exists() or heavy not in state.read_text():
            time.sleep(0.1)
        process.kill()
        process.wait()
        # What a service does when it ends.
        box.gateway("save")
        assert state.stat().st_mode & 0o077 == 0
        box.forget_pins()
        with box.control_loop("observe", *words):
            again = box.status(0.2)["upload"]
            classes = {one["up_to"]: one["customers"] for one in again["customers_by_activity"]}
            box.gateway("off")
        assert not state.exists()
    assert before > 1
    assert again["average_activity"] == pytest.approx(before, rel=0.2)
    # Its customer is there, and as active as before.
    assert classes[10] - classes[0] == 1


def test_reloads_upgrades_and_off_lose_no_packet_and_keep_activity(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    own = f"heavy,{heavy},,\n"
    path = box.file("customers.csv", customers(100, own))
    words = ["--set", f'customer_file="{path}"']
    with (
        box.control_loop("enforce", *words) as process,
        flood(box, heavy, SERVER["ipv4"]) as flooded,
    ):
        time.sleep(1)
        # More than the maps hold: larger ones take their place, with the programs.
        path.write_text(customers(20_000, own))
        grown = listed(box, *words, "--yes")
        activity = box.status(0.2)["upload"]["average_activity"]
        path.write_text(customers(19_000, own))
        smaller = listed(box, *words)
        process.terminate()
        process.wait()
        with box.control_loop("enforce", *words):
            upgraded = box.status()
            box.gateway("off")
    nothing_lost(flooded)
    assert grown == {"done": True, "before": 101, "added": 19_900, "removed": 0, "changed": 0}
    assert (smaller["removed"], smaller["changed"]) == (1_000, 0)
    assert activity > 5
    assert upgraded["upload"]["average_activity"] > 5
    assert [one["customer"] for one in upgraded["customers"]] == ["heavy"]


def test_a_file_that_is_broken_or_changes_too_much_leaves_what_is_in_force(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    path = box.file("customers.csv", customers(9, f"heavy,{heavy},,\n"))
    words = ["--set", f'customer_file="{path}"']
    with box.control_loop("enforce", *words):
        assert listed(box, *words, "--dry-run") == {
            "done": False, "before": 10, "added": 0, "removed": 0, "changed": 0,
        }  # fmt: skip
        path.write_text(HEADER + f"heavy,{heavy},,\n")
        code, text = refused(box, *words)
        assert (code, "9 removed, 0 changed: more than 20 % change; --yes" in text) == (1, True)
        assert listed(box, *words, "--dry-run")["removed"] == 9
        path.write_text(HEADER + "heavy,10.0.0.1/8,,\n,10.0.0.2,,\n")
        code, text = refused(box, *words)
        assert code == 3
        assert "line 2: addresses:" in text
        assert "line 3: id: is empty" in text
        # All are still there.
        path.write_text(customers(9, f"heavy,{heavy},,\n"))
        assert listed(box, *words, "--dry-run")["before"] == 10
        # The next start does with them, too.
        path.write_text("nonsense\n")
    with box.control_loop("enforce", *words) as process:
        assert box.status(0.2)["customers_known"] == 0
        path.write_text(customers(9, f"heavy,{heavy},,\n"))
        assert listed(box, *words, "--dry-run") == {
            "done": False, "before": 10, "added": 0, "removed": 0, "changed": 0,
        }  # fmt: skip
        assert process.poll() is None


def test_a_switch_and_off_beside_reloads_are_kept(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    path = box.file("customers.csv", customers(100, f"heavy,{heavy},,\n"))
    words = ["--set", f'customer_file="{path}"']
    with box.control_loop("observe", *words):
        for count, mode in ((30_000, "enforce"), (40_000, "observe"), (50_000, "enforce")):
            path.write_text(customers(count, f"heavy,{heavy},,\n"))
            reload = box.command("g", PROGRAM, "reload", "--yes", *words, *box.pins)
            with subprocess.Popen(reload, stdout=subprocess.DEVNULL) as process:
                box.gateway(mode)
            assert process.returncode == 0
            assert box.status(0.1)["mode"] == mode
        with subprocess.Popen(reload, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            assert box.gateway("off").startswith("off: the programs")
        assert box.gateway("off") == "off: there was nothing\n"
        assert "tidegate" not in box.inside("g", "tc", "filter", "show", "dev", "c0", "ingress")


def refused(box: Box, *words: str) -> tuple[int, str]:
    done = box.gateway_streams("reload", *words)
    return done.returncode, done.stderr


def test_a_restart_with_larger_or_other_maps_keeps_what_is_known(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    path = box.file("customers.csv", customers(1_000, f"heavy,{heavy},,\n"))
    words = ["--set", f'customer_file="{path}"', "--set", 'customers="10.2.0.0/16"']
    with box.control_loop("enforce", *words) as process:
        with flood(box, heavy, SERVER["ipv4"]):
            time.sleep(1)
        process.kill()
        process.wait()
        # 15 % more need larger maps, and another number of learned customers another map of them.
        path.write_text(customers(1_150, f"heavy,{heavy},,\n"))
        with box.control_loop("enforce", *words, "--set", "max_customers=4096"):
            assert listed(box, *words, "--dry-run")["before"] == 1_151
            assert box.status(0.2)["customers_known"] == 1


def test_customers_share_by_their_reference_rates(box: Box) -> None:
    heavy, light = (box.address(name, "ipv4") for name in ("heavy", "light"))
    path = box.file("customers.csv", f"{HEADER}heavy,{heavy},50 kb/s,\nlight,{light},200 kb/s,\n")
    box.shape("u0", 20)
    streams = {"heavy": Stream(heavy, flows=5), "light": Stream(light, flows=5)}
    with (
        box.control_loop("enforce", "--set", f'customer_file="{path}"'),
        box.contest(streams, 14) as contest,
    ):
        pass
    # Four to one is meant, and 1.8 the bar.
    assert 1 / (4 * 1.8) <= contest.ratio(4, 14) <= 1 / (4 / 1.8), contest.rates


def test_a_ceiling_is_kept(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    path = box.file("customers.csv", f"{HEADER}heavy,{heavy},,10 Mb/s\n")
    with box.control_loop("enforce", "--set", f'customer_file="{path}"'):
        streams = {"heavy": Stream(heavy, udp_mbps=15)}
        with box.contest(streams, 6) as udp:
            time.sleep(3)
            status = box.status()
        with box.contest({"heavy": Stream(heavy)}, 6) as tcp:
            pass
    # Of datagrams of 1200 bytes in 1242, and segments of 1448 in 1514.
    assert udp.mean("heavy", 1, 5) == pytest.approx(10 * 1200 / 1242, rel=0.02)
    # From the first second on: what fills a hole counts when it comes, with all behind it.
    # A bucket of 250 ms is 4 % of six seconds.
    assert 0.85 <= tcp.mean("heavy", 0, 6) / (10 * 1448 / 1514) <= 1.02 + 0.25 / 6
    assert status["upload"]["verdicts"]["limited"]["packets"] > 0
    assert status["customers"][0]["upload"]["limited"] == pytest.approx(1 / 3, abs=0.1)
