//! Writes a capture file of GTP-U packets, or reads one.
//!
//! Prints one line per packet: outer ECN field, message type, TEID, sequence number, types of the extension headers,
//! re-inserted bits, and then, for a user packet, its addresses; for a report, its sequence number and counters; for an
//! error indication, the TEID and the address of the reporting node; for a supported extension headers notification,
//! the known extension headers. An absent field is `-`.
//!
//! ```sh
//! cargo run --package tidegate-wire --example gtpu_pcap -- write tunnel.pcap
//! tshark -r tunnel.pcap -V
//! ```

mod capture;

use std::error::Error;
use std::fmt::Display;
use std::net::Ipv4Addr;

use capture::Transport;
use tidegate_wire::conex::Conex;
use tidegate_wire::gtpu::report::{self, Entry, GtpuReport, ReportedFate};
use tidegate_wire::gtpu::tunnel::{self, TunnelPath};
use tidegate_wire::gtpu::{Header, MessageKind, element, mark};
use tidegate_wire::{EcnField, packet};

/// Path from the gateway to the base station.
const DOWN: TunnelPath = TunnelPath {
    source: Ipv4Addr::new(192, 0, 2, 1),
    destination: Ipv4Addr::new(192, 0, 2, 2),
    source_port: 2152,
};
const UP: TunnelPath = TunnelPath { source: DOWN.destination, destination: DOWN.source, ..DOWN };
/// Type and content of a PDU session container: downlink, QoS flow 9.
const SESSION: (u8, [u8; 2]) = (0x85, [0x00, 0x09]);

fn main() -> Result<(), Box<dyn Error>> {
    capture::play(written, print)
}

fn written() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut packets = Vec::new();
    let room = mark::emit(Conex::NOT_CONEX);
    let (tcp, udp) = (Transport::tcp(40_001), Transport::Udp(40_000));
    let users = [
        capture::ipv4(tcp.clone(), &[])?,
        capture::ipv4(udp.clone(), &[])?,
        capture::ipv6(tcp.clone(), &padding(&tcp))?,
        capture::ipv6(udp.clone(), &padding(&udp))?,
    ];
    for (sequence, inner) in (65_534..=u16::MAX).chain(0..2).zip(users.iter().cycle()) {
        for (with_session, bits) in [(false, 0x80), (true, 0xA0)] {
            let extensions = [(SESSION.0, &SESSION.1[..]), (mark::EXTENSION, &room[..])];
            let header = data(Some(sequence));
            // Every packet inside the tunnel is ECN-capable ("Metering Re-ECN", section III).
            let own = packet::parse(inner)?.ecn;
            let ecn = if own.is_capable() { own } else { EcnField::Ect0 };
            let from = usize::from(!with_session);
            let mut bytes = Vec::new();
            tunnel::enclose(DOWN, ecn, header, &extensions[from..], inner, &mut bytes)?;
            let outer = tunnel::open(&bytes)?.ok_or("is of a tunnel")?;
            outer.write_mark(&mut bytes, Conex::from_bits(bits));
            if bits == 0xA0 {
                packet::set_ce(&mut bytes, &outer.view);
            }
            packets.push(bytes);
        }
    }
    let plain = [(data(None), DOWN, users[0].clone())];
    let end = Header { kind: MessageKind::EndMarker, ..data(None) };
    let echo = |kind, sequence| Header { kind, teid: 0, sequence: Some(sequence), n_pdu: None };
    let others = [
        (end, DOWN, Vec::new()),
        (echo(MessageKind::EchoRequest, 1), UP, reported()),
        (echo(MessageKind::EchoResponse, 1), DOWN, element::RECOVERY.to_vec()),
        (echo(MessageKind::ErrorIndication, 0), UP, element::refused(0x0102_0304, UP.source)),
        (echo(MessageKind::SupportedExtensions, 0), UP, element::KNOWN_EXTENSIONS.to_vec()),
    ];
    for (header, path, payload) in plain.into_iter().chain(others) {
        let mut bytes = Vec::new();
        tunnel::enclose(path, EcnField::NotEct, header, &[], &payload, &mut bytes)?;
        packets.push(bytes);
    }
    Ok(packets)
}

/// Returns a Destination Options header that contains padding only.
fn padding(before: &Transport) -> [u8; 8] {
    [before.number().0, 0, 1, 4, 0, 0, 0, 0]
}

fn data(sequence: Option<u16>) -> Header {
    Header { kind: MessageKind::Data, teid: 0x0102_0304, sequence, n_pdu: None }
}

fn reported() -> Vec<u8> {
    let report = GtpuReport {
        teid: 0x0102_0304,
        last_sequence: 1,
        received: 8,
        marked_before: 4,
        dropped_before: 1,
        dropped_here: 0,
        entries: vec![Entry { sequence: 65_535, fate: ReportedFate::MarkedBefore }],
    };
    let mut element = Vec::new();
    report::emit(&report, &mut element);
    element
}

fn print(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let outer = tunnel::open(bytes)?.ok_or("is not of a tunnel")?;
    let message = &bytes[outer.at..];
    let kinds: Vec<u8> = outer.message.extensions(message).map(|it| it.kind).collect();
    let Header { kind, teid, sequence, .. } = outer.message.header;
    println!(
        "{:02b} {} {teid} {} {} {} {}",
        outer.view.ecn as u8,
        u8::from(kind),
        shown(sequence),
        shown((!kinds.is_empty()).then(|| hex(&kinds))),
        shown(outer.mark(bytes).map(|conex| format!("{:02x}", conex.bits()))),
        payload(kind, outer.payload(bytes))?,
    );
    Ok(())
}

fn payload(kind: MessageKind, payload: &[u8]) -> Result<String, Box<dyn Error>> {
    Ok(match kind {
        MessageKind::Data => {
            let view = packet::parse(payload)?;
            format!("{} {}", view.source, view.destination)
        }
        MessageKind::EchoRequest => shown(report::parse(payload)?.map(|report| {
            let GtpuReport { received, marked_before, dropped_before, dropped_here, .. } = report;
            format!(
                "{} {received} {marked_before} {dropped_before} {dropped_here}",
                report.last_sequence
            )
        })),
        MessageKind::ErrorIndication => match *payload {
            [16, a, b, c, d, 133, 0, 4, ref address @ ..] => {
                let address: [u8; 4] = address.try_into()?;
                format!("{} {}", u32::from_be_bytes([a, b, c, d]), Ipv4Addr::from(address))
            }
            _ => return Err("says not what it is about".into()),
        },
        MessageKind::SupportedExtensions => match payload {
            [141, len, kinds @ ..] if usize::from(*len) == kinds.len() => hex(kinds),
            _ => return Err("has no list".into()),
        },
        _ => "-".to_owned(),
    })
}

fn hex(kinds: &[u8]) -> String {
    kinds.iter().map(|kind| format!("{kind:02x}")).collect::<Vec<_>>().join(",")
}

fn shown(value: Option<impl Display>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}
