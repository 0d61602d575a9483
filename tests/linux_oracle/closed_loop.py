"""TCP through a discipline: the kernel's TCP and queue against our simulator's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tidegate
from linux_oracle.comparison import ABOVE, Comparison, mean, percentile

if TYPE_CHECKING:
    from linux_oracle.kernel import Kernel

FLOWS, RATE_BPS, ROUND_TRIP_MS, APART_MS = 8, 10_000_000, 40, 100
PACKET_B, FRAME_B = 1500, 1514
WARM_UP_S = 20
# The kernel's device counts Ethernet headers, a scenario does not.
FRAME_RATE_BPS = RATE_BPS * FRAME_B // PACKET_B
TRANSMISSION_S = PACKET_B * 8 / RATE_BPS
ROUTER = f"""\
ip netns add s
ip netns add d
ip link set link1 netns d
ip link add rs type veth peer name sr netns s
echo 1 >/proc/sys/net/ipv4/ip_forward
ip addr add 10.1.0.1/24 dev rs
ip link set rs up
ip addr add 10.2.0.1/24 dev link0
ip link set link0 up gso_max_segs 1 gso_max_size {FRAME_B}
ip -n s addr add 10.1.0.2/24 dev sr
ip -n s link set sr up gso_max_segs 1 gso_max_size {FRAME_B}
ip -n s route add default via 10.1.0.1
ip -n d addr add 10.2.0.2/24 dev link1
ip -n d link set link1 up
ip -n d route add default via 10.2.0.1
tc -n d qdisc add dev link1 root netem delay {ROUND_TRIP_MS}ms limit 100000
tc qdisc add dev link0 root handle 1: {ABOVE}
"""


class Queue(NamedTuple):
    """What a run says of the queue."""

    wait_ms: float
    """Mean time from arrival to the end of the transmission."""
    p95_ms: float
    lost_percent: float
    utilisation_percent: float


MAX_P, RED_RATE = 0.1, "bandwidth 10mbit"
# What it is, how it is written, and how close ours has to be.
METRICS = (
    ("mean delay [ms]", "{:.2f}", 0.06), ("delay that 95 % do not exceed [ms]", "{:.2f}", 0.16),
    ("packets lost [%]", "{:.3f}", 0.12), ("utilisation [%]", "{:.2f}", 0.01),
)  # fmt: skip
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "drop-tail": ("pfifo limit 100", {"buffer": "101 packets"}),
    "RED": (
        f"red limit 1500000 min 30000 max 90000 avpkt 1500 burst 30 probability {MAX_P} {RED_RATE}",
        {
            "buffer": "1001 packets",
            "aqm": {
                "kind": "red", "min_threshold": "30 kB", "max_threshold": "90 kB",
                "max_probability": MAX_P, "weight": 2.0**-4,
            },
        },
    ),
    "PIE": (
        "pie limit 1000 target 15ms tupdate 15ms noecn",
        {
            "buffer": "1001 packets",
            "aqm": {"kind": "pie", "update_interval": "16 ms"},
        },
    ),
    "CoDel": (
        "codel limit 1000 target 5ms interval 100ms noecn",
        {"buffer": "1001 packets", "aqm": {"kind": "codel"}},
    ),
    "FQ-CoDel": (
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms noecn",
        {"buffer": "10241 packets", "scheduler": {"kind": "fq-codel"}},
    ),
}  # fmt: skip


def compare(kernel: Kernel, root: Path, *, quick: bool) -> Comparison:
    """Eight CUBIC flows through each discipline."""
    del root
    measured_s, runs = (40, 1) if quick else (60, 3)
    setup = (
        f"{FLOWS} greedy CUBIC flows, {ROUND_TRIP_MS} ms of delay, 10 Mb/s; {runs} runs of "
        f"{measured_s} s after {WARM_UP_S} s; ours is the simulator with its profile `linux`; "
        + "; ".join(f"`{discipline}`" for discipline, _ in CASES.values())
    )
    result = Comparison("tcp", "", "TCP through each of them", setup)
    for name, (discipline, queue) in CASES.items():
        seeds = range(1, runs + 1)
        theirs = [linux(kernel, discipline, seed, measured_s) for seed in seeds]
        own = [simulated(queue, seed, measured_s) for seed in seeds]
        for column, (what, form, bound) in enumerate(METRICS):
            sides = (mean([run[column] for run in side]) for side in (theirs, own))
            result.expect_close(f"{name}: {what}", next(sides), next(sides), bound, form)
    return result


def linux(kernel: Kernel, discipline: str, seed: int, measured_s: int) -> Queue:
    """CUBIC of the kernel."""
    seconds = WARM_UP_S + measured_s
    commands = (
        f"{ROUTER}tc qdisc add dev link0 parent 1:1 handle 10: {discipline}\n"
        f'"$AGENT" transfer {seconds} {FLOWS} {APART_MS} result\n'
    )
    with tempfile.TemporaryDirectory() as name:
        job = Path(name)
        kernel.run(job, commands, seed=seed, options={"rate_bps": FRAME_RATE_BPS, "seed": seed})
        return _queue(job / "result", measured_s)


def _queue(path: Path, measured_s: int) -> Queue:
    """The packets that arrived in the measured time."""
    waiting: dict[tuple[str, str], float] = {}
    waits, arrivals, sending_s = [], 0, 0.0
    with path.open(encoding="ascii") as lines:
        for line in lines:
            what, port, number, at, *_ = line.split()
            at_s = int(at) / 1e9
            if what == "a":
                waiting[port, number] = at_s
                arrivals += at_s >= WARM_UP_S
            else:
                arrived_s = waiting.pop((port, number))
                if at_s >= WARM_UP_S:
                    waits.append(1e3 * (at_s - arrived_s + TRANSMISSION_S))
                    sending_s += TRANSMISSION_S
    # Of those that have not left, a queue's worth may still be waiting: drops are the older ones.
    end_s = WARM_UP_S + measured_s
    patience_s = 1e-3 * max(waits)
    lost = sum(WARM_UP_S <= at_s < end_s - patience_s for at_s in waiting.values())
    return Queue(
        mean(waits), percentile(waits, 0.95), 100 * lost / arrivals, 100 * sending_s / measured_s
    )


def simulated(queue: dict[str, object], seed: int, measured_s: int) -> Queue:
    """The same in the simulator, with the profile "linux"."""
    result = tidegate.simulate(_scenario(queue, measured_s), seed=seed, replications=1)
    row = result.links.to_pylist()[0]
    lost = row["drops_full"] + row["drops_aqm"]
    return Queue(
        1e3 * row["mean_sojourn_s"], 1e3 * row["p95_sojourn_s"], 100 * lost / row["arrivals"],
        100 * row["utilization"],
    )  # fmt: skip


def _scenario(queue: dict[str, object], measured_s: int) -> dict[str, object]:
    return {
        "version": 1, "name": "closed-loop", "profile": "linux", "warm_up": f"{WARM_UP_S} s",
        "duration": f"{measured_s} s", "sample_interval": "off", "host_jitter": "20 us",
        "bottleneck": {"rate": "10 Mb/s", "delay": f"{ROUND_TRIP_MS / 2} ms", **queue},
        "access": {"rate": "10 Gb/s", "delay": "0 ms"},
        "users": {"all": {"flows": FLOWS}},
    }  # fmt: skip
