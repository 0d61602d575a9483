"""ConEx's Figure 8: from which filling rate on nobody is policed, by the model and in packets."""

from __future__ import annotations

import csv
from statistics import fmean
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tidegate.analysis import Bottleneck, Red, Reno
from tidegate.figures.look import INK, STYLE, look, write
from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import load_scenario
from tidegate.studies import running
from tidegate.studies.running import Trial

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

BASE = "studies/conex/base.toml"
RESULTS = "studies/stability/conex.csv"
FIGURE = "docs/images/conex-figure-8.png"
_FILL_PPS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 90, 120, 180)
"""The figure's own, in packets/s."""
_RUNS = 3
_MEASURED = ("unfairness", "heavy_dropped", "light_dropped")
_HEAVY, _LIGHT = 36, 1
"""Flows of a user, of whom there are 10 and 90."""
_CAPACITY_PPS = 100e6 / 12_000
_BASE_RTT_S = 0.1


def declared_pps() -> tuple[float, float]:
    """Of a heavy and a light user where nobody is policed, by Reno's law."""
    red = Red(
        min_threshold_packets=83, max_threshold_packets=833, max_probability=1.0, gentle=False
    )
    flows = 10 * _HEAVY + 90 * _LIGHT
    link = Bottleneck(
        capacity_pps=_CAPACITY_PPS,
        signal=red,
        sources=(Reno(count=flows, base_rtt_s=_BASE_RTT_S),),
    )
    at = link.equilibrium
    of_a_flow = float(at.met_probability[0] * at.rate_pps[0])
    return _HEAVY * of_a_flow, _LIGHT * of_a_flow


def simulate(root: Path) -> None:
    """Simulate the mild policer at all rates, and keep the means."""
    trials = [Trial(_scenario(root, fill), range(1, _RUNS + 1), _of_run) for fill in _FILL_PPS]
    runs = running.simulate(trials, Threads(), lambda _done, _all: None)
    with (root / RESULTS).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["fill_pps", *_MEASURED])
        for fill, found in zip(_FILL_PPS, runs, strict=True):
            rows.writerow(
                [fill, *(f"{fmean(run[name] for run in found):.4g}" for name in _MEASURED)]
            )


def _scenario(root: Path, fill_pps: int) -> Scenario:
    policer = {
        "kind": "conex-policer",
        "fill_rate": f"{fill_pps} packets/s",
        "depth": "45 packets",
        "curve": "mild",
        "drops": "declared",
        "charge_dropped": False,
    }
    each = {f"users.{group}.ingress": [policer] for group in ("heavy", "light")}
    return load_scenario(root / BASE, set=each)


def _of_run(_: Scenario, tables: Tables) -> Numbers:
    """Rates' ratio, and what share of a user's packets was dropped."""
    flows = tables["flows"].to_pylist()
    groups: dict[str, dict[str, float]] = {}
    for group, users in (("heavy", 10), ("light", 90)):
        own = [flow for flow in flows if flow["group"] == group]
        groups[group] = {
            "bps": sum(flow["throughput_bps"] for flow in own) / users,
            "dropped": sum(f["losses"] for f in own) / sum(f["packets_sent"] for f in own),
        }
    heavy, light = groups["heavy"], groups["light"]
    return {
        "unfairness": heavy["bps"] / light["bps"],
        "heavy_dropped": heavy["dropped"],
        "light_dropped": light["dropped"],
    }


def kept(root: Path) -> dict[int, dict[str, float]]:
    """What was simulated, by filling rate."""
    with (root / RESULTS).open(encoding="utf-8", newline="") as file:
        return {
            int(row["fill_pps"]): {name: float(row[name]) for name in _MEASURED}
            for row in csv.DictReader(file)
        }


def draw(root: Path) -> Path:
    """Unfairness and drops over the filling rate, with the rates that the model has."""
    found = kept(root)
    with rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        unfair = [found[fill]["unfairness"] for fill in found]
        left.plot(list(found), unfair, "o-", color=look(0).colour, label="simulated")
        left.plot(
            [max(declared_pps()), 200],
            [_HEAVY] * 2,
            color=INK,
            linewidth=2.5,
            label="model: nobody policed",
        )
        left.set(ylabel="heavy user's rate over light user's", ylim=(0, 40))
        for number, who in enumerate(("heavy", "light")):
            shares = [100 * found[fill][f"{who}_dropped"] for fill in found]
            shown = look(number)
            right.plot(
                list(found), shares, "o-", color=shown.colour, label=f"{who} user, simulated"
            )
        right.set(ylabel="packets dropped [%]", ylim=(0, None))
        for axes in (left, right):
            for pps, who in zip(declared_pps(), ("heavy", "light"), strict=True):
                axes.axvline(pps, color=INK, linestyle=":", linewidth=1)
                axes.annotate(
                    f"{who} declares {pps:.3g}/s",
                    (pps, 0.03), xycoords=("data", "axes fraction"), rotation=90, ha="right",
                    va="bottom", fontsize=8,
                )  # fmt: skip
            axes.set(xlabel="filling rate [packets/s]", xscale="log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.legend(loc="upper left" if axes is left else "upper right", fontsize=8)
        return write(figure, root / FIGURE)
