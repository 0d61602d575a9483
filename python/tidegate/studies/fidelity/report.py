"""`docs/fidelity.md`: every scenario on both sides in one table, and what explains the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tidegate.results.show import uncertain
from tidegate.studies import page
from tidegate.studies.explanations import Explanation, idle, read_explanations
from tidegate.studies.fidelity.cases import LINUX, SIMULATED
from tidegate.studies.fidelity.measures import METRICS
from tidegate.studies.fidelity.pages import invalid_runs, place_and_time
from tidegate.studies.fidelity.running import say
from tidegate.studies.fidelity.verdicts import agreements, agrees

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tidegate.studies.fidelity.cases import Record
    from tidegate.studies.fidelity.verdicts import Agreement

Cell = dict[str, Any]
"""What explanations may name: case, metric, whether the difference is more than chance."""
_NAMES = {metric: heading for metric, (heading, _, _) in METRICS.items()}


def parts(
    records: Sequence[Record], explanations: Sequence[Explanation], held_out: Path
) -> dict[str, object]:
    """What the page tells of them; `held_out` is the template of the second set's section."""
    measured = [r for r in records if r.runs(SIMULATED) and r.runs(LINUX)]
    first = [r for r in measured if not r.case.held_out]
    second = [r for r in measured if r.case.held_out]
    return {
        "count": count_line(measured),
        "verdict": verdict_line(first),
        "table": table(first),
        "held-out": _held_out(second, held_out),
        "explanations": explained(beyond(measured), explanations, _NAMES),
        "place": place_and_time(first),
        "invalid": invalid_runs(first),
        "missing": unmeasured(records, measured),
        "runs": _runs(first),
        "minutes": _minutes(first),
    }


def _held_out(records: Sequence[Record], template: Path) -> str:
    if not records:
        return ""
    versions = sorted({record.sides[LINUX].about["kernel"] for record in records})
    return page.filled(
        template,
        {
            "version": ", ".join(versions),
            "runs": _runs(records),
            "count": count_line(records),
            "verdict": verdict_line(records),
            "table": table(records),
        },
    )


def count_line(records: Sequence[Record]) -> str:
    """How many of all numbers agree."""
    found = [each for record in records for each in agreements(record).values()]
    close, within = (sum(getattr(each, name) for each in found) for name in ("close", "within"))
    share = f" ({100 * close / len(found):.0f} %)" if found else ""
    return (
        f"**{close} of {len(found)} numbers{share} are within 5 % of Linux or inside the joint "
        f"95 % interval; {within} are within 10 %.**\n"
    )


def verdict_line(records: Sequence[Record]) -> str:
    """How many agree."""
    found = [agreements(record) for record in records]
    good = sum(agrees(each) for each in found)
    ratio = [each["ratio"] for each in found if "ratio" in each]
    queue = [each["queue_packets"] for each in found if "queue_packets" in each]
    return (
        f"**Throughput ratio and mean queue are within 10 % of Linux in {good} of {len(found)} "
        f"scenarios**: the ratio in {_count(ratio)}, the queue in {_count(queue)}.\n"
    )


def table(records: Sequence[Record]) -> str:
    """One row per scenario, one column per metric."""
    shown = [m for m in METRICS if any(m in agreements(record) for record in records)]
    headings = [METRICS[m][0] + (f" [{METRICS[m][1]}]" if METRICS[m][1] else "") for m in shown]
    rows = []
    for record in records:
        found = agreements(record)
        cells = [cell(found[metric]) if metric in found else "–" for metric in shown]
        name = f"[{record.case.name}](../studies/fidelity/{record.case.name}.toml)"
        verdict = "within 10 %" if agrees(found) else "beyond"
        rows.append([f"{name}: {record.case.title}", *cells, verdict])
    return page.table(["scenario", *headings, "verdict"], rows)


def cell(found: Agreement) -> str:
    """Simulator, Linux, deviation."""
    scale = METRICS[found.metric][2]
    sides = f"{uncertain(found.simulated, scale)}<br>{uncertain(found.linux, scale)}"
    return f"{sides}<br>{deviation(found)}"


def deviation(found: Agreement) -> str:
    """Simulator from Linux in per cent; emphasised beyond 10 %, strongly if it is not chance."""
    text = percent(found.deviation, found.uncertainty)
    if found.within:
        return text
    mark = "**" if found.differs else "*"
    return f"{mark}{text}{mark}"


def percent(share: float, half: float) -> str:
    """Write a deviation, in whole per cent.

    >>> percent(0.034, 0.021), percent(-0.2, float("nan"))
    ('+3 ± 2 %', '−20 %')
    """
    if math.isnan(share):
        return "–"
    text = f"{100 * share:+.0f}".replace("-", "−")
    return f"{text} %" if math.isnan(half) else f"{text} ± {100 * half:.0f} %"


def beyond(records: Sequence[Record], metrics: Iterable[str] = METRICS) -> list[Cell]:
    """Every cell that is off by more than 10 %."""
    return [
        {"case": record.case.name, "metric": metric, "differs": found.differs}
        for record in records
        for metric, found in agreements(record, metrics).items() if not found.within
    ]  # fmt: skip


def explanations_of(folder: Path, cells: Sequence[Cell]) -> list[Explanation]:
    """Read what people found out; tell whoever watches of what explains nothing any more."""
    found = read_explanations(folder / "explanations.toml", Explanation)
    for name in idle(found, cells):
        say(f"{folder / 'explanations.toml'}: {name} explains nothing any more")
    return found


def explained(
    cells: Sequence[Cell], explanations: Sequence[Explanation], names: Mapping[str, str]
) -> str:
    """Why these cells differ, and which of them nobody has explained."""
    lines = ["## Where they differ by more than 10 %\n"]
    for explanation in explanations:
        about = [_name(cell, names) for cell in cells if explanation.covers(cell)]
        if about:
            lines.append(f"- *{'; '.join(about)}.* {' '.join(explanation.paragraphs())}")
    open_ = [_name(cell, names) for cell in cells if not any(e.covers(cell) for e in explanations)]
    if open_:
        lines.append(f"- Not explained yet: {'; '.join(open_)}.")
    if not cells:
        lines.append("Nowhere.")
    return "\n".join(lines) + "\n"


def _name(cell: Cell, names: Mapping[str, str]) -> str:
    return f"{cell['case']}: {names[cell['metric']]}"


def unmeasured(records: Sequence[Record], measured: Sequence[Record]) -> str:
    """Which cases are missing, and which were measured before their scenario changed."""
    names = [record.case.name for record in records if record not in measured]
    old = [
        record.case.name
        for record in measured if any(record.stale(side) for side in (SIMULATED, LINUX))
    ]  # fmt: skip
    lines = [f"Not measured yet: {', '.join(names)}.\n"] if names else []
    lines += [f"Measured with an older version of the scenario: {', '.join(old)}.\n"] if old else []
    return "\n".join(lines)


def _runs(records: Sequence[Record]) -> str:
    counts = {
        side: sorted({len(record.runs(side)) for record in records}) for side in (SIMULATED, LINUX)
    }
    simulated, linux = (" or ".join(map(str, counts[side])) or "no" for side in (SIMULATED, LINUX))
    return f"{simulated} runs simulated, {linux} on Linux."


def _minutes(records: Sequence[Record]) -> int:
    total = sum(
        len(record.runs(LINUX)) * (record.case.scenario.warm_up_s + record.case.scenario.duration_s)
        for record in records
    )
    return math.ceil(total / 3 / 60)


def _count(found: Sequence[Agreement]) -> str:
    chance = sum(not each.within and not each.differs for each in found)
    beyond_ = f" ({chance} more not told apart from Linux)" if chance else ""
    return f"{sum(each.within for each in found)} of {len(found)}{beyond_}"
