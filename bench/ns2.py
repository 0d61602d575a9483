"""ns-2 (Debian package ns2): the same scenarios in another simulator."""

import shutil
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import child

PROGRAM = "ns"
SCRIPT = Path(__file__).with_name("ns2.tcl")
HEAVY_USERS = {"S1": 1, "S2": 10}
"""How many of the users, counted from the first, are heavy."""


def available() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which(PROGRAM) is not None


def run(scenario: str, nice: int = 0, **options: float) -> child.Outcome:
    """Run a scenario with options of `ns2.tcl`, such as ``time=0.001``."""
    arguments = [word for key, value in options.items() for word in (f"-{key}", f"{value:g}")]
    return child.run([PROGRAM, str(SCRIPT), scenario, *arguments], nice)


def departures(result: dict[str, Any]) -> int:
    """Packets that left the bottleneck queues, in a run with ``monitor=1``."""
    return sum(queue["departures"] for queue in result["queues"])


def summary(result: dict[str, Any]) -> dict[str, float]:
    """Who got what in a monitored run of S1 or S2 (one queue, heavy and light users)."""
    packets_to_mbps = result["packet_bytes"] * 8 / result["simulated_s"] / 1e6
    by_user: dict[int, float] = {}
    for user, acked in result["flows"]:
        by_user[user] = by_user.get(user, 0.0) + acked * packets_to_mbps
    heavy_count = HEAVY_USERS[result["scenario"]]
    heavy = fmean(rate for user, rate in by_user.items() if user < heavy_count)
    light = fmean(rate for user, rate in by_user.items() if user >= heavy_count)
    queue = result["queues"][0]
    return {
        "ratio": heavy / light,
        "throughput_mbps": queue["departures"] * packets_to_mbps,
        "goodput_mbps": sum(by_user.values()),
        "flow_sd_mbps": stdev(acked * packets_to_mbps for _, acked in result["flows"]),
        "mean_queue_packets": queue["mean_waiting_packets"],
        "loss_percent": 100 * queue["drops"] / queue["arrivals"],
        "marked_percent": 100 * queue["marks"] / queue["arrivals"],
    }
