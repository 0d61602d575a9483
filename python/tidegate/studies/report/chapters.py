"""Which chapter of a long paper has which counts, where its results stand on several pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate.studies.page import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.studies.model import Experiment, Study
    from tidegate.studies.outcome import Outcome

_SECTION = re.compile(r"(\d+)(?:\.\d+)*")


def chapter_of(section: str) -> str:
    """Give the chapters that a section, a list or a range of them is of.

    >>> chapter_of("6.6.3"), chapter_of("4.3-5.4"), chapter_of("5.4.2, 5.4.4")
    ('6', '4 and 5', '5')
    """
    numbers = dict.fromkeys(match[1] for match in _SECTION.finditer(section))
    return " and ".join(sorted(numbers, key=int))


def chapter_table(study: Study, outcomes: Sequence[Outcome]) -> str:
    """Cells and claims by the chapter that has them, and the other pages with some of it."""
    cells = [
        (chapter_of(outcome.experiment.section), verdict.within)
        for outcome in outcomes
        for verdict in outcome.counted_cells
    ]
    claims = [
        (chapter_of(verdict.claim.section), verdict.held)
        for outcome in outcomes
        for verdict in outcome.counted_claims
    ]
    page = outcomes[0].experiment.page
    rows = [
        [chapter, _count(cells, chapter), _count(claims, chapter), _elsewhere(study, chapter, page)]
        for chapter in sorted({chapter for chapter, _ in cells + claims})
    ]
    return table(["chapter", "cells within", "claims held", "has more on"], rows)


def _count(judged: Iterable[tuple[str, bool]], chapter: str) -> str:
    good = [one for at, one in judged if at == chapter]
    return f"{sum(good)} of {len(good)}" if good else ""


def _elsewhere(study: Study, chapter: str, page: str) -> str:
    pages = {
        one.page: f"[{one.page or 'the analysis'}](RESULTS{'-' * bool(one.page)}{one.page}.md)"
        for one in study.experiments.values()
        if one.page != page and chapter in _chapters(one)
    }
    return ", ".join(pages.values())


def _chapters(experiment: Experiment) -> set[str]:
    sections = [claim.section for claim in experiment.claims]
    if experiment.cells:
        sections.append(experiment.section)
    return set(map(chapter_of, sections))
