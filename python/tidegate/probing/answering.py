"""The other end of probes: answers each with the ECN field that it came with."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from tidegate.errors import UsageError
from tidegate.probing.packets import LARGEST_BYTES, NOT_ECT, Probe, ecn_of, udp_socket

if TYPE_CHECKING:
    from collections.abc import Callable

_ANCILLARY_BYTES = 64


def listening(address: str, port: int) -> socket.socket:
    """Give a socket that probes can be sent to."""
    try:
        found = socket.getaddrinfo(address or None, port, type=socket.SOCK_DGRAM,
                                   flags=socket.AI_PASSIVE)  # fmt: skip
        family, _, _, _, place = found[0]
        opened = udp_socket(family, NOT_ECT)
        opened.bind(place)
    except OSError as error:
        where = f"{address or '*'} port {port}"
        raise UsageError(f"cannot listen at {where}: {error.strerror or error}") from None
    return opened


def answer(opened: socket.socket, *, most: int | None = None,
           on_probe: Callable[[str], None] = lambda _: None) -> int:  # fmt: skip
    """Answer at most `most` probes, never with more bytes than arrived; return their number."""
    answered = 0
    known: set[bytes] = set()
    while most is None or answered < most:
        payload, ancillary, _, sender = opened.recvmsg(LARGEST_BYTES, _ANCILLARY_BYTES)
        probe = Probe.parse(payload)
        if probe is None:
            continue
        if probe.run not in known:
            known = {probe.run}
            on_probe(f"probes from {sender[0]}")
        opened.sendto(Probe(probe.run, probe.number, ecn_of(ancillary)).emit(), sender)
        answered += 1
    return answered
