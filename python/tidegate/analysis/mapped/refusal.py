"""Where no model applies there is no number, but a sentence."""

from __future__ import annotations

from tidegate.errors import AnalysisError


class NoModelError(AnalysisError):
    """Nothing computes this scenario: which key, why, and the nearest thing that would do."""

    def __init__(self, key: str, reason: str, nearest: str) -> None:
        self.key = key
        self.reason = reason
        self.nearest = nearest
        super().__init__(key, reason, nearest)

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}; {self.nearest}"
