"""Pages of results: every cell and every claim of a study beside what we measured."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.extras import MissingLibraryError
from tidegate.results.statistics import decimals
from tidegate.studies.chance import tried
from tidegate.studies.judge import in_a_line
from tidegate.studies.page import filled_text, table, write_page
from tidegate.studies.report.beside import blocks_beside
from tidegate.studies.report.chapters import chapter_table
from tidegate.studies.report.sensitivity import sensitivity_section
from tidegate.studies.report.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tidegate.results.statistics import Estimate
    from tidegate.studies.explanations import Support
    from tidegate.studies.factors import Factor
    from tidegate.studies.judge import CellVerdict, ClaimVerdict
    from tidegate.studies.model import Baseline, Cell, Claim, Experiment, Study
    from tidegate.studies.outcome import Outcome
    from tidegate.studies.points import Points


@dataclass(frozen=True)
class Effort:
    """What was reproduced, and what it cost."""

    target: str
    """Such as `abc` or `abc/table2`."""
    runs: int
    cached: int
    """Number of these that came from the run cache."""
    packets: int
    cpu_s: float
    """Not on the page: it would change with every machine and every run."""
    replications: int | None
    """Maximum number of runs per point; `None`: the study's own counts."""


_PAGE = """
<!-- title -->

<!-- written -->

<!-- summary -->

<!-- how-to-read -->

<!-- experiments -->

<!-- own-runs -->

<!-- sensitivity -->

<!-- explanations -->
"""
"""The page of a study that has no `page.md` of its own."""


def write_report(
    folder: Path,
    *,
    study: Study,
    outcomes: Sequence[Outcome],
    supports: Sequence[Support],
    measured: Points,
    effort: Effort,
    page: str = "",
) -> None:
    """Write a page of results and its figures.

    A study's `page.md` (`page-NAME.md` for a page of this name) says where each block stands; see
    `blocks`. Without one, or without some of its experiments, the page has all of them, one after
    the other.
    """
    figures: dict[str, Path | None] = {}
    # Where matplotlib is not installed, a page has its tables alone.
    with suppress(MissingLibraryError):
        from tidegate.studies.figures import draw

        for one in outcomes:
            figures[one.experiment.name] = draw(one.experiment, measured, folder / "figures")
    parts = blocks(study, outcomes, supports, measured, effort, figures)
    template = study.folder / f"page{page and '-'}{page}.md"
    there = {one.experiment.name for one in outcomes}
    whole = there >= {one.name for one in study.experiments.values() if one.page == page}
    text = template.read_text(encoding="utf-8") if whole and template.is_file() else _PAGE
    text = study.numbers.filled(filled_text(text, parts), measured)
    write_page(folder / page_file(page), text.strip() + "\n")


def page_file(page: str) -> str:
    """File of a page; most studies have one."""
    return f"RESULTS{page and '-'}{page}.md"


def blocks(
    study: Study,
    outcomes: Sequence[Outcome],
    supports: Sequence[Support],
    measured: Points,
    effort: Effort,
    figures: Mapping[str, Path | None],
) -> dict[str, str]:
    """Give each block of a page by its name.

    Of each experiment there are `experiment: NAME`, and its parts: `figure: NAME`, `table: NAME`
    (`table: NAME 2` for the second), `cells: NAME`, `claims: NAME` and `runs: NAME`; where points
    were measured elsewhere as well, those of `blocks_beside`. `levels: X` lists the levels of a
    factor with a file of its own.
    """
    parts = {
        "title": f"# {study.title}: our results beside the paper's",
        "written": _written(study, effort, [outcome.experiment for outcome in outcomes]),
        "summary": _totals(study, outcomes),
        "how-to-read": _how_to_read(study),
        "own-runs": "\n\n".join(_with_own_runs(study, outcomes)),
        "sensitivity": "\n\n".join(sensitivity_section(study, measured)),
        "explanations": _explanations(supports, outcomes),
    }
    whole = []
    for outcome in outcomes:
        name = outcome.experiment.name
        own = _parts(outcome, measured, figures.get(name)) | blocks_beside(outcome, measured)
        parts |= own
        parts[f"experiment: {name}"] = _experiment(outcome, own)
        whole.append(parts[f"experiment: {name}"])
    factors = {name: one for each in outcomes for name, one in each.experiment.factors.items()}
    parts |= {f"levels: {name}": _levels(name, one) for name, one in factors.items() if one.about}
    return {**parts, "experiments": "\n\n".join(whole)}


def _levels(name: str, factor: Factor) -> str:
    """What a factor with a file of its own says of its levels."""
    rows = []
    for level, about in factor.about.items():
        page = about.get("page")
        title = f"[{about['title']}](../../docs/mechanisms/{page}.md)" if page else about["title"]
        rows.append([title, f"`{level}`", about.get("why", "")])
    return table([name, "name", "configured"], rows)


def _written(study: Study, effort: Effort, experiments: Sequence[Experiment]) -> str:
    reduced = [
        f"`{each.name}:{name}`"
        for each in experiments
        for name, series in each.series.items()
        if series.reduced
    ]
    written = f"Written by `tidegate reproduce {effort.target}`{_left_out(study)}"
    if not effort.runs:
        return f"{written}. All is computed, nothing simulated."
    counts = (
        "the numbers of runs that its experiments name"
        if effort.replications is None
        else f"at most {effort.replications} runs a point (few series have more), not the paper's"
    )
    if study.shortened:
        counts += ", some of them shorter (`quick_set` in study.toml)"
    if reduced:
        counts += f", with less in {' and '.join(reduced)} (`quick` in experiments/)"
    # Networks of several links have none of that name.
    packets = f",\n{effort.packets / 1e6:,.0f} million packets through the bottleneck"
    runs = f"{effort.runs:,} simulated runs{packets if effort.packets else ''}"
    return f"{written}, with {counts}: {runs}."


def _left_out(study: Study) -> str:
    if not study.without:
        return ""
    names = " and ".join(f"`{name}`" for name in sorted(study.without))
    return (
        f",\nwithout {names} (`quick_without` in study.toml), so that what these explain "
        "stands here as not explained"
    )


def _totals(study: Study, outcomes: Sequence[Outcome]) -> str:
    lists = ("undecided", "explained", "by_another_reading", "unexplained", "cannot_fail")
    rows, counts = [], [outcome.summary("") for outcome in outcomes]
    for outcome, count in zip(outcomes, counts, strict=True):
        title = f"[{outcome.experiment.title}](#{outcome.experiment.name})"
        rows.append([title, *_counts(count), *(str(len(count[name]) or "") for name in lists)])
    total = {key: sum(count[key] for count in counts) for key in _COUNTED}
    bold = [f"**{text}**" if text else "" for text in _counts(total)]
    rows.append(["**all**", *bold, *(f"**{sum(len(c[n]) for c in counts)}**" for n in lists)])
    head = [
        "experiment", "cells within", "claims held", "without the mechanism", "undecided",
        "explained", "held by another reading", "not explained", "cannot fail",
    ]  # fmt: skip
    parts = ["## Summary", *_beside_baselines(outcomes, total), table(head, rows)]
    if study.by_chapter and (total["cells"] or total["claims"]):
        parts += ["### By chapter", chapter_table(study, outcomes)]
    own = [outcome for outcome in outcomes if outcome.experiment.baseline == study.baseline]
    if study.baseline is not None and study.baseline.levels and any(one.cells for one in own):
        parts += [f"### What {study.baseline.name} has of it", _without(study.baseline, own)]
    return "\n\n".join(parts)


_COUNTED = (
    "cells", "cells_within", "claims", "claims_held",
    "without_mechanism", "without_mechanism_held",
)  # fmt: skip


def _beside_baselines(outcomes: Sequence[Outcome], total: Mapping[str, int]) -> list[str]:
    """How much of the page would be there without the mechanism."""
    names = dict.fromkeys(
        one.experiment.baseline.name for one in outcomes if one.experiment.baseline is not None
    )
    asked, held = total["without_mechanism"], total["without_mechanism_held"]
    if not asked:
        return []
    count = f"**{held} of the {asked}** cells and claims that can be asked then"
    place = f"What stands in its place: {'; '.join(names)}."
    return [f"Without the mechanism {count} would be within or hold. {place}"]


def _counts(counts: Mapping[str, Any]) -> list[str]:
    return [
        f"{counts['cells_within']} of {counts['cells']}" if counts["cells"] else "",
        f"{counts['claims_held']} of {counts['claims']}" if counts["claims"] else "",
        f"{counts['without_mechanism_held']} of {counts['without_mechanism']}"
        if counts["without_mechanism"]
        else "",
    ]


def _without(baseline: Baseline, outcomes: Sequence[Outcome]) -> str:
    """Cells within by themselves, and those that the baseline has as well."""
    rows = []
    everything: list[CellVerdict] = []
    for outcome in outcomes:
        by_level: dict[str, list[CellVerdict]] = {}
        for verdict in outcome.cells:
            level = " ".join(str(verdict.cell.levels[name]) for name in baseline.levels)
            by_level.setdefault(level, []).append(verdict)
        for level, verdicts in by_level.items():
            rows.append([outcome.experiment.name, level, *_beside(verdicts)])
            everything += verdicts
    rows.append(["**all**", "", *(f"**{text}**" for text in _beside(everything))])
    head = [
        "experiment", "mechanism", "cells", "ours within", f"{baseline.name} within",
        f"ours within, differs significantly from {baseline.name}",
        "no significant difference",
    ]  # fmt: skip
    text = f"""
How many cells would be within if {baseline.name} stood in place of every mechanism, and how many of
ours are within *and* differ from it by more than the 95 % interval of the difference. A mechanism
whose cells do not differ significantly from {baseline.name} does nothing that these numbers show.
"""
    return f"{text.strip()}\n\n{table(head, rows)}"


def _beside(verdicts: Sequence[CellVerdict]) -> list[str]:
    bare = [verdict.without_it for verdict in verdicts]
    return [
        str(len(verdicts)),
        str(sum(verdict.within for verdict in verdicts)),
        str(sum(one is not None and one.within for one in bare)),
        str(sum(verdict.within and verdict.differs for verdict in verdicts)),
        str(sum(not verdict.differs for verdict in verdicts)),
    ]


def _how_to_read(study: Study) -> str:
    return f"""
## How to read this

- A **cell** is a number that the paper prints. It is *within* where ours deviates by at most 10 %,
  or, for a throughput ratio, by at most 0.1, unless an item below says otherwise. Behind ± is the
  half-width of the 95 % confidence interval (Student's t over {study.samples}).
{study.terms}
- A **claim** is a statement of the paper's text, put to the measurements named in `experiments/`.
  It *holds* where the whole 95 % interval of what it asks about lies on the side that it says,
  *fails* where the interval lies on the other side, and is *undecided* where the limit is inside:
  of two means of ours that of their difference, of a value that of the value beside the limit or
  the tolerance given in brackets. What is computed exactly has no interval; one run decides
  nothing. What three times the runs may decide gets them (the cells do not). Where the check asks
  for less than the sentence, or for more, "Here:" says so.
- *Explained*: deviates, and a derivation shows why, or one parameter that the paper leaves open,
  measured with everything else as it is taken. *Held by another reading*: deviates, and comes out
  as the paper has it where the text is read otherwise or several things are changed at once. Both
  count neither as within nor as held.
- **Without the mechanism**: the cell or claim is judged a second time with a plain baseline in
  place of the mechanism; the tables name it. *Itself* has no mechanism in the first place; "–"
  cannot be asked, such as what is computed. What is within or holds there as well says nothing for
  the mechanism.
- *Cannot fail*: a parameter was fitted to the number, or what the paper prints is put in and comes
  back. It is in none of the other columns. Every other cell and claim is within or held, or stands
  in one of the columns undecided, explained, held by another reading, not explained.
"""


def _experiment(outcome: Outcome, parts: Mapping[str, str]) -> str:
    experiment = outcome.experiment
    section = f"Section {experiment.section} of the paper. " if experiment.section else ""
    head = f'<a id="{experiment.name}"></a>\n\n## {experiment.title}'
    own = [parts[name] for name in parts if name.partition(": ")[0] != "runs"]
    return "\n\n".join(
        [head, f"{section}{experiment.notes}".replace("\n", " "), *filter(None, own)]
    )


def _parts(outcome: Outcome, measured: Points, figure: Path | None) -> dict[str, str]:
    """Give the figure, the tables, the cells and the claims of an experiment as blocks."""
    experiment = outcome.experiment
    name = experiment.name
    parts = {f"figure: {name}": f"![{experiment.title}](figures/{figure.name})" if figure else ""}
    for number, text in enumerate(tables_of(experiment, measured), 1):
        parts[f"table: {name}{f' {number}' if number > 1 else ''}"] = text.strip()
    published = outcome.cells and experiment.beside is None
    parts[f"cells: {name}"] = _cell_table(outcome) if published else ""
    parts[f"claims: {name}"] = _claim_table(outcome) if outcome.claims else ""
    counts = sorted({one.replications for one in experiment.series.values() if one.simulated})
    parts[f"runs: {name}"] = " or ".join(map(str, counts))
    return parts


def _claim_table(outcome: Outcome) -> str:
    experiment = outcome.experiment
    beside = [baseline.name] if (baseline := experiment.baseline) else []
    asked_by = "the paper says" if experiment.section else "asked"
    head = ["claim", asked_by, "asked for", "measured", *beside, "verdict"]
    return table(head, [_claim_row(outcome, verdict) for verdict in outcome.claims])


def _cell_table(outcome: Outcome) -> str:
    factors = list(outcome.cells[0].cell.levels)
    bare = [baseline.name] if (baseline := outcome.experiment.baseline) else []
    head = [*factors, "metric", "paper", "ours", "deviation", *bare, "verdict"]
    return table(head, [_cell_row(outcome, verdict) for verdict in outcome.cells])


def _cell_row(outcome: Outcome, verdict: CellVerdict) -> list[str]:
    cell = verdict.cell
    ours = _estimate(cell, verdict.ours)
    other = verdict.ratio_of_means
    if other is not None and not math.isclose(other, verdict.ours.mean, rel_tol=0.01):
        ours += f" ({other:.{_digits(cell)}f})"
    unit = "" if cell.unit == "1" else f" {cell.unit}"
    return [
        *(str(level) for level in cell.levels.values()),
        cell.metric,
        f"{cell.value:g}{unit}",
        ours,
        f"{100 * verdict.deviation:+.1f} %",
        *_baseline_cell(outcome, verdict),
        _judged(outcome, verdict, "within" if verdict.within else "out", cell.cannot_fail),
    ]


def _digits(cell: Cell) -> int:
    return max(2, decimals(cell.value)) if cell.unit != "s" else 1


def _estimate(cell: Cell, value: Estimate) -> str:
    return value.written(_digits(cell))


def _baseline_cell(outcome: Outcome, verdict: CellVerdict) -> list[str]:
    """What stands there without the mechanism, in brackets where it is within as well."""
    if outcome.experiment.baseline is None:
        return []
    bare, known = verdict.without_it, outcome.without.get(verdict.cell.id)
    if bare is None or known is None:
        return ["–"]
    if known.itself:
        return ["itself"]
    text = f"{bare.ours.mean:.{_digits(verdict.cell)}f}{' (within)' if bare.within else ''}"
    return [text if verdict.differs else f"{text}, **no significant difference**"]


def _claim_row(outcome: Outcome, verdict: ClaimVerdict) -> list[str]:
    claim = verdict.claim
    judged = _judged(outcome, verdict, verdict.verdict.value, claim.cannot_fail)
    beside = [str(outcome.without[claim.id])] if claim.id in outcome.without else []
    return [f"`{claim.id}`", claim.text, _asked(claim), verdict.measured, *beside, judged]


def _asked(claim: Claim) -> str:
    """What is asked for, its tolerance, and what of the statement that leaves out or adds."""
    rules = {**claim.check, **(claim.parts[0].get("check", {}) if claim.parts else {})}
    allowed = [
        form.format(scale * rules[key])
        for key, (scale, form) in _TOLERANCES.items()
        if key in rules
    ]
    parts = [claim.check_text, f"({' or '.join(allowed)})" if allowed else ""]
    parts.append(f"*Here: {claim.reading}.*" if claim.reading else "")
    return " ".join(part for part in parts if part)


_TOLERANCES = {
    "rel_tol": (100.0, "± {:g} %"),
    "abs_tol": (1.0, "± {:g}"),
    "slack": (100.0, "± {:g} % beyond the ends"),
}


def _judged(
    outcome: Outcome, verdict: CellVerdict | ClaimVerdict, word: str, cannot_fail: str
) -> str:
    if cannot_fail:
        return f"{word}, *cannot fail*: {cannot_fail}"
    if word not in ("out", "fails"):
        return word
    return _deviates(outcome, verdict, word)


def _deviates(outcome: Outcome, verdict: CellVerdict | ClaimVerdict, word: str) -> str:
    support = outcome.explanation_of(verdict)
    if support is not None:
        link = f"[{support.explanation.id}](#{support.explanation.id})"
        other = support.with_other_assumption(verdict.cell) if hasattr(verdict, "cell") else None
        how = "explained" if support.explanation.explains else "held by another reading"
        return f"**{word}**, {how}: {link}" + (f", then {other.ours}" if other else "")
    notes = []
    for support in outcome.listed_for(verdict):
        one = support.explanation
        other = support.with_other_assumption(verdict.cell) if hasattr(verdict, "cell") else None
        if support.stale or other is None:
            notes.append(f"stale explanation: {one.id}")
        else:
            notes.append(f"[{one.id}](#{one.id}) comes to {other.ours}")
    return f"**{word}**" + (f" ({'; '.join(notes)})" if notes else "")


def _with_own_runs(study: Study, outcomes: Sequence[Outcome]) -> list[str]:
    """Claims whose verdict differs with the paper's number of runs."""
    if not any(outcome.with_own_runs for outcome in outcomes):
        return []
    rows = [
        [f"`{ours.claim.id}`", ours.verdict.value, few.verdict.value, few.measured]
        for outcome in outcomes
        for ours, few in outcome.otherwise
    ]
    own = study.own_replications
    head = ["claim", "with all runs", f"with the first {own}", f"measured with {own}"]
    found = table(head, rows) if rows else "No claim is decided otherwise."
    text = f"The first {own} runs a point alone:"
    return [f"## With as many runs as the paper has\n\n{text}\n\n{found}"]


def _explanations(supports: Sequence[Support], outcomes: Sequence[Outcome]) -> str:
    parts = ["## Explanations"]
    if not supports:
        parts.append("None are listed.")
    if any(support.explanation.assuming for support in supports):
        parts.append(_chance(supports, outcomes).strip())
    for support in supports:
        one = support.explanation
        head = f'<a id="{one.id}"></a>\n\n### {one.id}'
        measured = []
        if support.findings:
            state = "does NOT show it any more (stale)" if support.stale else "shows it"
            measured.append(f"Measured: {in_a_line(support.findings)}. This {state}.")
        lines = [head, *one.paragraphs(*measured)]
        if one.assuming:
            lines.append(_with_other_assumption(support, outcomes))
        parts.append("\n\n".join(lines))
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
    head = ["experiment", "cells tried", "brought within", "by chance"]
    return f"""
An explanation by another assumption holds for the cells that the assumption brings within their
tolerance. With several assumptions at hand one of them may do so by chance. The last column says
how many cells they would bring within on average, had the paper printed numbers drawn at random
from half to twice its own:

{table(head, rows)}
"""


def _with_other_assumption(support: Support, outcomes: Sequence[Outcome]) -> str:
    cells = [verdict for outcome in outcomes for verdict in outcome.cells]
    alone = tried(cells, [support])
    return (
        f"Measured with this assumption: {alone.explained} of the {alone.cells} deviating cells "
        f"that it is tried on come to lie within their tolerance ({alone.by_chance:.1f} would by "
        f"chance); it stands for these alone."
    )
