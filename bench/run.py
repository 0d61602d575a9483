"""How fast the simulator is, beside ns-2 where that is installed.

    python3 bench/run.py [--scenario S1]... [--repetitions 5] [--quick] [--htsim DIR]

Prints a table and writes target/bench.json. Speed is packets that leave the bottleneck queues per
second of CPU (user and system time of the process). Net: without the set-up, which a run of 1 ms
shows; gross: with it. The runs of both simulators alternate, so that a machine that grows slower
meanwhile slows both; each number is a median. docs/performance.md says more.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import child
import ns2
from others import Other, others
from table import Measurement, Row, Work, render

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/tidegate-bench"
RESULT = ROOT / "target/bench.json"
SETUP_S = 0.001
"""Simulated seconds of the run that shows what the set-up costs."""


@dataclass(frozen=True)
class Case:
    """A scenario of ours, and of ns-2 where that has it."""

    name: str
    file: str
    time_s: float
    in_ns2: bool = False
    overrides: tuple[str, ...] = ()
    relative_to: str = "S1"
    """The scenario that it is compared with."""

    def variant(self, name: str, *overrides: str, relative_to: str = "S1") -> "Case":
        """The same with other values for some keys."""
        return Case(name, self.file, self.time_s, overrides=overrides, relative_to=relative_to)


S1 = Case("S1", "scenarios/s1-dumbbell.toml", 1000, in_ns2=True)
# ns-2 sets S2 up in 2 s, as long as it takes for 100 s of it.
S2 = Case("S2", "scenarios/s2-red-ecn.toml", 1000, in_ns2=True)
POLICER = '[{kind="conex-policer", fill_rate="540 kb/s", depth="67500 B"}]'
S3 = Case("S3", "scenarios/s3-parking-lot.toml", 5, in_ns2=True)
# 10 Mb/s on average, which changes every 50 ms.
RATE_TRACE = r'bottleneck.rate={trace="time_ms,rate_mbps\n0,14\n50,6\n",repeat=true}'
# Without the flood: with it, one of the two would be nearly all UDP.
NO_FLOOD = 'users.flood.traffic.rate="1 kb/s"'
LTE = Case("LTE", "scenarios/lte.toml", 300, overrides=(NO_FLOOD,), relative_to="LTE-plain")
STAGES = ("g1-r4.ingress", "r1-n1.egress", "r1-n2.egress", "r1-n3.egress")
S4 = Case("S4", "bench/s4-many-users.toml", 3)
"""A second of start and the two after it."""
CASES = {
    case.name: case
    for case in (
        S1,
        S2,
        S3,
        # The rest is not what S1 was tuned for; ns-2 lacks the mechanism, or would take hours.
        S1.variant("S1-linux", 'profile="linux"'),
        S1.variant("S1-DRR", 'bottleneck.scheduler={kind="drr"}'),
        S1.variant("S1-FQ-CoDel", 'bottleneck.scheduler={kind="fq-codel"}'),
        S1.variant("S1-CAKE", 'bottleneck.scheduler={kind="cake"}'),
        S1.variant("S1-BBR", 'profile="linux"', 'tcp.congestion_control="bbr"'),
        S1.variant("S1-paced", "tcp.pacing=true"),
        S1.variant("S1-delays", 'delays_by="flow"'),
        S1.variant("S1-trace", RATE_TRACE),
        Case("ABC-S1", "scenarios/s1-dumbbell-abc.toml", 1000),
        # FullConEx with a mild policer, as Sanhaji et al. 2015 have it (docs/conex.md).
        S2.variant(
            "ConEx-S2",
            'tcp.feedback="accurate"',
            'tcp.accurate_option="off"',
            'tcp.conex={kind="per-signal", carrier="new-data"}',
            f"users.heavy.ingress={POLICER}",
            f"users.light.ingress={POLICER}",
            relative_to="S2",
        ),
        # A mobile network with and without the loop of re-ECN in tunnels (docs/mobile.md).
        LTE.variant("LTE-plain", NO_FLOOD, *(f"links.{place}=[]" for place in STAGES)),
        LTE,
        # Prices: at most 3,200 flows share a link of 600 packets a millisecond.
        S3.variant(
            "S3-EPF",
            'price_encoding={kind="explicit"}',
            'parking_lot.aqm={kind="pc3",gamma=0.00001,target="400 packets"}',
            'tcp.congestion_control={kind="direct-window",willingness_to_pay=1000,kappa=0.01}',
            "tcp.timestamps=true",
            relative_to="S3",
        ),
        S3.variant(
            "S3-SBRM",
            'parking_lot.aqm={kind="sbrm-queue",gamma=0.001,target="400 packets"}',
            'tcp.congestion_control={kind="sbrm",willingness_to_pay=100,kappa=0.1}',
            "tcp.timestamps=true",
            relative_to="S3",
        ),
        # 1,000 films, and ten hours of calls, whose memory goes with those in progress.
        Case("FRAMES", "bench/frames.toml", 200),
        Case("CALLS", "scenarios/calls.toml", 36_000, overrides=('sample_interval="off"',)),
        S4,
        S4.variant("S4-linux", 'profile="linux"'),
    )
}


def say(text: str) -> None:
    """Progress, beside the results on standard output."""
    print(text, file=sys.stderr, flush=True)


def arguments(case: Case, time_s: float) -> list[str]:
    """What the timed program is called with."""
    words = [str(ROOT / case.file), "--time", f"{time_s:g}"]
    for override in case.overrides:
        words += ["--set", override]
    return words


def run_tidegate(case: Case, time_s: float) -> child.Outcome:
    """One run of ours."""
    outcome = child.run([str(PROGRAM), *arguments(case, time_s)])
    return child.Outcome(outcome.cpu_s, outcome.result["peak_rss_mib"], outcome.result)


def measure(case: Case, repetitions: int, with_ns2: bool, beside_s1: list[Other]) -> Row:
    """Measure one scenario; its runs alternate with those of `relative_to` and of the others."""
    ours, theirs = Measurement(), Measurement()
    other = CASES[case.relative_to]
    beside = ours if case is other else Measurement()
    with_ns2 = with_ns2 and case.in_ns2
    also = {one: Measurement() for one in beside_s1} if case is S1 else {}
    if with_ns2:
        # Queue monitors cost a little, so this run only counts; the timed ones are its equals.
        say(f"{case.name}: ns-2, counting packets")
        theirs.packets = ns2.departures(ns2.run(case.name, time=case.time_s, monitor=1).result)
    results = []
    for repetition in range(1, repetitions + 1):
        say(f"{case.name}: repetition {repetition} of {repetitions}")
        outcome = run_tidegate(case, case.time_s)
        results.append(outcome.result)
        ours.add(outcome, run_tidegate(case, SETUP_S).cpu_s)
        if beside is not ours:
            outcome = run_tidegate(other, other.time_s)
            beside.packets = outcome.result["packets"]
            beside.add(outcome, run_tidegate(other, SETUP_S).cpu_s)
        if with_ns2:
            theirs.add(ns2.run(case.name, time=case.time_s), ns2.run(case.name, time=SETUP_S).cpu_s)
        for one, measured in also.items():
            outcome = one.run(case.time_s)
            measured.packets = outcome.result["packets"]
            measured.add(outcome, one.run(SETUP_S).cpu_s)
    first = results[0]
    if any(result["digest"] != first["digest"] for result in results):
        raise child.ChildFailedError(f"{case.name}: the same seed gave different digests")
    ours.packets = first["packets"]
    if ours.packets == 0:
        raise child.ChildFailedError(f"{case.name}: no packet left a bottleneck queue")
    work = Work(case.time_s, first["flows"], first["hops"], first["events"])
    named = {one.name: measured for one, measured in also.items()}
    return Row(case.name, work, ours, beside, theirs if with_ns2 else None, case.relative_to, named)


def build() -> None:
    """Bring the timed program up to date."""
    command = ["cargo", "build", "--release", "--locked", "-p", "tidegate-bench"]
    subprocess.run(command, cwd=ROOT, check=True)


def main() -> int:
    """Build, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenario", action="append", choices=CASES, help="only this one")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    parser.add_argument("--quick", action="store_true", help="one repetition: a look, no more")
    parser.add_argument("--without-ns2", action="store_true", help="even where it is installed")
    parser.add_argument("--htsim", type=Path, metavar="DIR", help="htsim's source, beside S1")
    parser.add_argument(
        "--list", action="store_true", help="print the arguments of a run of 5 ms of each, as JSON"
    )
    options = parser.parse_args()
    if options.list:
        names = options.scenario or CASES
        print(json.dumps({name: arguments(CASES[name], 0.005) for name in names}, indent=2))
        return 0
    if options.repetitions < 1:
        parser.error("--repetitions: 1 or more")

    with_ns2 = ns2.available() and not options.without_ns2
    if not ns2.available():
        say("ns-2 is not installed, so there is nothing to compare with (apt-get install ns2).")
    say(f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    try:
        build()
        names = options.scenario or CASES
        beside_s1 = list(others(options.htsim, ROOT / S1.file, say)) if "S1" in names else []
        repetitions = 1 if options.quick else options.repetitions
        rows = [measure(CASES[name], repetitions, with_ns2, beside_s1) for name in names]
    except (child.ChildFailedError, subprocess.CalledProcessError) as error:
        say(f"bench: {error}")
        return 1
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([row.to_json(rows) for row in rows], indent=2) + "\n")
    print(render(rows))
    say(f"written to {RESULT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
