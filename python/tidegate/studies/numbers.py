"""Numbers in the prose of a page: `{metric(place, level)}` stands for a mean that was measured.

`[numbers]` of a study names the factor whose levels these are, places besides its experiments, and
how numbers are written::

    [numbers]
    factor = "mechanism"
    [numbers.places]
    mean = { series = ["equals:mechanisms", ..], derive = { mean = "situation" } }
    [numbers.levels]
    abc = ["abc-red", "abc-pie"]        # a name for several
    [numbers.forms]
    rtt_s = { scale = 1e3, unit = " ms", digits = 0 }

The place of an experiment is all that it measured. Several places or levels have `|` between them:
the lowest and the highest mean are then written. A part of a claim may have a `place`, too, for its
`series` and `derive`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.studies.errors import ReproductionError
from tidegate.studies.selection import data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.studies.points import Points

_NUMBER = re.compile(r"\{(\w+)\(([\w|-]+), *([\w|-]+)\)\}")
_WHOLE_FROM = 9.95


@dataclass(frozen=True)
class Numbers:
    """What a study's prose may name."""

    factor: str = ""
    places: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    levels: Mapping[str, list[str]] = field(default_factory=dict)
    forms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def filled(self, text: str, measured: Points) -> str:
        """Give the text with its numbers; what was not measured is a dash."""
        if not self.factor:
            return text
        return _NUMBER.sub(lambda found: self._written(measured, *found.groups()), text)

    def _written(self, measured: Points, metric: str, places: str, levels: str) -> str:
        named = [one for name in levels.split("|") for one in self.levels.get(name, [name])]
        where = {self.factor: named}
        means: list[float] = []
        for place in places.split("|"):
            part = {"metric": metric, "where": where, **self.places.get(place, {})}
            try:
                found = data(part, place, measured)
            except ReproductionError:  # a part of the study, or a run that has none
                return "–"
            means += [datum.value.mean for datum in found]
        texts = [self._form(metric, value) for value in (min(means), max(means))]
        return texts[0] if texts[0] == texts[1] else " to ".join(texts)

    def _form(self, metric: str, mean: float) -> str:
        """Write a mean to the digits that one reads: two, of numbers of one digit.

        >>> Numbers()._form("ratio", 1.034), Numbers()._form("ratio", 12.3)
        ('1.03', '12')
        """
        if math.isnan(mean):
            return "–"
        form = self.forms.get(metric, {})
        value = mean * form.get("scale", 1.0)
        digits = form.get("digits", 0 if abs(value) >= _WHOLE_FROM else 2)
        return f"{value:,.{digits}f}{form.get('unit', '')}"
