"""Numbers of the benchmark: from raw runs to rates, and to a table."""

from dataclasses import dataclass, field
from statistics import median

import child

BARS = {"S1": 5.0, "S2": 4.5, "S3": 8.0}
"""How many times as fast as ns-2 the project wants to be at least, on a loaded machine."""
BARS_OF_OTHERS = {
    "S1-linux": 0.75,
    "S1-DRR": 0.6,
    "S1-FQ-CoDel": 0.5,
    "ABC-S1": 0.75,
    "S4": 0.35,
    "S4-linux": 0.22,
    "ConEx-S2": 0.8,
    "LTE": 0.6,
    "S3-EPF": 0.65,
    "S3-SBRM": 0.55,
}
"""At least this share of the speed of the scenario it is compared with."""


@dataclass
class Measurement:
    """Repeated runs of one scenario in one simulator."""

    packets: int = 0
    """That left the bottleneck queues, in each of the runs (they are equal)."""
    cpu_s: list[float] = field(default_factory=list)
    setup_cpu_s: list[float] = field(default_factory=list)
    peak_rss_mib: float = 0.0

    def add(self, outcome: child.Outcome, setup_cpu_s: float) -> None:
        """Take in one repetition."""
        self.cpu_s.append(outcome.cpu_s)
        self.setup_cpu_s.append(setup_cpu_s)
        self.peak_rss_mib = max(self.peak_rss_mib, outcome.peak_rss_mib)

    @property
    def setup_cpu_median_s(self) -> float:
        """What the set-up costs."""
        return median(self.setup_cpu_s)

    @property
    def net_cpu_s(self) -> float:
        """Median CPU time without the set-up."""
        return median(self.cpu_s) - self.setup_cpu_median_s

    @property
    def packets_per_cpu_s(self) -> float:
        """Without the set-up."""
        return self.packets / self.net_cpu_s

    @property
    def packets_per_cpu_s_gross(self) -> float:
        """With the set-up."""
        return self.packets / median(self.cpu_s)

    @property
    def each_packets_per_cpu_s(self) -> list[float]:
        """Without the (median) set-up, for each repetition."""
        return [self.packets / (cpu_s - self.setup_cpu_median_s) for cpu_s in self.cpu_s]


@dataclass(frozen=True)
class Work:
    """What a run of ours had to do."""

    simulated_s: float
    flows: int
    hops: int
    events: int


@dataclass(frozen=True)
class Row:
    """One scenario."""

    scenario: str
    work: Work
    ours: Measurement
    beside: Measurement
    """The scenario it is compared with, in runs that alternated with these."""
    ns2: Measurement | None
    relative_to: str = "S1"
    """Which that is."""
    others: dict[str, Measurement] = field(default_factory=dict)
    """Other programs that ran the same, by name."""

    @property
    def ns_per_hop(self) -> float:
        """CPU nanoseconds for each packet (data or ACK) that crossed a link."""
        return self.ours.net_cpu_s / self.work.hops * 1e9

    @property
    def relative(self) -> float:
        """Our net packets per CPU second over those of the scenario it is compared with."""
        return self.ours.packets_per_cpu_s / self.beside.packets_per_cpu_s

    @property
    def bytes_per_flow(self) -> float:
        """Peak memory of the process, shared among the flows."""
        return self.ours.peak_rss_mib * 2**20 / self.work.flows

    @property
    def ratio(self) -> float | None:
        """Our net packets per CPU second over those of ns-2."""
        if self.ns2 is None:
            return None
        return self.ours.packets_per_cpu_s / self.ns2.packets_per_cpu_s

    @property
    def ratio_range(self) -> tuple[float, float] | None:
        """Smallest and largest ratio of neighbouring runs."""
        if self.ns2 is None:
            return None
        pairs = zip(self.ours.each_packets_per_cpu_s, self.ns2.each_packets_per_cpu_s, strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        return min(ratios), max(ratios)

    def relative_to_s1(self, rows: "list[Row]") -> float | None:
        """The same over S1's, by way of the other's row; None where that was not measured."""
        if self.relative_to == "S1":
            return self.relative
        through = (row for row in rows if row.scenario == self.relative_to)
        return next((self.relative * row.relative for row in through), None)

    def to_json(self, rows: "list[Row]") -> dict[str, object]:
        """For `target/bench.json`, among all rows of the call; null where ns-2 was not measured."""
        ours, ns2 = self.ours, self.ns2
        return {
            "scenario": self.scenario,
            "packets_per_cpu_s": ours.packets_per_cpu_s,
            "ns_per_hop": self.ns_per_hop,
            "relative_to": self.relative_to,
            "relative": self.relative,
            "relative_to_s1": self.relative_to_s1(rows),
            "peak_rss_mib": ours.peak_rss_mib,
            "bytes_per_flow": self.bytes_per_flow,
            "ns2_packets_per_cpu_s": ns2 and ns2.packets_per_cpu_s,
            "ratio": self.ratio,
            "ratio_range": self.ratio_range,
            "ratio_gross": ns2 and ours.packets_per_cpu_s_gross / ns2.packets_per_cpu_s_gross,
            "packets_per_cpu_s_gross": ours.packets_per_cpu_s_gross,
            "simulated_s": self.work.simulated_s,
            "flows": self.work.flows,
            "packets": ours.packets,
            "hops": self.work.hops,
            "events": self.work.events,
            "cpu_s": ours.cpu_s,
            "setup_cpu_s": ours.setup_cpu_s,
            "setup_cpu_median_s": ours.setup_cpu_median_s,
            "ns2_packets_per_cpu_s_gross": ns2 and ns2.packets_per_cpu_s_gross,
            "ns2_peak_rss_mib": ns2 and ns2.peak_rss_mib,
            "ns2_packets": ns2 and ns2.packets,
            "ns2_cpu_s": ns2 and ns2.cpu_s,
            "ns2_setup_cpu_s": ns2 and ns2.setup_cpu_s,
            "others_packets_per_cpu_s": {
                name: one.packets_per_cpu_s for name, one in self.others.items()
            },
        }


TITLES = (
    *("scenario", "simulator", "packets", "net pkt/s", "gross", "set-up s", "peak MiB"),
    *("KiB/flow", "ns/hop", "relative", "to", "bar", "ratio", "of runs", "bar"),
)


def render(rows: list[Row]) -> str:
    """Lay the rows out for people."""
    lines = [TITLES, *(line for row in rows for line in lines_of(row))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(TITLES))]
    return "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)


def lines_of(row: Row) -> list[tuple[str, ...]]:
    """Our line, and that of ns-2 if it was measured."""
    ratio, runs, bar = "-", "-", "-"
    if row.ratio is not None and row.ratio_range is not None:
        ratio = f"{row.ratio:.2f}"
        runs = "{:.2f} to {:.2f}".format(*row.ratio_range)
        bar = f"{BARS[row.scenario]:.1f}"
    bar_of_other = BARS_OF_OTHERS.get(row.scenario)
    ours = (
        *(row.scenario, "tidegate", *speed(row.ours)),
        *(f"{row.bytes_per_flow / 1024:.1f}", f"{row.ns_per_hop:.1f}"),
        *(f"{row.relative:.2f}", row.relative_to),
        "-" if bar_of_other is None else f"{bar_of_other:.2f}",
        *(ratio, runs, bar),
    )
    empty = [""] * (len(TITLES) - 7)
    lines = [ours]
    if row.ns2 is not None:
        lines.append(("", "ns-2", *speed(row.ns2), *empty))
    for name, other in row.others.items():
        times = row.ours.packets_per_cpu_s / other.packets_per_cpu_s
        lines.append(("", name, *speed(other), *empty[:5], f"{times:.2f}", *empty[6:]))
    return lines


def speed(measured: Measurement) -> tuple[str, ...]:
    """Format the cells that both simulators have."""
    return (
        f"{measured.packets:,}",
        f"{measured.packets_per_cpu_s / 1e3:,.0f} k",
        f"{measured.packets_per_cpu_s_gross / 1e3:,.0f} k",
        f"{measured.setup_cpu_median_s:.3f}",
        f"{measured.peak_rss_mib:.1f}",
    )
