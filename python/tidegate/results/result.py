"""What a simulation or a run on real Linux yields: tables, a summary, figures, a folder."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tidegate.errors import UsageError
from tidegate.results.arrow import texts
from tidegate.scenarios.reading import content_hash

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tidegate._native import Scenario
    from tidegate.figures.output import Output
    from tidegate.results.tables import Tables


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Tables of all replications of one scenario.

    Every table has the columns ``replication`` and ``seed``; units stand in the columns' names and
    in the fields' metadata. Times count from the start of the run, in seconds as floats; rates are
    bit/s on the wire unless the name says goodput.
    """

    scenario: Scenario
    run: pa.Table
    """One row per replication: seed, digest, events, packet-hops."""
    flows: pa.Table
    """One row per flow: throughput, goodput, losses, round-trip time."""
    users: pa.Table
    """The flows of each user together."""
    groups: pa.Table
    """Mean per user of each group, its share, its ratio to the first group."""
    links: pa.Table
    """One row per link: utilisation, backlog, sojourn time, drops, marks."""
    completions: pa.Table
    """Flow completion times and slowdown of each group by size of the transfer."""
    link_groups: pa.Table
    """What each group did to and got from each bottleneck."""
    delays: pa.Table
    """Queueing and one-way delays of each group's packets, and of users or flows if asked for."""
    transfers: pa.Table
    """Finite transfers."""
    group_series: pa.Table
    """Throughput of each group over time."""
    link_series: pa.Table
    """Backlog, drops, marks and price of each bottleneck over time."""
    flow_series: pa.Table
    """Window, round-trip time and price of the first flows of each group over time."""
    interval_groups: pa.Table | None = None
    """Throughput of each group by interval; only of a scenario with intervals."""
    interval_links: pa.Table | None = None
    """Utilisation, backlog and drops of each bottleneck by interval; only with intervals."""
    interval_flows: pa.Table | None = None
    """Throughput, marks and window of each flow by interval; only simulated, with intervals."""
    declarations: pa.Table | None = None
    """What each flow declared of congestion, by kind; only of a scenario whose senders do."""
    stages: pa.Table | None = None
    """What stages counted, by user; only of a scenario with stages that count."""
    stage_series: pa.Table | None = None
    """Fills of buckets and balances over time; only of a scenario with policers or auditors."""
    application_series: pa.Table | None = None
    """Calls in progress, target rates and qualities over time; only of a scenario with such."""
    path_series: pa.Table | None = None
    """What senders with BBR take their paths for over time; only simulated, with such senders."""
    applications: pa.Table | None = None
    """What videos and short flows tell of themselves; only of a scenario with such."""
    wall_s: float = float("nan")
    """Seconds of waiting that the runs took, NaN where unknown."""
    kind: str = "simulation"
    """``simulation``, or ``lab`` for runs on real Linux."""
    lab: pa.Table | None = None
    """Only of a lab: one row per replication, how well the machine kept up, and on which kernel."""

    @property
    def tables(self) -> Tables:
        """All tables by name."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if isinstance(value, pa.Table)}

    def numbers(self, table: str, column: str) -> NDArray[np.float64]:
        """Return a column of a table as numbers, NaN where a value is missing.

        >>> result.numbers("groups", "throughput_bps")  # doctest: +SKIP
        array([4812345.6, ...])
        """
        from tidegate.results.tables import numbers

        return numbers(self._with(table, column), column).astype(np.float64)

    def words(self, table: str, column: str) -> list[str]:
        """Return a column of names, such as ``group``."""
        found: list[str] = texts(self._with(table, column)[column]).to_pylist()
        return found

    def _with(self, table: str, column: str) -> pa.Table:
        """Return a table that has a column; a misspelt name is met with the nearest."""
        for name, known in ((table, list(self.tables)), (column, None)):
            names = known or self.tables[table].column_names
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
                raise UsageError(f"no {'table' if known else 'column'} {name!r}; {hint}")
        return self.tables[table]

    @property
    def replications(self) -> int:
        """Number of runs."""
        return int(self.run.num_rows)

    @property
    def averaged(self) -> Result:
        """The runs that count: all of a simulation, those of a lab in which the machine kept up."""
        if self.lab is None or False not in self.lab["valid"].to_pylist():
            return self
        import pyarrow.compute as pc

        valid = self.lab.filter(self.lab["valid"])["replication"]
        kept = {
            name: content.filter(pc.is_in(content["replication"], value_set=valid))
            for name, content in self.tables.items()
        }
        return replace(self, **kept)

    @property
    def invalid(self) -> list[tuple[int, str]]:
        """Seeds of the runs in which the machine could not keep up, each with the reasons."""
        if self.lab is None:
            return []
        return [(row["seed"], row["reasons"]) for row in self.lab.to_pylist() if not row["valid"]]

    @property
    def digests(self) -> list[tuple[int, str]]:
        """Seed and digest of each run."""
        seeds, digests = self.run["seed"].to_pylist(), self.run["digest"].to_pylist()
        return list(zip(seeds, digests, strict=True))

    @property
    def hash(self) -> str:
        """Hash of the scenario's content, without name, seed and number of replications."""
        return content_hash(self.scenario)

    def summary(self) -> pa.Table:
        """Means over replications with 95 % confidence half-widths (Student's t).

        One row per group or bottleneck and metric: kind, name, metric, unit, mean, ci95, runs.
        Of a lab, runs in which the machine could not keep up do not count.
        """
        from tidegate.results.summary import summary_table

        return summary_table(self.averaged.tables)

    def plot(
        self, folder: str | os.PathLike[str] = ".", output: Output | None = None
    ) -> list[Path]:
        """Draw throughput by group, each group and queue over time; return the files (PNG)."""
        from tidegate.figures.results import draw

        return draw({"": self}, Path(folder), output=output)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a result folder: manifest.json, scenario.toml and a Parquet file per table."""
        from tidegate.results.store import save

        return save({"": self}, Path(folder))

    def __repr__(self) -> str:
        name, count = self.scenario.name, self.replications
        where = " on real Linux" if self.kind == "lab" else ""
        return f"<Result of {name!r}: {count} run{'s' * (count != 1)}{where}>"

    def _repr_html_(self) -> str:
        from tidegate.results.show import html

        return html({"": self})


class Comparison(dict[str, Result]):
    """Results of variants of a scenario by name; the first is the scenario as it stands."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        super().__init__(results)

    def summary(self) -> pa.Table:
        """Summaries of all variants, with the variant's name in the first column."""
        parts = []
        for name, result in self.items():
            part = result.summary()
            names = pa.array([name] * part.num_rows, pa.string())
            parts.append(part.add_column(0, "variant", names))
        return pa.concat_tables(parts)

    def plot(
        self, folder: str | os.PathLike[str] = ".", output: Output | None = None
    ) -> list[Path]:
        """Draw the variants in the same axes; return the files (PNG)."""
        from tidegate.figures.results import draw

        return draw(self, Path(folder), output=output)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a result folder with one folder per variant in it."""
        from tidegate.results.store import save

        return save(self, Path(folder))

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self)}>"

    def _repr_html_(self) -> str:
        from tidegate.results.show import html

        return html(self)
