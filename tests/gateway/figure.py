"""The gateway beside the kernel's queues, before and after an unannounced fall of the link.

Ten CUBIC flows of a customer against one of another, uploads, on a stock Debian kernel in virtual
time (`make kernels`), without root. The bottleneck is in a modem behind the box: 10 Mb/s that
become 4 Mb/s, while the box's settings stay. A control, CAKE in the modem itself, set to each rate,
has to give equal shares before the fall, or nothing counts. Writes a table to standard output and
the figure of the documentation.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context

from gateway.guests import mean, run
from tidegate.errors import MissingError
from tidegate.figures.look import COLOURS, STYLE, new_figure, plain_log_ticks, subtitle

FIGURE = Path(__file__).parents[2] / "docs/images/gateway-fall.png"
EXIT_CONTROL = 6
EXIT_LACKING = 77
BEFORE, AFTER = "10mbit", "4mbit"
FALL_S, LENGTH_S = 12, 26
# Seconds that count, before and after the fall.
WINDOWS = ((4, 12), (15, 26))
CONTROL = (0.9, 1.1)
SIGNAL = 'upload={ kind = "delay", reflectors = "10.2.0.9" }'

SCRIPT = f"""
/sbin/modprobe sch_netem sch_fq_codel sch_cake
tc -n s qdisc add dev s1 root netem delay 20ms limit 10000
length={LENGTH_S} moment={FALL_S}
modem() {{ tc -n m qdisc replace dev m1 root handle 1: tbf rate $1 burst 3k limit 150000; }}
box() {{
    tc -n g qdisc del dev u0 root 2>/dev/null
    [ -z "$1" ] || tc -n g qdisc add dev u0 root $1
}}

modem {BEFORE}; play nothing "modem {AFTER}"
modem {BEFORE}; box fq_codel; play fq_codel "modem {AFTER}"
modem {BEFORE}; box "cake bandwidth 9500kbit dual-srchost"; play cake "modem {AFTER}"
box ""; modem {BEFORE}
begin enforce c0 --uplink u0 --set '{SIGNAL}'
sleep 2
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
    "control": "control: CAKE in the modem, set to the new rate",
}

LABELS = {
    "nothing": "nothing",
    "fq_codel": "fq_codel",
    "cake": "CAKE at 95 %\nof the first rate",
    "gateway": "the gateway",
    "control": "CAKE in the modem,\nset to each rate",
}


@dataclass
class Row:
    """Throughput ratios before and after the fall, and shares of the link that are used."""

    name: str
    ratios: tuple[float, float]
    used: tuple[float, float]


def rows(printed: dict[str, str]) -> list[Row]:
    """What a run has printed."""
    found = []
    for name in ROWS:
        pairs = [
            (mean(printed[f"{name} heavy"], window), mean(printed[f"{name} light"], window))
            for window in WINDOWS
        ]
        ratios = [heavy / max(light, 1e-6) for heavy, light in pairs]
        links = [10 * 1448 / 1514, 4 * 1448 / 1514]
        used = [sum(pair) / link for pair, link in zip(pairs, links, strict=True)]
        found.append(Row(name, (ratios[0], ratios[1]), (used[0], used[1])))
    return found


def draw(table: list[Row], path: Path) -> None:
    """Draw both ratios of each row, on a logarithmic axis."""
    with rc_context(STYLE):
        figure, axes = new_figure(height=3.6)
        axes.axvline(1, color="#888888", linewidth=1)
        for place, row in enumerate(table):
            axes.plot(row.ratios, (place, place), color="#bbbbbb", zorder=1)
        for number, (label, marker) in enumerate((("before", "o"), ("after the fall", "s"))):
            ratios = [row.ratios[number] for row in table]
            axes.plot(
                ratios, range(len(table)), marker, color=COLOURS[number], label=label, markersize=8
            )
            for place, ratio in enumerate(ratios):
                axes.annotate(
                    f"{ratio:.2g}" if ratio >= 1.995 else f"{ratio:.2f}", (ratio, place),
                    (0, -13 if number else 8), textcoords="offset points", ha="center",
                    color=COLOURS[number], fontsize=9,
                )  # fmt: skip
        axes.set_yticks(range(len(table)), [LABELS[row.name] for row in table])
        axes.set_ylim(len(table) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.set_xlim(0.7, 20)
        plain_log_ticks(axes.xaxis)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("throughput ratio: a customer with ten flows to one with one flow")
        axes.legend(loc="lower right")
        subtitle(
            axes,
            "Who gets what when the link falls unannounced",
            "from 10 to 4 Mb/s, behind the box; Linux in virtual time, one run",
        )
        figure.savefig(path, dpi=120, metadata={"Software": None})


def main() -> int:
    """Run it, print a table and draw it."""
    try:
        table = rows(run("auto", SCRIPT))
    except MissingError as error:
        sys.stderr.write(f"not measured: {error}\n")
        return EXIT_LACKING
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
    draw(table, FIGURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
