"""A gateway between customers and a server, in network namespaces that this makes and removes.

    customers (heavy, light) ── c1 ═ c0 ── gateway ── u0 ═ s1 ── server
                                              with `beyond`   u0 ═ m0 ── modem ── m1 ═ s1

With `base_ms` the link between m1 and s1 has a propagation delay.

The kernel forwards, by routes or by a bridge. The bottleneck is a token bucket at u0 for uploads,
and for downloads at c0, where the gateway's programs are; or at m1 and m0, where the box sees
nothing of it.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from gateway.traffic import Contest, Stream, contest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("TIDEGATE_GATEWAY", ROOT / ".venv/bin/tidegate-gateway"))
CUSTOMERS = {"heavy": 2, "light": 3}
SERVER = {"ipv4": "10.2.0.9", "ipv6": "fd02::9"}


def lacking() -> list[str]:
    """What this machine lacks for a gateway."""
    missing = []
    if os.geteuid() != 0:
        missing.append("root")
    if not PROGRAM.exists():
        missing.append(f"{PROGRAM.name} (make gateway)")
    missing += [
        tool for tool in ("ip", "tc", "iperf3", "nsenter", "sysctl") if not shutil.which(tool)
    ]
    if not missing and not _has_token_bucket():
        missing.append("network namespaces with veth and tbf")
    return missing


def needing(missing: list[str]) -> list[pytest.MarkDecorator]:
    """Marks of tests that are skipped where something is missing, and run one after the other."""
    reason = f"not here: {'; '.join(missing)}"
    return [pytest.mark.skipif(bool(missing), reason=reason), pytest.mark.xdist_group("gateway")]


def _has_token_bucket() -> bool:
    try:
        with Box() as box:
            box.shape("u0", 10)
    except subprocess.CalledProcessError:
        return False
    return True


@dataclass
class Box:
    """The three namespaces. A context manager."""

    bridge: bool = False
    beyond: bool = False
    base_ms: float = 0
    name: str = field(default_factory=lambda: f"tg{os.getpid():x}{time.monotonic_ns() % 0xFFFF:x}")

    def __enter__(self) -> "Box":
        self._folder = Path(mkdtemp(prefix="tidegate-gateway-"))
        self._ends = ExitStack()
        self._ends.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._ends.callback(_unmount, self._folder / "bpf")
        try:
            self._build()
        except BaseException:
            self._ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _build(self) -> None:
        for place in self._places():
            _run("ip", "netns", "add", f"{self.name}-{place}")
            self._ends.callback(_run, "ip", "netns", "del", f"{self.name}-{place}")
            self.inside(place, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
            self.inside(place, "ip", "link", "set", "lo", "up")
        links = [("c1", "c", "c0", "g")]
        if self.beyond:
            links += [("m0", "m", "u0", "g")]
            links += [] if self.base_ms else [("s1", "s", "m1", "m")]
        else:
            links += [("s1", "s", "u0", "g")]
        for end, place, near, there in links:
            _run("ip", "link", "add", end, "netns", f"{self.name}-{place}", "type", "veth",
                 "peer", "name", near, "netns", f"{self.name}-{there}")  # fmt: skip
        if self.base_ms:
            self._delay_line()
        if self.beyond:
            self.inside("m", "ip", "link", "add", "br0", "type", "bridge")
            for port in ("m0", "m1"):
                self.inside("m", "ip", "link", "set", port, "master", "br0", "up")
            self.inside("m", "ip", "link", "set", "br0", "up")
        if self.bridge:
            self.inside("g", "ip", "link", "add", "br0", "type", "bridge")
            for port in ("c0", "u0"):
                self.inside("g", "ip", "link", "set", port, "master", "br0")
        for place, device in (("c", "c1"), ("g", "c0"), ("g", "u0"), ("s", "s1")):
            self.inside(place, "ip", "link", "set", device, "up")
        if self.bridge:
            self.inside("g", "ip", "link", "set", "br0", "up")
        self._addresses()

    def _delay_line(self) -> None:
        """A link from m1 to s1 that takes its time. It ends when its input does."""
        script = Path(__file__).with_name("delay_line.py")
        ends = [f"{self.name}-m", "m1", f"{self.name}-s", "s1"]
        process = subprocess.Popen(
            [sys.executable, script, *ends, str(self.base_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._ends.enter_context(process)
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("no delay line; it takes /dev/net/tun")

    def _places(self) -> str:
        return "cgsm" if self.beyond else "cgs"

    def _addresses(self) -> None:
        width = ("/8", "/8") if self.bridge else ("/24", "/16")
        for number in CUSTOMERS.values():
            self.inside("c", "ip", "addr", "add", f"10.1.0.{number}{width[0]}", "dev", "c1")
            # A /64 for each, for that is what a customer is.
            address = f"fd01:0:0:{number}::2{width[1]}"
            self.inside("c", "ip", "addr", "add", address, "dev", "c1", "nodad")
        self.inside("s", "ip", "addr", "add", SERVER["ipv4"] + width[0], "dev", "s1")
        self.inside("s", "ip", "addr", "add", SERVER["ipv6"] + width[1], "dev", "s1", "nodad")
        if self.bridge:
            # One link for all.
            for place, device in (("c", "c1"), ("s", "s1")):
                self.inside(place, "ip", "-6", "route", "add", "fd00::/8", "dev", device)
            return
        self.inside("g", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for device, four, six in (
            ("c0", "10.1.0.1/24", "fd01::1/16"),
            ("u0", "10.2.0.1/24", "fd02::1/16"),
        ):
            self.inside("g", "ip", "addr", "add", four, "dev", device)
            self.inside("g", "ip", "addr", "add", six, "dev", device, "nodad")
        for place, four, six in (("c", "10.1.0.1", "fd01::1"), ("s", "10.2.0.1", "fd02::1")):
            self.inside(place, "ip", "route", "add", "default", "via", four)
            self.inside(place, "ip", "-6", "route", "add", "default", "via", six)

    def connect_customers(self) -> None:
        """Connect the customers' host again, whose link was removed."""
        _run("ip", "link", "add", "c1", "netns", f"{self.name}-c", "type", "veth",
             "peer", "name", "c0", "netns", f"{self.name}-g")  # fmt: skip
        for place, device, address in (("c", "c1", ""), ("g", "c0", "10.1.0.1/24")):
            self.inside(place, "ip", "link", "set", device, "up")
            if address:
                self.inside(place, "ip", "addr", "add", address, "dev", device)
        for number in CUSTOMERS.values():
            self.inside("c", "ip", "addr", "add", f"10.1.0.{number}/24", "dev", "c1")
        self.inside("c", "ip", "route", "add", "default", "via", "10.1.0.1")

    def connect_server(self) -> None:
        """Connect the server again, whose link was removed."""
        _run("ip", "link", "add", "s1", "netns", f"{self.name}-s", "type", "veth",
             "peer", "name", "u0", "netns", f"{self.name}-g")  # fmt: skip
        for place, device, address in (("s", "s1", SERVER["ipv4"]), ("g", "u0", "10.2.0.1")):
            self.inside(place, "ip", "link", "set", device, "up")
            self.inside(place, "ip", "addr", "add", f"{address}/24", "dev", device)
        self.inside("s", "ip", "route", "add", "default", "via", "10.2.0.1")

    def forget_pins(self) -> None:
        """Remove programs and maps as a reboot does."""
        for pin in (self._folder / "bpf/tidegate").iterdir():
            pin.unlink()

    def command(self, place: str, *words: str | Path) -> list[str]:
        """Words that run a command in a namespace, with the files of this one."""
        return ["nsenter", f"--net=/run/netns/{self.name}-{place}", *map(str, words)]

    def inside(self, place: str, *words: str | Path) -> str:
        """Run a command in a namespace; returns its output."""
        return _run(*self.command(place, *words))

    def gateway(self, *words: str) -> str:
        """Run the gateway's command to its end."""
        return self.inside("g", PROGRAM, *words, *self.pins)

    @property
    def state_folder(self) -> str:
        """Where the gateway keeps what it needs after a reboot."""
        return f"{self._folder}/state"

    @property
    def pins(self) -> list[str]:
        """Words that keep the gateway's files in the box."""
        state = f'state_folder="{self.state_folder}"'
        return ["--pins", str(self._folder / "bpf/tidegate"), "--set", state]

    @contextmanager
    def control_loop(self, mode: str, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A control loop for as long as the context lasts; everything is removed after it."""
        command = self.command("g", PROGRAM, mode, "c0", "--uplink", "u0", *words)
        with subprocess.Popen(
            [*command, *self.pins], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stderr
                lines = []
                while not (line := process.stderr.readline()).startswith(mode):
                    lines.append(line)
                    if not line:
                        process.kill()
                        raise RuntimeError("".join(lines))
                yield process
            finally:
                self.gateway("off")
                process.kill()

    def map_bytes(self, process: int) -> dict[str, int]:
        """Memory of the maps that a process has open, by their numbers."""
        maps = {}
        for path in Path(f"/proc/{process}/fdinfo").iterdir():
            lines = (line.split(":\t") for line in path.read_text().splitlines())
            info = {line[0]: line[1] for line in lines if len(line) == 2}
            if "map_id" in info:
                maps[info["map_id"]] = int(info["memlock"])
        return maps

    def status(self, seconds: float = 1) -> dict[str, Any]:
        """What the gateway reports in a number of seconds."""
        return _object(self.gateway("status", "--format", "json", "--every", str(seconds)))

    def totals(self) -> dict[str, int]:
        """All packets since the programs are there, by what became of them, in both directions."""
        report = json.loads(self.gateway("status", "--format", "json", "--total"))
        names = report["upload"]["verdicts"]
        return {
            name: sum(report[way]["verdicts"][name]["packets"] for way in ("upload", "download"))
            for name in names
        }

    def gateway_streams(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the gateway's command; returns its code and both streams."""
        command = self.command("g", PROGRAM, *words, *self.pins)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def gateway_code(self, *words: str) -> tuple[int, str]:
        """Run the gateway's command; returns exit code and output."""
        done = self.gateway_streams(*words)
        return done.returncode, done.stdout

    def shape(
        self, device: str, mbps: float, *, slowest: float | None = None, buffer_ms: float = 300
    ) -> None:
        """Make a device a bottleneck, or change its rate without telling anybody.

        A bucket that gets smaller would hold on for ever to a merged packet in the queue, so it is
        as large as the slowest rate of a run has it.
        """
        limit = max(int(mbps * 1e6 / 8 * buffer_ms / 1e3), 20_000)
        # What comes in a tick of a slow clock, and a packet.
        burst = max(int((slowest or mbps) * 1e6 / 8 / 250), 2_000)
        bucket = f"tbf rate {int(mbps * 1e6)}bit burst {burst} limit {limit}".split()
        where = ["dev", device, "handle", "1:", "root"]
        self.inside(self._of(device), "tc", "qdisc", "replace", *where, *bucket)

    def _of(self, device: str) -> str:
        return "m" if device.startswith("m") else "g"

    def backlog(self, device: str) -> int:
        """Bytes that wait in a device's queue."""
        shown = self.inside(self._of(device), "tc", "-j", "-s", "qdisc", "show", "dev", device)
        return int(json.loads(shown)[0]["backlog"])

    def octets(self, place: str, device: str) -> tuple[int, int, float]:
        """Bytes that a device has received and sent, and the time in seconds at which it had."""
        # In one process, which a busy machine does not interrupt for long.
        shown = self.inside(place, "cat", "/proc/net/dev", "/proc/uptime").splitlines()
        [counts] = [line.split() for line in shown if line.strip().startswith(f"{device}:")]
        return int(counts[1]), int(counts[9]), float(shown[-1].split()[0])

    def carried(self, seconds: float) -> tuple[float, float]:
        """Mb/s that customers send to the box and that the server receives, of whole frames."""
        sent, came = self.octets("c", "c1"), self.octets("s", "s1")
        time.sleep(seconds)
        sent_later, came_later = self.octets("c", "c1"), self.octets("s", "s1")
        return (
            (sent_later[1] - sent[1]) * 8e-6 / (sent_later[2] - sent[2]),
            (came_later[0] - came[0]) * 8e-6 / (came_later[2] - came[2]),
        )

    def address(self, customer: str, family: str) -> str:
        """A customer's address."""
        number = CUSTOMERS[customer]
        return f"10.1.0.{number}" if family == "ipv4" else f"fd01:0:0:{number}::2"

    def await_listeners(self, place: str, ports: list[int]) -> None:
        """Wait until somebody listens at these ports."""
        wanted = {f":{port:04X}" for port in ports}
        for _ in range(200):
            rows = [
                row.split() for row in self.inside(place, "cat", "/proc/self/net/tcp6").splitlines()
            ]
            listening = {row[1][-5:] for row in rows if len(row) > 3 and row[3] == "0A"}
            if wanted <= listening:
                return
            time.sleep(0.05)
        raise RuntimeError("iperf3 does not listen")

    def duel(
        self, seconds: int, *, family: str = "ipv4", download: bool = False, flows: int = 10
    ) -> AbstractContextManager[Contest]:
        """A number of CUBIC flows of the heavy customer against one of the light one."""
        streams = {
            name: Stream(self.address(name, family), flows if name == "heavy" else 1)
            for name in CUSTOMERS
        }
        return self.contest(streams, seconds, family=family, download=download)

    def contest(
        self,
        streams: dict[str, Stream],
        seconds: int,
        *,
        family: str = "ipv4",
        download: bool = False,
    ) -> AbstractContextManager[Contest]:
        """These streams beside each other: see `traffic.contest`."""
        return contest(self, streams, seconds, SERVER[family], download=download)

    def add_customers(self, count: int) -> list[str]:
        """Give the customers' host more IPv4 addresses; returns them."""
        addresses = [f"10.1.0.{20 + number}" for number in range(count)]
        for address in addresses:
            width = "/8" if self.bridge else "/24"
            self.inside("c", "ip", "addr", "add", address + width, "dev", "c1")
        return addresses

    def file(self, name: str, text: str) -> Path:
        """Write a file that goes with the box."""
        path = self._folder / name
        path.write_text(text)
        return path


def _object(text: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(text)
    return value


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", folder], check=False, capture_output=True)


def _run(*words: str | Path) -> str:
    done = subprocess.run([*map(str, words)], check=True, capture_output=True, text=True)
    return done.stdout
