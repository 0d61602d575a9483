//! Writes a capture file with packets that carry activity, for tshark to judge.
//!
//! Each is made as in a network: the sender leaves room, the meter writes into it, and a router
//! marks the packet. Prints a line for each: IP version, protocol, activity in steps of 1/256.
//!
//! ```sh
//! cargo run --package tidegate-wire --example activity_pcap -- activity.pcap
//! ```

use std::error::Error;
use std::fs;

use etherparse::{
    IpNumber, Ipv4Header, Ipv4Options, Ipv6Header, TcpHeader, UdpHeader, ip_number as protocol,
};
use tidegate_wire::activity::{self, Activity};
use tidegate_wire::packet;

/// From nothing to the largest that can be carried; 0.1 is none of the steps and is rounded up.
const ACTIVITIES: [f64; 6] = [0.0, 0.1, 1.5, 4.25, 100.0, 1e9];
const SERVER_PORT: u16 = 10_003;
const PAYLOAD: &[u8] = b"who gets what, and what would make it fair?";
/// ECT(0) as the lower two bits of the traffic class.
const ECT0: u8 = 0b10;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: activity_pcap FILE")?;
    let mut capture = file_header();
    for (activity, port) in ACTIVITIES.map(Activity::rounding_up).into_iter().zip(40_000..) {
        for protocol in [protocol::TCP, protocol::UDP] {
            for (version, sent) in [(4, ipv4(protocol, port)?), (6, ipv6(protocol, port)?)] {
                capture.extend(record(&on_the_way(sent, activity)?));
                let name = protocol.keyword_str().unwrap_or("?");
                println!("{version} {name} {}", activity.bits());
            }
        }
    }
    fs::write(path, capture)?;
    Ok(())
}

/// What meter and router do to a packet.
fn on_the_way(mut bytes: Vec<u8>, activity: Activity) -> Result<Vec<u8>, Box<dyn Error>> {
    let view = packet::parse(&bytes)?;
    if !packet::write_activity(&mut bytes, &view, activity)? {
        return Err("the sender left no room".into());
    }
    packet::set_ce(&mut bytes, &view);
    Ok(bytes)
}

fn ipv4(protocol: IpNumber, port: u16) -> Result<Vec<u8>, Box<dyn Error>> {
    let body_len = transport_len(protocol) + PAYLOAD.len();
    let (source, destination) = ([198, 18, 1, 1], [198, 19, 0, 1]);
    let mut header = Ipv4Header::new(body_len as u16, 64, protocol, source, destination)?;
    header.ecn = etherparse::IpEcn::try_new(ECT0)?;
    header.options = Ipv4Options::try_from(&activity::ipv4::emit(Activity::default())[..])?;
    header.set_payload_len(body_len)?;
    header.header_checksum = header.calc_header_checksum();
    let body = match protocol {
        protocol::TCP => {
            let mut tcp = TcpHeader::new(port, SERVER_PORT, 1, 65_535);
            tcp.checksum = tcp.calc_checksum_ipv4(&header, PAYLOAD)?;
            tcp.to_bytes().to_vec()
        }
        _ => {
            UdpHeader::with_ipv4_checksum(port, SERVER_PORT, &header, PAYLOAD)?.to_bytes().to_vec()
        }
    };
    Ok([&header.to_bytes()[..], &body, PAYLOAD].concat())
}

fn ipv6(protocol: IpNumber, port: u16) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = activity::ipv6::emit(protocol.0, Activity::default());
    let header = Ipv6Header {
        traffic_class: ECT0,
        payload_length: (options.len() + transport_len(protocol) + PAYLOAD.len()) as u16,
        next_header: protocol::IPV6_DEST_OPTIONS,
        hop_limit: 64,
        source: "2001:2:0:1::1".parse::<std::net::Ipv6Addr>()?.octets(),
        destination: "2001:2:0:2::1".parse::<std::net::Ipv6Addr>()?.octets(),
        ..Ipv6Header::default()
    };
    let body = match protocol {
        protocol::TCP => {
            let mut tcp = TcpHeader::new(port, SERVER_PORT, 1, 65_535);
            tcp.checksum = tcp.calc_checksum_ipv6(&header, PAYLOAD)?;
            tcp.to_bytes().to_vec()
        }
        _ => {
            UdpHeader::with_ipv6_checksum(port, SERVER_PORT, &header, PAYLOAD)?.to_bytes().to_vec()
        }
    };
    Ok([&header.to_bytes()[..], &options, &body, PAYLOAD].concat())
}

fn transport_len(protocol: IpNumber) -> usize {
    if protocol == protocol::TCP { TcpHeader::MIN_LEN } else { UdpHeader::LEN }
}

/// The head of a capture file (libpcap's format 2.4): raw IP packets.
fn file_header() -> Vec<u8> {
    const LINKTYPE_RAW: u32 = 101;
    const SNAP_LEN: u32 = 65_535;
    let version = 2 | 4 << 16;
    [0xA1B2_C3D4, version, 0, 0, SNAP_LEN, LINKTYPE_RAW].map(u32::to_le_bytes).concat()
}

/// A packet of a capture file; all have time 0.
fn record(packet: &[u8]) -> Vec<u8> {
    let len = packet.len() as u32;
    [&[0, 0, len, len].map(u32::to_le_bytes).concat(), packet].concat()
}
