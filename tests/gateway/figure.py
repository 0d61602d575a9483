"""The gateway beside the kernel's queues, before and after an unannounced fall of the link.

Ten CUBIC flows of a customer against one of another, uploads, on a stock Debian kernel in virtual
time (`make kernels`), without root. The bottleneck is in a modem behind the box: 10 Mb/s that
become 4 Mb/s, while the box's settings stay. A control, CAKE in the modem itself, set to each rate,
has to give equal shares before the fall, or nothing counts.

    customers ── c1 ═ c0 ── box ── u0 ═ m0 ── modem ── m1 ═ s1 ── server
"""

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass

from gateway.box import PROGRAM
from tidegate.errors import MissingError
from tidegate.laboratory import guest
from tidegate.laboratory.process import Children

SEED = 1
EXIT_CONTROL = 6
EXIT_LACKING = 77
BEFORE, AFTER = "10mbit", "4mbit"
FALL_S, LENGTH_S = 12, 26
# Seconds that count, before and after the fall.
WINDOWS = ((4, 12), (15, 26))
CONTROL = (0.9, 1.1)
SIGNAL = 'upload={ kind = "delay", reflectors = "10.2.0.9" }'

SCRIPT = f"""
# Its shell takes applets of its own name first.
ip() {{ /bin/ip "$@"; }}
tc() {{ /bin/tc "$@"; }}
/sbin/modprobe veth sch_tbf sch_netem sch_fq_codel sch_cake
for name in c g m s; do ip netns add $name; ip -n $name link set lo up; done
for link in "c1 c c0 g" "u0 g m0 m" "m1 m s1 s"; do
    set -- $link
    ip link add $1 netns $2 type veth peer name $3 netns $4
    ip -n $2 link set $1 up; ip -n $4 link set $3 up
done
ip -n c addr add 10.1.0.2/24 dev c1; ip -n c addr add 10.1.0.3/24 dev c1
ip -n g addr add 10.1.0.1/24 dev c0; ip -n g addr add 10.3.0.1/24 dev u0
ip -n m addr add 10.3.0.2/24 dev m0; ip -n m addr add 10.2.0.1/24 dev m1
ip -n s addr add 10.2.0.9/24 dev s1
ip -n c route add default via 10.1.0.1; ip -n g route add default via 10.3.0.2
ip -n m route add 10.1.0.0/24 via 10.3.0.1; ip -n s route add default via 10.2.0.1
for name in g m; do ip netns exec $name sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'; done
tc -n s qdisc add dev s1 root netem delay 20ms limit 10000

client() {{ ip netns exec c iperf3 -c 10.2.0.9 -C cubic -t {LENGTH_S} -B "$@"; }}
play() {{
    # What is received counts; a sender's buffers do not.
    ip netns exec s iperf3 -J -s -1 -p 5301 >/tmp/heavy & first=$!
    ip netns exec s iperf3 -J -s -1 -p 5302 >/tmp/light & second=$!
    sleep 0.5
    echo "=== $1 heavy"
    client 10.1.0.2 -p 5301 -P 10 >/dev/null & heavy=$!
    client 10.1.0.3 -p 5302 -P 1 >/dev/null & light=$!
    sleep {FALL_S}
    eval "$2"
    wait $heavy $light $first $second
    cat /tmp/heavy
    echo "=== $1 light"
    cat /tmp/light
}}
modem() {{ tc -n m qdisc replace dev m1 root handle 1: tbf rate $1 burst 3k limit 150000; }}
box() {{
    tc -n g qdisc del dev u0 root 2>/dev/null
    [ -z "$1" ] || tc -n g qdisc add dev u0 root $1
}}

modem {BEFORE}; play nothing "modem {AFTER}"
modem {BEFORE}; box fq_codel; play fq_codel "modem {AFTER}"
modem {BEFORE}; box "cake bandwidth 9500kbit dual-srchost"; play cake "modem {AFTER}"
box ""; modem {BEFORE}
# `ip netns exec` would give each command a /sys of its own, and a bpffs.
gateway() {{ /bin/busybox nsenter --net=/run/netns/g tidegate-gateway "$@" \
    --pins /sys/fs/bpf/tidegate --set 'state_folder="/tmp/state"'; }}
gateway enforce c0 --uplink u0 --set '{SIGNAL}' 2>/tmp/gateway & loop=$!
sleep 3
play gateway "modem {AFTER}"
gateway off >&2
wait $loop
tc -n m qdisc replace dev m1 root handle 2: cake bandwidth {BEFORE} dual-srchost
play control "tc -n m qdisc change dev m1 root handle 2: cake bandwidth {AFTER}"
"""

ROWS = {
    "nothing": "nothing",
    "fq_codel": "fq_codel",
    "cake": "CAKE at 95 % of the rate",
    "gateway": "the gateway, signal `delay`",
    "control": "CAKE in the modem, set to the new rate",
}


@dataclass
class Row:
    """Throughput ratios before and after the fall, and shares of the link that are used."""

    name: str
    ratios: tuple[float, float]
    used: tuple[float, float]


def rates(report: str) -> list[float]:
    """Mb/s of an iperf3 report, second by second."""
    return [one["sum"]["bits_per_second"] / 1e6 for one in json.loads(report)["intervals"]]


def rows(output: str) -> list[Row]:
    """What a run has printed."""
    reports = {}
    for part in output.split("=== ")[1:]:
        head, _, body = part.partition("\n")
        reports[tuple(head.split())] = rates(body)

    def mean(name: str, who: str, window: tuple[int, int]) -> float:
        values = reports[name, who][window[0] : window[1]]
        return sum(values) / max(len(values), 1)

    found = []
    for name in ROWS:
        pairs = [(mean(name, "heavy", window), mean(name, "light", window)) for window in WINDOWS]
        ratios = [heavy / max(light, 1e-6) for heavy, light in pairs]
        links = [10 * 1448 / 1514, 4 * 1448 / 1514]
        used = [sum(pair) / link for pair, link in zip(pairs, links, strict=True)]
        found.append(Row(name, (ratios[0], ratios[1]), (used[0], used[1])))
    return found


def main() -> int:
    """Run it, and print a table."""
    try:
        kernel = guest.chosen("auto")
        programs = [str(PROGRAM)]
        for tool in ("ip", "tc", "iperf3"):
            found = shutil.which(tool)
            if not found:
                raise MissingError(f"no {tool}")
            programs.append(found)
        lacking = guest.missing() + ([] if PROGRAM.exists() else ["make gateway"])
        if lacking:
            raise MissingError("; ".join(lacking))
    except MissingError as error:
        sys.stderr.write(f"not measured: {error}\n")
        return EXIT_LACKING
    children = Children()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            task = guest.Task(SCRIPT, tuple(programs))
            code, said, _ = children.in_guest(kernel, task, SEED, output, lambda *_: None)
        finally:
            children.stop()
        output.seek(0)
        text = output.read()
    sys.stderr.writelines(f"{line}\n" for line in said)
    if code != 0:
        return code
    table = rows(text)
    control = table[-1]
    sys.stdout.write(
        "| at the box | before | after | used before | used after |\n|---|---|---|---|---|\n"
    )
    for row in table:
        numbers = [f"{value:.2f}" for value in (*row.ratios, *row.used)]
        sys.stdout.write(f"| {ROWS[row.name]} | {' | '.join(numbers)} |\n")
    if not CONTROL[0] <= control.ratios[0] <= CONTROL[1]:
        sys.stderr.write("the control does not give equal shares: nothing of this counts\n")
        return EXIT_CONTROL
    return 0


if __name__ == "__main__":
    sys.exit(main())
