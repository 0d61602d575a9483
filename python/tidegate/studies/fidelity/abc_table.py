"""Table 2 of the ABC paper (5 ms, 1/10 users): paper, simulator, real Linux."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tidegate.errors import ResultError
from tidegate.results.show import uncertain
from tidegate.results.statistics import Estimate
from tidegate.studies import page
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, Study, read_cases
from tidegate.studies.fidelity.pages import about_the_runs, lines_figure
from tidegate.studies.fidelity.report import percent
from tidegate.studies.fidelity.verdicts import agreements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "studies/fidelity/abc-table2"
EXPECTED = "studies/abc/expected/table2_differentiation_factor.csv"


def cases(root: Path) -> list[Case]:
    """One case per differentiation factor."""
    return read_cases(root / FOLDER)


def table(records: Sequence[Record], paper: dict[str, float] | None = None) -> str:
    """One row per differentiation factor."""
    headings = (
        "γ", "paper", "simulator", "Linux", "simulator against Linux", "queue on Linux [packets]",
        "utilisation on Linux [%]",
    )  # fmt: skip
    rows = []
    for record in records:
        found = agreements(record).get("ratio")
        deviation = percent(found.deviation, found.uncertainty) if found else "–"
        printed = (paper or {}).get(record.case.name)
        cells = [
            _gamma(record),
            "–" if printed is None else f"{printed:.2f}",
            *(uncertain(record.estimate(side, "ratio")) for side in (SIMULATED, LINUX)),
            deviation,
            uncertain(record.estimate(LINUX, "queue_packets")),
            uncertain(record.estimate(LINUX, "utilization"), 100),
        ]
        rows.append(cells)
    return page.table(headings, rows)


def parts(records: Sequence[Record], root: Path) -> dict[str, object]:
    """What the page tells of them."""
    return {
        "finding": _finding(records),
        "table": table(records, _paper(root)),
        **about_the_runs(records),
    }


def draw(records: Sequence[Record], root: Path) -> Path:
    """Draw the page's figure."""
    paper = _paper(root)
    curves = {
        "paper": [Estimate(paper[record.case.name], float("nan"), 1) for record in records],
        "simulator": [record.estimate(SIMULATED, "ratio") for record in records],
        "real Linux": [record.estimate(LINUX, "ratio") for record in records],
    }
    return lines_figure(
        [float(_gamma(record)) for record in records], curves, "differentiation factor γ",
        "heavy user over light user", root / "docs/images/lab-abc.png",
        title="ABC on real Linux: throughput ratio",
    )  # fmt: skip


def _gamma(record: Record) -> str:
    return record.case.title.removeprefix("γ = ")


def _finding(records: Sequence[Record]) -> str:
    """What the table says, in a sentence."""
    means = {r.case.name: r.estimate(LINUX, "ratio") for r in records if r.values(LINUX, "ratio")}
    if not {"gamma-0", "gamma-3"} <= means.keys():
        return ""
    without, with_abc = uncertain(means["gamma-0"]), uncertain(means["gamma-3"])
    return f"**On real Linux it is {without} without ABC, and {with_abc} with γ = 3.**\n"


def _paper(root: Path) -> dict[str, float]:
    try:
        with (root / EXPECTED).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ResultError(f"{EXPECTED} cannot be read: {error.strerror}") from error
    return {
        f"gamma-{row['gamma']}": float(row["value"])
        for row in rows if (row["D_b_ms"], row["u_0"], row["u_1"]) == ("5", "1", "10")
    }  # fmt: skip


STUDY = Study(FOLDER, "docs/lab-abc.md", cases, table, parts, draw)
