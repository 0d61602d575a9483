"""Scapy at the place of an eNodeB: what it sees of the gateway, and what it is answered.

A process of its own. It says `ready` when it is, is told on standard input the namespace of a run's
eNodeB, its device and the gateway's address, goes there, and prints one JSON document.
"""

import ctypes
import json
import os
import socket
import sys
import time
from pathlib import Path

from scapy.contrib.gtp import GTP_U_Header, GTPEchoRequest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Raw

PORT = 2152
ECHO_RESPONSE, ERROR_INDICATION, END_MARKER, DATA = 2, 26, 254, 255
ETH_P_IP = 0x0800
CLONE_NEWNET = 0x40000000
WATCHED = 40
TIMES = 5
"""So often messages are sent, since hosts on a busy machine lose some."""
INNER = 16
"""Where the user's packet begins: behind eight bytes, four optional ones, and an extension."""


def echo(gateway: str) -> dict[str, int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.settimeout(5)
        for again in reversed(range(TIMES)):
            own.sendto(bytes(GTP_U_Header(teid=0, S=1, seq=77) / GTPEchoRequest()), (gateway, PORT))
            try:
                answer = GTP_U_Header(own.recv(2000))
                break
            except TimeoutError:
                if not again:
                    raise
    return {"kind": answer.gtp_type, "seq": answer.seq}


def watched(device: str) -> list[dict[str, object]]:
    """What the gateway sends, as scapy takes it apart."""
    seen = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP)) as tap:
        tap.bind((device, ETH_P_IP))
        tap.settimeout(10)
        while len(seen) < WATCHED:
            packet = IP(tap.recv(65_535))
            if UDP not in packet or packet[UDP].dport != PORT or GTP_U_Header not in packet:
                continue
            message = packet[GTP_U_Header]
            if message.gtp_type == DATA:
                seen.append(described(packet, bytes(packet[UDP].payload)))
    return seen


def described(packet: IP, message: bytes) -> dict[str, object]:
    header = packet[GTP_U_Header]
    inner = IP(message[INNER:])
    again = IP(bytes(packet))
    del again[UDP].chksum
    del again.chksum
    again = IP(bytes(again))
    return {
        "ecn": packet.tos & 3,
        "teid": header.teid,
        "seq": header.seq,
        "extension": header.next_ex,
        "sums": (again.chksum, again[UDP].chksum) == (packet.chksum, packet[UDP].chksum),
        "from": inner.src,
        "to": inner.dst,
        "protocol": inner.proto,
        "len": inner.len == len(message) - INNER,
    }


def send(gateway: str) -> None:
    """What a gateway cannot use."""
    user = IP(src="198.19.0.1", dst="198.18.1.1") / TCP(sport=10_000) / Raw(b"data")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        for _ in range(TIMES):
            for message in (
                bytes(GTP_U_Header(teid=99, S=1, seq=1) / user),
                bytes(GTP_U_Header(teid=1, gtp_type=END_MARKER, length=0)),
                b"\x32\xff\x00",
            ):
                own.sendto(message, (gateway, PORT))
            time.sleep(0.1)


def go_into(namespace: str) -> None:
    """`os.setns`, which Python has from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path(namespace).open() as place:
        if library.setns(place.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)


if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    namespace, device, gateway = sys.stdin.readline().split()
    go_into(namespace)
    found = {"echo": echo(gateway), "data": watched(device), "times": TIMES}
    send(gateway)
    time.sleep(0.3)
    sys.stdout.write(json.dumps(found))
