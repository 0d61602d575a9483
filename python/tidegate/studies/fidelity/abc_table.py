"""Table 2 of the ABC paper (5 ms, 1/10 users): paper, simulator, real Linux."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tidegate.errors import ResultError
from tidegate.results.show import uncertain
from tidegate.results.statistics import Estimate, estimate
from tidegate.studies.fidelity.cases import LINUX, SIMULATED, read_case
from tidegate.studies.fidelity.pages import invalid_runs, lines_figure, place_and_time
from tidegate.studies.fidelity.report import percent
from tidegate.studies.fidelity.verdicts import agreements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Case, Record

FOLDER = "fidelity/abc-table2"
EXPECTED = "papers/abc/expected/table2_differentiation_factor.csv"
GAMMAS = (0, 1, 2, 3, 4, 5)
PAGE = """\
# ABC on real Linux

The paper that proposes activity-based congestion management (M. Menth and N. Zeitler) leaves one
thing to the future: to "demonstrate the technical viability of ABC by implementation". Here are
rows of its table 2 (bottleneck delay 5 ms; a heavy user with ten flows, ten light users with one),
with the TCP of a real kernel, real packets that carry their activity in an IP option, and the
bottleneck of [`tidegate lab`](lab.md).

The throughput ratio is how much more the heavy user gets than a light one. Without ABC
(γ = 0) that is about ten, since TCP shares by flows; with ABC it should be about one.

{finding}
{table}
![Throughput ratio by differentiation factor](images/lab-abc.png)

± is the half-width of the 95 % confidence interval over {runs} runs. "Simulator" has the TCP of
today's Linux, as the kernel here; the paper and its
[reproduction](../papers/abc/RESULTS.md#table2) have that of Linux 2.6.29, so that the simulated
ratios are others there. The scenario, and what else it has in another way, is
[`fidelity/abc-table2/scenario.toml`](../fidelity/abc-table2/scenario.toml).

{place}
{invalid}
`sudo make lab-abc` repeats it and writes this page.
"""


def cases(root: Path) -> list[Case]:
    """One case per differentiation factor."""
    path = root / FOLDER / "scenario.toml"
    return [
        read_case(
            path,
            f"gamma-{gamma}",
            [("bottleneck.differentiation.gamma", f"{gamma}.0")],
            f"γ = {gamma}",
        )
        for gamma in GAMMAS
    ]


def table(records: Sequence[Record], paper: dict[str, float] | None = None) -> str:
    """One row per differentiation factor."""
    headings = (
        "γ", "paper", "simulator", "Linux", "simulator against Linux", "queue on Linux [packets]",
        "utilisation on Linux [%]",
    )  # fmt: skip
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for record in records:
        found = agreements(record).get("ratio")
        deviation = percent(found.deviation, found.uncertainty) if found else "–"
        printed = (paper or {}).get(record.case.name)
        cells = [
            record.case.title.removeprefix("γ = "),
            "–" if printed is None else f"{printed:.2f}",
            *(uncertain(record.estimate(side, "ratio")) for side in (SIMULATED, LINUX)),
            deviation,
            uncertain(record.estimate(LINUX, "queue_packets")),
            uncertain(record.estimate(LINUX, "utilization"), 100),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(records: Sequence[Record], root: Path) -> list[Path]:
    """Write the page and its figure."""
    paper = _paper(root)
    curves = {
        "paper": [Estimate(paper[record.case.name], float("nan"), 1) for record in records],
        "simulator": [estimate(record.values(SIMULATED, "ratio")) for record in records],
        "real Linux": [estimate(record.values(LINUX, "ratio")) for record in records],
    }
    image = lines_figure(
        list(GAMMAS), curves, "differentiation factor γ", "heavy user over light user",
        root / "docs/images/lab-abc.png", title="ABC on real Linux: throughput ratio",
    )  # fmt: skip
    path = root / "docs/lab-abc.md"
    text = PAGE.format(
        finding=_finding(records), table=table(records, paper),
        runs=max(len(record.runs(LINUX)) for record in records),
        place=place_and_time(records), invalid=invalid_runs(records),
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return [path, image]


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
