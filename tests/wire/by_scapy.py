"""Packets that declare congestion, or feed it back, as scapy writes or reads them.

A process of its own, for what the tests compare. Prints a line for each packet, as the example
`declared_pcap` of `crates/wire` does.
"""

import sys

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt, PadN
from scapy.packet import Packet, Raw
from scapy.utils import rdpcap, wrpcap

LINKTYPE_RAW = 101
CONEX = 0x1E
EVIL = 0b100  # bit 48, among the three flags
ORDERS = {172: (0, 1, 2), 174: (2, 1, 0)}


def written() -> list[Packet]:
    segment = TCP(sport=40_000, dport=10_003, flags="A") / Raw(b"data")
    v6 = [
        IPv6(src="2001:2:0:1::1", dst="2001:2:0:2::1", tc=2)
        / IPv6ExtHdrDestOpt(options=[*before, HBHOptUnknown(otype=CONEX, optdata=bytes([bits]))])
        / segment
        for bits in (0x00, 0x70, 0x80, 0xC0, 0xA0, 0x90, 0xF0, 0x83)
        for before in ([], [PadN(optdata=b"\0\0")])
    ]
    v4 = [
        IP(src="198.18.1.1", dst="198.19.0.1", tos=tos, flags=EVIL if re else 0) / segment
        for tos in range(4)
        for re in (0, 1)
    ]
    acks = [
        IP(src="198.18.1.1", dst="198.19.0.1")
        / TCP(flags=0x10 | ace << 6, options=[("NOP", None), (kind, data)])
        for ace in range(8)
        for kind, data in ((172, b""), (172, b"\0\0\1"), (174, bytes(range(9))), (172, b"abcde"))
    ]
    return [*v6, *v4, *acks]


def line(packet: Packet) -> str:
    v6 = IPv6 in packet
    ecn = (packet[IPv6].tc if v6 else packet[IP].tos) & 3
    re = "-" if v6 else int(bool(int(packet[IP].flags) & EVIL))
    flags = int(packet[TCP].flags)
    return " ".join(
        map(
            str,
            (6 if v6 else 4, conex(packet), f"{ecn:02b}", re, flags >> 6 & 7, *counters(packet)),
        )
    )


def conex(packet: Packet) -> str:
    if IPv6ExtHdrDestOpt in packet:
        for option in packet[IPv6ExtHdrDestOpt].options:
            if option.otype == CONEX and option.optlen == 1:
                return bytes(option.optdata).hex()
    return "-"


def counters(packet: Packet) -> list[int | str]:
    """For ECT(0), CE and ECT(1)."""
    found: list[int | str] = ["-", "-", "-"]
    for kind, data in packet[TCP].options:
        if kind in ORDERS:
            for field, place in enumerate(ORDERS[kind][: len(data) // 3]):
                found[place] = int.from_bytes(data[3 * field : 3 * field + 3], "big")
    return found


if __name__ == "__main__":
    do, path = sys.argv[1:]
    if do == "write":
        wrpcap(path, written(), linktype=LINKTYPE_RAW)
    sys.stdout.writelines(f"{line(packet)}\n" for packet in rdpcap(path))
