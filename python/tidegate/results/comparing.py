"""Results side by side, such as a simulation and its runs on real Linux.

Differences between simulations with the same seeds come with the confidence interval of paired
runs, whose random numbers are common. Others come with Welch's, which asks neither for equal
variances nor for equal numbers of runs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.errors import UsageError
from tidegate.results.columns import unit_of
from tidegate.results.statistics import Estimate, estimate, paired95, welch95
from tidegate.results.summary import bottlenecks, by_name, labelled
from tidegate.results.tables import numbers, table
from tidegate.scenarios.reading import NOT_CONTENT, toml_value

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tidegate.figures.output import Output
    from tidegate.results.result import Result
    from tidegate.results.show import Grid, Quantity

GROUP_METRICS = ("throughput_bps", "ratio_to_first", "loss_ratio", "mark_ratio",
                 "p95_queueing_delay_s", "mos", "mean_completion_s", "p99_completion_s",
                 "mean_slowdown", "transfers_unfinished")  # fmt: skip
LINK_METRICS = ("utilization", "mean_backlog_packets", "mean_sojourn_s", "p95_sojourn_s",
                "drop_ratio", "marks")  # fmt: skip
APPLICATION_METRICS = ("stalls", "mean_stall_s", "startup_s", "qoe", "finished", "completion_s",
                       "offered", "blocking", "calls", "set_up_s", "target_rate_bps", "quality",
                       "quality_changes", "price")  # fmt: skip


class Difference(NamedTuple):
    """One metric of one group or bottleneck, or of a group's applications, in two results."""

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
    """Half-width of its 95 % confidence interval, paired or Welch's; NaN without replications."""
    side: int = 1
    """Which result b is: 1 for the second."""

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
    """Results by name, what differs in their scenarios, and in what was measured."""

    results: dict[str, Result]
    """Two or more; the first is what each of the others is compared with."""

    @property
    def settings(self) -> list[tuple[str, ...]]:
        """Settings in which the scenarios differ: key, and the value in each."""
        flat = [_flat(tomllib.loads(r.scenario.to_toml())) for r in self.results.values()]
        keys = dict.fromkeys(key for one in flat for key in one)
        found = [(key, *(one.get(key, "unset") for one in flat)) for key in keys]
        return [setting for setting in found if len(set(setting[1:])) > 1]

    @property
    def differences(self) -> list[Difference]:
        """Every metric that the first and another result have, by metric."""
        a, *others = (dict(_values(result.averaged)) for result in self.results.values())
        paired = [self.is_paired(side) for side in range(len(self.results))]
        return [
            Difference(*key, unit_of(key[2]), estimate(a[key]), estimate(b[key]),
                       *_difference(a[key], b[key], paired=paired[side]), side)
            for key in a for side, b in enumerate(others, 1)
            if key in b and _known(a[key]) and _known(b[key])
        ]  # fmt: skip

    def is_paired(self, side: int) -> bool:
        """Whether a result and the first are simulations with the same seeds."""
        results = list(self.results.values())
        a, b = results[0], results[side]
        same = [seed for seed, _ in a.digests] == [seed for seed, _ in b.digests]
        return same and a.kind == b.kind == "simulation"

    def table(self) -> pa.Table:
        """`differences` as a table: a row per metric and result beside the first."""
        rows = self.differences
        columns: dict[str, object] = {
            name: [getattr(row, name) for row in rows]
            for name in ("kind", "name", "metric", "unit")
        }
        if len(self.results) > 2:
            names = list(self.results)
            columns["result"] = [names[row.side] for row in rows]
        for side in ("a", "b"):
            values = [getattr(row, side) for row in rows]
            columns[f"mean_{side}"] = np.array([value.mean for value in values], dtype=float)
            columns[f"ci95_{side}"] = np.array([value.ci95 for value in values], dtype=float)
            columns[f"runs_{side}"] = np.array([value.runs for value in values], dtype="u4")
        for name in ("difference", "ci95", "relative", "relative_ci95"):
            columns[name] = np.array([getattr(row, name) for row in rows], dtype=float)
        return table(columns)

    def plot(
        self, folder: str | os.PathLike[str] = ".", output: Output | None = None
    ) -> list[Path]:
        """Draw all in one figure, ``compare.png``; return its files."""
        from tidegate.figures.comparisons import draw

        return draw(self, Path(folder), output=output)

    def __repr__(self) -> str:
        return f"<{' beside '.join(self.results)}>"

    def _repr_html_(self) -> str:
        from tidegate.results.show import html_table

        return html_table(grid(self))


def compare_results(a: Result, *others: Result, names: Sequence[str] | None = None) -> SideBySide:
    """Lay results side by side, with the differences from the first and how certain these are.

    Parameters
    ----------
    a, others
        Two or more results of scenarios that share groups or bottlenecks; runs of a lab in which
        the machine could not keep up do not count.
    names
        What to call them; default: where they ran, and where that does not tell them apart, their
        scenarios.

    """
    results = (a, *others)
    called = list(names or default_names(results))
    if len(results) < 2 or len(called) != len(results):
        raise UsageError("compare: two or more results, and a name for each if any")
    for name in {one for one in called if called.count(one) > 1}:
        called = [f"{one} ({_letter(at)})" if one == name else one for at, one in enumerate(called)]
    together = SideBySide(dict(zip(called, results, strict=True)))
    compared = {row.side for row in together.differences}
    for side, b in enumerate(others, 1):
        if side not in compared:
            raise UsageError(
                f"{called[0]} and {called[side]} have nothing in common to compare: "
                f"groups {', '.join(a.scenario.groups)} and {', '.join(b.scenario.groups)}, "
                f"{a.averaged.replications} and {b.averaged.replications} valid runs"
            )
    return together


def _letter(side: int) -> str:
    return chr(ord("a") + side)


def grid(both: SideBySide) -> Grid:
    """`differences` for people."""
    from tidegate.results.show import Grid, rate_unit, uncertain

    if len(both.results) > 2:
        return _grid_of_many(both)
    first, second = both.results
    headings = ["", "metric", first, second, "difference", "relative [%]"]
    made = Grid(f"{first} and {second}", headings, text_columns=2)
    known = _columns()
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


def _grid_of_many(together: SideBySide) -> Grid:
    """A row a metric: each result, and how far it is from the first."""
    from tidegate.results.show import Grid, rate_unit, uncertain

    first, *others = together.results
    headings = ["", "metric", first, *(word for name in others for word in (name, "relative [%]"))]
    made = Grid(", ".join(together.results), headings, text_columns=2)
    known, previous = _columns(), ""
    rows: dict[tuple[str, str, str], dict[int, Difference]] = {}
    for row in together.differences:
        rows.setdefault((row.kind, row.name, row.metric), {})[row.side] = row
    for (_, name, metric), sides in rows.items():
        column, a = known[metric], next(iter(sides.values())).a
        heading, unit, scale = column.heading, column.unit, column.scale
        if column.optional and a.mean == 0.0 and not any(one.b.mean for one in sides.values()):
            continue
        if unit == "bit/s":
            unit, scale = rate_unit(max(a.mean, *(one.b.mean for one in sides.values())))
        cells = [uncertain(a, scale)]
        for side in range(1, len(others) + 1):
            if side not in sides:
                cells += ["–", "–"]
                continue
            b = sides[side].b
            share = Estimate(sides[side].relative, sides[side].relative_ci95, min(a.runs, b.runs))
            cells += [uncertain(b, scale), signed(uncertain(share, 100))]
        if previous and previous != name:
            made.breaks.append(len(made.cells) - 1)
        shown = f"{heading} [{unit}]" if unit else heading
        made.cells.append([name if name != previous else "", shown, *cells])
        previous = name
    return made


def _columns() -> dict[str, Quantity]:
    """How metrics are shown, by name."""
    from tidegate.results.show import APPLICATION_COLUMNS, GROUP_COLUMNS, LINK_COLUMNS, Quantity

    delay = Quantity("mean_sojourn_s", "mean delay", "ms", 1e3)
    every = (*GROUP_COLUMNS, *LINK_COLUMNS, *APPLICATION_COLUMNS, delay)
    return {column.metric: column for column in every}


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


def _difference(
    a: NDArray[np.float64], b: NDArray[np.float64], *, paired: bool
) -> tuple[float, float]:
    return paired95(a, b) if paired and len(a) == len(b) else welch95(a, b)


def _known(values: NDArray[np.float64]) -> bool:
    return bool((~np.isnan(values)).any())


def default_names(results: Sequence[Result]) -> list[str]:
    """Where they ran, and if that does not tell all apart, their scenarios."""
    words = {"simulation": "simulated", "lab": "real Linux"}
    places = [
        words[result.kind] + (f", {_qdisc(result)}" if _qdisc(result) else "") for result in results
    ]
    if len(set(places)) == len(places):
        return places
    return [result.scenario.name for result in results]


def _qdisc(result: Result) -> str:
    """The kernel's queue at the bottleneck; empty where there is none."""
    found = tomllib.loads(result.scenario.to_toml()).get("bottleneck", {}).get("kernel_qdisc", {})
    return str(found.get("kind", ""))


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
