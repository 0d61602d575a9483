"""Packets of a mobile network's tunnels, as scapy writes or reads them: scapy as the base station.

A process of its own, for what the tests compare. Prints a line for each packet, as the example
`gtpu_pcap` of `crates/wire` does, but for what only we know: what was re-inserted, and reports.
"""

import sys

from scapy.contrib.gtp import (
    IE_TEIDI,
    GTP_U_Header,
    GTPEchoRequest,
    GTPEchoResponse,
    GTPErrorIndication,
    GTPPDUSessionContainer,
    IE_GSNAddress,
)
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw
from scapy.utils import rdpcap, wrpcap

LINKTYPE_RAW = 101
ERROR, EXTENSIONS, END_MARKER, DATA = 26, 31, 254, 255
EXTENSION_LIST = 141


def written() -> list[Packet]:
    path = IP(src="192.0.2.2", dst="192.0.2.1", tos=2) / UDP(sport=2152, dport=2152)
    inner = [
        IP(src="198.19.0.1", dst="198.18.1.1") / TCP(dport=40_000) / Raw(b"data"),
        IPv6(src="2001:2:0:2::1", dst="2001:2:0:1::1") / UDP(dport=40_000) / Raw(b"data"),
    ]
    session = GTPPDUSessionContainer(type=1, QFI=9)
    return [
        *(path / GTP_U_Header(teid=7, S=1, seq=65_535) / packet for packet in inner),
        *(path / GTP_U_Header(teid=7, E=1, next_ex=0x85) / session / packet for packet in inner),
        path / GTP_U_Header(teid=7, gtp_type=END_MARKER, length=0),
        path / GTP_U_Header(teid=0, S=1, seq=9) / GTPEchoRequest(),
        path / GTP_U_Header(teid=0, S=1, seq=9) / GTPEchoResponse(),
        path
        / GTP_U_Header(teid=0, S=1, seq=0)
        / GTPErrorIndication(
            IE_list=[IE_TEIDI(TEIDI=7), IE_GSNAddress(length=4, ipv4_address="192.0.2.2")]
        ),
        path
        / GTP_U_Header(teid=0, S=1, seq=0, gtp_type=EXTENSIONS)
        / Raw(bytes([EXTENSION_LIST, 2, 0x85, 0xC0])),
    ]


def line(packet: Packet) -> str:
    message = packet[GTP_U_Header]
    sequence = message.seq if message.S else "-"
    kinds, inner = opened(message)
    extensions = ",".join(f"{kind:02x}" for kind in kinds) or "-"
    ecn = packet[IP].tos & 3
    reported = f"{inner.src} {inner.dst}" if inner is not None else elements(message)
    return f"{ecn:02b} {message.gtp_type} {message.teid} {sequence} {extensions} {reported}"


def elements(message: Packet) -> str:
    """What an error indication is about, or the extension headers that a notification lists."""
    if message.gtp_type == ERROR:
        tunnel, address = message[GTPErrorIndication].IE_list
        return f"{tunnel.TEIDI} {address.ipv4_address}"
    if message.gtp_type == EXTENSIONS:
        # Scapy takes two bytes for the list's length, where TS 29.281 (section 8.5) has one.
        kind, length, *known = bytes(message.payload)
        assert (kind, length) == (EXTENSION_LIST, len(known))
        return ",".join(f"{one:02x}" for one in known)
    return "-"


def opened(message: Packet) -> tuple[list[int], Packet | None]:
    """Types of the extension headers, and the user's packet."""
    kinds = [message.next_ex] if message.E else []
    if GTPPDUSessionContainer in message:
        kinds += [message[GTPPDUSessionContainer].NextExtHdr]
    kinds = [kind for kind in kinds if kind]
    for version in (IP, IPv6):
        if version in message.payload:
            return kinds, message.payload[version]
    if message.gtp_type != DATA:
        return kinds, None
    # Scapy stops at an extension header that it does not know: its length is in units of four.
    load = bytes(message[Raw].load)
    inner = load[4 * load[0] :]
    return kinds, (IPv6 if inner[0] >> 4 == 6 else IP)(inner)


if __name__ == "__main__":
    do, path = sys.argv[1:]
    if do == "write":
        wrpcap(path, written(), linktype=LINKTYPE_RAW)
    sys.stdout.writelines(f"{line(packet)}\n" for packet in rdpcap(path))
