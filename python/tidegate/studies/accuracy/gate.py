"""The gate: sources on queues with two round trips, from studies/stability/accuracy.toml."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate._native import Scenario

PLAN = "studies/stability/accuracy.toml"
BOTTLENECK_RTT_MS = 2.0
"""Of the bottleneck's own delay, there and back."""

Table = dict[str, Any]


def read(root: Path) -> dict[str, Scenario]:
    """All scenarios of the gate of a checkout, by name."""
    plan = tomllib.loads((root / PLAN).read_text(encoding="utf-8"))
    return {
        f"{source} on {queue}, {rtt_ms} ms": load_scenario(_scenario(plan, source, queue, rtt_ms))
        for source, queue in plan["pairs"]
        for rtt_ms in plan["round_trips_ms"]
    }


def _scenario(plan: Table, source: str, queue: str, rtt_ms: float) -> Table:
    found = merged(merged(plan["base"], plan["queues"][queue]), plan["sources"][source])
    for user in found["users"].values():
        own_ms = user.pop("round_trips", 1.0) * rtt_ms
        user["access"] = {"delay": access_delay(own_ms)}
    return found


def access_delay(rtt_ms: float) -> str:
    """One way of the access link behind which a base round trip is that long."""
    return f"{(rtt_ms - BOTTLENECK_RTT_MS) / 2:g} ms"


def merged(base: Table, own: Table) -> Table:
    """Tables within tables; what the second says counts."""
    both = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for key, value in own.items():
        known = both.get(key)
        whole = isinstance(value, dict) and isinstance(known, dict) and "kind" not in value
        both[key] = merged(known, value) if whole and known is not None else _copied(value)
    return both


def _copied(value: object) -> object:
    return {key: _copied(one) for key, one in value.items()} if isinstance(value, dict) else value
