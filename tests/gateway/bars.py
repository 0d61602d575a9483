"""Measures the gateway between real hosts: `make gateway-bars`. Takes minutes, and root.

Throughput ratios of ten CUBIC flows to one at several rates, both directions, IPv4 and IPv6,
routed and bridged; after the link has fallen to a third; other senders and weights; ceilings;
packets lost when the gateway dies, reloads or goes; and what 100,000 customers take. Each line is
a run, with its bound.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from gateway.box import SERVER, Box, lacking
from gateway.far import fall as fall_far
from gateway.traffic import Contest, Stream, flood
from tidegate.errors import MissingError
from tidegate.results.statistics import Estimate, estimate

WARM_UP = 4
FAIR = 1.6
UNFAIR = 6.0
USED = 0.9
FAR_RUNS = 5
TARGET_MS = 15.0
# Slower links are not used so well, in Mb/s.
SLOWEST_USED = 5.0
# Of what a full frame takes of the link, 1514 bytes.
PAYLOAD = {"ipv4": 1448 / 1514, "ipv6": 1428 / 1514}
# Of weighted shares, and against other controllers.
WEIGHTED = 1.8
PARTS = ["duels", "falls", "contests", "ceilings", "continuity", "size", "frames", "cost", "far"]
HEADER = "id,addresses,reference_rate,ceiling\n"
CONTROLLERS = "net.ipv4.tcp_available_congestion_control"
EXIT_MISSED = 5
EXIT_LACKING = 77


@dataclass
class Row:
    """A run and what came out."""

    what: str
    value: float
    bound: str
    holds: bool

    def line(self) -> str:
        """As text."""
        verdict = "ok" if self.holds else "MISSED"
        return f"{self.what:<76} {self.value:8.2f}   {self.bound:<8} {verdict}"


def at_most(what: str, value: float, bound: float) -> Row:
    """A row whose value has an upper bound."""
    return Row(what, value, f"<= {bound:g}", value <= bound)


def at_least(what: str, value: float, bound: float) -> Row:
    """A row whose value has a lower bound."""
    return Row(what, value, f">= {bound:g}", value >= bound)


def duels(rates: list[float], seconds: int) -> Iterator[Row]:
    """Ten flows against one, at these rates in Mb/s."""
    for mbps in rates:
        # A slow link needs more time for the same number of packets.
        length = WARM_UP + seconds + (10 if mbps < 10 else 0)
        start = length - seconds
        for family, bridge, download in (
            ("ipv4", False, False),
            ("ipv6", False, True),
            ("ipv4", True, True),
            ("ipv6", True, False),
        ):
            where = f"{family} {'bridge' if bridge else 'routed'} {'down' if download else 'up'}"
            for mode in ("none", "enforce"):
                duel, status = one(mode, mbps, family, bridge, download, length)
                ratio = duel.ratio(start, length)
                what = f"{mbps:g} Mb/s {where}, {mode}: heavy over light"
                yield at_most(what, ratio, FAIR) if status else at_least(what, ratio, UNFAIR)
                if status and mbps >= SLOWEST_USED:
                    used = duel.used(start, length) / mbps / PAYLOAD[family]
                    yield at_least(f"{mbps:g} Mb/s {where}: share of the link used", used, USED)


def one(
    mode: str, mbps: float, family: str, bridge: bool, download: bool, seconds: int
) -> tuple[Contest, dict[str, Any] | None]:
    """A duel with the gateway or, in mode `none`, without; a status from its last seconds."""
    with Box(bridge=bridge) as box:
        box.shape("c0" if download else "u0", mbps)
        status = None
        with (
            nullcontext() if mode == "none" else box.control_loop(mode),
            box.duel(seconds, family=family, download=download) as duel,
        ):
            time.sleep(seconds - 2)
            if mode != "none":
                status = box.status()
        return duel, status


def falls(seconds: int) -> Iterator[Row]:
    """The link falls to a third without telling anybody: its queue in the box, and beyond it."""
    for signal in ("own-queue", "delay"):
        for base_ms, rates in ((0, (5.0, 10.0, 20.0, 100.0)), (50, (5.0, 10.0, 20.0))):
            for mbps in rates:
                yield from fall(signal, mbps, base_ms, seconds)


def fall(signal: str, mbps: float, base_ms: float, seconds: int) -> Iterator[Row]:
    """One such fall, with a base round trip."""
    beyond = signal == "delay"
    device = "m1" if beyond else "u0"
    kind = f'{{ kind = "delay", reflectors = "{SERVER["ipv4"]}" }}' if beyond else '"own-queue"'
    with Box(beyond=beyond or base_ms > 0, base_ms=base_ms) as box:
        box.shape(device, mbps, slowest=mbps / 3)
        delays: list[float] = []
        length = 8 + 3 + seconds
        words = ["--set", f"upload={kind}"]
        with box.control_loop("enforce", *words), box.duel(length) as duel:
            time.sleep(8)
            box.shape(device, mbps / 3, slowest=mbps / 3)
            time.sleep(3)
            before = box.octets("s", "s1")
            end = time.monotonic() + seconds - 1
            while time.monotonic() < end:
                # As the queue itself has it, in milliseconds.
                delays.append(box.backlog(device) * 8 / (mbps / 3) / 1e3)
                time.sleep(0.1)
            after = box.octets("s", "s1")
    what = f"{signal}, base {base_ms:g} ms, {mbps:g} Mb/s that fall to a third"
    yield at_most(f"{what}: heavy over light before", duel.ratio(4, 8), FAIR)
    yield at_most(f"{what}: heavy over light from 3 s after", duel.ratio(11, length), FAIR)
    yield at_most(f"{what}: median delay, ms", sorted(delays)[len(delays) // 2], 2 * TARGET_MS)
    # Of whole frames: what is retransmitted uses the link, too.
    carried_mbps = (after[0] - before[0]) * 8e-6 / (after[2] - before[2])
    yield at_least(f"{what}: share of the link used", carried_mbps / (mbps / 3), USED)


def contests(seconds: int) -> Iterator[Row]:
    """BBR against CUBIC, a flood of datagrams, and twenty customers with three weights."""
    length = WARM_UP + seconds
    for what, heavy in (
        ("ten BBR flows", Stream("", 10, "bbr")),
        ("datagrams at 1.5 times the link", Stream("", udp_mbps=30)),
    ):
        with Box() as box:
            heavy.address = box.address("heavy", "ipv4")
            streams = {"heavy": heavy, "light": Stream(box.address("light", "ipv4"))}
            if heavy.controller not in box.inside("c", "sysctl", "-n", CONTROLLERS).split():
                sys.stderr.write(f"not measured: this kernel has no {heavy.controller}\n")
                continue
            box.shape("u0", 20)
            with box.control_loop("enforce"), box.contest(streams, length) as contest:
                pass
            ratio = contest.ratio(WARM_UP, length)
            yield at_most(f"20 Mb/s, {what} over one CUBIC flow", ratio, WEIGHTED)
    with Box() as box:
        addresses = box.add_customers(20)
        weights = [1, 2, 4]
        lines = [
            f"n{n},{address},{50 * weights[n % 3]} kb/s,\n" for n, address in enumerate(addresses)
        ]
        path = box.file("customers.csv", HEADER + "".join(lines))
        box.shape("u0", 40)
        streams = {f"n{n}": Stream(address) for n, address in enumerate(addresses)}
        with (
            box.control_loop("enforce", "--set", f'customer_file="{path}"'),
            box.contest(streams, length) as contest,
        ):
            pass
        shares = [
            contest.mean(f"n{n}", WARM_UP, length) / weights[n % 3] for n in range(len(addresses))
        ]
        mean = sum(shares) / len(shares)
        worst = max(max(shares) / mean, mean / max(min(shares), 1e-6))
        yield at_most("40 Mb/s, 20 customers, weights 1, 2, 4: worst share", worst, WEIGHTED)


def ceilings(seconds: int) -> Iterator[Row]:
    """A customer with a ceiling on a link that is faster."""
    # After a pause of the sender the bucket is full: 250 ms are 2 % of a dozen seconds.
    seconds = max(seconds, 30)
    for mbps in (1, 10, 50, 200):
        frame = 1514 / 1448
        for kind in ("UDP", "TCP"):
            with Box() as box:
                heavy = box.address("heavy", "ipv4")
                path = box.file("customers.csv", f"{HEADER}heavy,{heavy},,{mbps} Mb/s\n")
                stream = Stream(heavy, udp_mbps=1.3 * mbps if kind == "UDP" else None)
                with (
                    box.control_loop("enforce", "--set", f'customer_file="{path}"'),
                    box.contest({"heavy": stream}, seconds + 3) as contest,
                ):
                    # Without the first burst. A receiver may lose datagrams, and the link does not.
                    time.sleep(2)
                    offered, passed = box.carried(seconds - 1)
            if kind == "UDP" and offered < 1.05 * mbps:
                sys.stderr.write(f"not measured: {offered:.0f} of {mbps} Mb/s are all it sends\n")
                continue
            tcp = contest.mean("heavy", 2, seconds + 2) * frame
            share = (passed if kind == "UDP" else tcp) / mbps
            what = f"ceiling {mbps} Mb/s, {kind}: share of it"
            least, most = (0.98, 1.02) if kind == "UDP" else (0.85, 1.02)
            yield Row(what, share, f"{least}-{most}", least <= share <= most)


def continuity() -> Iterator[Row]:
    """Packets lost, of 25,000 a second, while the gateway is killed, loaded and removed."""
    with Box() as box:
        heavy = box.address("heavy", "ipv4")
        path = box.file("customers.csv", customers(1_000))
        words = ["--set", f'customer_file="{path}"']

        def lost(what: str, act: Callable[[], object]) -> Row:
            with flood(box, heavy, SERVER["ipv4"]) as flooded:
                time.sleep(1)
                act()
                time.sleep(1)
            rate = flooded.rate() / 1e3
            what = f"{what}, {rate:.0f} thousand packets/s: packets lost"
            if flooded.machine_lost:
                what += f" ({flooded.machine_lost} by a busy CPU)"
            return at_most(what, flooded.lost(), 0)

        def reload() -> None:
            path.write_text(customers(100_000))
            box.gateway("reload", "--yes", *words)

        with box.control_loop("enforce", *words) as process:
            yield lost("reload of 100,000 customers", reload)

            def kill() -> None:
                process.kill()
                process.wait()

            yield lost("kill -9", kill)
            with box.control_loop("enforce", *words):
                yield lost("off", lambda: box.gateway("off"))


def size() -> Iterator[Row]:
    """100,000 customers: CPU time of the import, and memory of the maps."""
    with Box() as box:
        path = box.file("customers.csv", customers(100_000))
        words = ["--set", f'customer_file="{path}"']
        with box.control_loop("observe", *words) as process:
            maps = box.map_bytes(process.pid)
            yield at_most("100,000 customers: maps, MB", sum(maps.values()) / 1e6, 25)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            box.gateway("reload", *words)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            yield at_most("100,000 customers: import again, CPU s", seconds, 2)
            path.write_text(customers(100_000, second_byte=32))
            before = after
            box.gateway("reload", "--yes", *words)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            yield at_most("100,000 customers: all with other addresses, CPU s", seconds, 2)


def frames() -> Iterator[Row]:
    """A million mutated frames, each judged as a model that reads it another way has it."""
    words = ["cargo", "test", "--locked", "--quiet", "--profile", "dev-release"]
    words += ["--package", "tidegate-gateway", "--test", "main", "customers_packets"]
    done = subprocess.run(
        words,
        env={**os.environ, "TIDEGATE_MUTATIONS": "1000000"}, check=False, capture_output=True,
    )  # fmt: skip
    yield at_most("a million mutated frames: tests that fail", float(done.returncode != 0), 0)


def cost() -> Iterator[Row]:
    """Time of the program for a packet, beside that of the least that one has to do."""
    build = "cargo run --locked --quiet --profile dev-release --package tidegate-gateway --example"
    done = subprocess.run([*build.split(), "cost"], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        what = f"100,000 customers, {one['distribution']}: program over the least"
        yield at_most(what, one["ratio"], 1.5)


def far() -> Iterator[Row]:
    """The link falls from 100 Mb/s to a third, base round trip 50 ms; means of some runs."""
    runs = []
    try:
        for seed in range(1, FAR_RUNS + 1):
            runs.append(fall_far(seed))
            for name, one in runs[-1].items():
                sys.stderr.write(f"run {seed}, {name}: {one.before:.2f}, {one.after:.2f}\n")
    except MissingError as error:
        sys.stderr.write(f"not measured: {error}\n")
        return

    def over(name: str, what: str) -> Estimate:
        return estimate([getattr(run[name], what) for run in runs])

    for name in ("own-queue", "delay", "control"):
        what = f"{name}, base 50 ms, 100 Mb/s that fall to a third"
        for attribute, when in (("before", "before"), ("after", "from 3 s after")):
            ratio = over(name, attribute)
            half = f"± {ratio.ci95:.2f}"
            if name == "control":
                sys.stderr.write(f"CAKE in the modem, {when}: {ratio.mean:.2f} {half}\n")
            else:
                yield at_most(f"{what}: heavy over light {when} ({half})", ratio.mean, FAIR)
        if name != "control":
            delay_ms = over(name, "delay_ms").mean
            yield at_most(f"{what}: median delay, ms", delay_ms, 2 * TARGET_MS)
            yield at_least(f"{what}: share of the link used", over(name, "used").mean, USED)


def customers(count: int, second_byte: int = 64) -> str:
    """A customer file with an address for each."""
    lines = (
        f"n{n},10.{second_byte + n // 65536}.{n // 256 % 256}.{n % 256},,\n" for n in range(count)
    )
    return HEADER + "".join(lines)


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", default="2,20,100", help="Mb/s of the duels [2,20,100]")
    parser.add_argument("--seconds", type=int, default=12, help="measured in each run [12]")
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    parser.add_argument("--json", action="store_true", help="a JSON object for each line")
    arguments = parser.parse_args()
    missing = lacking()
    if missing:
        sys.stderr.write(f"not measured: this machine lacks {', '.join(missing)}\n")
        return EXIT_LACKING
    rates = [float(rate) for rate in arguments.rates.split(",")]
    seconds = arguments.seconds
    parts = {
        "duels": duels(rates, seconds),
        "falls": falls(seconds),
        "contests": contests(seconds),
        "ceilings": ceilings(seconds),
        "continuity": continuity(),
        "size": size(),
        "frames": frames(),
        "cost": cost(),
        "far": far(),
    }
    missed = 0
    for name, rows in parts.items():
        if arguments.only in (None, name):
            for row in rows:
                line = json.dumps(vars(row)) if arguments.json else row.line()
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
                missed += not row.holds
    return EXIT_MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
