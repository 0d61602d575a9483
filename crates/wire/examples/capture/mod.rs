//! Capture files (libpcap format 2.4) of raw IP packets, and IP headers for the examples.

#![allow(dead_code, reason = "not every example needs all")]

use std::error::Error;
use std::fs;

use etherparse::{IpNumber, Ipv4Header, Ipv4Options, Ipv6Header, TcpHeader, UdpHeader, ip_number};

const MAGIC: u32 = 0xA1B2_C3D4;
const LINKTYPE_RAW: u32 = 101;
const HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;

pub const PAYLOAD: &[u8] = b"who gets what, and what would make it fair?";
pub const SERVER_PORT: u16 = 10_003;
/// ECT(0) as the lower two bits of the traffic class.
pub const ECT0: u8 = 0b10;

/// Runs an example: `write FILE` writes these packets into a file, `read FILE` reads the packets of a file. Prints a
/// line for each packet in either case.
pub fn play(
    written: impl FnOnce() -> Result<Vec<Vec<u8>>, Box<dyn Error>>,
    print: impl FnMut(&[u8]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", path] => {
            let packets = written()?;
            let records = packets.iter().flat_map(|packet| record(packet));
            fs::write(path, file_header().into_iter().chain(records).collect::<Vec<_>>())?;
            packets.iter().map(Vec::as_slice).try_for_each(print)
        }
        ["read", path] => packets(&fs::read(path)?)?.into_iter().try_for_each(print),
        _ => Err("usage: write FILE, or read FILE".into()),
    }
}

/// Returns the header of a capture file.
pub fn file_header() -> Vec<u8> {
    const SNAP_LEN: u32 = 65_535;
    let version = 2 | 4 << 16;
    [MAGIC, version, 0, 0, SNAP_LEN, LINKTYPE_RAW].map(u32::to_le_bytes).concat()
}

/// Returns the record of a packet, with timestamp 0.
pub fn record(packet: &[u8]) -> Vec<u8> {
    let len = packet.len() as u32;
    [&[0, 0, len, len].map(u32::to_le_bytes).concat(), packet].concat()
}

/// Returns the packets of a capture file.
pub fn packets(file: &[u8]) -> Result<Vec<&[u8]>, Box<dyn Error>> {
    let word = |at: usize| -> Result<u32, Box<dyn Error>> {
        Ok(u32::from_le_bytes(file.get(at..at + 4).ok_or("truncated")?.try_into()?))
    };
    if [word(0)?, word(20)?] != [MAGIC, LINKTYPE_RAW] {
        return Err("not a capture file of raw IP packets in this machine's byte order".into());
    }
    let mut found = Vec::new();
    let mut at = HEADER_LEN;
    while at < file.len() {
        let len = word(at + 8)? as usize;
        at += RECORD_HEADER_LEN;
        found.push(file.get(at..at + len).ok_or("truncated")?);
        at += len;
    }
    Ok(found)
}

/// Returns an IPv4 packet with these options and the header of TCP or UDP.
pub fn ipv4(transport: Transport, options: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (source, destination) = ([198, 18, 1, 1], [198, 19, 0, 1]);
    let body_len = transport.len() + PAYLOAD.len();
    let number = transport.number();
    let mut header = Ipv4Header::new(body_len as u16, 64, number, source, destination)?;
    header.ecn = etherparse::IpEcn::try_new(ECT0)?;
    header.options = Ipv4Options::try_from(options)?;
    header.set_payload_len(body_len)?;
    header.header_checksum = header.calc_header_checksum();
    let body = match transport {
        Transport::Tcp(mut tcp) => {
            tcp.checksum = tcp.calc_checksum_ipv4(&header, PAYLOAD)?;
            tcp.to_bytes().to_vec()
        }
        Transport::Udp(port) => {
            UdpHeader::with_ipv4_checksum(port, SERVER_PORT, &header, PAYLOAD)?.to_bytes().to_vec()
        }
    };
    Ok([&header.to_bytes()[..], &body, PAYLOAD].concat())
}

/// Returns an IPv6 packet with this Destination Options header and the header of TCP or UDP.
pub fn ipv6(transport: Transport, options: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let header = Ipv6Header {
        traffic_class: ECT0,
        payload_length: (options.len() + transport.len() + PAYLOAD.len()) as u16,
        next_header: ip_number::IPV6_DEST_OPTIONS,
        hop_limit: 64,
        source: "2001:2:0:1::1".parse::<std::net::Ipv6Addr>()?.octets(),
        destination: "2001:2:0:2::1".parse::<std::net::Ipv6Addr>()?.octets(),
        ..Ipv6Header::default()
    };
    let body = match transport {
        Transport::Tcp(mut tcp) => {
            tcp.checksum = tcp.calc_checksum_ipv6(&header, PAYLOAD)?;
            tcp.to_bytes().to_vec()
        }
        Transport::Udp(port) => {
            UdpHeader::with_ipv6_checksum(port, SERVER_PORT, &header, PAYLOAD)?.to_bytes().to_vec()
        }
    };
    Ok([&header.to_bytes()[..], options, &body, PAYLOAD].concat())
}

/// Payload of a packet: a TCP header, or a UDP header with this source port.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "an example")]
pub enum Transport {
    Tcp(TcpHeader),
    Udp(u16),
}

impl Transport {
    /// Returns a TCP header with this source port.
    pub fn tcp(port: u16) -> Self {
        let mut header = TcpHeader::new(port, SERVER_PORT, 1, 65_535);
        header.ack = true;
        Transport::Tcp(header)
    }

    /// Returns the IP protocol number.
    pub fn number(&self) -> IpNumber {
        match self {
            Transport::Tcp(_) => ip_number::TCP,
            Transport::Udp(_) => ip_number::UDP,
        }
    }

    fn len(&self) -> usize {
        match self {
            Transport::Tcp(header) => header.header_len(),
            Transport::Udp(_) => UdpHeader::LEN,
        }
    }
}
