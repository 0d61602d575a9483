//! Writes a capture file of packets that declare congestion and that feed it back, or reads one.
//!
//! Prints one line per packet: IP version, bits of the ConEx option, ECN field and RE bit, field ACE, and the counters
//! for ECT(0), CE and ECT(1); `-` for an absent field.
//!
//! ```sh
//! cargo run --package tidegate-wire --example declared_pcap -- write declared.pcap
//! cargo run --package tidegate-wire --example declared_pcap -- read declared.pcap
//! ```

mod capture;

use std::error::Error;
use std::fmt::Display;

use capture::Transport;
use etherparse::ip_number;
use tidegate_wire::accecn::{self, ByteCounters, MAX_OPTION_LEN, Order};
use tidegate_wire::conex::{Cdo, Conex};
use tidegate_wire::packet::{self, View};
use tidegate_wire::re_ecn::{self, ReEcnCodepoint};

/// Values of the option: every combination of X, L, E and C, and one with reserved bits.
const CONEX: [u8; 17] = [
    0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0xA0, 0xB0, 0xC0, 0xD0, 0xE0, 0xF0,
    0x8F,
];
const CODEPOINTS: [ReEcnCodepoint; 8] = [
    ReEcnCodepoint::Credit,
    ReEcnCodepoint::NotMarked,
    ReEcnCodepoint::ReEcho,
    ReEcnCodepoint::Marked,
    ReEcnCodepoint::MarkedReEcho,
    ReEcnCodepoint::LegacyEcn,
    ReEcnCodepoint::NotEcn,
    ReEcnCodepoint::Unused,
];

fn main() -> Result<(), Box<dyn Error>> {
    capture::play(written, print)
}

fn written() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut packets = Vec::new();
    for conex in CONEX {
        let room = Cdo::default().emit(ip_number::TCP.0, Conex::from_bits(conex & 0x0F));
        let mut bytes = capture::ipv6(Transport::tcp(40_000), &room)?;
        let view = packet::parse(&bytes)?;
        packet::write_conex(&mut bytes, &view, Cdo::default(), Conex::from_bits(conex))?;
        packets.push(bytes);
    }
    for codepoint in CODEPOINTS {
        let mut bytes = capture::ipv4(Transport::tcp(40_001), &[])?;
        re_ecn::write(&mut bytes, codepoint)?;
        packets.push(bytes);
    }
    for (order, counters) in [
        (Order::Ect0First, [Some(1), None, None]),
        (Order::Ect0First, [Some(0x12_3456), Some(0xFF_FFFF), None]),
        (Order::Ect0First, [Some(1), Some(0), Some(0xAB_CDEF)]),
        (Order::Ect1First, [None, None, Some(1)]),
        (Order::Ect1First, [None, Some(1500), Some(0x80_0000)]),
        (Order::Ect1First, [Some(7), Some(8), Some(9)]),
    ] {
        for ace in 0..8 {
            packets.push(acknowledgement(order, counters, ace)?);
        }
    }
    Ok(packets)
}

fn acknowledgement(
    order: Order,
    [ect0, ce, ect1]: [Option<u32>; 3],
    ace: u8,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut room = [0; MAX_OPTION_LEN];
    let option = accecn::emit(order, ByteCounters { ect0, ce, ect1 }, &mut room);
    let Transport::Tcp(mut tcp) = Transport::tcp(40_002) else { return Err("not TCP".into()) };
    let mut options = [1; 40];
    options[..option.len()].copy_from_slice(option);
    tcp.set_options_raw(&options[..option.len().next_multiple_of(4)])?;
    let mut bytes = capture::ipv4(Transport::Tcp(tcp), &[])?;
    let at = packet::parse(&bytes)?.transport_offset;
    accecn::set_ace(&mut bytes[at..], ace)?;
    Ok(bytes)
}

fn print(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let view = packet::parse(bytes)?;
    let tcp = &bytes[view.transport_offset..];
    let counters = accecn::parse(tcp)?.unwrap_or_default();
    let version = bytes[0] >> 4;
    let re = match version {
        4 => Some(u8::from(re_ecn::read(bytes)?.fields().1)),
        _ => None,
    };
    println!(
        "{version} {} {:02b} {} {} {} {} {}",
        shown(conex(bytes, &view)?.map(|conex| format!("{:02x}", conex.bits()))),
        view.ecn as u8,
        shown(re),
        accecn::ace(tcp)?,
        shown(counters.ect0),
        shown(counters.ce),
        shown(counters.ect1),
    );
    Ok(())
}

fn conex(bytes: &[u8], view: &View) -> Result<Option<Conex>, Box<dyn Error>> {
    match view.destination_options {
        Some(at) => Ok(Cdo::default().parse(&bytes[at..])?),
        None => Ok(None),
    }
}

fn shown(value: Option<impl Display>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}
