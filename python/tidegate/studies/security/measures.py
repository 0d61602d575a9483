"""What is read from a run."""

from __future__ import annotations

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
    others that auditors have dropped, of those that came to one.
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
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _lost(scenario: Scenario, tables: Tables) -> float:
    """Share of honest users' packets that auditors have dropped; none without auditors."""
    if "stages" not in tables:
        return float("nan")
    came = dropped = 0
    for row in tables["stages"].select(["stage", "group", "count", "value"]).to_pylist():
        group = row["group"]
        name = group if isinstance(group, str) else scenario.groups[group]
        if name in LIARS or ".exit." not in row["stage"]:
            continue
        if row["count"] in ("audited_packets", "undeclared_packets"):
            came += row["value"]
        elif row["count"].startswith("dropped"):
            dropped += row["value"]
    return dropped / came if came else float("nan")
