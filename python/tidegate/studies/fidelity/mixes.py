"""ABC where heavy and light users have different congestion control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.results.show import uncertain
from tidegate.studies import page
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Study, read_cases
from tidegate.studies.fidelity.pages import about_the_runs, bars_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "studies/fidelity/mixes"


def cases(root: Path) -> list[Case]:
    """Every pair, without and with ABC."""
    return read_cases(root / FOLDER)


def table(records: Sequence[Record]) -> str:
    """One row per pair and differentiation."""
    headings = (
        "users", "", "ratio, simulator", "ratio, Linux", "queue on Linux [packets]", "used [%]",
        "heavy loses [%]", "light loses [%]",
    )  # fmt: skip
    rows = []
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
        rows.append([record.case.title, with_abc, simulated, *linux.values()])
    return page.table(headings, rows)


def parts(records: Sequence[Record], _root: Path) -> dict[str, object]:
    """What the page tells of them."""
    return {"finding": _finding(records), "table": table(records), **about_the_runs(records)}


def draw(records: Sequence[Record], root: Path) -> Path:
    """Draw the page's figure."""
    bars = {
        label: [
            record.estimate(LINUX, "ratio")
            for record in records if record.case.name.endswith(f"-{kind}")
        ]
        for kind, label in (("none", "without ABC"), ("abc", "with ABC"))
    }  # fmt: skip
    names = [record.case.title.replace(", ", "\n") for record in records[::2]]
    return bars_figure(
        names, bars, "heavy user over light user (real Linux)", root / "docs/images/lab-mixes.png",
        title="ABC with different TCPs",
    )  # fmt: skip


def _finding(records: Sequence[Record]) -> str:
    """What the table says, in a sentence."""
    ranges = []
    for kind in ("none", "abc"):
        chosen = [r for r in records if r.case.name.endswith(f"-{kind}")]
        means = [r.estimate(LINUX, "ratio").mean for r in chosen if r.values(LINUX, "ratio")]
        if len(means) < len(chosen):
            return ""
        ranges.append(f"between {min(means):.3g} and {max(means):.3g}")
    without, with_abc = ranges
    return (
        f"**On real Linux it is {without} without ABC, depending on who has which TCP; "
        f"with ABC it is {with_abc}.**\n"
    )


STUDY = Study(FOLDER, "docs/lab-mixes.md", cases, table, parts, draw)
