//! Accurate ECN in TCP (RFC 9768): the ACE field of three flags, and the option with byte counters.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Offset | res |A|C|E|U|A|P|R|S|F|    A C E: AE, CWR, ECE, together the field ACE, the lowest
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+      three bits of the receiver's count of marked packets
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Kind = 172    |  Length = 11  |          EE0B field           |    order 0
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | EE0B (cont'd) |                  ECEB field                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  EE1B field                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Each field counts payload bytes received with ECT(0), CE and ECT(1), modulo 2²⁴. Kind 174, order 1, begins with EE1B
//! and ends with EE0B. Trailing fields may be omitted.

use std::ops::Range;

use crate::error::front;
use crate::{WireError, checksum, options};

/// Length of a TCP header without options (RFC 9293, section 3.1), bytes.
const HEADER_LEN: usize = 20;
const OFFSET: usize = 12;
const FLAGS: Range<usize> = 12..14;
const CHECKSUM: Range<usize> = 16..18;
/// Bit position of ACE (AE, CWR and ECE) among the flags.
const ACE_SHIFT: u16 = 6;
const ACE: u16 = 0b111 << ACE_SHIFT;

const FIELD_LEN: usize = 3;
const FIELDS: usize = 3;
/// Length of the longest option, bytes.
pub const MAX_OPTION_LEN: usize = 2 + FIELDS * FIELD_LEN;

/// Order of the fields in the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

/// Payload bytes received, by ECN field, modulo 2²⁴; `None` for an omitted field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteCounters {
    /// EE0B: bytes with ECT(0).
    pub ect0: Option<u32>,
    /// ECEB: bytes with CE.
    pub ce: Option<u32>,
    /// EE1B: bytes with ECT(1).
    pub ect1: Option<u32>,
}

impl Order {
    /// Returns the kind of the option.
    pub const fn kind(self) -> u8 {
        match self {
            Order::Ect0First => 172,
            Order::Ect1First => 174,
        }
    }

    fn of(kind: u8) -> Option<Self> {
        [Order::Ect0First, Order::Ect1First].into_iter().find(|order| order.kind() == kind)
    }
}

/// Returns the ACE field (AE, CWR and ECE) of the TCP header at the start of `tcp`.
pub fn ace(tcp: &[u8]) -> Result<u8, WireError> {
    let header = front(tcp, HEADER_LEN)?;
    Ok(((word(header, FLAGS) & ACE) >> ACE_SHIFT) as u8)
}

/// Writes the lowest three bits of `ace` into AE, CWR and ECE, updates the checksum, and changes nothing else.
pub fn set_ace(tcp: &mut [u8], ace: u8) -> Result<(), WireError> {
    front(tcp, HEADER_LEN)?;
    let before = word(tcp, FLAGS);
    let after = before & !ACE | u16::from(ace) << ACE_SHIFT & ACE;
    let updated = checksum::update(word(tcp, CHECKSUM), before, after);
    tcp[FLAGS].copy_from_slice(&after.to_be_bytes());
    tcp[CHECKSUM].copy_from_slice(&updated.to_be_bytes());
    Ok(())
}

/// Writes the option into `room` and returns it: the counters in this order up to the first that is `None`, each modulo
/// 2²⁴.
pub fn emit(order: Order, counters: ByteCounters, room: &mut [u8; MAX_OPTION_LEN]) -> &[u8] {
    let ByteCounters { ect0, ce, ect1 } = counters;
    let fields = match order {
        Order::Ect0First => [ect0, ce, ect1],
        Order::Ect1First => [ect1, ce, ect0],
    };
    let mut len = 2;
    for field in fields.into_iter().map_while(|field| field) {
        room[len..len + FIELD_LEN].copy_from_slice(&field.to_be_bytes()[1..]);
        len += FIELD_LEN;
    }
    room[..2].copy_from_slice(&[order.kind(), len as u8]);
    &room[..len]
}

/// Returns the counters in the TCP header at the start of `tcp`, options included; `None` without the option. Bytes
/// that do not fill a field are padding (section 3.2.3). If there are several options, the first one counts.
pub fn parse(tcp: &[u8]) -> Result<Option<ByteCounters>, WireError> {
    let header = front(tcp, header_len(tcp)?)?;
    for option in options::options(header, HEADER_LEN, options::COUNTED) {
        let (_, option) = option?;
        if let Some(order) = Order::of(option[0]) {
            return Ok(Some(counters(order, &option[2..])));
        }
    }
    Ok(None)
}

fn counters(order: Order, data: &[u8]) -> ByteCounters {
    let (fields, _) = data.as_chunks::<FIELD_LEN>();
    let field = |at: usize| fields.get(at).map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]));
    let [first, ce, last] = [0, 1, 2].map(field);
    match order {
        Order::Ect0First => ByteCounters { ect0: first, ce, ect1: last },
        Order::Ect1First => ByteCounters { ect1: first, ce, ect0: last },
    }
}

/// Returns the length of the header, which its field states in units of four bytes.
fn header_len(tcp: &[u8]) -> Result<usize, WireError> {
    let stated = usize::from(front(tcp, HEADER_LEN)?[OFFSET] >> 4) * 4;
    if stated < HEADER_LEN {
        return Err(WireError::HeaderLength { stated, least: HEADER_LEN });
    }
    Ok(stated)
}

fn word(header: &[u8], at: Range<usize>) -> u16 {
    u16::from_be_bytes([header[at.start], header[at.start + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOP: u8 = 1;

    /// Returns a TCP header with these options.
    fn header(options: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        bytes.extend(options.concat());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes[OFFSET] = ((bytes.len() / 4) << 4) as u8;
        bytes[13] = 0x10;
        bytes
    }

    fn all(ect0: u32, ce: u32, ect1: u32) -> ByteCounters {
        ByteCounters { ect0: Some(ect0), ce: Some(ce), ect1: Some(ect1) }
    }

    /// Section 3.2.3, figures 3 and 4 of the RFC.
    #[test]
    fn the_layout_is_that_of_the_rfc() {
        let counters = all(0x01_0203, 0x04_0506, 0x07_0809);
        let mut room = [0; MAX_OPTION_LEN];
        let zero = [172, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let one = [174, 11, 7, 8, 9, 4, 5, 6, 1, 2, 3];
        assert_eq!(emit(Order::Ect0First, counters, &mut room), zero);
        assert_eq!(emit(Order::Ect1First, counters, &mut room), one);
        for option in [zero, one] {
            assert_eq!(parse(&header(&[&[NOP], &option])), Ok(Some(counters)));
        }
    }

    /// Section 3.1.1: AE is the former NS bit next to CWR, ECE the lowest of the three.
    #[test]
    fn every_ace_survives_the_round_trip_and_touches_its_flags_alone() {
        for ace_value in 0..8 {
            let mut bytes = header(&[]);
            set_ace(&mut bytes, ace_value).expect("is a header");
            assert_eq!(ace(&bytes), Ok(ace_value));
            let (ae, cwr, ece) = (ace_value >> 2, ace_value >> 1 & 1, ace_value & 1);
            assert_eq!((bytes[12], bytes[13]), (0x50 | ae, cwr << 7 | ece << 6 | 0x10));
        }
    }

    #[test]
    fn fields_at_the_end_may_be_left_out() {
        let mut room = [0; MAX_OPTION_LEN];
        let whole = all(1, 2, 3);
        for (order, counters, len) in [
            (Order::Ect0First, ByteCounters { ect1: None, ..whole }, 8),
            (Order::Ect1First, ByteCounters { ect0: None, ..whole }, 8),
            (Order::Ect0First, ByteCounters { ect0: Some(9), ..ByteCounters::default() }, 5),
            (Order::Ect1First, ByteCounters { ect1: Some(9), ..ByteCounters::default() }, 5),
            (Order::Ect0First, ByteCounters::default(), 2),
        ] {
            let option = emit(order, counters, &mut room);
            assert_eq!(option.len(), len);
            assert_eq!(parse(&header(&[option])), Ok(Some(counters)));
        }
    }

    #[test]
    fn what_fills_no_field_is_padding() {
        for padding in 1..3 {
            let option = [&[172, 5 + padding as u8, 0, 0, 7], &vec![9; padding][..]].concat();
            let counters = ByteCounters { ect0: Some(7), ..ByteCounters::default() };
            assert_eq!(parse(&header(&[&option])), Ok(Some(counters)));
        }
    }

    #[test]
    fn counters_wrap_at_24_bits() {
        let mut room = [0; MAX_OPTION_LEN];
        let option = emit(Order::Ect0First, all(u32::MAX, 1 << 24, (1 << 24) + 1), &mut room);
        assert_eq!(parse(&header(&[option])), Ok(Some(all(0xFF_FFFF, 0, 1))));
    }

    #[test]
    fn what_is_no_tcp_header_is_an_error() {
        let whole = header(&[&[172, 5, 0, 0, 7]]);
        for have in 0..whole.len() {
            let need = if have < 20 { 20 } else { 28 };
            assert_eq!(parse(&whole[..have]), Err(WireError::Truncated { have, need }));
        }
        let mut short = header(&[]);
        short[OFFSET] = 0x40;
        assert_eq!(parse(&short), Err(WireError::HeaderLength { stated: 16, least: 20 }));
        assert_eq!(parse(&header(&[&[172, 9, 0, 0]])), Err(WireError::OptionOverrun { at: 20 }));
        assert_eq!(parse(&header(&[&[172, 1]])), Err(WireError::OptionTooShort { at: 20, len: 1 }));
        assert_eq!(parse(&header(&[&[8, 10, 0, 0, 0, 0, 0, 0, 0, 0]])), Ok(None));
    }

    proptest! {
        /// Round trip for any counters, in either order, with any number of omitted trailing fields.
        #[test]
        fn counters_survive_the_round_trip(
            [first, ce, last] in [0..1u32 << 24, 0..1u32 << 24, 0..1u32 << 24],
            fields in 0..=3usize,
            ect0_first: bool,
        ) {
            let [first, ce, last] =
                [(first, 1), (ce, 2), (last, 3)].map(|(count, from)| (fields >= from).then_some(count));
            let (order, counters) = match ect0_first {
                true => (Order::Ect0First, ByteCounters { ect0: first, ce, ect1: last }),
                false => (Order::Ect1First, ByteCounters { ect1: first, ce, ect0: last }),
            };
            let mut room = [0; MAX_OPTION_LEN];
            let option = emit(order, counters, &mut room);
            prop_assert_eq!(option.len(), 2 + 3 * fields);
            prop_assert_eq!(parse(&header(&[option])), Ok(Some(counters)));
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64), ace_value: u8) {
            let _ = parse(&bytes);
            let before = ace(&bytes);
            prop_assert_eq!(set_ace(&mut bytes, ace_value).is_ok(), before.is_ok());
            prop_assert_eq!(ace(&bytes).ok(), before.ok().map(|_| ace_value & 7));
        }

        #[test]
        fn the_checksum_follows(bytes in prop::collection::vec(any::<u8>(), 20..60), to: u8) {
            let mut before = bytes;
            before.truncate(before.len() / 2 * 2);
            before[CHECKSUM].fill(0);
            before[0] |= 1; // no header is all zero
            let sum = !checksum::sum(&before);
            before[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
            let mut after = before.clone();
            set_ace(&mut after, to).expect("is a header");
            prop_assert_eq!(checksum::sum(&after), 0xFFFF);
            set_ace(&mut after, ace(&before).expect("is a header")).expect("is a header");
            prop_assert_eq!(after, before);
        }
    }
}
