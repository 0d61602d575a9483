"""docs/analysis/abc-over-tcp.md: its template filled with what the model and simulations say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.studies.page import filled, table, write_page
from tidegate.studies.stability import aicp
from tidegate.studies.stability.abc_tcp import (
    TABLE2,
    TABLE3,
    Cell,
    kept,
    near,
    own_margin,
    published,
)
from tidegate.studies.stability.page import figure
from tidegate.studies.stability.verdicts import STEADY_MARGIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TEMPLATE = "studies/stability/abc-over-tcp.md"
PAGE = "docs/analysis/abc-over-tcp.md"
MAPS = "docs/images/abc-over-tcp.png"
SET_UPS = ((5, 1, 10), (5, 9, 90), (50, 1, 10), (50, 9, 90))
_SET_UP = ["delay [ms]", "users"]


def write(root: Path) -> Path:
    """Write the page."""
    return write_page(root / PAGE, text(root))


def text(root: Path) -> str:
    """The page."""
    cells = published(root, TABLE2)
    simulated = kept(root)
    calm = {cell: found for cell, found in simulated.items() if cell.law == "calm"}
    inertia, above, below = _inertia(root)
    parts = {
        "within": f"{sum(near(cell.ratio, want) for cell, want in cells.items())} of {len(cells)}",
        "table": _table2(root, cells),
        "calm": _calm(simulated),
        "calm-near": sum(near(cell.ratio, found["ratio"]) for cell, found in calm.items()),
        "joint": _joint(),
        "maps": figure(MAPS, "Gain margin of users' modes over γ, inertia and number of users"),
        "inertia": inertia,
        "aicp": aicp.results_table(root),
        "most-above": f"{100 * (above - 1):.0f} %",
        "most-below": f"{100 * (below - 1):.0f} %",
    }
    return filled(root / TEMPLATE, parts)


def _set_up(cell: Cell) -> list[str]:
    return [f"{cell.delay_ms}", f"{cell.heavy} + {cell.light}"]


def _table2(root: Path, cells: dict[Cell, float]) -> str:
    simulated = kept(root)
    rows = [
        [
            *_set_up(cell),
            f"{cell.gamma:g}",
            f"{want:.2f}",
            f"{simulated[cell]['ratio']:.2f}",
            f"{cell.ratio:.2f}" if near(cell.ratio, want) else f"**{cell.ratio:.2f}**",
            f"{cell.equilibrium.queue_packets:.1f}",
            f"{simulated[cell]['queue_packets']:.1f} ± {simulated[cell]['queue_sd_packets']:.1f}",
        ]
        for cell, want in cells.items()
    ]
    head = [*_SET_UP, "γ", "paper", "simulated", "model", "queue, model", "queue, simulated"]
    return table(head, rows, numbers_from=2)


def _calm(simulated: Mapping[Cell, Mapping[str, float]]) -> str:
    """Simulated with either law, beside the model, where users are few and far."""
    rows = []
    for cell, found in simulated.items():
        if (cell.law, cell.delay_ms, cell.heavy) == ("calm", 50, 1):
            steep = replace(cell, law="paper")
            ratios = (simulated[steep]["ratio"], found["ratio"], steep.ratio, cell.ratio)
            rows.append([f"{cell.gamma:g}", *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["γ", "paper's law, simulated", "calm law, simulated", "paper's, model", "calm, model"]
    return table(head, rows, numbers_from=0)


def _joint() -> str:
    rows = []
    for set_up in SET_UPS:
        for law, name in (("paper", "11, 17, 24, 0.01"), ("calm", "0 to 1 over 2000")):
            cells = [Cell(*set_up, gamma=gamma, law=law) for gamma in (0.0, 3.0)]
            margins = [cell.margins.joint.gain_margin for cell in cells]
            window = f"{_window_packets(cells[1]):.1f}"
            rows.append([*_set_up(cells[1]), name, window, *(f"{m:.2f}" for m in margins)])
    head = [*_SET_UP, "queue's law", "window [packets]", "γ = 0", "γ = 3"]
    return table(head, rows, numbers_from=3)


def _window_packets(cell: Cell) -> float:
    """Of a light user's flow."""
    light, at = cell.link.customers[1], cell.equilibrium
    return at.offered_pps[1] * light.rtt_s(at.queue_packets, cell.link.capacity_pps)


def _inertia(root: Path) -> tuple[str, float, float]:
    """Table 3, and the most by which its ratio rises above that at the longest inertia."""
    cells = published(root, TABLE3)
    rows, above, below = [], 0.0, 0.0
    for cell, ratio in cells.items():
        rise = ratio / cells[replace(cell, inertia_s=4.8)]
        margin = own_margin(cell.link)
        above = max(above, rise) if margin >= STEADY_MARGIN else above
        below = max(below, rise) if margin < 1 else below
        numbers = (f"{cell.inertia_s:g}", f"{margin:.2f}", f"{ratio:.2f}", f"{rise:.2f}")
        rows.append([*_set_up(cell), *numbers])
    head = [*_SET_UP, "inertia [s]", "margin of users", "ratio, paper", "over that at 4.8 s"]
    return table(head, rows, numbers_from=2), above, below
