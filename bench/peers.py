"""What other simulators measure in S1 and S2, as a table to compare with.

    python3 bench/peers.py [--seeds N] [--out tests/data/peers.csv]

Runs ns-2 with N seeds and puts the results beside single runs of ns-3 and htsim that were made
once (those simulators are not needed here). Takes about four seconds of CPU a seed.
"""

import argparse
import csv
import sys
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import ns2

ROOT = Path(__file__).resolve().parent.parent

VARIANTS: list[tuple[str, str, str, dict[str, float]]] = [
    ("S1", "ns-2 2.35 SACK", "S1", {}),
    ("S1", "ns-2 2.35 SACK, host jitter", "S1", {"jitter": 0.0012}),
    ("S2-ecn", "ns-2 2.35 SACK", "S2", {"ecn": 1}),
    ("S2-ecn", "ns-2 2.35 SACK, host jitter", "S2", {"ecn": 1, "jitter": 0.00012}),
    ("S2-drop", "ns-2 2.35 SACK", "S2", {"ecn": 0}),
    ("S2-drop", "ns-2 2.35 SACK, host jitter", "S2", {"ecn": 0, "jitter": 0.00012}),
]
"""Row label, simulator, scenario and options. The jitter is one packet at the bottleneck's rate."""

METRICS = (
    "ratio",
    "throughput_mbps",
    "goodput_mbps",
    "flow_sd_mbps",
    "mean_queue_packets",
    "loss_percent",
    "marked_percent",
)

COLUMNS = ("scenario", "simulator", "runs", "metric", "mean", "ci95", "sd", "min", "max")

SINGLE_RUNS: list[tuple[str, str, tuple[float | None, ...]]] = [
    ("S1", "ns-3 3.37 NewReno with SACK", (9.90, 9.988, 9.90, 0.022, 45.8, 6.9, None)),
    ("S1", "ns-3 3.44 NewReno with SACK", (9.94, 9.988, 9.92, 0.010, 45.8, 7.0, None)),
    ("S1", "htsim 841d9e7 NewReno", (9.95, 9.988, 9.96, 0.040, 41.0, 6.5, None)),
    ("S2-ecn", "ns-3 3.37 NewReno with SACK", (35.98, 99.70, 99.5, 0.015, 341, 0.15, 24.6)),
    ("S2-drop", "ns-3 3.37 NewReno with SACK", (35.74, None, 96.4, 0.010, 191, 10.1, None)),
    ("S2-drop", "htsim 841d9e7 NewReno, its own RED", (35.83, 99.39, 98.2, 0.012, 166, 9.4, None)),
]
"""Measured once, 100 s, one seed; the order of the values is that of METRICS."""

HEADER = """\
# S1 and S2 in other simulators, 100 s from the start on (nothing discarded). Written by
# bench/peers.py: the rows of ns-2 are means over independent seeds (substreams of its generator),
# with the half-width of the 95 % confidence interval of the mean (Student t), the standard
# deviation and the extremes over the seeds. The rows with one run were measured once with the
# simulators built from their releases; the spread of single runs is about that of ns-2.
#
# ratio               throughput of a heavy user over that of a light one (S1: 10 flows against 1,
#                     S2: 36 against 1), means over the users of each kind
# throughput_mbps     packets that left the bottleneck times their size on the wire (1500 B)
#                     (ns-3 and htsim: from the packet counts of separate, timed runs)
# goodput_mbps        in-order packets of all flows times that size: less than the throughput by
#                     what was sent twice without need, and by what is on its way at the end
# flow_sd_mbps        standard deviation of that over the flows of a run
# mean_queue_packets  time average of the waiting packets, the one in transmission not included
#                     in ns-2 and ns-3 (a link's backlog in tidegate includes it: about one more)
# loss_percent        dropped at the bottleneck, of those that arrived there
# marked_percent      marked at the bottleneck, of those that arrived there
"""


def half_width_95(values: list[float]) -> float:
    """Half-width of the 95 % confidence interval of the mean, by Student's t.

    The quantile comes from the normal one by Abramowitz and Stegun 26.7.5, good to four digits
    from five degrees of freedom on.

    >>> round(half_width_95([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2)     # 2.571 x 1.871 / sqrt(6)
    1.96
    """
    n = len(values)
    df, z = n - 1, NormalDist().inv_cdf(0.975)
    t = (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
    )
    return float(t * stdev(values) / n**0.5)


def measured_rows(seeds: int) -> list[list[str]]:
    """Rows of the table that ns-2 gives now."""
    rows = []
    for label, simulator, scenario, options in VARIANTS:
        print(f"{label}: {simulator}, {seeds} seeds", file=sys.stderr)
        runs = [
            ns2.summary(ns2.run(scenario, nice=10, seed=seed, monitor=1, **options).result)
            for seed in range(1, seeds + 1)
        ]
        for metric in METRICS:
            values = [run[metric] for run in runs]
            if metric == "marked_percent" and not any(values):
                continue
            numbers = (
                fmean(values),
                half_width_95(values),
                stdev(values),
                min(values),
                max(values),
            )
            rows.append([label, simulator, str(seeds), metric, *(f"{x:.4g}" for x in numbers)])
    return rows


def given_rows() -> list[list[str]]:
    """Rows of the table that stand above."""
    return [
        [label, simulator, "1", metric, f"{value:g}", "", "", "", ""]
        for label, simulator, values in SINGLE_RUNS
        for metric, value in zip(METRICS, values, strict=True)
        if value is not None
    ]


def main() -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each variant (6 or more)")
    parser.add_argument("--out", type=Path, default=ROOT / "tests/data/peers.csv")
    options = parser.parse_args()
    if options.seeds < 6:
        parser.error("--seeds: 6 or more, so that the spread means something")
    if not ns2.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 1
    rows = measured_rows(options.seeds) + given_rows()
    rows.sort(key=lambda row: row[0])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        file.write(HEADER)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(rows)
    print(options.out.read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
