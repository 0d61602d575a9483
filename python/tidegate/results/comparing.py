"""Two results side by side, such as a simulation and its run on real Linux.

Differences come with Welch's confidence interval, which asks neither for equal variances nor for
equal numbers of runs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.errors import UsageError
from tidegate.results.columns import unit_of
from tidegate.results.statistics import Estimate, estimate, welch95
from tidegate.results.summary import bottlenecks, by_name, labelled
from tidegate.results.tables import numbers, table
from tidegate.scenarios.reading import NOT_CONTENT, toml_value

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate.results.result import Result
    from tidegate.results.show import Grid

GROUP_METRICS = ("throughput_bps", "ratio_to_first", "loss_ratio", "mark_ratio",
                 "mean_completion_s")  # fmt: skip
LINK_METRICS = ("utilization", "mean_backlog_packets", "mean_sojourn_s", "p95_sojourn_s",
                "drop_ratio", "marks")  # fmt: skip
APPLICATION_METRICS = ("stalls", "mean_stall_s", "startup_s", "qoe", "finished", "completion_s",
                       "offered", "blocking", "calls", "set_up_s", "target_rate_bps", "quality",
                       "quality_changes", "price")  # fmt: skip


class Difference(NamedTuple):
    """One metric of one group or bottleneck, or of a group's applications, in both results."""

    kind: str
    """``group``, ``link`` or ``application``."""
    name: str
    metric: str
    unit: str
    a: Estimate
    b: Estimate
    difference: float
    """Mean of b minus mean of a."""
    ci95: float
    """Half-width of the difference's 95 % confidence interval (Welch); NaN without replications."""

    @property
    def relative(self) -> float:
        """Difference over the mean of a; NaN where that is 0."""
        return self.difference / self.a.mean if self.a.mean else float("nan")

    @property
    def relative_ci95(self) -> float:
        """Half-width of the difference over the mean of a."""
        return self.ci95 / abs(self.a.mean) if self.a.mean else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class SideBySide:
    """Two results by name, what differs in their scenarios, and in what was measured."""

    results: dict[str, Result]
    """Exactly two; the first is what the second is compared with."""

    @property
    def settings(self) -> list[tuple[str, str, str]]:
        """Settings in which the scenarios differ: key, and the value on either side."""
        a, b = (_flat(tomllib.loads(r.scenario.to_toml())) for r in self.results.values())
        found = [(key, a.get(key, "unset"), b.get(key, "unset")) for key in {**a, **b}]
        return [setting for setting in found if setting[1] != setting[2]]

    @property
    def differences(self) -> list[Difference]:
        """Every metric that both sides have."""
        a, b = (dict(_values(result.averaged)) for result in self.results.values())
        return [
            Difference(*key, unit_of(key[2]), estimate(a[key]), estimate(b[key]),
                       *welch95(a[key], b[key]))
            for key in a if key in b and _known(a[key]) and _known(b[key])
        ]  # fmt: skip

    def table(self) -> pa.Table:
        """`differences` as a table: a row per metric."""
        rows = self.differences
        columns: dict[str, object] = {
            name: [getattr(row, name) for row in rows]
            for name in ("kind", "name", "metric", "unit")
        }
        for side in ("a", "b"):
            values = [getattr(row, side) for row in rows]
            columns[f"mean_{side}"] = np.array([value.mean for value in values], dtype=float)
            columns[f"ci95_{side}"] = np.array([value.ci95 for value in values], dtype=float)
            columns[f"runs_{side}"] = np.array([value.runs for value in values], dtype="u4")
        for name in ("difference", "ci95", "relative", "relative_ci95"):
            columns[name] = np.array([getattr(row, name) for row in rows], dtype=float)
        return table(columns)

    def plot(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Draw both in one figure, ``compare.png``."""
        from tidegate.figures.comparisons import draw

        return draw(self, Path(folder))

    def __repr__(self) -> str:
        return f"<{' beside '.join(self.results)}>"

    def _repr_html_(self) -> str:
        from tidegate.results.show import html_table

        return html_table(grid(self))


def compare_results(a: Result, b: Result, *, names: tuple[str, str] | None = None) -> SideBySide:
    """Lay two results side by side, with the differences and how certain these are.

    Parameters
    ----------
    a, b
        Results of any two scenarios that share groups or bottlenecks; runs of a lab in which the
        machine could not keep up do not count.
    names
        What to call them; default: where they ran, and if that is the same, their scenarios.

    """
    first, second = names or _names(a, b)
    if first == second:
        first, second = f"{first} (a)", f"{second} (b)"
    both = SideBySide({first: a, second: b})
    if not both.differences:
        raise UsageError(
            "the two results have nothing in common to compare: "
            f"groups {', '.join(a.scenario.groups)} and {', '.join(b.scenario.groups)}, "
            f"{a.averaged.replications} and {b.averaged.replications} valid runs"
        )
    return both


def grid(both: SideBySide) -> Grid:
    """`differences` for people."""
    from tidegate.results.show import (
        APPLICATION_COLUMNS,
        GROUP_COLUMNS,
        LINK_COLUMNS,
        Grid,
        Quantity,
        rate_unit,
        uncertain,
    )

    first, second = both.results
    headings = ["", "metric", first, second, "difference", "relative [%]"]
    made = Grid(f"{first} and {second}", headings, text_columns=2)
    delay = Quantity("mean_sojourn_s", "mean delay", "ms", 1e3)
    known = {
        column.metric: column
        for column in (*GROUP_COLUMNS, *LINK_COLUMNS, *APPLICATION_COLUMNS, delay)
    }
    previous = ""
    for row in both.differences:
        column = known[row.metric]
        heading, unit, scale = column.heading, column.unit, column.scale
        if column.optional and row.a.mean == row.b.mean == 0.0:
            continue
        if unit == "bit/s":
            unit, scale = rate_unit(max(row.a.mean, row.b.mean))
        change = Estimate(row.difference, row.ci95, min(row.a.runs, row.b.runs))
        share = Estimate(row.relative, row.relative_ci95, change.runs)
        if previous and previous != row.name:
            made.breaks.append(len(made.cells) - 1)
        made.cells.append([
            row.name if row.name != previous else "",
            f"{heading} [{unit}]" if unit else heading,
            uncertain(row.a, scale), uncertain(row.b, scale),
            signed(uncertain(change, scale)), signed(uncertain(share, 100)),
        ])  # fmt: skip
        previous = row.name
    return made


def signed(text: str) -> str:
    """Write a difference with its sign, also where it is positive.

    >>> signed("1.2 ± 0.3"), signed("-1.2"), signed("–")
    ('+1.2 ± 0.3', '−1.2', '–')
    """
    if text.startswith("-"):
        return "−" + text[1:]
    return "+" + text if text[:1].isdigit() and text.strip("0.") else text


def _values(result: Result) -> Iterator[tuple[tuple[str, str, str], NDArray[np.float64]]]:
    """Every metric's value per replication."""
    links = bottlenecks(result.links)
    for kind, source, column, metrics in (
        ("group", result.groups, "group", GROUP_METRICS), ("link", links, "name", LINK_METRICS),
    ):  # fmt: skip
        for name, part in by_name(source, column):
            for metric in metrics:
                if metric == "ratio_to_first" and name == result.scenario.groups[0]:
                    continue
                yield (kind, name, metric), numbers(part, metric)
    for name, metric, part in labelled(result.tables):
        if metric in APPLICATION_METRICS:
            runs = part.group_by("replication").aggregate([("amount", "mean")])
            yield ("application", name, metric), numbers(runs, "amount_mean")


def _known(values: NDArray[np.float64]) -> bool:
    return bool((~np.isnan(values)).any())


def _names(a: Result, b: Result) -> tuple[str, str]:
    if a.kind != b.kind:
        words = {"simulation": "simulated", "lab": "real Linux"}
        return words[a.kind], words[b.kind]
    return a.scenario.name, b.scenario.name


def _flat(content: Mapping[str, object], above: str = "") -> dict[str, str]:
    """Dotted keys and values, without what does not matter for a run."""
    found: dict[str, str] = {}
    for key, value in content.items():
        if not above and key in NOT_CONTENT:
            continue
        if isinstance(value, dict):
            found |= _flat(value, f"{above}{key}.")
        else:
            found[above + key] = value if isinstance(value, str) else toml_value(value)
    return found
