//! Re-ECN in IPv4: the sender's declaration in the ECN field and the unused bit of the flags (RE).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|  IHL  |   DSCP    |ECN|         Total Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Identification         |R|D|M|     Fragment Offset     |    R: bit 48, the RE bit
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! | ECN, RE | meaning in a network with re-ECN |
//! |---|---|
//! | 00, 1 | credit, for the auditor |
//! | 01, 1 | takes part, nothing to declare |
//! | 01, 0 | declares a mark or a loss |
//! | 11, 1 | marked |
//! | 11, 0 | declares, and marked |
//! | 10, 0 | classic ECN, does not take part |
//! | 00, 0 | no ECN, does not take part |
//! | 10, 1 | unused |
//!
//! The table is table I of A. Sanhaji, P. Niger and P. Cadro, "ConEx Performance Evaluation and Application to Video
//! Streaming". A router without re-ECN changes ECT(1) to CE, and so preserves the declaration.

use crate::error::front;
use crate::{EcnField, WireError, ipv4};

/// Offset of the byte with the RE bit.
const BYTE: usize = 6;
const RE: u8 = 0x80;

/// Meaning of the ECN field and the RE bit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReEcnCodepoint {
    /// Credit, for the auditor.
    Credit,
    /// Takes part, and has nothing to declare.
    NotMarked,
    /// Declares a mark or a loss.
    ReEcho,
    /// Takes part, and was marked in transit.
    Marked,
    /// Declares a mark or a loss, and was marked in transit.
    MarkedReEcho,
    /// ECN-capable, does not take part.
    LegacyEcn,
    /// Not ECN-capable, does not take part.
    NotEcn,
    /// Unassigned.
    Unused,
}

impl ReEcnCodepoint {
    /// Returns the codepoint of an ECN field and an RE bit.
    pub const fn of(ecn: EcnField, re: bool) -> Self {
        match (ecn, re) {
            (EcnField::NotEct, true) => ReEcnCodepoint::Credit,
            (EcnField::Ect1, true) => ReEcnCodepoint::NotMarked,
            (EcnField::Ect1, false) => ReEcnCodepoint::ReEcho,
            (EcnField::Ce, true) => ReEcnCodepoint::Marked,
            (EcnField::Ce, false) => ReEcnCodepoint::MarkedReEcho,
            (EcnField::Ect0, false) => ReEcnCodepoint::LegacyEcn,
            (EcnField::NotEct, false) => ReEcnCodepoint::NotEcn,
            (EcnField::Ect0, true) => ReEcnCodepoint::Unused,
        }
    }

    /// Returns the ECN field and the RE bit of the codepoint.
    pub const fn fields(self) -> (EcnField, bool) {
        match self {
            ReEcnCodepoint::Credit => (EcnField::NotEct, true),
            ReEcnCodepoint::NotMarked => (EcnField::Ect1, true),
            ReEcnCodepoint::ReEcho => (EcnField::Ect1, false),
            ReEcnCodepoint::Marked => (EcnField::Ce, true),
            ReEcnCodepoint::MarkedReEcho => (EcnField::Ce, false),
            ReEcnCodepoint::LegacyEcn => (EcnField::Ect0, false),
            ReEcnCodepoint::NotEcn => (EcnField::NotEct, false),
            ReEcnCodepoint::Unused => (EcnField::Ect0, true),
        }
    }
}

/// Returns the codepoint of the IPv4 header at the start of `bytes`.
pub fn read(bytes: &[u8]) -> Result<ReEcnCodepoint, WireError> {
    let header = front(bytes, ipv4::header_len(bytes)?)?;
    let ecn = EcnField::from_traffic_class(header[ipv4::TRAFFIC_CLASS]);
    Ok(ReEcnCodepoint::of(ecn, header[BYTE] & RE != 0))
}

/// Writes both fields, updates the header checksum, and changes nothing else.
pub fn write(bytes: &mut [u8], codepoint: ReEcnCodepoint) -> Result<(), WireError> {
    let header_len = ipv4::header_len(bytes)?;
    let header = &mut bytes[..header_len];
    let (ecn, re) = codepoint.fields();
    let class = header[ipv4::TRAFFIC_CLASS] & !(EcnField::Ce as u8) | ecn as u8;
    let flags = header[BYTE] & !RE | if re { RE } else { 0 };
    ipv4::edit(header, ipv4::TRAFFIC_CLASS, &[class]);
    ipv4::edit(header, BYTE, &[flags]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;
    use proptest::prelude::*;

    const ALL: [ReEcnCodepoint; 8] = [
        ReEcnCodepoint::Credit,
        ReEcnCodepoint::NotMarked,
        ReEcnCodepoint::ReEcho,
        ReEcnCodepoint::Marked,
        ReEcnCodepoint::MarkedReEcho,
        ReEcnCodepoint::LegacyEcn,
        ReEcnCodepoint::NotEcn,
        ReEcnCodepoint::Unused,
    ];

    fn with_checksum(mut header: Vec<u8>) -> Vec<u8> {
        header[10..12].fill(0);
        let checksum = !checksum::sum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header
    }

    fn header() -> Vec<u8> {
        let fixed = [0x45, 0xB8, 0, 20, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0];
        with_checksum([&fixed[..], &[198, 18, 1, 1, 198, 19, 0, 1]].concat())
    }

    /// Each pair of fields has one codepoint, and each codepoint one pair.
    #[test]
    fn the_table_is_one_to_one() {
        for (number, codepoint) in ALL.into_iter().enumerate() {
            let (ecn, re) = codepoint.fields();
            assert_eq!(ReEcnCodepoint::of(ecn, re), codepoint);
            assert!(ALL[..number].iter().all(|other| other.fields() != (ecn, re)));
        }
    }

    #[test]
    fn the_bits_are_those_of_the_table() {
        let golden = [
            (ReEcnCodepoint::Credit, 0b00, 1),
            (ReEcnCodepoint::NotMarked, 0b01, 1),
            (ReEcnCodepoint::ReEcho, 0b01, 0),
            (ReEcnCodepoint::Marked, 0b11, 1),
            (ReEcnCodepoint::MarkedReEcho, 0b11, 0),
            (ReEcnCodepoint::LegacyEcn, 0b10, 0),
            (ReEcnCodepoint::NotEcn, 0b00, 0),
            (ReEcnCodepoint::Unused, 0b10, 1),
        ];
        for (codepoint, ecn, re) in golden {
            let mut bytes = header();
            write(&mut bytes, codepoint).expect("is a header");
            assert_eq!((bytes[1] & 0b11, bytes[6] >> 7), (ecn, re), "{codepoint:?}");
            assert_eq!((bytes[1] >> 2, bytes[6] & 0x7F), (0xB8 >> 2, 0x40), "others' bits");
            assert_eq!(read(&bytes), Ok(codepoint));
        }
    }

    /// RFC 3168, section 5: the change that a router without re-ECN may make to a packet.
    #[test]
    fn a_mark_in_transit_keeps_what_was_declared() {
        for (sent, arrives) in [
            (ReEcnCodepoint::NotMarked, ReEcnCodepoint::Marked),
            (ReEcnCodepoint::ReEcho, ReEcnCodepoint::MarkedReEcho),
        ] {
            let mut bytes = header();
            write(&mut bytes, sent).expect("is a header");
            assert!(ipv4::set_ce(&mut bytes));
            assert_eq!(read(&bytes), Ok(arrives));
        }
    }

    #[test]
    fn what_is_no_ipv4_header_is_an_error() {
        for have in 0..20 {
            let truncated = WireError::Truncated { have, need: 20 };
            assert_eq!(read(&header()[..have]), Err(truncated));
            assert_eq!(write(&mut header()[..have], ReEcnCodepoint::Credit), Err(truncated));
        }
        assert_eq!(read(&[0x65; 20]), Err(WireError::Version { version: 6 }));
    }

    proptest! {
        #[test]
        fn the_checksum_follows_and_others_bits_stay(
            bytes in prop::collection::vec(any::<u8>(), 20..60),
            to in prop::sample::select(ALL.to_vec()),
        ) {
            let mut before = bytes;
            before.truncate(before.len() / 4 * 4);
            before[0] = 0x40 | (before.len() / 4) as u8;
            let before = with_checksum(before);
            let mut after = before.clone();
            write(&mut after, to).expect("is a header");
            prop_assert_eq!(read(&after), Ok(to));
            prop_assert_eq!(checksum::sum(&after), 0xFFFF);
            after[1] = after[1] & !3 | before[1] & 3;
            after[6] = after[6] & 0x7F | before[6] & 0x80;
            after[10..12].copy_from_slice(&before[10..12]);
            prop_assert_eq!(after, before);
        }
    }
}
