"""`docs/fidelity.md`: every scenario on both sides in one table, and what explains the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tidegate.results.show import uncertain
from tidegate.studies.fidelity.cases import LINUX, SIMULATED
from tidegate.studies.fidelity.measures import METRICS
from tidegate.studies.fidelity.pages import invalid_runs, place_and_time
from tidegate.studies.fidelity.verdicts import agreements, agrees

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.studies.fidelity.cases import Record
    from tidegate.studies.fidelity.verdicts import Agreement, Explanation

_NAMES = {metric: heading for metric, (heading, _, _) in METRICS.items()}
INTRODUCTION = """\
# How true is the simulator?

The same scenario files are simulated, with the profile `linux`, and run on a real Linux kernel by
[`tidegate lab`](lab.md), with the same seeds, so that flows start at the same moments. Behind both
is the same bottleneck: what differs is TCP and its hosts. (The simulated hosts' jitter is up to
20 µs in the first set, as its files say, and the default of up to 50 µs in the second.)

A second set, [held out](#a-second-set-held-out), was played on a kernel in virtual time instead.

This page is written by `make fidelity` from what it measured
(`fidelity/results/`); nobody edits it.
"""
READING = """\
Each cell has the simulator's mean, Linux' mean and the simulator's deviation from Linux. There are
{runs} ± is the half-width of the 95 % confidence interval (Student's t over the runs; Welch's for
the deviation). A run measures 30 s after 10 s, some of the second set 60 s. **Bold** deviates by
more than 10 %, and more than by chance; *italics*: more than 10 %, but chance may explain it (the
interval of the deviation includes 0).

The throughput ratio is the first group's throughput per user over the second's; with one group,
that of the faster half of its flows over that of the slower half. One flow alone has none. The
verdict looks at throughput ratio and mean queue; the other columns are there to be seen.
"""
HELD_OUT = """\
## A second set, held out

These scenarios were chosen and written down before any of them was run on either side, and TCP was
changed by the kernel's source and by packets captured in the first set, not by them: they say how
true the simulator is where nobody has looked. (But that real hosts' jitter is no packet time is
seen best in 05 and 06.) Linux is here version {version} in virtual time
([`tools/linux-oracle`](../tools/linux-oracle/README.md)), whose
hosts have no jitter at all, and the queue is the kernel's own (`pfifo`, `red`, `codel`, `pie`,
`fq_codel`), so that the simulator's queue is judged as well. Losses on the wire are random, with a
seed. Both sides draw when flows start, not alike. There are {runs}
"""
NOT_MODELLED = """\
## What of Linux is not modelled

- Receivers that merge ACKs for segments out of order for up to a millisecond (SACK compression).
  Switched off in the kernel (`tcp_comp_sack_nr=0`), held-out/02 keeps its throughput and loss to
  0.3 %, and its small mean queue falls by 3 %, as much as chance may do.
- Reductions taken back, and a reordering window that grows, after duplicate SACKs. Switched off
  in the kernel (`tcp_dsack=0`), nothing in held-out/02 changes: links do not reorder.
- A window that shrinks while an application pauses (`tcp_slow_start_after_idle`). It matters only
  where `write_interval` is longer than a retransmission time-out, and was not measured.
- Timers that tick 100 to 1000 times a second, and a smallest round-trip time that is forgotten
  after five minutes.
- Pacing, which only BBR asks for; BBR runs in the lab alone.
"""
REPEAT = """\
## Repeat it

```sh
make setup
sudo make fidelity                        # about {minutes} minutes for the first set, which needs
                                          # root, and 20 of a processor for the second
make fidelity ARGS="--side simulated"     # the simulator alone, in seconds
make fidelity ARGS="--set held-out"       # the second set alone, which needs no root
```
"""


def page(records: Sequence[Record], explanations: Sequence[Explanation], figure: str) -> str:
    """The whole page."""
    measured = [r for r in records if r.runs(SIMULATED) and r.runs(LINUX)]
    first = [r for r in measured if not r.case.held_out]
    second = [r for r in measured if r.case.held_out]
    parts = [
        INTRODUCTION, count_line(measured), verdict_line(first),
        f"![Deviations by scenario and metric]({figure})\n",
        table(first), READING.format(runs=_runs(first)), *_held_out(second),
        explained(beyond(measured), explanations, _NAMES), NOT_MODELLED,
        "## The machine\n", place_and_time(first), invalid_runs(first),
        unmeasured(records, measured),
        REPEAT.format(minutes=_minutes(first)),
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


def _held_out(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    versions = ", ".join(sorted({record.sides[LINUX].about["kernel"] for record in records}))
    runs = _runs(records)
    return [
        HELD_OUT.format(version=versions, runs=runs), count_line(records), verdict_line(records),
        table(records),
    ]  # fmt: skip


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
    lines = [
        "| scenario | " + " | ".join(headings) + " | verdict |",
        "|---|" + "---|" * (len(shown) + 1),
    ]
    for record in records:
        found = agreements(record)
        cells = [cell(found[metric]) if metric in found else "–" for metric in shown]
        name = f"[{record.case.name}](../fidelity/{record.case.name}.toml)"
        good = "within 10 %" if agrees(found) else "beyond"
        lines.append(f"| {name}: {record.case.title} | " + " | ".join(cells) + f" | {good} |")
    return "\n".join(lines) + "\n"


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
    mark = "**" if found.told_apart else "*"
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


def beyond(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Case and metric of every cell that is off by more than 10 %."""
    return [
        (record.case.name, metric)
        for record in records
        for metric, found in agreements(record).items() if not found.within
    ]  # fmt: skip


def explained(
    cells: Sequence[tuple[str, str]], explanations: Sequence[Explanation], names: Mapping[str, str]
) -> str:
    """Why these cells (case and metric) differ, and which of them nobody has explained."""
    lines = ["## Where they differ by more than 10 %\n"]
    for explanation in explanations:
        about = [f"{case}: {names[m]}" for case, m in cells if explanation.covers(case, m)]
        if about:
            lines.append(f"- *{'; '.join(about)}.* {explanation.text}")
    open_ = [
        f"{case}: {names[metric]}"
        for case, metric in cells if not any(e.covers(case, metric) for e in explanations)
    ]  # fmt: skip
    if open_:
        lines.append(f"- Not explained yet: {'; '.join(open_)}.")
    if not cells:
        lines.append("Nowhere.")
    return "\n".join(lines) + "\n"


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
    chance = sum(not each.within and not each.told_apart for each in found)
    beyond_ = f" ({chance} more not told apart from Linux)" if chance else ""
    return f"{sum(each.within for each in found)} of {len(found)}{beyond_}"
