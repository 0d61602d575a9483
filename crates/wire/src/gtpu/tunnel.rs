//! A user's packet in a tunnel: IPv4 and UDP around GTP-U.

use std::net::{IpAddr, Ipv4Addr};

use super::{Header, Message, PORT, emit, mark, parse};
use crate::conex::Conex;
use crate::error::front;
use crate::packet::{self, Fragment, Ports, Transport, View};
use crate::{EcnField, WireError, checksum, ipv4};

const UDP: u8 = 17;
const UDP_HEADER_LEN: usize = 8;
const TIME_TO_LIVE: u8 = 64;
/// Overhead of a packet without optional fields and extension headers, bytes.
pub const OVERHEAD: usize = ipv4::HEADER_LEN + UDP_HEADER_LEN + 8;

/// The path of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelPath {
    /// Address of the sending end.
    pub source: Ipv4Addr,
    /// Address of the receiving end.
    pub destination: Ipv4Addr,
    /// UDP port of the sending end, to which answers are sent.
    pub source_port: u16,
}

/// A packet received from a path: GTP-U in UDP in IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outer {
    /// The outer headers.
    pub view: View,
    /// The message; its offsets are in bytes from the start of the message.
    pub message: Message,
    /// Offset of the message in the packet.
    pub at: usize,
}

/// Appends a message on its path to `out`: IPv4 with this ECN field, UDP with its checksum, GTP-U.
pub fn enclose(
    path: TunnelPath,
    ecn: EcnField,
    header: Header,
    extensions: &[(u8, &[u8])],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    out.resize(start + ipv4::HEADER_LEN + UDP_HEADER_LEN, 0);
    let done = emit(header, extensions, payload, out).and_then(|()| {
        let most = usize::from(u16::MAX);
        let len = out.len() - start;
        if len > most { Err(WireError::TooLong { len, most }) } else { Ok(len) }
    });
    match done {
        Ok(len) => {
            let (ip, rest) = out[start..].split_at_mut(ipv4::HEADER_LEN);
            ipv4::fill(ip, len as u16, ecn, TIME_TO_LIVE, UDP, path.source, path.destination);
            fill_udp(path, rest);
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

fn fill_udp(path: TunnelPath, datagram: &mut [u8]) {
    let len = datagram.len() as u16;
    datagram[0..2].copy_from_slice(&path.source_port.to_be_bytes());
    datagram[2..4].copy_from_slice(&PORT.to_be_bytes());
    datagram[4..6].copy_from_slice(&len.to_be_bytes());
    // The pseudo-header (RFC 768): addresses, protocol, length. A sum of 0 is sent as 0xFFFF.
    let [a, b] = len.to_be_bytes();
    let pseudo = [&path.source.octets()[..], &path.destination.octets(), &[0, UDP, a, b]].concat();
    let sum = !checksum::add(checksum::sum(&pseudo), checksum::sum(datagram));
    datagram[6..8].copy_from_slice(&if sum == 0 { 0xFFFF } else { sum }.to_be_bytes());
}

/// Parses a packet of a path. Returns `None` for other packets: not UDP to GTP-U's port, or a fragment.
pub fn open(bytes: &[u8]) -> Result<Option<Outer>, WireError> {
    let view = packet::parse(bytes)?;
    let to_port = view.ports.map(|Ports { destination, .. }| destination);
    if view.transport != Transport::Udp || view.fragment != Fragment::Whole || to_port != Some(PORT)
    {
        return Ok(None);
    }
    let datagram = &bytes[view.transport_offset..];
    let stated = usize::from(u16::from_be_bytes([datagram[4], datagram[5]]));
    if stated < UDP_HEADER_LEN {
        return Err(WireError::HeaderLength { stated, least: UDP_HEADER_LEN });
    }
    let message = parse(&front(datagram, stated)?[UDP_HEADER_LEN..])?;
    Ok(Some(Outer { view, message, at: view.transport_offset + UDP_HEADER_LEN }))
}

impl Outer {
    /// Returns the payload of the message, such as the user's packet.
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes
            .get(self.at..)
            .and_then(|message| message.get(self.message.payload.clone()))
            .unwrap_or_default()
    }

    /// Returns the re-inserted bits ([`mark`]).
    pub fn mark(&self, bytes: &[u8]) -> Option<Conex> {
        mark::parse(bytes.get(self.at..)?, &self.message)
    }

    /// Writes re-inserted bits into the existing extension header, updates the UDP checksum, and changes nothing else.
    /// Returns whether the extension header exists.
    pub fn write_mark(&self, bytes: &mut [u8], conex: Conex) -> bool {
        let Some(at) = bytes.get(self.at..).and_then(|message| mark::place(message, &self.message))
        else {
            return false;
        };
        let datagram = &mut bytes[self.at - UDP_HEADER_LEN..];
        // The checksum counts words from the UDP header.
        let word = (UDP_HEADER_LEN + at) & !1;
        let old = u16::from_be_bytes([datagram[word], datagram[word + 1]]);
        datagram[UDP_HEADER_LEN + at] = conex.bits();
        let new = u16::from_be_bytes([datagram[word], datagram[word + 1]]);
        let sum = u16::from_be_bytes([datagram[6], datagram[7]]);
        if sum != 0 {
            let updated = checksum::update(sum, old, new);
            let sent = if updated == 0 { 0xFFFF } else { updated };
            datagram[6..8].copy_from_slice(&sent.to_be_bytes());
        }
        true
    }

    /// Whether the addresses are those of this path, in either direction.
    pub fn is_on(&self, path: TunnelPath) -> bool {
        (self.view.source, self.view.destination)
            == (IpAddr::V4(path.source), IpAddr::V4(path.destination))
    }
}
