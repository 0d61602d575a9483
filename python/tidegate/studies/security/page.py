"""`docs/conex-security.md`: the template `page.md`, filled with what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.studies.page import filled, table
from tidegate.studies.security.field import AUDITED, HONEST
from tidegate.studies.security.verdicts import LOST, MOST

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.results.statistics import Estimate
    from tidegate.studies.security.verdicts import Findings


def page(template: Path, findings: Findings) -> str:
    """The page's text."""
    return filled(template, {
        "verdict": _verdict(findings),
        "gains": gains(findings),
        "pays": _pays(findings),
        "losses": losses(findings),
        "effort": _effort(findings),
    })  # fmt: skip


def gains(findings: Findings) -> str:
    """A row a strategy, a column a defence and a number of flows."""
    field = findings.field
    defences = field.titles("defences")
    columns = [(defence, size) for size in field.sizes for defence in defences]
    head = [f"{defences[defence]}, {size} flows" for defence, size in columns]
    rows = []
    for strategy, title in field.titles("strategies").items():
        found = [findings.gain(defence, strategy, size) for defence, size in columns]
        rows.append([title, *(_ratio(gain.ratio) if gain else "–" for gain in found)])
    return table(["strategy", *head], rows, numbers_from=1)


def losses(findings: Findings) -> str:
    """What honest users lose to auditors."""
    rows = [
        [title, _share(findings.lost(name))]
        for name, title in findings.field.titles(HONEST).items()
    ]
    beside = [
        (findings.lost_beside(strategy, size), title, size)
        for strategy, title in findings.field.titles("strategies").items()
        for size in findings.field.sizes
    ]
    known = [each for each in beside if each[0].runs]
    if known:
        worst, title, size = max(known, key=lambda each: each[0].mean)
        rows.append([f"beside cheats, at most (*{title}*, {size} flows)", _share(worst)])
    return table(["honest users", "of their packets auditors drop [%]"], rows, numbers_from=1)


def _pays(findings: Findings) -> str:
    head = ["lie", "flows", "goodput [Mb/s]", "of the truth [Mb/s]"]
    rows = findings.pays_beside_as_many()
    return table(head, rows, numbers_from=1) if rows else "None."


def _verdict(findings: Findings) -> str:
    failed = findings.failures()
    found = [
        (gain.ratio, findings.field.titles("strategies")[strategy], size)
        for strategy in findings.field.titles("strategies")
        if strategy not in findings.field.honest_ways
        for size in findings.field.sizes
        if (gain := findings.gain_by_lying(AUDITED, strategy, size))
    ]
    best, title, size = max(found, key=lambda each: each[0].mean)
    told = (
        f"Behind policer and auditor nobody gets more than {_ratio(best)} (*{title}*, {size} "
        f"flows) of the most that the truth gets whoever sends alike, with as many flows or fewer."
    )
    if failed:
        return (
            f"{told} Asked for was {MOST:g} at most, and that honest users lose less than "
            f"{100 * LOST:g} % of their packets to auditors.\n\n"
            f"**Does not hold:** {'; '.join(failed)}."
        )
    return (
        f"{told} Asked for was {MOST:g} at most, beyond the joint 95 % interval. "
        f"Honest users lose less than {100 * LOST:g} % of their packets to auditors."
    )


def _effort(findings: Findings) -> str:
    runs = {len(entry.valid) for entry in findings.book.read(AUDITED).values()}
    counts = " or ".join(str(count) for count in sorted(runs))
    return f"Each number is the mean of {counts} runs of 60 s after 20 s, with its 95 % interval."


def _ratio(ratio: Estimate) -> str:
    return ratio.written(2)


def _share(lost: Estimate) -> str:
    return lost.scaled(100).written(4) if lost.runs else "–"
