"""What is read from a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tidegate.results.tables import numbers

if TYPE_CHECKING:
    from tidegate._native import Scenario
    from tidegate.results.tables import Tables
    from tidegate.studies.running import Numbers

LIARS = ("cheat", "cover")
"""Groups of the one who may cheat."""


def of_run(scenario: Scenario, tables: Tables) -> Numbers:
    """Numbers of one run.

    ``cheat_bps`` is the goodput of the one who may cheat, ``honest_bps`` and ``light_bps`` the mean
    of the other heavy and of the light users; ``lost_to_auditor`` the share of the packets of all
    others that auditors have dropped, of those that came to one. Of the one who may cheat
    ``declared_of_met`` is what he has declared of the marks that his packets had where they left,
    and ``refused`` the share of his packets that policers have dropped.
    """
    groups = scenario.groups
    flows = tables["flows"]
    users, goodput = numbers(flows, "user").astype(int), numbers(flows, "goodput_bps")
    of_user = np.bincount(users, weights=goodput, minlength=len(scenario.user_groups))
    whose = np.array([groups[number] for number in scenario.user_groups])
    values = {
        f"{group}_bps": float(of_user[whose == group].mean())
        for group in ("honest", "light")
        if group in groups
    }
    if "cheat" in groups:
        values["cheat_bps"] = float(of_user[np.isin(whose, LIARS)].sum())
    values["lost_to_auditor"] = _lost(scenario, tables)
    if "cheat" in groups and "stages" in tables:
        values |= _declared_shares(scenario, tables)
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _lost(scenario: Scenario, tables: Tables) -> float:
    """Share of honest users' packets that auditors have dropped; none without auditors."""
    if "stages" not in tables:
        return float("nan")
    counts = _counts(scenario, tables, "egress", liars=False)
    came = counts["audited_packets"] + counts["undeclared_packets"]
    dropped = sum(value for name, value in counts.items() if name.startswith("dropped"))
    return dropped / came if came else float("nan")


def _declared_shares(scenario: Scenario, tables: Tables) -> dict[str, float]:
    """How much of what he met the one who may cheat has declared, and whether he might."""
    left = _counts(scenario, tables, "egress", liars=True)
    came = _counts(scenario, tables, "ingress", liars=True)
    met, sent = left["met_mark_bytes"], came["conex_packets"]
    nothing = float("nan")
    return {
        "declared_of_met": left["declared_mark_bytes"] / met if met else nothing,
        "refused": came["dropped: over allowance"] / sent if sent else nothing,
    }


def _counts(scenario: Scenario, tables: Tables, end: str, *, liars: bool) -> Counter[str]:
    """What the stages at one end have counted, of the one who may cheat or of all others."""
    found: Counter[str] = Counter()
    for row in tables["stages"].select(["stage", "group", "count", "value"]).to_pylist():
        group = row["group"]
        name = group if isinstance(group, str) else scenario.groups[group]
        if (name in LIARS) == liars and f".{end}." in row["stage"]:
            found[row["count"]] += row["value"]
    return found
