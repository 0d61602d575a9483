"""Sessions that a hook of DHCP or RADIUS writes and removes, while packets are forwarded."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gateway.box import SERVER, Box, lacking, needing
from gateway.traffic import flood

pytestmark = needing(lacking())


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    lines: list[str] = []

    def read() -> None:
        assert process.stderr
        lines.extend(iter(process.stderr.readline, ""))

    threading.Thread(target=read, daemon=True).start()
    return lines


def write(folder: Path, name: str, customer: str, addresses: str, more: str = "") -> None:
    """As a hook does it: a name that begins with a dot, and the right one when it is complete."""
    partial = folder / f".{name}"
    partial.write_text(f'customer = "{customer}"\naddresses = "{addresses}"\n{more}')
    partial.rename(folder / name)


def awaited(is_so: Callable[[], bool]) -> bool:
    for _ in range(300):
        if is_so():
            return True
        time.sleep(0.1)
    return False


def sessions(box: Box, *words: str) -> int:
    """Customers in force that a reload would not add."""
    change = json.loads(box.gateway("reload", "--dry-run", "--format", "json", *words))
    assert not change["done"]
    return int(change["before"])


def test_sessions_come_and_go_without_a_lost_packet(box: Box) -> None:
    heavy, light = (box.address(name, "ipv4") for name in ("heavy", "light"))
    folder = box.file("spool", "").with_name("sessions")
    folder.mkdir()
    path = box.file("customers.csv", "id,addresses,ceiling\noffice,10.9.0.1,5 Mb/s\n")
    words = ["--set", f'sessions_folder="{folder}"', "--set", f'customer_file="{path}"']
    with box.control_loop("enforce", *words) as process:
        lines = lines_of(process)
        with flood(box, heavy, SERVER["ipv4"]) as flooded:
            assert sessions(box, *words) == 1
            # Nobody's: it passes and is not metered.
            assert awaited(lambda: box.totals()["no-customer"] > 100)
            write(folder, "lease-1", "smith", heavy)
            assert awaited(lambda: shown(box) == ["smith"])
            # More than the maps hold.
            for number in range(300):
                write(folder, f"n{number}", f"n{number}", f"10.8.{number // 250}.{number % 250}")
            assert awaited(lambda: sessions(box, *words) == 302)
            # The lease goes to somebody else, and the hook of before has missed that.
            write(folder, "lease-2", "jones", f"{heavy} {light}")
            assert awaited(lambda: shown(box) == ["jones"])
            (folder / "broken").write_text("customer = ")
            assert awaited(lambda: any("session broken" in line for line in lines)), lines
            assert awaited(lambda: any("session lease-1" in line for line in lines)), lines
            for number in range(300):
                (folder / f"n{number}").unlink()
            assert awaited(lambda: sessions(box, *words) == 2)
        assert flooded.sent > 1_000
        assert flooded.came == flooded.sent
        # The file is reloaded beside them; what it changes is looked at, and sessions are not.
        path.write_text("id,addresses,ceiling\noffice,10.9.0.1,9 Mb/s\n")
        refused = box.gateway_streams("reload", *words)
        assert (refused.returncode, "more than 20 % change" in refused.stderr) == (1, True)
        box.gateway("reload", "--yes", *words)
        assert sessions(box, *words) == 2
        # A folder that is gone is no reason to forget them.
        folder.rename(folder.with_name("elsewhere"))
        assert awaited(lambda: any("the sessions that are in force stay" in line for line in lines))
        assert sessions_in_force(box) == 2
        assert process.poll() is None


def shown(box: Box) -> list[str]:
    return [one["customer"] for one in box.status(0.2)["customers"]]


def sessions_in_force(box: Box) -> int:
    published = json.loads(box.gateway("explain", "--public", "--format", "json"))
    return int(published["listed_customers"])
