"""A fast link with a long round trip that falls to a third, in virtual time (`make kernels`).

100 Mb/s and a base round trip of 50 ms take a delay line that keeps up on a busy machine, too:
netem of a stock kernel. The queue is in the box for `own-queue`, and in a modem behind it for
`delay`. A control, CAKE in the modem, set to each rate, shows what TCP itself makes of it.
"""

import re

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


def falls() -> tuple[list[tuple[str, float, float, float, float]], tuple[float, float]]:
    """For each signal: the ratios before and after, the median delay in ms and the share used.

    The ratios of the control come beside them.
    """
    printed = run("auto", SCRIPT, shift=FAST_SHIFT)

    def rates(name: str) -> list[list[float]]:
        reports = [printed[f"{name} {who}"] for who in ("heavy", "light")]
        windows = ((WARM_UP_S, FALL_S), (SETTLED_S, LENGTH_S))
        return [[mean(report, window) for report in reports] for window in windows]

    def ratio(pair: list[float]) -> float:
        return pair[0] / max(pair[1], 1e-6)

    found = []
    for signal in ("own-queue", "delay"):
        before, after = rates(signal)
        waiting = sorted(
            float(number) * {"": 1, "K": 1 << 10, "M": 1 << 20}[unit]
            for number, unit in re.findall(r"backlog (\d+)([KM]?)b", printed[f"{signal} backlog"])
        )
        delay_ms = waiting[len(waiting) // 2] * 8 / (MBPS / 3) / 1e3
        used = sum(after) / (MBPS / 3) / (1448 / 1514)
        found.append((signal, ratio(before), ratio(after), delay_ms, used))
    before, after = rates("control")
    return found, (ratio(before), ratio(after))
