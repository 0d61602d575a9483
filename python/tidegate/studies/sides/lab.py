"""The sides `lab` and `kernel`: a series' scenarios on Linux, read as simulated runs are read.

On this machine's kernel that needs root and real time; runs in which the machine did not keep up
are in no mean. On a stock kernel in virtual time it needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.results.statistics import Estimate, estimate
from tidegate.studies.machine import machine
from tidegate.studies.metrics import Run
from tidegate.studies.runner import native_engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.results.result import Result
    from tidegate.runs.simulation import Showing
    from tidegate.studies.factors import Setting
    from tidegate.studies.metrics import Measures
    from tidegate.studies.running import Columns

_TIMING = (
    "packets", "late_packets", "lateness_mean_s", "lateness_p99_s", "lateness_max_s", "overruns",
    "cpu_share", "load_lateness_max_s", "busy_share",
)  # fmt: skip
"""Columns of the table `lab` that are kept, with the least and the most of any run."""


def measure(
    settings: Sequence[Setting],
    measures: Measures,
    *,
    jobs: int,
    progress: Showing,
    kernel: str | None = None,
) -> Iterator[tuple[int, dict[str, Estimate], dict[str, str]]]:
    """Give the metrics of each setting, by its place, and where they were measured."""
    from tidegate.laboratory.running import lab_each

    # Settings that only read a run in another way share it.
    scenarios = [native_engine(one.base, one.overrides) for one in settings]
    places: dict[str, list[int]] = {}
    different: dict[str, Any] = {}
    for place, one in enumerate(scenarios):
        places.setdefault(one.to_toml(), []).append(place)
        different[one.to_toml()] = one
    for count in sorted({one.replications for one in different.values()}):
        some = {name: one for name, one in different.items() if one.replications == count}
        runs = lab_each(some, replications=count, jobs=jobs, progress=progress, kernel=kernel)
        for name, result in runs:
            for place in places[name]:
                yield place, *_point(result, settings[place], measures)


def _point(
    result: Result, setting: Setting, measures: Measures
) -> tuple[dict[str, Estimate], dict[str, str]]:
    assert result.lab is not None, "a lab tells how it went"  # noqa: S101
    lab_rows = result.lab.to_pylist()
    valid = [one for one in lab_rows if one["valid"]]
    scenario = result.scenario
    begin_s = scenario.warm_up_s
    names = {**setting.names, "begin_s": begin_s, "end_s": begin_s + scenario.duration_s}
    runs = []
    for one in valid:
        columns = _columns(result, one["replication"])
        reads = {n: r.of(columns, scenario.groups, names) for n, r in measures.reads.items()}
        runs.append(Run(reads, 0))
    found = measures.of(runs) if runs else {}
    found = {name: one for name, one in found.items() if one.runs}
    for name in _TIMING:
        values = [one[name] for one in valid if one.get(name) is not None]
        if values:
            ends = {f"{name}_least": Estimate(min(values)), f"{name}_most": Estimate(max(values))}
            found |= {name: estimate(values), **ends}
    found["invalid_runs"] = Estimate(float(len(lab_rows) - len(valid)))
    return found, {"kernel": lab_rows[0]["kernel"], "machine": _machine(lab_rows[0])}


def _machine(row: Mapping[str, Any]) -> str:
    """Give this machine, or the guest's."""
    if row.get("qemu") is None:
        return machine()
    return f"qemu {row['qemu']} in virtual time, 2^{row['icount_shift']} ns an instruction"


def _columns(result: Result, replication: int) -> Columns:
    """Give the tables of one run as the engine gives them: groups by their number."""
    return {
        name: {
            column: _array(column, content.filter(pc.equal(content["replication"], replication)))
            for column in content.column_names
        }
        for name, content in result.tables.items()
    }


def _array(column: str, content: pa.Table) -> Any:  # noqa: ANN401 - numbers or names
    values = content[column].combine_chunks()
    if not pa.types.is_dictionary(values.type):
        return values.to_numpy(zero_copy_only=False)
    return values.indices.to_numpy() if column == "group" else np.array(values.to_pylist())
