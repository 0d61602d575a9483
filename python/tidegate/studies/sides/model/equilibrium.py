"""What the analysis predicts of the scenario of a point, and what it warns of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tidegate.analysis.theory import theory
from tidegate.errors import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate._native import Scenario
    from tidegate.studies.sides.model.formulas import ScenarioWith


def equilibrium(_: Mapping[str, Any], scenario: ScenarioWith) -> dict[str, float | str]:
    """Give what `simulate --theory` says: `model NAME METRIC` of groups and links, and `warnings`.

    The level `warned` has the kinds of causes, `other` for a warning without one, `none`, or
    `refused` where the analysis predicts nothing.
    """
    try:
        found = theory(cast("Scenario", scenario(())))
    except AnalysisError:
        return {"warned": "refused", "verdict": "refused"}
    kinds = sorted({cause.kind for cause in found.causes})
    kinds += ["other"] if len(found.warnings) > len(found.causes) else []
    predicted = {
        f"model {name} {metric}": value
        for (_, name, metric), value in found.predicted.items()
        if value > 0
    }
    return {"warned": ", ".join(kinds) or "none", "warnings": float(len(kinds)), **predicted}
