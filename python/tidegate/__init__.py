"""When a network link is congested: who gets what, and what would make it fair?

>>> import tidegate
>>> result = tidegate.simulate("scenarios/evening-peak.toml")  # doctest: +SKIP
>>> result.plot("figures")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from tidegate._native import Scenario, __version__
    from tidegate.analysis.analyse import Analysis, analyse
    from tidegate.errors import (
        Diagnostic,
        LabError,
        MissingError,
        MissingPageError,
        OverloadError,
        ResultError,
        RunError,
        ScenarioError,
        TidegateError,
        UsageError,
    )
    from tidegate.exploring import explore
    from tidegate.figures.metric_files import plot
    from tidegate.figures.output import Output
    from tidegate.laboratory.running import lab
    from tidegate.reporting import report
    from tidegate.results.comparing import SideBySide, compare_results
    from tidegate.results.result import Comparison, Result
    from tidegate.results.store import load
    from tidegate.runs.captures import Capture, capture
    from tidegate.runs.simulation import compare, simulate
    from tidegate.runs.sweeping import sweep
    from tidegate.runs.sweeps import Sweep, load_sweep
    from tidegate.scenarios.mechanisms import list_mechanisms, list_traffic
    from tidegate.scenarios.reading import load_scenario
    from tidegate.widget import explorer

__all__ = [
    "Analysis",
    "Capture",
    "Comparison",
    "Diagnostic",
    "LabError",
    "MissingError",
    "MissingPageError",
    "Output",
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
    "capture",
    "compare",
    "compare_results",
    "explore",
    "explorer",
    "lab",
    "list_mechanisms",
    "list_traffic",
    "load",
    "load_scenario",
    "load_sweep",
    "plot",
    "report",
    "reproduce",
    "schema",
    "simulate",
    "sweep",
    "validate",
]

# Tables cost a quarter of a second to import, which `tidegate --help` shall not pay. What is
# imported here is imported before the command can handle an interruption.
_LAZY = {
    "Analysis": "analysis.analyse",
    "Capture": "runs.captures",
    "Comparison": "results.result",
    "Diagnostic": "errors",
    "LabError": "errors",
    "MissingError": "errors",
    "MissingPageError": "errors",
    "Output": "figures.output",
    "OverloadError": "errors",
    "Result": "results.result",
    "ResultError": "errors",
    "RunError": "errors",
    "Scenario": "_native",
    "ScenarioError": "errors",
    "SideBySide": "results.comparing",
    "Sweep": "runs.sweeps",
    "TidegateError": "errors",
    "UsageError": "errors",
    "__version__": "_native",
    "analyse": "analysis.analyse",
    "capture": "runs.captures",
    "compare": "runs.simulation",
    "compare_results": "results.comparing",
    "explore": "exploring",
    "explorer": "widget",
    "lab": "laboratory.running",
    "list_mechanisms": "scenarios.mechanisms",
    "list_traffic": "scenarios.mechanisms",
    "load": "results.store",
    "load_scenario": "scenarios.reading",
    "load_sweep": "runs.sweeps",
    "plot": "figures.metric_files",
    "report": "reporting",
    "simulate": "runs.simulation",
    "sweep": "runs.sweeping",
}


def validate(scenario: object, **options: object) -> Scenario:
    """Check a scenario without running it: `load_scenario` under the command's name."""
    from tidegate.scenarios.reading import load_scenario

    return load_scenario(scenario, **options)  # type: ignore[arg-type]


def schema() -> dict[str, object]:
    """JSON Schema of scenario files."""
    import json

    from tidegate import _native

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
        Write the papers' own pages instead, ``studies/*/RESULTS.md`` and figures.

    Returns
    -------
    list
        An object per experiment: numbers of cells and claims, how many are within or hold, and
        the names of those that deviate.

    """
    from tidegate.runs.execution import Threads
    from tidegate.studies.reproduce import reproduce as run

    done = run(target, quick=quick, out=out, report=report, executor=Threads(jobs))
    return [summary for one in done for summary in one.summaries]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(f"tidegate.{_LAZY[name]}"), name)
    if name == "errors":
        return import_module("tidegate.errors")
    raise AttributeError(f"module 'tidegate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
