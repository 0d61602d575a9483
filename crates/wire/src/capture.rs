//! Capture files: libpcap's format 2.4 with nanoseconds, of raw IP packets without their payload.
//!
//! Packets are IPv4 with TCP (RFC 9293) or UDP (RFC 768). A record contains the headers only; its original length is
//! that of the packet. Payload counts as zeros in the checksums.

use crate::accecn::{ByteCounters, MAX_OPTION_LEN, Order, emit};
use crate::checksum;

/// Magic number of libpcap with nanoseconds.
const MAGIC: u32 = 0xA1B2_3C4D;
const LINKTYPE_RAW: u32 = 101;
const SNAP_LEN: u32 = 128;

const IPV4_LEN: usize = 20;
const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Maximum length of TCP options, bytes.
const MAX_OPTIONS_LEN: usize = 40;
/// Advertised window, and its scale in a SYN: 64 MiB, which limits no sender.
const WINDOW: u16 = 0xFFFF;
const WINDOW_SCALE: u8 = 10;

/// Address and port of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// IPv4 address.
    pub address: [u8; 4],
    /// Port.
    pub port: u16,
}

/// Headers of an IPv4 packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Source.
    pub from: Endpoint,
    /// Destination.
    pub to: Endpoint,
    /// ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Payload of TCP or UDP, bytes.
    pub payload_len: u16,
    /// The TCP header; `None` for UDP.
    pub tcp: Option<TcpHeader>,
}

/// A TCP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number, if the segment acknowledges.
    pub acknowledgement: Option<u32>,
    /// SYN, which also has the options MSS, SACK permitted and window scale.
    pub syn: bool,
    /// PSH.
    pub psh: bool,
    /// AE, CWR and ECE: bits 2, 1 and 0.
    pub ace: u8,
    /// Maximum segment size, bytes, for a SYN.
    pub mss: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Vec<(u32, u32)>,
    /// The AccECN option.
    pub received_bytes: Option<(Order, ByteCounters)>,
}

/// Returns the header of a capture file.
pub fn file_header() -> [u8; 24] {
    let mut bytes = [0; 24];
    let words = [MAGIC, 2 | 4 << 16, 0, 0, SNAP_LEN, LINKTYPE_RAW];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Returns the record of a packet sent at `at_ns` nanoseconds.
pub fn record(at_ns: u64, headers: &Headers) -> Vec<u8> {
    let packet = packet(headers);
    let len = packet.len() + usize::from(headers.payload_len);
    let (seconds, nanoseconds) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
    let words = [seconds as u32, nanoseconds as u32, packet.len() as u32, len as u32];
    words.iter().flat_map(|word| word.to_le_bytes()).chain(packet).collect()
}

/// Returns the headers of a packet, in network byte order.
fn packet(headers: &Headers) -> Vec<u8> {
    let protocol = if headers.tcp.is_some() { PROTOCOL_TCP } else { PROTOCOL_UDP };
    let mut transport = match &headers.tcp {
        Some(tcp) => tcp_header(headers, tcp),
        None => udp_header(headers),
    };
    let body_len = transport.len() as u16 + headers.payload_len;
    let (from, to) = (headers.from.address, headers.to.address);
    let pseudo_header = [&from[..], &to[..], &[0, protocol], &body_len.to_be_bytes()[..]].concat();
    let sum = checksum::add(checksum::sum(&pseudo_header), checksum::sum(&transport));
    let place = if headers.tcp.is_some() { 16..18 } else { 6..8 };
    // A UDP checksum of 0 would mean that there is none.
    let own = if !sum == 0 && headers.tcp.is_none() { 0xFFFF } else { !sum };
    transport[place].copy_from_slice(&own.to_be_bytes());

    let mut ip = [0; IPV4_LEN];
    ip[0] = 0x45;
    ip[1] = headers.ecn & 3;
    ip[2..4].copy_from_slice(&(IPV4_LEN as u16 + body_len).to_be_bytes());
    ip[6] = 0x40; // do not fragment
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&from);
    ip[16..20].copy_from_slice(&to);
    let sum = !checksum::sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&ip[..], &transport].concat()
}

fn udp_header(headers: &Headers) -> Vec<u8> {
    let len = UDP_LEN as u16 + headers.payload_len;
    [headers.from.port, headers.to.port, len, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

fn tcp_header(headers: &Headers, tcp: &TcpHeader) -> Vec<u8> {
    let options = options(tcp);
    let mut bytes = Vec::with_capacity(TCP_LEN + options.len());
    bytes.extend(headers.from.port.to_be_bytes());
    bytes.extend(headers.to.port.to_be_bytes());
    bytes.extend(tcp.sequence.to_be_bytes());
    bytes.extend(tcp.acknowledgement.unwrap_or(0).to_be_bytes());
    let offset = ((TCP_LEN + options.len()) / 4) as u16;
    let flags = u16::from(tcp.ace & 7) << 6
        | u16::from(tcp.acknowledgement.is_some()) << 4
        | u16::from(tcp.psh) << 3
        | u16::from(tcp.syn) << 1;
    bytes.extend((offset << 12 | flags).to_be_bytes());
    bytes.extend(WINDOW.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes
}

/// Returns the options, padded to words of 32 bits. Options that do not fit are omitted.
fn options(tcp: &TcpHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    if tcp.syn {
        bytes.extend([2, 4]);
        bytes.extend(tcp.mss.to_be_bytes());
        bytes.extend([4, 2]);
    } else if tcp.timestamps.is_some() {
        bytes.extend([1, 1]);
    }
    if let Some((value, echo)) = tcp.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
    }
    if tcp.syn {
        bytes.extend([1, 3, 3, WINDOW_SCALE]);
    }
    if !tcp.sack.is_empty() {
        bytes.extend([1, 1, 5, 2 + 8 * tcp.sack.len() as u8]);
        for (start, end) in &tcp.sack {
            bytes.extend(start.to_be_bytes());
            bytes.extend(end.to_be_bytes());
        }
    }
    if let Some((order, counters)) = tcp.received_bytes {
        let mut room = [0; MAX_OPTION_LEN];
        let option = emit(order, counters, &mut room);
        if bytes.len() + option.len() <= MAX_OPTIONS_LEN {
            bytes.extend(option);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(4), 1);
    bytes.truncate(MAX_OPTIONS_LEN);
    bytes
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketHeaders, TcpOptionElement, TransportHeader};

    use super::*;

    fn headers(tcp: Option<TcpHeader>) -> Headers {
        let from = Endpoint { address: [10, 0, 0, 1], port: 10_000 };
        let to = Endpoint { address: [100, 64, 0, 1], port: 5_201 };
        Headers { from, to, ecn: 2, payload_len: 100, tcp }
    }

    #[test]
    fn another_library_reads_a_tcp_packet() {
        let tcp = TcpHeader {
            sequence: 7,
            acknowledgement: Some(9),
            psh: true,
            ace: 0b101,
            timestamps: Some((1, 2)),
            sack: vec![(100, 200)],
            ..TcpHeader::default()
        };
        let bytes = packet(&headers(Some(tcp)));
        let whole = [&bytes[..], &[0; 100]].concat();
        let read = PacketHeaders::from_ip_slice(&whole).expect("is IP");
        let Some(TransportHeader::Tcp(header)) = read.transport else { panic!("is TCP") };
        assert_eq!((header.sequence_number, header.acknowledgment_number), (7, 9));
        assert!(header.ack && header.psh && header.ns && header.ece && !header.cwr && !header.syn);
        let options: Vec<_> =
            header.options_iterator().map(|option| option.expect("is one")).collect();
        assert!(options.contains(&TcpOptionElement::Timestamp(1, 2)), "{options:?}");
        assert!(
            options.contains(&TcpOptionElement::SelectiveAcknowledgement((100, 200), [None; 3]))
        );
        let Some(etherparse::NetHeaders::Ipv4(ip, _)) = read.net else { panic!("is IPv4") };
        assert_eq!(ip.ecn.value(), 2);
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let sum = header.calc_checksum_ipv4(&ip, &[0; 100]).expect("fits");
        assert_eq!(header.checksum, sum);
    }

    #[test]
    fn another_library_reads_a_udp_packet() {
        let bytes = packet(&headers(None));
        let whole = [&bytes[..], &[0; 100]].concat();
        let read = PacketHeaders::from_ip_slice(&whole).expect("is IP");
        let Some(TransportHeader::Udp(header)) = read.transport else { panic!("is UDP") };
        assert_eq!((header.source_port, header.length), (10_000, 108));
        let Some(etherparse::NetHeaders::Ipv4(ip, _)) = read.net else { panic!("is IPv4") };
        assert_eq!(header.checksum, header.calc_checksum_ipv4(&ip, &[0; 100]).expect("fits"));
    }

    #[test]
    fn a_record_has_its_time_and_both_lengths() {
        let record = record(3_000_000_004, &headers(None));
        let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four"));
        assert_eq!([0, 4, 8, 12].map(word), [3, 4, 28, 128]);
        assert_eq!(record.len(), 16 + 28);
        assert_eq!(file_header().len(), 24);
    }
}
