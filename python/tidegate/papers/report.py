"""RESULTS.md: every cell and every claim of a paper beside what we measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.papers.chance import tried
from tidegate.papers.estimates import decimals
from tidegate.papers.figures import draw
from tidegate.papers.traits import trait_section
from tidegate.papers.verdicts import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tidegate.papers.book import Book
    from tidegate.papers.experiments import Paper
    from tidegate.papers.explanations import Support
    from tidegate.papers.outcome import Outcome
    from tidegate.papers.verdicts import CellVerdict, ClaimVerdict


@dataclass(frozen=True)
class Effort:
    """What was reproduced, and what it cost."""

    target: str
    """Such as `abc` or `abc/table2`."""
    runs: int
    packets: int
    cpu_s: float
    """Not on the page: it would change with every machine and every run."""
    replications: int | None
    """Runs a point at most; `None`: the paper's own counts."""


def write_report(
    folder: Path,
    *,
    paper: Paper,
    outcomes: Sequence[Outcome],
    supports: Sequence[Support],
    book: Book,
    effort: Effort,
) -> None:
    """Write RESULTS.md and the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes:
        draw(outcome.experiment, book, folder / "figures")
    sections = [
        _head(paper, effort),
        _totals(outcomes),
        _how_to_read(paper),
        *(_experiment(outcome) for outcome in outcomes),
        *trait_section(paper, book),
        _explanations(supports, outcomes),
    ]
    text = "\n\n".join(section.strip() for section in sections if section.strip())
    (folder / "RESULTS.md").write_text(text + "\n", encoding="utf-8")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table with the first row as head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell_text(text) for text in line) + " |" for line in lines)


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _head(paper: Paper, effort: Effort) -> str:
    counts = (
        "the paper's own numbers of runs"
        if effort.replications is None
        else f"at most {effort.replications} runs a point (`--quick`), not the paper's numbers"
    )
    return f"""
# {paper.title}: our results beside the paper's

Written by `tidegate reproduce {effort.target}`, with {counts}: {effort.runs:,} simulated runs,
{effort.packets / 1e6:,.0f} million packets through the bottleneck.
"""


def _totals(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        counts = outcome.summary("")
        rows.append(
            [
                f"[{outcome.experiment.title}](#{outcome.experiment.name})",
                f"{counts['cells_within']} of {counts['cells']}" if counts["cells"] else "",
                f"{counts['claims_held']} of {counts['claims']}" if counts["claims"] else "",
                str(len(counts["explained"]) or ""),
                str(len(counts["unexplained"]) or ""),
            ]
        )
    cells = [verdict for outcome in outcomes for verdict in outcome.cells]
    claims = [verdict for outcome in outcomes for verdict in outcome.claims]
    within, held = sum(v.within for v in cells), sum(v.held for v in claims)
    rows.append(
        ["**all**", f"**{within} of {len(cells)}**", f"**{held} of {len(claims)}**", "", ""]
    )
    head = ["experiment", "cells within", "claims held", "explained", "not explained"]
    return "## Summary\n\n" + markdown_table(head, rows)


def _how_to_read(paper: Paper) -> str:
    return f"""
## How to read this

- A **cell** is a number that the paper prints. It is *within* where ours deviates by at most 10 %,
  or, for a throughput ratio, by at most 0.1. Behind ± is the half-width of the 95 % confidence
  interval (Student's t over {paper.samples}).
{paper.terms}
- A **claim** is a statement of the paper's text, put to the measurements named in `experiments/`.
  Orderings fail only where two means contradict them by more than the 95 % interval of their
  difference; all other claims are put to the means.
- *Explained*: deviates, but an explanation at the end of this page is listed for it and one of our
  measurements shows its effect. It still counts neither as within nor as held.
"""


def _experiment(outcome: Outcome) -> str:
    experiment = outcome.experiment
    parts = [
        f'<a id="{experiment.name}"></a>\n\n## {experiment.title}',
        f"Section {experiment.section} of the paper. {experiment.notes}".replace("\n", " "),
    ]
    if experiment.figure is not None:
        parts.append(f"![{experiment.title}](figures/{experiment.name}.png)")
    if outcome.cells:
        parts.append(_cell_table(outcome))
    if outcome.claims:
        head = ["claim", "the paper says", "asked for", "measured", "verdict"]
        rows = [_claim_row(outcome, verdict) for verdict in outcome.claims]
        parts.append(markdown_table(head, rows))
    return "\n\n".join(parts)


def _cell_table(outcome: Outcome) -> str:
    factors = list(outcome.cells[0].cell.levels)
    head = [*factors, "metric", "paper", "ours", "deviation", "verdict"]
    return markdown_table(head, [_cell_row(outcome, verdict) for verdict in outcome.cells])


def _cell_row(outcome: Outcome, verdict: CellVerdict) -> list[str]:
    cell = verdict.cell
    if verdict.missing:
        unknown = ["", "", f"**not reproduced**: {verdict.missing}"]
        return [*map(str, cell.levels.values()), cell.metric, f"{cell.value:g}", *unknown]
    digits = max(2, decimals(cell.value)) if cell.unit != "s" else 1
    ours = f"{verdict.ours.mean:.{digits}f} ± {verdict.ours.half_width:.{digits}f}"
    other = verdict.ratio_of_means
    if other is not None and not math.isclose(other, verdict.ours.mean, rel_tol=0.01):
        ours += f" ({other:.{digits}f})"
    unit = "" if cell.unit == "1" else f" {cell.unit}"
    return [
        *(str(level) for level in cell.levels.values()),
        cell.metric,
        f"{cell.value:g}{unit}",
        ours,
        f"{100 * verdict.deviation:+.1f} %",
        "within" if verdict.within else _deviates(outcome, verdict, "out"),
    ]


def _claim_row(outcome: Outcome, verdict: ClaimVerdict) -> list[str]:
    claim = verdict.claim
    judged = "holds" if verdict.held else _deviates(outcome, verdict, "fails")
    return [f"`{claim.id}`", claim.text, claim.check_text, verdict.measured, judged]


def _deviates(outcome: Outcome, verdict: CellVerdict | ClaimVerdict, word: str) -> str:
    support = outcome.explanation_of(verdict)
    if support is not None:
        link = f"[{support.explanation.id}](#{support.explanation.id})"
        other = support.with_other_assumption(verdict.cell) if hasattr(verdict, "cell") else None
        return f"**{word}**, explained: {link}" + (f", then {other.ours}" if other else "")
    notes = []
    for support in outcome.listed_for(verdict):
        one = support.explanation
        other = support.with_other_assumption(verdict.cell) if hasattr(verdict, "cell") else None
        if support.stale or other is None:
            notes.append(f"stale explanation: {one.id}")
        else:
            notes.append(f"[{one.id}](#{one.id}) comes to {other.ours}")
    return f"**{word}**" + (f" ({'; '.join(notes)})" if notes else "")


def _explanations(supports: Sequence[Support], outcomes: Sequence[Outcome]) -> str:
    parts = ["## Explanations"]
    if not supports:
        parts.append("None are listed.")
    if any(support.explanation.assuming for support in supports):
        parts.append(_chance(supports, outcomes).strip())
    for support in supports:
        one = support.explanation
        head = f'<a id="{one.id}"></a>\n\n### {one.id}'
        shown = []
        if support.findings:
            state = "does NOT show it any more (stale)" if support.stale else "shows it"
            shown.append(f"Measured: {told(support.findings)}. This {state}.")
        if one.assuming:
            shown.append(_with_other_assumption(support, outcomes))
        parts.append("\n\n".join([head, one.text, *shown]))
    return "\n\n".join(parts)


def _chance(supports: Sequence[Support], outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        one = tried(outcome.cells, supports)
        if one.cells:
            rows.append(
                [
                    outcome.experiment.title,
                    str(one.cells),
                    str(one.explained),
                    f"{one.by_chance:.1f}",
                ]
            )
    head = ["experiment", "cells tried", "explained", "by chance"]
    return f"""
Where another assumption is to explain cells, it explains those that it brings within their
tolerance. With several assumptions at hand one of them may do so by chance. The last column says
how many cells they would explain on average, had the paper printed numbers drawn at random from
half to twice its own:

{markdown_table(head, rows)}
"""


def _with_other_assumption(support: Support, outcomes: Sequence[Outcome]) -> str:
    cells = [verdict for outcome in outcomes for verdict in outcome.cells]
    alone = tried(cells, [support])
    return (
        f"Measured with this assumption: {alone.explained} of the {alone.cells} deviating cells "
        f"that it is tried on come to lie within their tolerance ({alone.by_chance:.1f} would by "
        f"chance); only these it explains."
    )
