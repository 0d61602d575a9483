"""ABC where heavy and light users have different congestion control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.results.show import uncertain
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, read_case
from tidegate.studies.fidelity.pages import bars_figure, invalid_runs, place_and_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "fidelity/mixes"
PAIRS = (("reno", "reno"), ("cubic", "reno"), ("bbr", "reno"), ("reno", "cubic"), ("reno", "bbr"))
"""Congestion control of the heavy user and of the light ones."""
NAMES = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
PAGE = """\
# ABC with different TCPs

Does activity-based congestion management hold when heavy users have another congestion control than
light ones? Its paper asks, and has Reno only. One heavy user has ten flows, ten light users have
one each, on 10 Mb/s with a path of 50 ms there and back.

The ratio is the heavy user's throughput over a light user's: about ten without ABC if all flows
get the same, about one if users do.

{finding}
{table}
![Heavy user's throughput over a light user's, with and without ABC](images/lab-mixes.png)

± is the half-width of the 95 % confidence interval over {runs} runs. The simulator has no BBR;
Linux has the version 1 of its kernel. The scenario is
[`fidelity/mixes/scenario.toml`](../fidelity/mixes/scenario.toml).

{place}
{invalid}
`sudo make lab-mixes` repeats it and writes this page.
"""


def cases(root: Path) -> list[Case]:
    """Every pair, without and with ABC."""
    path = root / FOLDER / "scenario.toml"
    found = []
    for heavy, light in PAIRS:
        for kind in ("none", "abc"):
            settings = [
                ("users.heavy.tcp.congestion_control", heavy),
                ("users.light.tcp.congestion_control", light),
                ("bottleneck.differentiation.kind", kind),
            ]
            title = f"{NAMES[heavy]} heavy, {NAMES[light]} light"
            found.append(read_case(path, f"{heavy}-{light}-{kind}", settings, title))
    return found


def table(records: Sequence[Record]) -> str:
    """One row per pair and differentiation."""
    headings = (
        "users", "", "ratio, simulator", "ratio, Linux", "queue on Linux [packets]", "used [%]",
        "heavy loses [%]", "light loses [%]",
    )  # fmt: skip
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for record in records:
        linux = {
            name: uncertain(record.estimate(LINUX, name), scale)
            for name, scale in (
                ("ratio", 1), ("queue_packets", 1), ("utilization", 100),
                ("loss_ratio.heavy", 100), ("loss_ratio.light", 100),
            )
        }  # fmt: skip
        simulated = uncertain(record.estimate(SIMULATED, "ratio"))
        with_abc = "ABC" if record.case.name.endswith("-abc") else "without"
        cells = [record.case.title, with_abc, simulated, *linux.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(records: Sequence[Record], root: Path) -> list[Path]:
    """Write the page and its figure."""
    bars = {
        label: [
            record.estimate(LINUX, "ratio")
            for record in records if record.case.name.endswith(f"-{kind}")
        ]
        for kind, label in (("none", "without ABC"), ("abc", "with ABC"))
    }  # fmt: skip
    names = [record.case.title.replace(", ", "\n") for record in records[::2]]
    image = bars_figure(
        names, bars, "heavy user over light user (real Linux)", root / "docs/images/lab-mixes.png",
        title="ABC with different TCPs",
    )  # fmt: skip
    path = root / "docs/lab-mixes.md"
    text = PAGE.format(
        finding=_finding(records), table=table(records),
        runs=max(len(record.runs(LINUX)) for record in records),
        place=place_and_time(records), invalid=invalid_runs(records),
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return [path, image]


def _finding(records: Sequence[Record]) -> str:
    """What the table says, in a sentence."""
    ranges = []
    for kind in ("none", "abc"):
        chosen = [r for r in records if r.case.name.endswith(f"-{kind}")]
        means = [r.estimate(LINUX, "ratio").mean for r in chosen if r.values(LINUX, "ratio")]
        if len(means) < len(PAIRS):
            return ""
        ranges.append(f"between {min(means):.3g} and {max(means):.3g}")
    without, with_abc = ranges
    return (
        f"**On real Linux it is {without} without ABC, depending on who has which TCP; "
        f"with ABC it is {with_abc}.**\n"
    )
