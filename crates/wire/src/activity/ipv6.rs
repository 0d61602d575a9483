//! Activity in IPv6: an option of the Destination Options header (RFC 8200, sections 4.2 and 4.6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Next Header  |  Hdr Ext Len  |  Type = 0x1E  |  Length = 4   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Experiment = 0x5447 "TG"   |           Activity            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! IANA reserves type 0x1E for experiments (RFC 4727): its upper bits mean "skip if not recognised" (00) and "does not
//! change en route" (0). All experiments share it (ConEx, RFC 7837, with length 1), so that both the length and the
//! experiment identifier must match for the option to be recognised. As the only option it fills the smallest header, 8
//! bytes, without padding; the option must begin at an even offset.
//!
//! RFC 8200 allows no router to insert a header. Therefore the sender reserves the option, and the meter writes into it
//! ([`write()`]).

use super::{Activity, OPTION_LEN, VALUE_OFFSET, is_activity};
pub use crate::ipv6::DESTINATION_OPTIONS;
use crate::ipv6::{OPTIONS, options_header};
use crate::{WireError, options};

/// Option type for experiments (RFC 4727).
pub const OPTION_TYPE: u8 = 0x1E;
/// Identifier of this experiment.
pub const EXPERIMENT: u16 = 0x5447;
/// Length of a Destination Options header with the activity only, bytes.
pub const HEADER_LEN: usize = 8;

/// Length of the option's data, bytes.
const DATA_LEN: usize = OPTION_LEN - 2;

/// Returns a Destination Options header that carries `activity` only.
pub fn emit(next_header: u8, activity: Activity) -> [u8; HEADER_LEN] {
    let [e0, e1] = EXPERIMENT.to_be_bytes();
    let [a0, a1] = activity.bits().to_be_bytes();
    [next_header, 0, OPTION_TYPE, DATA_LEN as u8, e0, e1, a0, a1]
}

/// Returns the activity in the Destination Options header at the start of `bytes`; `None` if it carries none.
pub fn parse(bytes: &[u8]) -> Result<Option<Activity>, WireError> {
    let header = &bytes[..options_header(bytes)?];
    let place = find(header)?;
    Ok(place.map(|at| Activity::from_bits(u16::from_be_bytes([header[at], header[at + 1]]))))
}

/// Writes `activity` into the existing option, and changes nothing else. Returns whether the option exists; nothing is
/// written on an error.
pub fn write(bytes: &mut [u8], activity: Activity) -> Result<bool, WireError> {
    let header_len = options_header(bytes)?;
    let header = &mut bytes[..header_len];
    let place = find(header)?;
    if let Some(at) = place {
        header[at..at + 2].copy_from_slice(&activity.bits().to_be_bytes());
    }
    Ok(place.is_some())
}

/// Returns the offset of the activity in `header`. Reads all options, so that a second one is detected.
fn find(header: &[u8]) -> Result<Option<usize>, WireError> {
    let option =
        options::only(header, OPTIONS, options::IPV6, |option| is_activity(option, OPTION_TYPE))?;
    Ok(option.map(|at| at + VALUE_OFFSET))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TCP: u8 = 6;
    const PAD1: u8 = 0;
    const UNIT: usize = 8;
    /// Header with activity 1.5.
    const SAMPLE: [u8; 8] = [TCP, 0, 0x1E, 4, 0x54, 0x47, 0x01, 0x80];

    /// Returns a header with these options, padded with Pad1 to a whole number of units.
    fn header(options: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![TCP, 0];
        bytes.extend(options.concat());
        bytes.resize(bytes.len().next_multiple_of(UNIT), PAD1);
        bytes[1] = (bytes.len() / UNIT - 1) as u8;
        bytes
    }

    #[test]
    fn the_layout_is_that_of_the_picture() {
        assert_eq!(emit(TCP, Activity::rounding_up(1.5)), SAMPLE);
        assert_eq!(parse(&SAMPLE), Ok(Some(Activity::rounding_up(1.5))));
    }

    #[test]
    fn every_value_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let activity = Activity::from_bits(bits);
            assert_eq!(parse(&emit(TCP, activity)), Ok(Some(activity)));
        }
    }

    /// Upper two bits 00: skip if not recognised. Third bit 0: does not change en route.
    #[test]
    fn nodes_that_do_not_know_the_option_skip_it() {
        assert_eq!(OPTION_TYPE >> 5, 0b000);
    }

    #[test]
    fn other_experiments_of_the_same_type_are_not_taken_for_activity() {
        let conex = [TCP, 0, 0x1E, 1, 0x80, 1, 1, 0]; // with PadN of one byte
        let other_number = [TCP, 0, 0x1E, 4, 0x54, 0x48, 0x01, 0x80];
        let other_length = [TCP, 0, 0x1E, 3, 0x54, 0x47, 0x01, PAD1];
        for bytes in [conex, other_number, other_length] {
            assert_eq!(parse(&bytes), Ok(None));
        }
    }

    #[test]
    fn activity_is_found_among_other_options() {
        let (conex, jumbo) = ([0x1E, 1, 0xC0], [0xC2, 4, 0, 1, 0, 0]);
        let bytes = header(&[&conex, &[1, 1, 0], &jumbo, &SAMPLE[2..]]);
        assert_eq!(parse(&bytes), Ok(Some(Activity::rounding_up(1.5))));
    }

    #[test]
    fn what_is_not_all_there_is_an_error() {
        assert_eq!(parse(&[]), Err(WireError::Truncated { have: 0, need: 8 }));
        assert_eq!(parse(&SAMPLE[..7]), Err(WireError::Truncated { have: 7, need: 8 }));
        assert_eq!(parse(&[TCP, 1, 0, 0]), Err(WireError::Truncated { have: 4, need: 16 }));
        let overrun = [TCP, 0, 0x1E, 5, 0x54, 0x47, 0x01, 0x80];
        assert_eq!(parse(&overrun), Err(WireError::OptionOverrun { at: 2 }));
        let no_length = [TCP, 0, 1, 3, 0, 0, 0, 0x1E];
        assert_eq!(parse(&no_length), Err(WireError::OptionOverrun { at: 7 }));
    }

    #[test]
    fn a_second_activity_is_an_error_and_nothing_is_written() {
        let mut bytes = header(&[&SAMPLE[2..], &SAMPLE[2..]]);
        let before = bytes.clone();
        let repeated = Err(WireError::RepeatedOption { at: 8 });
        assert_eq!(write(&mut bytes, Activity::MAX), repeated);
        assert_eq!(bytes, before);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
            let _ = write(&mut bytes.clone(), Activity::MAX);
        }

        /// Most inputs are valid headers, so that the inner checks are reached as well.
        #[test]
        fn writing_touches_the_activity_alone(
            foreign in prop::collection::vec(
                (2u8..30, prop::collection::vec(any::<u8>(), 0..20)), 0..5,
            ),
            place in 0usize..6,
            bits: u16,
            payload in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let tlv = |(kind, data): &(u8, Vec<u8>)| [&[*kind, data.len() as u8], &data[..]].concat();
            let mut options: Vec<Vec<u8>> = foreign.iter().map(tlv).collect();
            options.insert(place.min(options.len()), SAMPLE[2..].to_vec());
            let slices: Vec<&[u8]> = options.iter().map(Vec::as_slice).collect();
            let mut bytes = [header(&slices), payload].concat();

            let before = bytes.clone();
            let activity = Activity::from_bits(bits);
            prop_assert_eq!(write(&mut bytes, activity), Ok(true));
            prop_assert_eq!(parse(&bytes), Ok(Some(activity)));
            prop_assert_eq!(write(&mut bytes, Activity::rounding_up(1.5)), Ok(true));
            prop_assert_eq!(bytes, before);
        }
    }
}
