"""When a network link is congested: who gets what, and what would make it fair?

>>> import tidegate
>>> result = tidegate.simulate("scenarios/evening-peak.toml")  # doctest: +SKIP
>>> result.plot("figures")  # doctest: +SKIP
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidegate import _native
from tidegate._native import Scenario, __version__
from tidegate.errors import (
    Issue,
    LabError,
    MissingError,
    OverloadError,
    ResultError,
    RunError,
    ScenarioError,
    TidegateError,
    UsageError,
)
from tidegate.laboratory.running import lab
from tidegate.runs.simulation import compare, simulate
from tidegate.scenarios.mechanisms import list_mechanisms
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    import os

    from tidegate.analysis.analyse import Analysis, analyse
    from tidegate.results.comparing import SideBySide, compare_results
    from tidegate.results.result import Comparison, Result
    from tidegate.results.store import load
    from tidegate.runs.sweeping import sweep
    from tidegate.runs.sweeps import Sweep, load_sweep

__all__ = [
    "Analysis",
    "Comparison",
    "Issue",
    "LabError",
    "MissingError",
    "OverloadError",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SideBySide",
    "Sweep",
    "TidegateError",
    "UsageError",
    "__version__",
    "analyse",
    "compare",
    "compare_results",
    "lab",
    "list_mechanisms",
    "load",
    "load_scenario",
    "load_sweep",
    "reproduce",
    "schema",
    "simulate",
    "sweep",
    "validate",
]

# Tables cost a quarter of a second to import, which `tidegate --help` shall not pay.
_LAZY = {
    "Analysis": "tidegate.analysis.analyse",
    "Comparison": "tidegate.results.result",
    "Result": "tidegate.results.result",
    "SideBySide": "tidegate.results.comparing",
    "Sweep": "tidegate.runs.sweeps",
    "analyse": "tidegate.analysis.analyse",
    "compare_results": "tidegate.results.comparing",
    "load": "tidegate.results.store",
    "load_sweep": "tidegate.runs.sweeps",
    "sweep": "tidegate.runs.sweeping",
}


def validate(scenario: object, **options: object) -> Scenario:
    """Check a scenario without running it: `load_scenario` under the command's name."""
    return load_scenario(scenario, **options)  # type: ignore[arg-type]


def schema() -> dict[str, object]:
    """JSON Schema of scenario files."""
    content: dict[str, object] = json.loads(_native.schema())
    return content


def reproduce(
    target: str | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    report: bool = False,
) -> list[dict[str, object]]:
    """Reproduce the papers (``None``), one (``"abc"``) or one experiment (``"abc/table2"``).

    Parameters
    ----------
    quick
        Every cell and claim, with fewer runs.
    jobs
        Threads; default: one per core.
    out
        Where reports go, each in a folder of its own such as ``reproduce-abc-table2``; default:
        ``results``.
    report
        Write the papers' own pages instead, ``papers/*/RESULTS.md`` and figures.

    Returns
    -------
    list
        An object per experiment: numbers of cells and claims, how many are within or hold, and
        the names of those that deviate.

    """
    from tidegate.runs.execution import Threads
    from tidegate.studies.papers.reproduction import reproduce as run

    done = run(target, quick=quick, out=out, report=report, executor=Threads(jobs))
    return [summary for one in done for summary in one.summaries]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tidegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
