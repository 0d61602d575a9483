"""What the numbers say, in sentences that are checked against them.

A finding in `findings.toml` is a text with numbers in it, and what has to hold for it::

    text = "FQ-CoDel gives a heavy customer {ratio(many-flows, fq-codel)} times a light one's rate."
    holds = ["ratio(many-flows, fq-codel) > 5"]

A number is ``metric(situation, mechanism)``; a pattern of mechanisms such as ``icp-*`` stands for
all of them, ``a|b`` for either, and then all have to fulfil a condition. Conditions compare means.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.studies.league.scores import MEAN, WORST
from tidegate.studies.league.tables import ratio

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.studies.league.scores import Scores

_NUMBER = r"([a-z_0-9.]+)\(([a-z0-9|-]*), *([a-z0-9*|? -]+)\)"
_SIDE = re.compile(rf"(?:([0-9.]+) \* )?{_NUMBER}|([0-9.]+)")
_CONDITION = re.compile(r"(.+?) (<|>) (.+)")
_IN_TEXT = re.compile(r"\{" + _NUMBER + r"\}")


# By the end of a metric's name: what it is multiplied by, and how it is written.
_FORMS = {
    "utilization": (100.0, "{:.0f} %"), "delay_s": (1e3, "{:.0f} ms"),
    "rtt_s": (1e3, "{:.0f} ms"), "_s": (1.0, "{:.2f} s"),
    "_ns": (1.0, "{:.0f} ns"), "_bytes": (1.0, "{:.0f} B"), "_bps": (1e-6, "{:.2f} Mb/s"),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A sentence or two, filled in, and the conditions that it fails."""

    section: str
    text: str
    failed: tuple[str, ...]


def read(path: Path, scores: Scores) -> list[Finding]:
    """Every finding, put to the numbers."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return [
        Finding(
            section,
            _IN_TEXT.sub(lambda found: written(scores, *found.groups()), entry["text"].strip()),
            tuple(one for one in entry.get("holds", ()) if not holds(scores, one)),
        )
        for section, entries in content.items()
        for entry in entries
    ]


def holds(scores: Scores, condition: str) -> bool:
    """Whether a condition is true of every mechanism that it names."""
    found = _CONDITION.fullmatch(condition)
    if not found:
        raise UsageError(f"not a condition: {condition!r}; expected NUMBER < NUMBER, or >")
    left, sign, right = _values(scores, found[1]), found[2], _values(scores, found[3])
    # A value that is missing, NaN, fulfils nothing.
    return all(a < b if sign == "<" else a > b for a in left for b in right)


def written(scores: Scores, metric: str, situation: str, pattern: str) -> str:
    """A number as a reader wants it; of several mechanisms, from the lowest to the highest."""
    values = _all(scores, metric, situation, pattern)
    texts = [_form(metric, value) for value in (min(values), max(values))]
    if any(math.isnan(value) for value in values):
        return "–"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _values(scores: Scores, side: str) -> list[float]:
    found = _SIDE.fullmatch(side.strip())
    if not found:
        raise UsageError(f"not a number: {side!r}; expected e.g. ratio(many-flows, red) or 1.5")
    factor, metric, situation, pattern, plain = found.groups()
    if plain:
        return [float(plain)]
    return [float(factor or 1) * value for value in _all(scores, metric, situation, pattern)]


def _all(scores: Scores, metric: str, situations: str, pattern: str) -> list[float]:
    """Values of all situations and mechanisms that are named."""
    for one in situations.split("|"):
        if one not in (*scores.situations, MEAN, WORST, ""):
            raise UsageError(f"{metric}({situations}, {pattern}): no situation is called {one!r}")
    return [
        scores.of(metric, one, name).mean
        for one in situations.split("|")
        for name in scores.matching(pattern)
    ]


def _form(metric: str, value: float) -> str:
    """Write a metric's value with its unit.

    >>> _form("utilization", 0.987), _form("p95_delay_s", 0.0214), _form("completion_s", 0.348)
    ('99 %', '21 ms', '0.35 s')
    """
    if metric == "ratio":
        return ratio(value)
    scale, form = next(
        (how for end, how in _FORMS.items() if metric.partition(".")[0].endswith(end)),
        (1, "{:.2f}"),
    )
    return form.format(scale * value)
