"""The gateway on a stock Debian kernel in virtual time (`make kernels`), without root.

customers ── c1 ═ c0 ── box ── u0 ═ m0 ── modem ── m1 ═ s1 ── server
"""

import json
import shutil
import tempfile

from gateway.box import PROGRAM
from tidegate.errors import MissingError
from tidegate.laboratory import guest
from tidegate.laboratory.process import Children

SEED = 1
FAST_SHIFT = guest.FAST_ICOUNT_SHIFT
"""For links above 50 Mb/s."""

NETWORK = """
# Its shell takes applets of its own name first.
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
/sbin/modprobe veth sch_tbf
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

client() { ip netns exec c iperf3 -c 10.2.0.9 -C cubic -t $length -B "$@"; }
# NAME COMMAND: ten flows against one for $length seconds, and a command after $moment of them.
play() {
    # What is received counts; a sender's buffers do not.
    ip netns exec s iperf3 -J -s -1 -p 5301 >/tmp/heavy & first=$!
    ip netns exec s iperf3 -J -s -1 -p 5302 >/tmp/light & second=$!
    sleep 0.5
    client 10.1.0.2 -p 5301 -P 10 >/dev/null & heavy=$!
    client 10.1.0.3 -p 5302 -P 1 >/dev/null & light=$!
    sleep $moment
    eval "$2"
    wait $heavy $light $first $second
    echo "=== $1 heavy"; cat /tmp/heavy
    echo "=== $1 light"; cat /tmp/light
}
# `ip netns exec` would give each command a /sys of its own, and a bpffs.
in_box="/bin/busybox nsenter --net=/run/netns/g"
own='--pins /sys/fs/bpf/tidegate --set state_folder="/tmp/state"'
gateway() { $in_box tidegate-gateway "$@" $own; }
# Begins a control loop, whose process is $loop, and waits until it is there.
begin() {
    : >/tmp/gateway
    # In place of the shell, so that a signal reaches it.
    (exec $in_box tidegate-gateway "$@" $own) >/dev/null 2>/tmp/gateway & loop=$!
    until grep -q "customers at" /tmp/gateway; do
        sleep 0.1
        kill -0 $loop || { cat /tmp/gateway >&2; exit 1; }
    done
}
"""


def lacking() -> list[str]:
    """What this machine lacks for a guest with the gateway."""
    missing = list(guest.missing())
    if not guest.kernels():
        missing.append("stock kernels (make kernels)")
    if not PROGRAM.exists():
        missing.append(f"{PROGRAM.name} (make gateway)")
    return missing + [tool for tool in ("ip", "tc", "iperf3") if not shutil.which(tool)]


def run(
    series: str, script: str, shift: int = guest.ICOUNT_SHIFT, seed: int = SEED
) -> dict[str, str]:
    """Run a script after that of the network; returns what it printed, by the words after `===`."""
    if missing := lacking():
        raise MissingError("; ".join(missing))
    programs = [str(PROGRAM), *(str(shutil.which(tool)) for tool in ("ip", "tc", "iperf3"))]
    children = Children()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            task = guest.Task(NETWORK + script, tuple(programs))
            code, said, _ = children.in_guest(
                guest.chosen(series), task, seed, output, lambda *_: None, shift
            )
        finally:
            children.stop()
        output.seek(0)
        text = output.read()
    if code != 0:
        raise RuntimeError("\n".join([f"the guest ended with {code}", *said]))
    parts = (part.partition("\n") for part in text.split("=== ")[1:])
    return {head.strip(): body for head, _, body in parts}


def rates(report: str) -> list[float]:
    """Mb/s of an iperf3 report, second by second."""
    return [one["sum"]["bits_per_second"] / 1e6 for one in json.loads(report)["intervals"]]


def mean(report: str, window: tuple[int, int]) -> float:
    """Mb/s of an iperf3 report between two seconds."""
    values = rates(report)[window[0] : window[1]]
    return sum(values) / max(len(values), 1)
