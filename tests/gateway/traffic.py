"""iperf3 between the hosts of a box: several customers beside each other."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.box import Box

FIRST_PORT = 5301


@dataclass
class Stream:
    """What a customer sends or fetches."""

    address: str
    flows: int = 1
    controller: str = "cubic"
    udp_mbps: float | None = None
    """A flood of datagrams at this rate instead of TCP."""


@dataclass
class Contest:
    """What each customer received, second by second, in Mb/s."""

    rates: dict[str, list[float]]

    def ratio(self, start: float, end: float) -> float:
        """Throughput of the heavy customer over that of the light one, between two seconds."""
        heavy, light = (self.mean(name, start, end) for name in ("heavy", "light"))
        return heavy / max(light, 1e-6)

    def mean(self, name: str, start: float, end: float) -> float:
        """Mean throughput between two seconds, in Mb/s."""
        rates = self.rates[name][int(start) : int(end)]
        return sum(rates) / max(len(rates), 1)

    def used(self, start: float, end: float) -> float:
        """Mean throughput of all, in Mb/s."""
        return sum(self.mean(name, start, end) for name in self.rates)


@contextmanager
def contest(
    box: "Box", streams: dict[str, Stream], seconds: int, server: str, *, download: bool = False
) -> Iterator[Contest]:
    """Run streams beside each other. They begin with the context, and are done at its end."""
    result = Contest({})
    ports = {name: FIRST_PORT + number for number, name in enumerate(streams)}
    with ExitStack() as stack:
        receivers = {}
        for name, port in ports.items():
            listen = box.command("s", "iperf3", "-s", "-1", "-J", "-p", str(port))
            receivers[name] = stack.enter_context(_process(listen))
        box.await_listeners("s", list(ports.values()))
        for name, stream in streams.items():
            kind, first = ["-C", stream.controller], []
            if stream.udp_mbps is not None:
                kind = ["-u", "-b", f"{stream.udp_mbps}M", "-l", "1200"]
                # A sender that pauses gets less than a rate that it exceeds on average.
                first = ["nice", "-n", "-15"]
            client = box.command(
                "c", *first, "iperf3", "-J", "-c", server, "-p", str(ports[name]),
                "-B", stream.address, "-t", str(seconds), *kind,
                "-P", str(stream.flows), *(["-R"] if download else []),
            )  # fmt: skip
            process = stack.enter_context(_process(client))
            if download:
                receivers[name] = process
        yield result
        for name, process in receivers.items():
            output, _ = process.communicate(timeout=seconds + 60)
            report = json.loads(output)
            result.rates[name] = [
                part["sum"]["bits_per_second"] / 1e6 for part in report["intervals"]
            ]


@contextmanager
def _process(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                time.sleep(0.1)
                process.kill()


FLOOD = """
import os, socket, sys, threading, time
# Other work on the machine is to make no gaps.
os.setpriority(os.PRIO_PROCESS, 0, -15)
source, server, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind((source, 0))
end = threading.Thread(target=sys.stdin.read, daemon=True)
end.start()
sent, start = 0, time.monotonic()
while end.is_alive():
    now = time.monotonic() - start
    # No more than a hundred at once, however late it is: no queue on the way takes more.
    for _ in range(min(int(now * rate) - sent, 100)):
        udp.sendto(bytes(100), (server, 9))
        sent += 1
    time.sleep(0.001)
print(sent, time.monotonic() - start)
"""


@dataclass
class Flood:
    """Datagrams that were sent, and those that came."""

    sent: int = 0
    came: int = 0
    seconds: float = 0
    machine_lost: int = 0
    """Packets that a CPU of this machine had no room for, whosever they were."""

    def rate(self) -> float:
        """Datagrams sent per second."""
        return self.sent / max(self.seconds, 1e-6)

    def lost(self) -> int:
        """Datagrams that did not come."""
        return self.sent - self.came


@contextmanager
def flood(box: "Box", source: str, server: str, rate: float = 25_000) -> Iterator[Flood]:
    """Send datagrams at a rate to a port at which nobody listens, where the host counts each.

    They are sent for as long as the context lasts; the numbers are there after it.
    """
    result = Flood()
    before, machine_before = _no_ports(box), _backlog_drops()
    words = box.command("c", sys.executable, "-c", FLOOD, source, server, str(rate))
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield result
        # Which ends it.
        output, _ = process.communicate("", timeout=60)
    time.sleep(0.2)
    sent, seconds = output.split()
    result.sent, result.seconds = int(sent), float(seconds)
    result.came = _no_ports(box) - before
    result.machine_lost = _backlog_drops() - machine_before


def _no_ports(box: "Box") -> int:
    """Datagrams that came to the server for a port at which nobody listens."""
    names, values = (
        line.split() for line in box.inside("s", "cat", "/proc/net/snmp").splitlines()
        if line.startswith("Udp:")
    )  # fmt: skip
    return int(values[names.index("NoPorts")])


def _backlog_drops() -> int:
    """Packets that were dropped between two veth devices, since a CPU did not keep up."""
    lines = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(line.split()[1], 16) for line in lines)
