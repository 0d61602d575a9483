"""The catalogue of mechanisms and of kinds of traffic."""

from __future__ import annotations

from typing import TypedDict, final


class Parameter(TypedDict):
    """A key of a scenario file."""

    name: str
    default: str
    unit: str
    meaning: str


@final
class Mechanism(TypedDict):
    """An algorithm at one place of a packet's path."""

    name: str
    category: str
    """Place on the path: sender, ingress, bottleneck, differentiation."""
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


@final
class TrafficKind(TypedDict):
    """A kind of traffic that a flow can send."""

    name: str
    """Value of ``kind`` in ``users.NAME.traffic``."""
    summary: str
    parameters: list[Parameter]


def list_mechanisms() -> list[Mechanism]:
    """Every mechanism with its parameters, defaults and source, in the order of a packet's path."""
    from tidegate import _native

    return _native.mechanisms()


def list_traffic() -> list[TrafficKind]:
    """Every kind of traffic with its keys and defaults."""
    from tidegate import _native

    return _native.traffic()
