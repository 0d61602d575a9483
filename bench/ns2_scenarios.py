"""Eighteen scenarios in ns-2 and here, as a page with a table.

    .venv/bin/python bench/ns2_scenarios.py [--seeds N] [--out docs/ns2.md] [SCENARIO ...]

Plays each file of `studies/fidelity/ns2` in both, with as many seeds, and writes what they
measured. Takes about five minutes on two cores.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import tidegate
from tidegate.scenarios.reading import load_scenario

import child
import ns2
import peers

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "studies/fidelity/ns2"
SCRIPT = Path(__file__).with_name("ns2_dumbbell.tcl")
PAGE = Path(__file__).with_name("ns2_page.md")

AGENTS = {"sack": "Sack1", "newreno": "Newreno", "reno": "Reno"}

Numbers = dict[str, float]


@dataclass(frozen=True)
class Case:
    """A scenario."""

    name: str
    path: Path
    description: str
    plan: dict[str, Any]

    @property
    def measured_s(self) -> float:
        """How long it is measured."""
        return float(self.plan["duration_s"])

    @property
    def bottleneck(self) -> dict[str, Any]:
        """Its bottleneck."""
        return next(link for link in self.plan["links"] if link["monitored"])

    @property
    def ecn(self) -> bool:
        """Whether its flows use ECN."""
        return any(flow["tcp"]["ecn"] for flow in self.plan["flows"])

    @property
    def greedy_groups(self) -> list[int]:
        """Groups of users without end."""
        flows = (flow for flow in self.plan["flows"] if flow["traffic"]["kind"] == "greedy")
        return sorted({self.plan["user_groups"][flow["user"]] for flow in flows})

    def groups(self) -> Iterator[str]:
        """What `ns2_dumbbell.tcl` wants to know of each group of users."""
        plan, links = self.plan, self.plan["links"]
        for group in range(len(plan["groups"])):
            users = [u for u, of in enumerate(plan["user_groups"]) if of == group]
            flows = [flow for flow in plan["flows"] if flow["user"] in users]
            first = flows[0]
            traffic, tcp = first["traffic"], first["tcp"]
            size = traffic.get("size_bytes", 0)
            parts = (
                len(users),
                len(flows) // len(users),
                AGENTS[tcp["loss_recovery"]],
                links[first["forward"][0]]["delay_s"],
                links[first["forward"][-1]]["delay_s"],
                first["start_from_s"],
                first["start_to_s"],
                -(-size // (first["packet_size_bytes"] - 40)),
                tcp["delayed_ack_s"] or 0,
            )
            yield "{" + " ".join(str(part) for part in parts) + "}"

    def settings(self) -> str:
        """The scenario as `ns2_dumbbell.tcl` reads it."""
        link, flow = self.bottleneck, self.plan["flows"][0]
        red = link["aqm"] if link["aqm"]["kind"] == "red" else None
        keys = ("min_threshold_packets", "max_threshold_packets", "max_probability", "weight")
        variables = {
            "rate_bps": link["rate_bps"],
            "delay_s": link["delay_s"],
            # ns-2's RED does not count the packet in transmission.
            "buffer_packets": link["buffer_packets"] - (red is not None),
            "warm_up_s": self.plan["warm_up_s"],
            "end_s": self.plan["warm_up_s"] + self.measured_s,
            "packet_bytes": flow["packet_size_bytes"],
            "initial_window": flow["tcp"]["initial_window"],
            "jitter_s": flow["host_jitter_s"],
            "ecn": int(self.ecn),
            "red": "{" + " ".join(str(red[key]) for key in keys) + "}" if red else "{}",
            "groups": "{" + " ".join(self.groups()) + "}",
        }
        return "".join(f"set {name} {value}\n" for name, value in variables.items())


def cases(names: list[str]) -> list[Case]:
    """The scenarios, or those whose names begin with one of the given."""
    found = []
    for path in sorted(SCENARIOS.glob("*.toml")):
        if not names or path.stem.startswith(tuple(names)):
            scenario = load_scenario(path)
            description = scenario.description or ""
            found.append(Case(path.stem, path, description, scenario.plan()))
    return found


def in_ns2(case: Case, seeds: int) -> list[Numbers]:
    """What ns-2 measures, by seed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.tcl"
        file.write_text(case.settings(), encoding="utf-8")

        def run(seed: int) -> Numbers:
            command = [ns2.PROGRAM, str(SCRIPT), str(file), str(seed)]
            return numbers_of_ns2(case, child.run(command, 10).result)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, range(1, seeds + 1)))


def numbers_of_ns2(case: Case, result: dict[str, Any]) -> Numbers:
    """The numbers of a run: what was counted from the end of the warm-up on."""
    after, before = result["after"], result["before"]

    def counted(key: str) -> float:
        return float(after[key] - before[key])

    pairs = list(zip(after["flows"], before["flows"], strict=True))
    groups = [late[0] for late, _ in pairs]
    acked, sent, again, late_ones = (
        [late[column] - early[column] for late, early in pairs] for column in range(1, 5)
    )
    packet_bits = 8 * case.plan["flows"][0]["packet_size_bytes"]
    goodputs = [packets * packet_bits / case.measured_s / 1e6 for packets in acked]
    done = [late[5] for late, _ in pairs if late[5] >= 0]
    return numbers(
        case,
        goodputs,
        groups,
        queue=counted("waiting_packet_s") / case.measured_s,
        loss=100 * counted("drops") / counted("arrivals"),
        marks=100 * counted("marks") / counted("arrivals"),
        again=100 * sum(again) / sum(sent),
        timeouts=fmean(late_ones),
        done=done,
    )


def numbers(
    case: Case,
    goodputs: list[float],
    groups: list[int],
    *,
    queue: float,
    loss: float,
    marks: float,
    again: float,
    timeouts: float,
    done: list[float],
) -> Numbers:
    """What a scenario is compared by."""
    found = {"queue [packets]": queue, "loss [%]": loss, "sent again [%]": again}
    if case.greedy_groups:
        found["goodput [Mb/s]"] = sum(goodputs)
    if case.ecn:
        found["marks [%]"] = marks
    else:
        # ns-2 does not count a time-out that follows a mark (`nrexmit_`).
        found["time-outs per flow"] = timeouts
    if len(case.greedy_groups) == 2:
        users = [case.plan["user_groups"].count(group) for group in (0, 1)]
        of = [sum(g for g, at in zip(goodputs, groups, strict=True) if at == i) for i in (0, 1)]
        found["ratio of users"] = of[0] / users[0] / (of[1] / users[1])
    if done:
        found["completion [s]"] = fmean(done)
    return found


def here(case: Case, seeds: int) -> list[Numbers]:
    """What tidegate measures, by seed."""
    run = tidegate.simulate(str(case.path), replications=seeds)
    rows = {name: getattr(run, name).to_pylist() for name in ("flows", "links", "transfers")}
    found = []
    for replication in range(seeds):
        flows, links, transfers = (
            [row for row in rows[name] if row["replication"] == replication]
            for name in ("flows", "links", "transfers")
        )
        link = next(row for row in links if row["monitored"])
        packet_bytes = case.plan["flows"][0]["packet_size_bytes"]
        on_the_wire = packet_bytes / (packet_bytes - 40) / 1e6
        found.append(
            numbers(
                case,
                [row["goodput_bps"] * on_the_wire for row in flows],
                [case.plan["user_groups"][flow["user"]] for flow in case.plan["flows"]],
                queue=link["mean_backlog_packets"] - link["utilization"],
                loss=100 * (link["drops_full"] + link["drops_aqm"]) / link["arrivals"],
                marks=100 * link["marks"] / link["arrivals"],
                again=100
                * sum(row["retransmits"] for row in flows)
                / sum(row["packets_sent"] for row in flows),
                timeouts=fmean(row["timeouts"] for row in flows),
                done=[row["completion_s"] for row in transfers if row["completion_s"]],
            )
        )
    return found


@dataclass(frozen=True)
class Comparison:
    """One number of one scenario."""

    case: Case
    metric: str
    theirs: list[float]
    ours: list[float]

    @property
    def inside(self) -> bool:
        """Whether our confidence interval meets the range of ns-2's seeds."""
        mean, half = fmean(self.ours), half_width(self.ours)
        return mean + half >= min(self.theirs) and mean - half <= max(self.theirs)

    @property
    def close(self) -> bool:
        """Whether the means are within 5 %, or not told apart."""
        apart = abs(fmean(self.ours) - fmean(self.theirs))
        joint = (half_width(self.ours) ** 2 + half_width(self.theirs) ** 2) ** 0.5
        return apart <= max(joint, 0.05 * abs(fmean(self.theirs)))

    def row(self) -> str:
        """Its row of the table."""
        theirs, ours = fmean(self.theirs), fmean(self.ours)
        apart = f"{100 * (ours / theirs - 1):+.1f} %" if theirs else "–"
        cells = (
            f"[{self.case.name}](../studies/fidelity/ns2/{self.case.path.name})",
            self.metric,
            f"{theirs:.3f} ± {half_width(self.theirs):.3f}",
            f"{min(self.theirs):.3f} to {max(self.theirs):.3f}",
            f"{ours:.3f} ± {half_width(self.ours):.3f}",
            apart.replace("-", "−"),
            "" if self.inside else "outside",
        )
        return "| " + " | ".join(cells) + " |\n"


def half_width(values: list[float]) -> float:
    """Half-width of the 95 % confidence interval of the mean."""
    return peers.half_width_95(values) if stdev(values) else 0.0


def compare(case: Case, seeds: int) -> list[Comparison]:
    """All numbers of a scenario."""
    print(case.name, file=sys.stderr)
    theirs, ours = in_ns2(case, seeds), here(case, seeds)
    return [
        Comparison(case, metric, [run[metric] for run in theirs], [run[metric] for run in ours])
        for metric in theirs[0]
    ]


def page(found: list[Comparison], seeds: int) -> str:
    """The page."""
    inside, close = (sum(1 for one in found if getattr(one, what)) for what in ("inside", "close"))
    table = "| scenario | number | ns-2 | its seeds | tidegate | difference | |\n"
    table += "|---|---|---|---|---|---|---|\n" + "".join(one.row() for one in found)
    verdict = (
        f"**{inside} of {len(found)} numbers lie inside the range of ns-2's {seeds} seeds; "
        f"{close} are within 5 % of its mean or not told apart from it.**"
    )
    filled = {"<!-- verdict -->": verdict, "<!-- table -->": table.rstrip("\n")}
    text = PAGE.read_text(encoding="utf-8")
    for mark, value in filled.items():
        text = text.replace(mark, value)
    return text


def main() -> int:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenarios", nargs="*", help="names, or how they begin (default: all)")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each (6 or more)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/ns2.md")
    options = parser.parse_args()
    if options.seeds < 6:
        parser.error("--seeds: 6 or more, so that the spread means something")
    if not ns2.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 1
    chosen = cases(options.scenarios)
    if not chosen:
        parser.error(f"no scenario in {SCENARIOS} begins so")
    found = [one for case in chosen for one in compare(case, options.seeds)]
    options.out.write_text(page(found, options.seeds), encoding="utf-8")
    print(f"wrote {options.out}")
    print(json.dumps({"inside": sum(one.inside for one in found), "of": len(found)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
