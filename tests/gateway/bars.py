"""Measures the gateway between real hosts: `make gateway-bars`. Takes minutes, and root.

Ten CUBIC flows of one customer against one of another: throughput ratios at several rates, both
directions, IPv4 and IPv6, routed and bridged, with the gateway and without; and after the link has
fallen to a third without telling anybody. Each line is a run, with its bound.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from gateway.box import Box, lacking
from gateway.traffic import Contest

WARM_UP = 4
FAIR = 1.6
UNFAIR = 6.0
USED = 0.9
TARGET_MS = 15.0
# Slower links are not used so well, in Mb/s.
SLOWEST_USED = 5.0
# Of what a full frame takes of the link, 1514 bytes.
PAYLOAD = {"ipv4": 1448 / 1514, "ipv6": 1428 / 1514}
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
        return f"{self.what:<66} {self.value:8.2f}   {self.bound:<8} {verdict}"


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
    """The link falls to a third without telling anybody."""
    for mbps in (5.0, 20.0, 100.0):
        with Box() as box:
            box.shape("u0", mbps, slowest=mbps / 3)
            delays: list[float] = []
            length = 8 + 3 + seconds
            with box.control_loop("enforce"), box.duel(length) as duel:
                time.sleep(8)
                box.shape("u0", mbps / 3, slowest=mbps / 3)
                time.sleep(3)
                for _ in range(seconds - 1):
                    delays.append(box.status(0.5)["upload"]["delay_s"] * 1e3)
                    time.sleep(0.4)
        what = f"{mbps:g} Mb/s that fall to a third"
        yield at_most(f"{what}: heavy over light before", duel.ratio(4, 8), FAIR)
        yield at_most(f"{what}: heavy over light from 3 s after", duel.ratio(11, length), FAIR)
        yield at_most(f"{what}: median delay, ms", sorted(delays)[len(delays) // 2], 2 * TARGET_MS)
        used = duel.used(11, length) / (mbps / 3) / PAYLOAD["ipv4"]
        yield at_least(f"{what}: share of the link used", used, USED)


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", default="2,20,100", help="Mb/s of the duels [2,20,100]")
    parser.add_argument("--seconds", type=int, default=12, help="measured in each run [12]")
    parser.add_argument("--only", choices=["duels", "falls"], help="one of the two parts")
    parser.add_argument("--json", action="store_true", help="a JSON object for each line")
    arguments = parser.parse_args()
    missing = lacking()
    if missing:
        sys.stderr.write(f"not measured: this machine lacks {', '.join(missing)}\n")
        return EXIT_LACKING
    rates = [float(rate) for rate in arguments.rates.split(",")]
    parts = {"duels": duels(rates, arguments.seconds), "falls": falls(arguments.seconds)}
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
