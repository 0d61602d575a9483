"""The catalogue of mechanisms."""

from __future__ import annotations

from typing import TypedDict


class Parameter(TypedDict):
    """Something that can be set in a scenario file."""

    name: str
    default: str
    unit: str
    meaning: str


class Mechanism(TypedDict):
    """Something that happens to a packet at one place on its way."""

    name: str
    category: str
    """Where on the way: sender, ingress, bottleneck, differentiation."""
    title: str
    summary: str
    source: str
    """Where it was published."""
    usage: str
    """How a scenario file asks for it."""
    parameters: list[Parameter]
    file: str
    """Source file below crates/mechanisms/src/."""
    header: str
    """What the source file says about it, as Markdown."""


def list_mechanisms() -> list[Mechanism]:
    """Every mechanism with its parameters, defaults and source, as a packet meets them."""
    from tidegate import _native

    return _native.mechanisms()
