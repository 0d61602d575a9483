"""What probes and answers look like, and the ECN field of datagrams.

Both are UDP payloads::

    bytes 0 to 3   "TGP1"
    bytes 4 to 11  which run of probes, a random number
    bytes 12 to 15 the number of the probe, from 0, in network order
    byte 16        of an answer: the ECN field that the probe had when it arrived; of a probe: 0

A probe may be longer, filled with zeros; an answer is never longer than what it answers.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PORT = 4747
"""Where answers are given, unless another port is named."""

NOT_ECT, ECT_0, CE = 0b00, 0b10, 0b11
_ECN = 0b11
_FORMAT = struct.Struct("!4s8sIB")
_MAGIC = b"TGP1"
LEAST_BYTES = _FORMAT.size
LARGEST_BYTES = 1400
"""Largest payload, bytes, that no router has to fragment."""


@dataclass(frozen=True)
class Probe:
    """A probe, or the answer to one."""

    run: bytes
    number: int
    ecn: int = 0

    def emit(self, size: int = LEAST_BYTES) -> bytes:
        """The probe as a payload of `size` bytes."""
        return _FORMAT.pack(_MAGIC, self.run, self.number, self.ecn).ljust(size, b"\0")

    @classmethod
    def parse(cls, payload: bytes) -> Probe | None:
        """Read a payload; nothing if it is none of ours.

        >>> Probe.parse(Probe(b"12345678", 7, CE).emit(100))
        Probe(run=b'12345678', number=7, ecn=3)
        >>> Probe.parse(b"GET / HTTP/1.1") is None
        True
        """
        if len(payload) < LEAST_BYTES:
            return None
        magic, run, number, ecn = _FORMAT.unpack_from(payload)
        return cls(run, number, ecn) if magic == _MAGIC and ecn <= _ECN else None


def udp_socket(family: socket.AddressFamily, ecn: int) -> socket.socket:
    """Give a socket that sends with this ECN field and receives that of each datagram."""
    opened = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, ecn)
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    else:
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    return opened


def ecn_of(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """Find the ECN field of a datagram in what `recvmsg` tells of it."""
    for level, kind, data in ancillary:
        v4 = level == socket.IPPROTO_IP and kind in (socket.IP_TOS, socket.IP_RECVTOS)
        v6 = level == socket.IPPROTO_IPV6 and kind == socket.IPV6_TCLASS
        if v4 or v6:
            # One byte for IPv4, a machine's whole number for IPv6.
            return (data[0] if len(data) == 1 else int(struct.unpack("@i", data)[0])) & _ECN
    return NOT_ECT
