"""A scenario in, answers out: `tidegate.analyse`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.analysis.mapped.network import Mapped
from tidegate.analysis.mapped.refusal import NoModelError
from tidegate.analysis.views import VIEWS, ask
from tidegate.analysis.views.answer import Answer, Silence
from tidegate.errors import AnalysisError, UsageError
from tidegate.scenarios.reading import Settings, Source, load_scenario

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate._native import Scenario


@dataclass(frozen=True)
class Analysis:
    """What models say of a scenario: an answer for each view, or why there is none."""

    scenario: Scenario
    views: dict[str, Answer | Silence]

    def __getitem__(self, view: str) -> Answer | Silence:
        """The answer of a view."""
        return self.views[view]

    @property
    def answers(self) -> dict[str, Answer]:
        """Views that apply."""
        return {name: one for name, one in self.views.items() if isinstance(one, Answer)}

    @property
    def silences(self) -> dict[str, Silence]:
        """Views that do not."""
        return {name: one for name, one in self.views.items() if isinstance(one, Silence)}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Arrow tables by view and name, such as ``equilibrium_groups``; a view's own as its name.

        Single numbers of a view are a table of one row.
        """
        import pyarrow as pa

        found = {}
        for view, one in self.answers.items():
            if one.values:
                found[view] = pa.Table.from_pylist([dict(one.values)])
            for name, rows in one.tables.items():
                found[f"{view}_{name}"] = pa.Table.from_pylist(rows)
        return found

    def _repr_html_(self) -> str:
        from tidegate.analysis.show import html_of

        return html_of(self)

    def to_dict(self) -> dict[str, object]:
        """As `tidegate analyse --format json` prints it."""
        views = {name: one.to_dict() for name, one in self.views.items()}
        return {"scenario": {"name": self.scenario.name}, "views": views}


def analyse(
    scenario: Source,
    view: str | None = None,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
) -> Analysis:
    """Compute what can be computed of a scenario without simulating it.

    Parameters
    ----------
    scenario
        As for `load_scenario`.
    view
        ``"optimum"``, ``"equilibrium"``, ``"stability"``, ``"fluid"``, ``"activity"`` or
        ``"blocking"``; by default all of them.
    set
        Settings that win over the file: dotted key and value.

    Raises
    ------
    AnalysisError
        Where no model applies to the view that was asked for.
    ScenarioError
        With every error found in the scenario.

    """
    return analyse_scenario(load_scenario(scenario, set=set), view)


def analyse_scenario(scenario: Scenario, view: str | None = None) -> Analysis:
    """The same for a scenario that has been read."""
    if view is not None and view not in VIEWS:
        raise UsageError(f"no view {view!r}; there are {', '.join(VIEWS)}")
    mapped = Mapped(scenario)
    if view is not None:
        return Analysis(scenario, {view: ask(view, mapped)})
    return Analysis(scenario, {name: _answer_or_silence(name, mapped) for name in VIEWS})


def _answer_or_silence(view: str, mapped: Mapped) -> Answer | Silence:
    try:
        return ask(view, mapped)
    except NoModelError as error:
        return Silence(error.key, error.reason, error.nearest)
    except AnalysisError as error:
        return Silence(mapped.scenario.name, str(error), "see docs/analysis")
