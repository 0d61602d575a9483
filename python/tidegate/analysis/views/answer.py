"""What a view answers: a model with its source, what it was mapped to, and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.analysis.accuracy.causes import Cause

Value: TypeAlias = "float | int | str | bool | None"
Rows: TypeAlias = "list[dict[str, Value]]"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The numbers of one view; names end in their unit."""

    model: str
    """Its name, with the numbers of its equations."""
    mapped: Mapping[str, Value]
    """What the scenario was mapped to."""
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Where an assumption is strained, and why packets may differ."""
    causes: tuple[Cause, ...] = ()
    """Why packets may differ, and by how much they did; each is a warning as well."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Single numbers."""
    tables: Mapping[str, Rows] = field(default_factory=dict)
    """A row for each group, link, user or call."""
    drawn: object = None
    """What figures are drawn from: the bottleneck, or its trajectory."""

    @property
    def applies(self) -> bool:
        """An answer does."""
        return True

    def to_dict(self) -> dict[str, object]:
        """As in the JSON output."""
        return {
            "applies": True,
            "model": self.model,
            "mapped_to": dict(self.mapped),
            "assumptions": list(self.assumptions),
            "warnings": list(self.warnings),
            "causes": [cause.to_dict() for cause in self.causes],
            **self.values,
            **self.tables,
        }


@dataclass(frozen=True)
class Silence:
    """No model applies, and why."""

    key: str
    reason: str
    nearest: str

    @property
    def applies(self) -> bool:
        """It does not."""
        return False

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}; {self.nearest}"

    def to_dict(self) -> dict[str, object]:
        """As in the JSON output."""
        return {
            "applies": False, "key": self.key, "reason": self.reason, "nearest": self.nearest,
        }  # fmt: skip


def number(value: object) -> float | None:
    """A number of a model, or nothing where it has none; never an infinity."""
    import math

    found = float(value)  # type: ignore[arg-type]
    return found if math.isfinite(found) else None
