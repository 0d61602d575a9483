"""Scapy in a tunnel that is in use: it sends beside an eNodeB, and the gateway takes it.

A process of its own. It says `ready` when it is, is told on standard input the namespaces of the
servers and of a run's eNodeB, their device, the gateway's address and the port of the flow whose
tunnel it takes, goes there, and prints one JSON document.
"""

import json
import socket
import sys
from collections.abc import Iterator

from enodeb_by_scapy import DATA, END_MARKER, INNER, PORT, TIMES, echo, go_into
from scapy.contrib.gtp import GTP_U_Header, GTPEchoResponse
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

ECHO_REQUEST = 1
ETH_P_ALL = 0x0003
"""What a host sends as well as what it gets."""
AHEAD = 1000
"""The eNodeB sends on: its own numbers do not come so far while scapy sends."""
ANSWERED = 60


def tap(device: str) -> socket.socket:
    own = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    own.bind((device, ETH_P_ALL))
    own.settimeout(10)
    return own


def packets(own: socket.socket) -> Iterator[IP]:
    """All that is UDP."""
    while True:
        packet = IP(own.recv(65_535))
        if UDP in packet:
            yield packet


def in_use(own: socket.socket, gateway: str, port: int) -> tuple[int, int, IP]:
    """Number of the flow's tunnel, that of its latest packet in it, and the packet."""
    for packet in packets(own):
        if packet.dst != gateway or GTP_U_Header not in packet:
            continue
        message = packet[GTP_U_Header]
        if message.gtp_type == DATA:
            user = IP(bytes(packet[UDP].payload)[INNER:])
            if UDP in user and user[UDP].dport == port:
                return message.teid, message.seq, user
    raise AssertionError


def arrived(own: socket.socket, sent: list[bytes]) -> list[str]:
    """Which of them come to the server, each as it was."""
    missing = set(sent)
    while missing:
        try:
            missing.discard(next(bytes(one) for one in packets(own) if bytes(one) in missing))
        except TimeoutError:
            break
    return [bytes(IP(one)[UDP].payload).decode() for one in sent if one not in missing]


def answer(own: socket.socket, gateway: str, speaks: socket.socket) -> int:
    """Answers the echo requests that the gateway's reports are."""
    answered = 0
    for packet in packets(own):
        if packet.src != gateway or GTP_U_Header not in packet:
            continue
        message = packet[GTP_U_Header]
        if message.gtp_type == ECHO_REQUEST:
            response = GTP_U_Header(teid=0, S=1, seq=message.seq) / GTPEchoResponse()
            speaks.sendto(bytes(response), (gateway, PORT))
            answered += 1
        if answered == ANSWERED:
            break
    return answered


def play(servers: str, enodeb: str, device: str, gateway: str, port: int) -> dict[str, object]:
    go_into(servers)
    at_server = tap(device)
    go_into(enodeb)
    at_enodeb = tap(device)
    teid, latest, like = in_use(at_enodeb, gateway, port)
    users = [
        bytes(
            IP(src=like.src, dst=like.dst)
            / UDP(sport=like[UDP].sport, dport=port)
            / Raw(f"scapy {number}".encode())
        )
        for number in range(TIMES)
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        for number, user in enumerate(users):
            header = GTP_U_Header(teid=teid, S=1, seq=(latest + AHEAD + number) % 2**16)
            own.sendto(bytes(header / IP(user)), (gateway, PORT))
        came = arrived(at_server, users)
        for _ in range(TIMES):
            marker = GTP_U_Header(teid=teid, gtp_type=END_MARKER, length=0)
            own.sendto(bytes(marker), (gateway, PORT))
        reported = {"arrived": came, "times": TIMES, "echo": echo(gateway)}
        return {**reported, "answered": answer(at_enodeb, gateway, own)}


if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    *places, port = sys.stdin.readline().split()
    sys.stdout.write(json.dumps(play(*places, int(port))))
