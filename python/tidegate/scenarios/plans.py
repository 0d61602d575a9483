"""The plan of a scenario: what `Scenario.plan` gives, every default filled in, in SI units.

Names say the unit: bits per second (``_bps``), seconds (``_s``), bytes (``_bytes``), packets
(``_packets``). What is not set is ``None``.
"""

from __future__ import annotations

from typing import Any, TypedDict

Choice = dict[str, Any]
"""A mechanism: its ``kind``, and its parameters, each under its key with the unit, such as
``{"kind": "codel", "target_s": 0.005, "interval_s": 0.1, ...}``."""


class RateChange(TypedDict):
    """A link's rate from some time on."""

    at_s: float
    rate_bps: int


class Link(TypedDict):
    """A unidirectional link with the queue in front of it."""

    name: str
    """Such as ``bottleneck``, ``bottleneck.reverse``, ``heavy.0.access``."""
    ends: list[int]
    """Numbers of the nodes at its beginning and at its end; hosts are nodes too."""
    rate_bps: int
    """Of a trace, its mean."""
    delay_s: float
    """Of a trace, its shortest."""
    rate_trace_repeats: bool | None
    """Whether the trace that the rate follows starts over at its end; ``None`` without one."""
    delay_trace_repeats: bool | None
    """The same of the delay."""
    buffer_packets: int | None
    """Room for waiting packets, the one in transmission included; ``None`` if it counts bytes."""
    buffer_bytes: int | None
    loss: float | Choice
    """Probability that a packet is lost on the wire, or the model by which packets are."""
    duplicate: float
    """Probability that a packet arrives twice."""
    jitter: Choice | None
    reorder: float
    """Probability that a packet is sent ahead."""
    reorder_gap: int
    aqm: Choice
    differentiation: Choice
    scheduler: Choice
    ecn: bool
    ecn_marks_all: bool
    monitored: bool
    """Whether histograms and time series are kept, as at bottlenecks."""
    rate_changes: list[RateChange]
    ingress: list[Choice]
    """Stages at its beginning,"""
    egress: list[Choice]
    """and at its end."""


class Attachment(TypedDict):
    """A place on a flow's way where stages of its user stand, which packets pass in turn."""

    back: bool
    """On the way back, at the receiver's host."""
    hop: int
    """Index of the path's link that the stage precedes, from 0; else it follows the last one."""
    replicas: list[int]
    """Indices into ``stages``, one for each packet in turn."""


class Flow(TypedDict):
    """One flow, from its sender to its receiver."""

    user: int
    """Index into ``user_groups``."""
    forward: list[int]
    """Links from the sender to the receiver, as indices into ``links``."""
    reverse: list[int]
    attachments: list[Attachment]
    packet_size_bytes: int
    """A full packet on the wire."""
    start_from_s: float
    """It starts at some time from here, uniformly distributed,"""
    start_to_s: float
    """to here."""
    host_jitter_s: float
    traffic: Choice
    """The application."""
    tcp: Choice | None
    """TCP's options, each under its key with the unit; ``congestion_control`` is a mechanism. Flows
    of a group share it. ``None`` for UDP."""


class Plan(TypedDict):
    """A run, but for its seed."""

    warm_up_s: float
    duration_s: float
    intervals: int
    drain_limit_s: float
    sample_interval_s: float | None
    links: list[Link]
    stages: list[Choice]
    """Stages of users, each with its ``name``."""
    groups: list[str]
    user_groups: list[int]
    """The group of each user, as an index into ``groups``."""
    user_customers: list[int]
    """The user at whose host each sits, mostly himself. Mechanisms take them for one customer."""
    flows: list[Flow]
