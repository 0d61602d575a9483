"""The side `kernel`: a series' scenarios in the lab on a stock kernel in virtual time.

They are read as simulated runs are read. It needs no root. The same seeds give the same runs, at
any load of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.studies.sides import lab

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.results.statistics import Estimate
    from tidegate.runs.simulation import Showing
    from tidegate.studies.factors import Setting
    from tidegate.studies.metrics import Measures


def measure(
    settings: Sequence[Setting],
    measures: Measures,
    *,
    jobs: int,
    progress: Showing,
    kernel: str = "auto",
) -> list[tuple[dict[str, Estimate], dict[str, str]]]:
    """Give the metrics of each setting, and where they were measured."""
    return lab.measure(settings, measures, jobs=jobs, progress=progress, kernel=kernel)
