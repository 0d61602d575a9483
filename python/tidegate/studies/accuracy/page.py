"""docs/analysis/how-near.md: its template filled with what came out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tidegate.studies.accuracy import outcomes
from tidegate.studies.accuracy.outcomes import Outcome, Verdict
from tidegate.studies.page import filled, table, write_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tidegate.analysis.accuracy.measured import Measured

GATE, SAMPLE = "studies/stability/accuracy.csv", "studies/stability/accuracy-sample.csv"
TEMPLATE = "studies/stability/accuracy.md"
PAGE = "docs/analysis/how-near.md"


def write(root: Path) -> Path:
    """Write the page."""
    return write_page(root / PAGE, text(root))


def text(root: Path) -> str:
    """The page."""
    gate, drawn = outcomes.read(root / GATE), outcomes.read(root / SAMPLE)
    parts = {
        "gate-counts": counts(gate),
        "sample-counts": counts(drawn),
        "gate": _scenarios(gate),
        "causes": _causes(outcomes.ranges(drawn)),
        "scenarios": len(gate),
        "drawn": len(drawn),
        "silent": sum(one.silent for one in gate),
        "silent-drawn": sum(one.silent for one in drawn),
    }
    return filled(root / TEMPLATE, parts)


def counts(found: Sequence[Outcome]) -> str:
    """How many are near, undecided, off and refused, with a warning and without."""
    of = Counter((one.verdict, bool(one.warnings)) for one in found)
    names = {
        Verdict.NEAR: "within both bounds",
        Verdict.UNDECIDED: "beyond a bound by less than the 95 % interval",
        Verdict.OFF: "beyond a bound by more",
        Verdict.REFUSED: "refused with a reason",
    }
    rows = [
        [words, f"{of[verdict, False]}", f"{of[verdict, True]}"] for verdict, words in names.items()
    ]
    return table(["packets are", "without a warning", "with one"], rows, numbers_from=1)


def _scenarios(found: Sequence[Outcome]) -> str:
    rows = []
    for one in found:
        rates, queues = (_ends(one, rates=rates) for rates in (True, False))
        rows.append([one.name, str(one.verdict), rates, queues, ", ".join(one.warnings) or "–"])
    head = ["scenario", "packets are", "rates off by [%]", "queue off by [%]", "warned of"]
    return table(head, rows)


def _ends(one: Outcome, *, rates: bool) -> str:
    ends = one.range_of(rates=rates)
    if ends is None:
        return "–"
    low, high = (f"{100 * end:+.0f}" for end in ends)
    return low if low == high else f"{low} to {high}"


def _causes(found: Mapping[str, Measured]) -> str:
    rows = [
        [
            kind,
            str(one.scenarios),
            *(_range(ends) for ends in (one.rates_percent, one.queue_percent)),
        ]
        for kind, one in found.items()
    ]
    head = ["cause", "scenarios", "rates off by [%]", "queue off by [%]"]
    return table(head, rows, numbers_from=1)


def _range(ends: tuple[int, int]) -> str:
    low, high = ends
    return f"{low:+d} to {high:+d}"
