"""docs/analysis/will-it-be-stable.md: its template filled with what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.analysis import stable_delays
from tidegate.studies.page import filled, table, write_page
from tidegate.studies.stability import mixed
from tidegate.studies.stability.cases import FOLDER, TITLES, model
from tidegate.studies.stability.verdicts import Promise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tidegate.studies.stability.verdicts import Verdict

RESULTS = f"{FOLDER}/results.csv"
TEMPLATE = f"{FOLDER}/will-it-be-stable.md"
PAGE = "docs/analysis/will-it-be-stable.md"
MAPS = "docs/images/stability-maps.png"
VERDICTS = "docs/images/stability-verdicts.png"
RATE_MBPS = 100
_FLOWS = (20, 50, 150)


def write(root: Path, found: Sequence[Verdict]) -> Path:
    """Write the page."""
    return write_page(root / PAGE, text(root, found))


def text(root: Path, found: Sequence[Verdict]) -> str:
    """The page."""
    promised = [verdict for verdict in found if verdict.promise is not Promise.BETWEEN]
    right = sum(verdict.right for verdict in promised)
    parts = {
        "right": f"{right} of {len(promised)}",
        "cases": len(found),
        "maps": figure(MAPS, "Gain margin of each queue over flows, rate and round trip"),
        "verdicts": figure(VERDICTS, "Spread of the queue and unused time, by gain margin"),
        "tips": _tips(),
        "by-queue": _by_queue(found),
        "wrong": _cases(verdict for verdict in promised if not verdict.right),
        "mixed": mixed.results_table(root),
        "between": _cases(verdict for verdict in found if verdict.promise is Promise.BETWEEN),
    }
    return filled(root / TEMPLATE, parts)


def figure(path: str, words: str) -> str:
    """A figure, from where the page is."""
    return f"![{words}](../{path.removeprefix('docs/')})"


def _tips() -> str:
    """Ranges of stable round trips, for some numbers of flows."""
    rows = []
    for queue, title in TITLES.items():
        for flows in _FLOWS:
            ranges = stable_delays(model(queue, RATE_MBPS, flows, 1), smallest=1, largest=1000)
            told = ", ".join(f"{low:.0f} to {high:.0f} ms" for low, high in ranges)
            rows.append([title, str(flows), told.replace("1 to", "up to", 1)])
    return table(["queue", f"flows at {RATE_MBPS} Mb/s", "stable base round trips"], rows)


def _by_queue(found: Sequence[Verdict]) -> str:
    rows = []
    for queue, title in TITLES.items():
        row = [title]
        for promise in (Promise.STEADY, Promise.SWINGS):
            of = [v for v in found if v.case.queue == queue and v.promise is promise]
            row.append(f"{sum(v.right for v in of)} of {len(of)}")
        between = [v for v in found if v.case.queue == queue and v.promise is Promise.BETWEEN]
        rows.append([*row, str(len(between))])
    head = ["queue", "steady as promised", "swings as promised", "nothing promised"]
    return table(head, rows, numbers_from=1)


def _cases(found: Iterable[Verdict]) -> str:
    head = [
        "queue", "Mb/s", "flows", "base RTT [ms]", "window [packets]", "p [%]", "gain margin",
        "spread", "utilisation",
    ]  # fmt: skip
    rows = [
        [
            TITLES[verdict.case.queue],
            f"{verdict.case.rate_mbps}",
            f"{verdict.case.flows}",
            f"{verdict.case.base_rtt_ms}",
            f"{float(verdict.case.bottleneck.equilibrium.window_packets[0]):.1f}",
            f"{100 * float(verdict.case.bottleneck.equilibrium.met_probability[0]):.2g}",
            f"{verdict.case.gain_margin:.2f}",
            f"{verdict.spread:.2f}",
            f"{verdict.utilization:.4f}",
        ]
        for verdict in found
    ]
    return table(head, rows, numbers_from=1)
