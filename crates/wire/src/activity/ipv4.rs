//! Activity in IPv4: an option of the header (RFC 791, section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 0x9E  |  Length = 6   |    Experiment = 0x5447 "TG"   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Activity            |  End = 0      |  Padding = 0  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! IANA reserves option number 30 for experiments (RFC 4727), in four types. Type 0x9E (158) has class 0, control,
//! which includes congestion information, and the copied flag: if a router fragments the packet, each fragment is
//! queued and dropped on its own and must carry the activity. The length counts type and length. As in IPv6
//! ([`super::ipv6`]), both the length and the experiment identifier must match for the option to be recognised.
//!
//! Two bytes of padding complete the header's last 4-byte unit, so that a sender can pass the block of [`emit()`] to
//! its socket unchanged. The sender reserves the option and the meter writes into it ([`write()`]), as in IPv6: a
//! router that lengthens packets would exceed the path MTU.

use super::{Activity, OPTION_LEN, VALUE_OFFSET, is_activity};
use crate::{WireError, ipv4, options};

/// Option type for experiments (RFC 4727): copied, class 0, number 30.
pub const OPTION_TYPE: u8 = 0x9E;
/// Identifier of this experiment.
pub const EXPERIMENT: u16 = super::ipv6::EXPERIMENT;
/// Length of the option with its padding, bytes.
pub const BLOCK_LEN: usize = 8;

/// Option type that ends the list; it has no length.
const END: u8 = 0;

/// Returns options that carry `activity` only.
pub fn emit(activity: Activity) -> [u8; BLOCK_LEN] {
    let [e0, e1] = EXPERIMENT.to_be_bytes();
    let [a0, a1] = activity.bits().to_be_bytes();
    [OPTION_TYPE, OPTION_LEN as u8, e0, e1, a0, a1, END, END]
}

/// Returns the activity in the IPv4 header at the start of `bytes`; `None` if it carries none.
pub fn parse(bytes: &[u8]) -> Result<Option<Activity>, WireError> {
    let header = &bytes[..ipv4::header_len(bytes)?];
    let place = find(header)?;
    Ok(place.map(|at| Activity::from_bits(u16::from_be_bytes([header[at], header[at + 1]]))))
}

/// Writes `activity` into the existing option, updates the header checksum, and changes nothing else. Returns whether
/// the option exists; nothing is written on an error.
pub fn write(bytes: &mut [u8], activity: Activity) -> Result<bool, WireError> {
    let header_len = ipv4::header_len(bytes)?;
    let header = &mut bytes[..header_len];
    let place = find(header)?;
    if let Some(at) = place {
        ipv4::edit(header, at, &activity.bits().to_be_bytes());
    }
    Ok(place.is_some())
}

/// Returns the offset of the activity in `header`. Reads all options, so that a second one is detected; bytes after the
/// end of the list are padding.
fn find(header: &[u8]) -> Result<Option<usize>, WireError> {
    let option = options::only(header, ipv4::HEADER_LEN, options::COUNTED, |option| {
        is_activity(option, OPTION_TYPE)
    })?;
    Ok(option.map(|at| at + VALUE_OFFSET))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;
    use proptest::prelude::*;

    const NO_OPERATION: u8 = 1;
    /// Option with activity 1.5.
    const SAMPLE: [u8; 8] = [0x9E, 6, 0x54, 0x47, 0x01, 0x80, 0, 0];
    const OPTION: &[u8] = SAMPLE.split_at(OPTION_LEN).0;

    /// Returns a header with these options and a correct checksum.
    fn header(options: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; ipv4::HEADER_LEN];
        bytes.extend(options.concat());
        bytes.resize(bytes.len().next_multiple_of(4), END);
        bytes[0] = 0x40 | (bytes.len() / 4) as u8;
        let checksum = !checksum::sum(&bytes);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    #[test]
    fn the_layout_is_that_of_the_picture() {
        assert_eq!(emit(Activity::rounding_up(1.5)), SAMPLE);
        assert_eq!(parse(&header(&[&SAMPLE])), Ok(Some(Activity::rounding_up(1.5))));
    }

    #[test]
    fn every_value_survives_the_round_trip() {
        let mut bytes = header(&[&SAMPLE]);
        for bits in 0..=u16::MAX {
            let activity = Activity::from_bits(bits);
            assert_eq!(write(&mut bytes, activity), Ok(true));
            assert_eq!(parse(&bytes), Ok(Some(activity)));
            assert_eq!(bytes, header(&[&emit(activity)]));
        }
    }

    /// RFC 791: copied flag, class, number; RFC 4727 reserves number 30.
    #[test]
    fn the_type_is_copied_of_class_control_and_experimental() {
        assert_eq!((OPTION_TYPE >> 7, OPTION_TYPE >> 5 & 0b11, OPTION_TYPE & 0b11111), (1, 0, 30));
    }

    #[test]
    fn other_experiments_and_types_are_not_taken_for_activity() {
        let other_number = [0x9E, 6, 0x54, 0x48, 0x01, 0x80];
        let other_length = [0x9E, 5, 0x54, 0x47, 0x01];
        let not_copied = [0x1E, 6, 0x54, 0x47, 0x01, 0x80];
        for option in [&other_number[..], &other_length, &not_copied, &[]] {
            assert_eq!(parse(&header(&[option])), Ok(None));
            assert_eq!(write(&mut header(&[option]), Activity::MAX), Ok(false));
        }
    }

    #[test]
    fn activity_is_found_among_other_options_but_not_behind_the_end() {
        let router_alert = [0x94, 4, 0, 0];
        let bytes = header(&[&[NO_OPERATION], &router_alert, &SAMPLE]);
        assert_eq!(parse(&bytes), Ok(Some(Activity::rounding_up(1.5))));
        assert_eq!(parse(&header(&[&[END], &SAMPLE])), Ok(None));
    }

    #[test]
    fn what_is_not_all_there_is_an_error() {
        let whole = header(&[&SAMPLE]);
        for have in 0..whole.len() {
            let need = if have < 20 { 20 } else { 28 };
            let truncated = Err(WireError::Truncated { have, need });
            assert_eq!(parse(&whole[..have]), truncated);
            assert_eq!(write(&mut whole[..have].to_vec(), Activity::MAX), truncated.map(|_| true));
        }
        let overrun = Err(WireError::OptionOverrun { at: 20 });
        assert_eq!(parse(&header(&[&[0x9E, 9, 0x54, 0x47, 0x01, 0x80, 0, 0]])), overrun);
        let no_length = header(&[&[NO_OPERATION, NO_OPERATION, NO_OPERATION, 0x9E]]);
        assert_eq!(parse(&no_length), Err(WireError::OptionOverrun { at: 23 }));
        for len in [0, 1] {
            let short = Err(WireError::OptionTooShort { at: 20, len: len.into() });
            assert_eq!(parse(&header(&[&[0x9E, len]])), short);
        }
    }

    #[test]
    fn what_is_no_ipv4_header_is_an_error() {
        let mut bytes = header(&[&SAMPLE]);
        bytes[0] = 0x65;
        assert_eq!(parse(&bytes), Err(WireError::Version { version: 6 }));
        bytes[0] = 0x44;
        assert_eq!(parse(&bytes), Err(WireError::HeaderLength { stated: 16, least: 20 }));
    }

    #[test]
    fn a_second_activity_is_an_error_and_nothing_is_written() {
        let mut bytes = header(&[OPTION, &[NO_OPERATION], OPTION]);
        let before = bytes.clone();
        assert_eq!(write(&mut bytes, Activity::MAX), Err(WireError::RepeatedOption { at: 27 }));
        assert_eq!(bytes, before);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
            let _ = write(&mut bytes.clone(), Activity::MAX);
            // Most inputs have the right version and a header length.
            if let Some(first) = bytes.first_mut() {
                *first = 0x45 + *first % 11;
            }
            let _ = parse(&bytes);
            let _ = write(&mut bytes, Activity::MAX);
        }

        /// Includes options at an odd offset, where the value spans two 16-bit words.
        #[test]
        fn writing_touches_the_activity_and_the_checksum_alone(
            foreign in prop::collection::vec(
                (2u8..30, prop::collection::vec(any::<u8>(), 0..5)), 0..4,
            ),
            fill in 0usize..4,
            place in 0usize..5,
            (bits, other) in any::<(u16, u16)>(),
            payload in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let tlv = |(kind, data): &(u8, Vec<u8>)| [&[*kind, data.len() as u8 + 2], &data[..]].concat();
            let mut options: Vec<Vec<u8>> = foreign.iter().map(tlv).collect();
            options.insert(place.min(options.len()), OPTION.to_vec());
            options.insert(0, vec![NO_OPERATION; fill]);
            let slices: Vec<&[u8]> = options.iter().map(Vec::as_slice).collect();
            let mut bytes = [header(&slices), payload].concat();

            let before = bytes.clone();
            let activity = Activity::from_bits(bits);
            prop_assert_eq!(write(&mut bytes, Activity::from_bits(other)), Ok(true));
            prop_assert_eq!(write(&mut bytes, activity), Ok(true));
            prop_assert_eq!(parse(&bytes), Ok(Some(activity)));
            let header_len = ipv4::header_len(&bytes).expect("a header");
            prop_assert_eq!(checksum::sum(&bytes[..header_len]), 0xFFFF);
            prop_assert_eq!(write(&mut bytes, Activity::rounding_up(1.5)), Ok(true));
            prop_assert_eq!(bytes, before);
        }
    }
}
