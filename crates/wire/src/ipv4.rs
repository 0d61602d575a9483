//! The IPv4 header (RFC 791).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|  IHL  |   DSCP    |ECN|         Total Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Identification         |Flags|     Fragment Offset     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Time to Live  |   Protocol    |        Header Checksum        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            Source                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Destination                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Options, up to 40 bytes ...                                  |
//! ```

use std::net::Ipv4Addr;
use std::ops::Range;

use crate::error::front;
use crate::packet::Fragment;
use crate::{EcnField, WireError, checksum};

/// Length without options and therefore offset of the options, bytes.
pub(crate) const HEADER_LEN: usize = 20;
/// Unit of IHL, bytes.
const UNIT: usize = 4;
pub(crate) const TRAFFIC_CLASS: usize = 1;
const CHECKSUM: Range<usize> = 10..12;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1FFF;

/// Checked fields of a header.
pub(crate) struct Header {
    pub header_len: usize,
    pub total_len: usize,
    pub ecn: EcnField,
    pub fragment: Fragment,
    pub protocol: u8,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
}

/// Parses the header at the start of `bytes`, which must be complete and have a correct checksum.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, WireError> {
    let header_len = header_len(bytes)?;
    let header = front(bytes, header_len)?;
    if checksum::sum(header) != 0xFFFF {
        return Err(WireError::HeaderChecksum { stated: word(header, CHECKSUM.start) });
    }
    let total_len = usize::from(word(header, 2));
    if total_len < header_len {
        return Err(WireError::HeaderLength { stated: total_len, least: header_len });
    }
    Ok(Header {
        header_len,
        total_len,
        ecn: EcnField::from_traffic_class(header[TRAFFIC_CLASS]),
        fragment: fragment(word(header, 6)),
        protocol: header[9],
        source: address(header, 12),
        destination: address(header, 16),
    })
}

/// Returns the length of the header at the start of `bytes`, which must be complete.
pub(crate) fn header_len(bytes: &[u8]) -> Result<usize, WireError> {
    let first = front(bytes, HEADER_LEN)?[0];
    if first >> 4 != 4 {
        return Err(WireError::Version { version: first >> 4 });
    }
    let stated = usize::from(first & 0xF) * UNIT;
    if stated < HEADER_LEN {
        return Err(WireError::HeaderLength { stated, least: HEADER_LEN });
    }
    front(bytes, stated).map(<[u8]>::len)
}

/// Writes a header without options into `header`, with its checksum.
pub(crate) fn fill(
    header: &mut [u8],
    total_len: u16,
    ecn: EcnField,
    time_to_live: u8,
    protocol: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
) {
    header[0] = 0x40 | (HEADER_LEN / UNIT) as u8;
    header[TRAFFIC_CLASS] = ecn as u8;
    header[2..4].copy_from_slice(&total_len.to_be_bytes());
    header[4..8].fill(0);
    header[8..10].copy_from_slice(&[time_to_live, protocol]);
    header[CHECKSUM].fill(0);
    header[12..16].copy_from_slice(&source.octets());
    header[16..HEADER_LEN].copy_from_slice(&destination.octets());
    let checksum = !checksum::sum(&header[..HEADER_LEN]);
    header[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
}

/// Sets CE on a packet with ECT(0) or ECT(1); returns whether it did.
pub(crate) fn set_ce(bytes: &mut [u8]) -> bool {
    let may =
        bytes.len() >= HEADER_LEN && EcnField::from_traffic_class(bytes[TRAFFIC_CLASS]).is_ect();
    if may {
        let marked = bytes[TRAFFIC_CLASS] | EcnField::Ce as u8;
        edit(bytes, TRAFFIC_CLASS, &[marked]);
    }
    may
}

/// Writes the ECN field regardless of its value.
pub(crate) fn set_ecn(bytes: &mut [u8], ecn: EcnField) {
    if bytes.len() >= HEADER_LEN {
        let class = bytes[TRAFFIC_CLASS] & !(EcnField::Ce as u8) | ecn as u8;
        edit(bytes, TRAFFIC_CLASS, &[class]);
    }
}

/// Replaces the bytes of `header` from `at` on by `new`, and updates the checksum. A wrong checksum stays wrong, so
/// that an edit does not hide corruption.
pub(crate) fn edit(header: &mut [u8], at: usize, new: &[u8]) {
    let end = at + new.len();
    // The checksum counts whole words; a header has an even length.
    let words = at & !1..end.next_multiple_of(2);
    let old_sum = checksum::sum(&header[words.clone()]);
    header[at..end].copy_from_slice(new);
    let new_sum = checksum::sum(&header[words]);
    let updated = checksum::update(word(header, CHECKSUM.start), old_sum, new_sum);
    header[CHECKSUM].copy_from_slice(&updated.to_be_bytes());
}

fn fragment(field: u16) -> Fragment {
    match (field & FRAGMENT_OFFSET, field & MORE_FRAGMENTS) {
        (0, 0) => Fragment::Whole,
        (0, _) => Fragment::First,
        _ => Fragment::Later,
    }
}

fn word(header: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

fn address(header: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3])
}
