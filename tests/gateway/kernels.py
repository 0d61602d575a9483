"""The gateway on stock Debian kernels, one after the other: `make gateway-kernels`, without root.

Observe, a duel without and with enforce, kill -9 and a restart, off; with its own queue of 10 Mb/s
as signal. Linux 6.1 holds the programs by clsact, later ones by tcx.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

from gateway.guests import lacking, mean, run
from tidegate.laboratory import guest

EXIT_MISSED = 5
EXIT_LACKING = 77
LENGTH_S, WARM_UP_S = 9, 3
FAIR = 1.6
UNFAIR = 4.0

SCRIPT = f"""
length={LENGTH_S} moment={LENGTH_S - 2}
tc -n g qdisc add dev u0 root handle 1: tbf rate 10mbit burst 5k limit 375000
status() {{ echo "=== $1"; gateway status --format json --total; }}

begin observe c0 --uplink u0
play observe "status observing"
echo "=== switch"; gateway enforce
play enforce "status enforcing"
kill -9 $loop; sleep 1
# Longer than a probability lasts: whatever comes now passes.
status killed
length=3 moment=1
play killed ""
status after
begin enforce c0 --uplink u0
status restarted
echo "=== programs"; $in_box /bin/tc filter show dev c0 ingress
echo "=== off"; gateway off
wait $loop
echo "=== left"; $in_box /bin/tc filter show dev c0 ingress
ls /sys/fs/bpf/tidegate 2>/dev/null
true
"""


@dataclass
class Outcome:
    """What a kernel has shown."""

    series: str
    held_by: str
    ratios: tuple[float, float]
    """Throughput of the heavy customer over that of the light one: observing, enforcing."""
    touched: int
    """Packets dropped or marked while observing."""
    lost_after_kill: int
    """Packets dropped or marked after kill -9."""
    passed_after_kill: int
    keeps_counts: bool
    """A restart goes on with the counts of before."""
    left: str
    """What is there after off."""

    def holds(self) -> bool:
        """Whether all is as it should be."""
        return (
            self.ratios[0] >= UNFAIR
            and self.ratios[1] <= FAIR
            and self.touched == self.lost_after_kill == 0
            and self.passed_after_kill > 0
            and self.keeps_counts
            and not self.left
        )


def packets(status: str, *names: str) -> int:
    """Packets of uploads with one of these verdicts since the programs are there."""
    verdicts: dict[str, Any] = json.loads(status)["upload"]["verdicts"]
    return sum(int(verdicts[name]["packets"]) for name in names)


def outcome(series: str) -> Outcome:
    """Run it on a kernel."""
    printed = run(series, SCRIPT)
    window = (WARM_UP_S, LENGTH_S)
    ratios = [
        mean(printed[f"{name} heavy"], window) / max(mean(printed[f"{name} light"], window), 1e-6)
        for name in ("observe", "enforce")
    ]
    acted = ("dropped", "marked")
    killed, after = printed["killed"], printed["after"]
    return Outcome(
        series,
        "clsact" if "tidegate_up" in printed["programs"] else "tcx",
        (ratios[0], ratios[1]),
        packets(printed["observing"], *acted),
        packets(after, *acted) - packets(killed, *acted),
        packets(after, "no-signal") - packets(killed, "no-signal"),
        packets(printed["restarted"], *acted) >= packets(after, *acted) > 0,
        printed["left"].strip(),
    )


def main() -> int:
    """Run all kernels that are here."""
    if missing := lacking():
        sys.stderr.write(f"not measured: {'; '.join(missing)}\n")
        return EXIT_LACKING
    missed = 0
    sys.stdout.write(
        "| kernel | programs held by | observe | enforce | lost after kill -9 |\n"
        "|---|---|---|---|---|\n"
    )
    for kernel in guest.kernels():
        row = outcome(kernel.series)
        before, after = (f"{ratio:.2f}" for ratio in row.ratios)
        sys.stdout.write(
            f"| {kernel.series} | {row.held_by} | {before} | {after} | {row.lost_after_kill} |\n"
        )
        sys.stdout.flush()
        if not row.holds():
            missed += 1
            sys.stderr.write(f"{row}\n")
    return EXIT_MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
