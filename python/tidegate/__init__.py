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
from tidegate.laboratory import lab
from tidegate.mechanisms import list_mechanisms
from tidegate.scenario import load_scenario
from tidegate.simulation import compare, simulate

if TYPE_CHECKING:
    import os

    from tidegate.comparing import SideBySide, compare_results
    from tidegate.result import Comparison, Result
    from tidegate.store import load
    from tidegate.sweeping import Sweep, load_sweep, sweep

__all__ = [
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
    "Comparison": "tidegate.result",
    "Result": "tidegate.result",
    "SideBySide": "tidegate.comparing",
    "Sweep": "tidegate.sweeping",
    "compare_results": "tidegate.comparing",
    "load": "tidegate.store",
    "load_sweep": "tidegate.sweeping",
    "sweep": "tidegate.sweeping",
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
    from tidegate.reproduction import run

    return run(target, quick, jobs, out=out, report=report)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tidegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
