//! The IPv6 header and its extension headers (RFC 8200).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|   DSCP    |ECN|              Flow Label               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Payload Length         |  Next Header  |   Hop Limit   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Source, 16 bytes; Destination, 16 bytes                      |
//! ```
//!
//! The walk along the extension headers ends at the first header that RFC 8200 does not define: content after an
//! authentication header or encrypted content is not examined.

use std::net::Ipv6Addr;

use crate::error::front;
use crate::packet::Fragment;
use crate::{EcnField, WireError};

pub(crate) const HEADER_LEN: usize = 40;

/// Next Header value of a Destination Options header.
pub const DESTINATION_OPTIONS: u8 = 60;
/// Offset of the options in a Destination Options header.
pub(crate) const OPTIONS: usize = 2;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
/// Unit of an extension header's length, which does not count the first unit, bytes.
const UNIT: usize = 8;
/// Offset of the byte with the lower half of the traffic class in its upper half.
const TRAFFIC_CLASS: usize = 1;
const MORE_FRAGMENTS: u16 = 1;
const FRAGMENT_OFFSET: u16 = 0xFFF8;

/// Fields of a header.
pub(crate) struct Header {
    pub total_len: usize,
    pub ecn: EcnField,
    pub next_header: u8,
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
}

/// Result of the walk along the extension headers.
#[derive(Clone, Copy)]
pub(crate) struct Extensions {
    pub fragment: Fragment,
    /// Protocol of the following header, and the offset of that header.
    pub protocol: u8,
    pub end: usize,
    /// Offset of the last Destination Options header.
    pub destination_options: Option<usize>,
}

/// Parses the header at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, WireError> {
    let header = front(bytes, HEADER_LEN)?;
    Ok(Header {
        total_len: HEADER_LEN + usize::from(u16::from_be_bytes([header[4], header[5]])),
        ecn: EcnField::from_traffic_class(header[TRAFFIC_CLASS] >> 4),
        next_header: header[6],
        source: address(header, 8),
        destination: address(header, 24),
    })
}

/// Walks along the extension headers of `packet`, which is complete. A fragment beyond the first contains no extension
/// headers, whatever its bytes.
pub(crate) fn extensions(packet: &[u8], next_header: u8) -> Result<Extensions, WireError> {
    let mut walk = Extensions {
        fragment: Fragment::Whole,
        protocol: next_header,
        end: HEADER_LEN,
        destination_options: None,
    };
    while walk.fragment != Fragment::Later && is_extension(walk.protocol, walk.end) {
        walk = step(packet, walk)?;
    }
    Ok(walk)
}

/// Advances over one extension header.
fn step(packet: &[u8], mut walk: Extensions) -> Result<Extensions, WireError> {
    let at = walk.end;
    let start = &front(packet, at + UNIT)?[at..];
    walk.end += UNIT;
    match walk.protocol {
        FRAGMENT => {
            walk.fragment = fragment(walk.fragment, u16::from_be_bytes([start[2], start[3]]))
        }
        _ => walk.end += usize::from(start[1]) * UNIT,
    }
    if walk.protocol == DESTINATION_OPTIONS {
        walk.destination_options = Some(at);
    }
    walk.protocol = start[0];
    front(packet, walk.end).map(|_| walk)
}

/// Returns the length of the Destination Options header at the start of `bytes`, which must be complete.
pub(crate) fn options_header(bytes: &[u8]) -> Result<usize, WireError> {
    let need = bytes.get(1).map_or(UNIT, |&units| (usize::from(units) + 1) * UNIT);
    front(bytes, need).map(<[u8]>::len)
}

/// Whether the protocol is an extension header; hop-by-hop options are valid only directly after the IPv6 header.
fn is_extension(protocol: u8, at: usize) -> bool {
    matches!(protocol, DESTINATION_OPTIONS | ROUTING | FRAGMENT)
        || protocol == HOP_BY_HOP && at == HEADER_LEN
}

/// Returns the kind of fragment. `field` is the fragment header's offset, in units of 8 bytes, and its flag. An atomic
/// fragment is a whole packet (RFC 6946).
fn fragment(before: Fragment, field: u16) -> Fragment {
    match (field & FRAGMENT_OFFSET, field & MORE_FRAGMENTS) {
        (0, 0) => before,
        (0, _) => Fragment::First,
        _ => Fragment::Later,
    }
}

/// Sets CE on a packet with ECT(0) or ECT(1); returns whether it did.
pub(crate) fn set_ce(bytes: &mut [u8]) -> bool {
    let may = bytes.len() >= HEADER_LEN
        && EcnField::from_traffic_class(bytes[TRAFFIC_CLASS] >> 4).is_ect();
    if may {
        bytes[TRAFFIC_CLASS] |= (EcnField::Ce as u8) << 4;
    }
    may
}

/// Writes the ECN field regardless of its value.
pub(crate) fn set_ecn(bytes: &mut [u8], ecn: EcnField) {
    if bytes.len() >= HEADER_LEN {
        let class = &mut bytes[TRAFFIC_CLASS];
        *class = *class & !((EcnField::Ce as u8) << 4) | (ecn as u8) << 4;
    }
}

fn address(header: &[u8], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[at..at + 16]);
    octets.into()
}
