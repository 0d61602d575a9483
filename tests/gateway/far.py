"""A fast link with a long round trip that falls to a third, in virtual time (`make kernels`).

100 Mb/s and a base round trip of 50 ms take a delay line that keeps up on a busy machine, too:
netem of a stock kernel. The queue is in the box for `own-queue`, and in a modem behind it for
`delay`. A control, CAKE in the modem, set to each rate, shows what TCP itself makes of it.
"""

import re
from dataclasses import dataclass

from gateway.guests import FAST_SHIFT, mean, run

MBPS = 100
WARM_UP_S, FALL_S, SETTLED_S, LENGTH_S = 6, 12, 15, 26

SCRIPT = f"""
/sbin/modprobe sch_netem sch_cake
tc -n s qdisc add dev s1 root netem delay 50ms limit 100000
length={LENGTH_S} moment={FALL_S}
# The rate in kb/s, at the place of the queue; the bucket stays that of the slowest rate.
link() {{
    tc -n $space qdisc replace dev $device root handle 1: tbf rate $1kbit burst 17k limit $2
}}
fall() {{
    link {MBPS * 1000 // 3} {MBPS * 37500 // 3}
    sleep {SETTLED_S - FALL_S}
    for n in {" ".join("x" * 100)}; do
        sleep 0.1; tc -n $space -s qdisc show dev $device >>/tmp/backlog
    done
}}
for signal in own-queue delay; do
    kind='"own-queue"' space=g device=u0
    if [ $signal = delay ]; then
        kind='{{ kind = "delay", reflectors = "10.2.0.9" }}' space=m device=m1
    fi
    link {MBPS * 1000} {MBPS * 37500}
    : >/tmp/backlog
    begin enforce c0 --uplink u0 --set "upload=$kind"
    # The signal learns the least round trip.
    sleep 2
    play $signal fall
    echo "=== $signal backlog"; cat /tmp/backlog
    gateway off >&2
    wait $loop
    tc -n $space qdisc del dev $device root
done
tc -n m qdisc add dev m1 root handle 2: cake bandwidth {MBPS}mbit dual-srchost
play control "tc -n m qdisc change dev m1 root handle 2: cake bandwidth {MBPS * 1000 // 3}kbit"
true
"""


@dataclass(frozen=True)
class Fall:
    """One run's throughput of the heavy customer over the light one's, and the signal's queue."""

    before: float
    after: float
    delay_ms: float
    used: float


def fall(seed: int) -> dict[str, Fall]:
    """A run: by signal what comes out, and the control's ratios under `control`."""
    printed = run("auto", SCRIPT, FAST_SHIFT, seed)
    found = {}
    for name in ("own-queue", "delay", "control"):
        reports = [printed[f"{name} {who}"] for who in ("heavy", "light")]
        before, after = (
            [mean(report, window) for report in reports]
            for window in ((WARM_UP_S, FALL_S), (SETTLED_S, LENGTH_S))
        )
        waiting = sorted(
            float(number) * {"": 1, "K": 1 << 10, "M": 1 << 20}[unit]
            for number, unit in re.findall(
                r"backlog (\d+)([KM]?)b", printed.get(f"{name} backlog", "")
            )
        )
        found[name] = Fall(
            before[0] / max(before[1], 1e-6),
            after[0] / max(after[1], 1e-6),
            waiting[len(waiting) // 2] * 8 / (MBPS / 3) / 1e3 if waiting else 0.0,
            sum(after) / (MBPS / 3) / (1448 / 1514),
        )
    return found
