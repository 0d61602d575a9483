"""`docs/league.md`: the template `studies/league/page.md`, filled with what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.studies.league.field import set_flags
from tidegate.studies.league.findings import read
from tidegate.studies.league.tables import paying_grid, situation_grid
from tidegate.studies.league.tables import table as league_table
from tidegate.studies.page import filled, grid_table, table

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.studies.league.findings import Finding
    from tidegate.studies.league.scores import Scores


def page(folder: Path, scores: Scores) -> tuple[str, list[Finding]]:
    """The page's text, and what it says."""
    findings = read(folder / "findings.toml", scores)
    parts = {
        "table": grid_table(league_table(scores, scores.regular)),
        "fitted": _fitted(scores),
        "payers": _payers(scores),
        "mechanisms": _mechanisms(scores),
        "situations": _situations(scores),
        "numbers": _numbers(scores),
        "cost": _cost(scores),
        "lab": _lab(scores),
        "example": _example(scores),
    }
    for section in dict.fromkeys(one.section for one in findings):
        parts[section] = _findings([one for one in findings if one.section == section])
    return filled(folder / "page.md", parts), findings


def _findings(findings: list[Finding]) -> str:
    lines = []
    for one in findings:
        doubt = f" *(These numbers do not show it: {'; '.join(one.failed)}.)*" if one.failed else ""
        lines.append(f"- {one.text}{doubt}")
    return "\n".join(lines)


def _mechanisms(scores: Scores) -> str:
    rows = []
    for one in (scores.mechanisms[name] for name in scores.regular):
        title = f"[{one.title}](mechanisms/{one.page}.md)" if one.page else one.title
        rows.append([title, f"`{one.name}`", one.why])
    return table(["mechanism", "name", "configured"], rows)


def _payers(scores: Scores) -> str:
    """How everybody fares where customers may pay, and how those are configured that let them."""
    if not scores.paying:
        return ""
    told = [
        f"- [{one.title}](mechanisms/{one.page}.md), `{name}`: {one.why}"
        for name, one in scores.mechanisms.items()
        if one.pays
    ]
    return "\n\n".join([grid_table(paying_grid(scores)), "\n".join(told)])


def _fitted(scores: Scores) -> str:
    """Mechanisms with another parameter, beside what they are like."""
    extras = [name for name, one in scores.mechanisms.items() if one.extra]
    pairs = [(name.rpartition("-")[0], name) for name in extras]
    names = [
        name
        for name in dict.fromkeys(name for pair in pairs for name in pair)
        if name in scores.mechanisms
    ]
    return grid_table(league_table(scores, names)) if names else ""


def _situations(scores: Scores) -> str:
    rows = []
    for one in scores.situations.values():
        runs = max((len(scores.standings.runs(one.name, m)) for m in scores.mechanisms), default=0)
        where = " (lab)" if one.lab else ""
        rows.append([
            f"[{one.line_title}](../studies/league/situations/{one.name}.toml){where}",
            str(one.content.get("description", "")),
            f"{one.ratio[0]} : {one.ratio[1]}",
            str(runs),
        ])  # fmt: skip
    return table(["situation", "what happens", "ratio", "runs"], rows)


def _numbers(scores: Scores) -> str:
    parts = []
    for one in scores.situations.values():
        grid = situation_grid(scores, one, list(scores.mechanisms))
        if grid.cells:
            about = one.content.get("description", "")
            parts.append(f"### {one.heading}\n\n{about}.\n\n{grid_table(grid)}")
    return "\n\n".join(parts)


def _cost(scores: Scores) -> str:
    cost = scores.standings.cost
    if not cost:
        return "Processor time has not been measured."
    return (
        f"Processor time was measured on {cost['machine']}: {cost['packets']:,} full packets of "
        f"{cost['customers']:,} customers, {cost['load']:g} times what the link carries."
    )


def _lab(scores: Scores) -> str:
    labs = [one for one in scores.situations.values() if one.lab]
    lines = []
    for one in labs:
        entries = scores.standings.entries.get(one.name, {}).values()
        runs = [run for entry in entries for run in entry.runs]
        if not runs:
            lines.append(f"{one.heading} has not been measured yet.")
            continue
        where = {f"Linux {e.about['kernel']} on {e.about['machine']}" for e in entries}
        old = [m.title for m in scores.mechanisms.values()
               if scores.standings.runs(one.name, m.name)
               and not scores.standings.has(one, m, runs=1, quick=False)]  # fmt: skip
        bad = [run for run in runs if not run.get("valid", True)]
        lines.append(
            f"{'; '.join(sorted(where))}; {len(runs)} runs, "
            + (f"{len(bad)} of them invalid and left out." if bad else "none of them invalid.")
            + (f" Measured with other settings: {', '.join(old)}." if old else "")
        )
    return "\n".join(lines)


def _example(scores: Scores) -> str:
    """A command line that repeats a run of the league."""
    situation = next(iter(scores.situations.values()))
    name = next(
        (n for n, one in scores.mechanisms.items() if one.users), next(iter(scores.mechanisms))
    )
    return " \\\n    ".join([
        f"tidegate simulate studies/league/situations/{situation.name}.toml",
        *set_flags(situation, scores.mechanisms[name]),
    ])  # fmt: skip
