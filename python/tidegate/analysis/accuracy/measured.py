"""By how much packets differ from the models, for each cause: `measured.json`.

The study `accuracy` measures it on scenarios drawn at random; tests/studies/test_accuracy.py copies
it from that study's page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class Measured:
    """Deviations of simulations from the model, in percent of it: smallest and largest."""

    scenarios: int
    """How many had the cause; where there are enough of those, no other."""
    rates_percent: tuple[int, int]
    """Of groups' rates."""
    queue_percent: tuple[int, int]
    """Of the mean queue."""

    def __str__(self) -> str:
        """As a warning ends."""
        rates, queue = (
            f"{low:+d} to {high:+d} %" for low, high in (self.rates_percent, self.queue_percent)
        )
        return (
            f"in {self.scenarios} simulated scenarios of this kind rates were {rates} off the "
            f"model's, and queues {queue}"
        )


@cache
def measured() -> dict[str, Measured]:
    """Of each kind of cause."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        kind: Measured(
            scenarios=one["scenarios"],
            rates_percent=(one["rates_percent"][0], one["rates_percent"][1]),
            queue_percent=(one["queue_percent"][0], one["queue_percent"][1]),
        )
        for kind, one in found.items()
    }
