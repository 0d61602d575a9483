"""The league's tables: one of all mechanisms, and one a situation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tidegate.results.show import Grid, uncertain
from tidegate.studies.league.field import settles
from tidegate.studies.league.scores import MEAN, WORST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.studies.league.field import Situation
    from tidegate.studies.league.scores import Scores

KEY_RATIOS = (
    ("many-flows", "heavy : light"), ("udp-flood", "flood : TCP"), ("near-and-far", "near : far"),
)  # fmt: skip
COMPLETION = "short-transfers"
UNSETTLED = " †"
"""Behind a mechanism that remembers longer than the runs warm up."""


def table(scores: Scores, names: Sequence[str] | None = None) -> Grid:
    """One row a mechanism, over all situations."""
    ratios = [(name, head) for name, head in KEY_RATIOS if name in scores.situations]
    grid = Grid(
        "The league" + _left_out(scores),
        [
            "mechanism", "Jain's index\nmean", "\nlowest", *(head for _, head in ratios),
            "used [%]\nmean", "\nlowest", "p95 queueing delay [ms]\nmean", "\nlongest",
            "transfer\n[s]", "state\n[B/customer]", "CPU\n[ns/packet]",
        ],
    )  # fmt: skip
    for name in names or [name for name, one in scores.mechanisms.items() if not one.pays]:
        grid.cells.append([
            scores.mechanisms[name].title + (UNSETTLED if _unsettled(scores, name) else ""),
            _plain(scores.of("jain", MEAN, name).mean, "{:.3f}"),
            _lowest(scores, "jain", name, 1, "{:.2f}"),
            *(ratio(scores.of("ratio", situation, name).mean) for situation, _ in ratios),
            _plain(100 * scores.of("utilization", MEAN, name).mean, "{:.1f}"),
            _lowest(scores, "utilization", name, 100, "{:.0f}"),
            _plain(1e3 * scores.of("p95_delay_s", MEAN, name).mean, "{:.0f}"),
            _lowest(scores, "p95_delay_s", name, 1e3, "{:.0f}"),
            _plain(scores.of("completion_s", COMPLETION, name).mean, "{:.2f}"),
            _with_edge(scores, "state_bytes", name),
            _with_edge(scores, "cpu_ns", name),
        ])  # fmt: skip
    return grid


def situation_grid(scores: Scores, situation: Situation, names: Sequence[str]) -> Grid:
    """One row a mechanism, in one situation, with confidence intervals."""
    above, below = situation.ratio
    headings = ["mechanism", f"{above} :\n{below}", "Jain's\nindex", "used\n[%]"]
    headings += ["p95 queueing delay\n[ms]", f"{below}:\nRTT [ms]"]
    metrics = [("ratio", 1.0), ("jain", 1.0), ("utilization", 100.0), ("p95_delay_s", 1e3)]
    metrics.append(("rtt_s", 1e3))
    if situation.completion:
        headings.append(f"{situation.completion}:\ntransfer [s]")
        metrics.append(("completion_s", 1.0))
    grid = Grid(situation.line_title, headings)
    for name in names:
        if scores.standings.runs(situation.name, name):
            cells = [uncertain(scores.of(m, situation.name, name), scale) for m, scale in metrics]
            mark = "" if settles(situation, scores.mechanisms[name]) else UNSETTLED
            grid.cells.append([scores.mechanisms[name].title + mark, *cells])
    return grid


def paying_grid(scores: Scores) -> Grid:
    """One row a mechanism, over the situations where customers may pay."""
    grid = Grid("Paying for congestion", ["mechanism"])
    for one in scores.paying:
        above, below = one.ratio
        grid.headings += [f"{one.line_title}:\n{above} : {below}", "Jain's\nindex"]
    grid.headings += ["used [%]\nlowest", "p95 queueing delay [ms]\nlongest", "CPU\n[ns/packet]"]
    for name, mechanism in scores.mechanisms.items():
        if mechanism.extra or not all(scores.standings.runs(s.name, name) for s in scores.paying):
            continue
        cells = [mechanism.title]
        for one in scores.paying:
            cells += [
                ratio(scores.of("ratio", one.name, name).mean),
                _plain(scores.of("jain", one.name, name).mean, "{:.3f}"),
            ]
        used = min(scores.of("utilization", s.name, name).mean for s in scores.paying)
        delay = max(scores.of("p95_delay_s", s.name, name).mean for s in scores.paying)
        cost = _with_edge(scores, "cpu_ns", name)
        grid.cells.append([*cells, f"{100 * used:.0f}", f"{1e3 * delay:.0f}", cost])
    return grid


def _unsettled(scores: Scores, name: str) -> bool:
    """Whether some of a mechanism's means are of runs that still know of their start."""
    return any(
        not settles(one, scores.mechanisms[name])
        for one in scores.simulated
        if scores.standings.runs(one.name, name)
    )


def _left_out(scores: Scores) -> str:
    """Tell who has no runs, since short ones would say nothing of him."""
    missing = [
        one.title
        for name, one in scores.mechanisms.items()
        if one.remembers_s and not any(scores.standings.runs(s, name) for s in scores.situations)
    ]
    if not missing or len(missing) == len(scores.mechanisms):
        return ""
    return f" (left out, as their buckets take longer to settle: {', '.join(missing)})"


def ratio(value: float) -> str:
    """Write a ratio to the digits that one reads.

    >>> ratio(0.0123), ratio(1.034), ratio(12.3), ratio(4321.0), ratio(float("inf"))
    ('0.01', '1.03', '12', '>99', '>99')
    """
    if math.isnan(value):
        return "–"
    if value > 99:
        return ">99"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}"


def _lowest(scores: Scores, metric: str, mechanism: str, scale: float, form: str) -> str:
    """The worst value, and where, unless it is as good as can be."""
    where = scores.worst_situation(metric, mechanism)
    if not where:
        return "–"
    value = form.format(scale * scores.of(metric, WORST, mechanism).mean)
    return value if value in ("100", "1.00") else f"{value} ({where})"


def _with_edge(scores: Scores, metric: str, mechanism: str) -> str:
    """What it takes at the bottleneck, and beside it what a meter at the edge does."""
    value = scores.of(metric, "", mechanism).mean
    edge = scores.of(f"edge_{metric}", "", mechanism).mean
    if math.isnan(edge) or edge == 0:
        return _plain(value, "{:.0f}")
    return f"{_plain(value - edge if metric == 'cpu_ns' else value, '{:.0f}')} + {edge:.0f}"


def _plain(value: float, form: str) -> str:
    return "–" if math.isnan(value) else form.format(value)
