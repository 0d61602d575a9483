//! The ConEx Destination Option (RFC 7837): congestion declared by the sender.
//!
//! ```text
//!  0                   1                   2
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 0x1E  |  Length = 1   |X|L|E|C|  res  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The option is the first in a Destination Options header (RFC 8200, section 4.6), in front of an authentication
//! header, which covers it. All experiments share type 0x1E (RFC 4727), so the length must match for the option to be
//! recognised as ConEx; a network can configure another type ([`Cdo`]). Nodes on the path read the option and do not
//! change it: reserved bits are forwarded unchanged.

use crate::ipv6::{OPTIONS, options_header};
use crate::{WireError, options};

/// Length of a Destination Options header with the option only, bytes.
pub const HEADER_LEN: usize = 8;

const DATA_LEN: usize = 1;
const OPTION_LEN: usize = 2 + DATA_LEN;
/// Offset of the bits in the option.
const VALUE_OFFSET: usize = 2;
/// Option type of padding of two bytes or more.
const PAD_N: u8 = 1;

const X: u8 = 0x80;
const L: u8 = 0x40;
const E: u8 = 0x20;
const C: u8 = 0x10;
const RESERVED: u8 = 0x0F;

/// The data byte of the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conex(u8);

/// Signals declared by a packet of a ConEx-capable sender; its bytes are counted once for each signal (RFC 7837,
/// section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// L: a loss was experienced.
    pub loss: bool,
    /// E: an ECN mark was experienced.
    pub mark: bool,
    /// C: credit for possible congestion.
    pub credit: bool,
}

impl Conex {
    /// Not ConEx-capable: X = 0.
    pub const NOT_CONEX: Conex = Conex(0);

    /// Returns the byte of a ConEx-capable packet: X = 1.
    pub const fn declaring(Declaration { loss, mark, credit }: Declaration) -> Self {
        Conex(X | (L * loss as u8) | (E * mark as u8) | (C * credit as u8))
    }

    /// Creates the byte from its bits on the wire.
    pub const fn from_bits(bits: u8) -> Self {
        Conex(bits)
    }

    /// Returns the bits on the wire.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the declared signals; `None` if X = 0, regardless of the other bits.
    pub const fn declaration(self) -> Option<Declaration> {
        if self.0 & X == 0 {
            return None;
        }
        let [loss, mark, credit] = [self.0 & L != 0, self.0 & E != 0, self.0 & C != 0];
        Some(Declaration { loss, mark, credit })
    }

    /// Whether the byte is invalid: L, E or C with X = 0, or reserved bits. It is processed without these bits, and
    /// callers may count it.
    pub const fn is_odd(self) -> bool {
        self.0 & RESERVED != 0 || self.0 & X == 0 && self.0 != 0
    }
}

/// The ConEx Destination Option, with the option type of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cdo {
    /// Option type. Its upper bits determine how nodes that do not recognise it proceed.
    pub option_type: u8,
}

impl Default for Cdo {
    /// Returns the experimental type of RFC 7837: skip if not recognised, does not change en route.
    fn default() -> Self {
        Cdo { option_type: 0x1E }
    }
}

impl Cdo {
    /// Returns a Destination Options header that carries `conex`, and padding.
    pub fn emit(self, next_header: u8, conex: Conex) -> [u8; HEADER_LEN] {
        [next_header, 0, self.option_type, DATA_LEN as u8, conex.0, PAD_N, 1, 0]
    }

    /// Returns the option in the Destination Options header at the start of `bytes`; `None` if it carries none.
    pub fn parse(self, bytes: &[u8]) -> Result<Option<Conex>, WireError> {
        let header = &bytes[..options_header(bytes)?];
        Ok(self.find(header)?.map(|at| Conex(header[at])))
    }

    /// Writes `conex` into the existing option, as its sender does, and changes nothing else; reserved bits keep their
    /// values. Returns whether the option exists; nothing is written on an error.
    pub fn write(self, bytes: &mut [u8], conex: Conex) -> Result<bool, WireError> {
        let header_len = options_header(bytes)?;
        let header = &mut bytes[..header_len];
        let place = self.find(header)?;
        if let Some(at) = place {
            header[at] = header[at] & RESERVED | conex.0 & !RESERVED;
        }
        Ok(place.is_some())
    }

    /// Returns the offset of the bits in `header`. Reads all options, so that a second one is detected.
    fn find(self, header: &[u8]) -> Result<Option<usize>, WireError> {
        let is_conex = |option: &[u8]| option[0] == self.option_type && option.len() == OPTION_LEN;
        let option = options::only(header, OPTIONS, options::IPV6, is_conex)?;
        Ok(option.map(|at| at + VALUE_OFFSET))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TCP: u8 = 6;
    const CDO: Cdo = Cdo { option_type: 0x1E };

    fn declaring(loss: bool, mark: bool, credit: bool) -> Option<Declaration> {
        Some(Declaration { loss, mark, credit })
    }

    /// RFC 7837, section 4: bits of the option, in a header padded to eight bytes.
    const GOLDEN: [(&str, [u8; 8]); 7] = [
        ("X", [6, 0, 0x1E, 1, 0x80, 1, 1, 0]),
        ("X L", [6, 0, 0x1E, 1, 0xC0, 1, 1, 0]),
        ("X E", [6, 0, 0x1E, 1, 0xA0, 1, 1, 0]),
        ("X C", [6, 0, 0x1E, 1, 0x90, 1, 1, 0]),
        ("X L E C", [6, 0, 0x1E, 1, 0xF0, 1, 1, 0]),
        ("", [6, 0, 0x1E, 1, 0x00, 1, 1, 0]),
        ("L E C", [6, 0, 0x1E, 1, 0x70, 1, 1, 0]),
    ];

    #[test]
    fn the_layout_is_that_of_the_rfc() {
        for (letters, bytes) in GOLDEN {
            let has = |letter| letters.contains(letter);
            let conex = CDO.parse(&bytes).expect("is a header").expect("has the option");
            let declared = declaring(has('L'), has('E'), has('C'));
            assert_eq!(conex.declaration(), if has('X') { declared } else { None }, "{letters}");
            assert_eq!(CDO.emit(TCP, conex), bytes, "{letters}");
            if let Some(declared) = conex.declaration() {
                assert_eq!(Conex::declaring(declared), conex, "{letters}");
            }
        }
        let two_bytes = [6, 0, 0x1E, 2, 0x80, 0, 1, 0];
        assert_eq!(CDO.parse(&two_bytes), Ok(None), "of another length it is somebody else's");
    }

    #[test]
    fn every_value_survives_the_round_trip() {
        for bits in 0..=u8::MAX {
            let conex = Conex::from_bits(bits);
            assert_eq!(CDO.parse(&CDO.emit(TCP, conex)), Ok(Some(conex)));
            assert_eq!(conex.bits(), bits);
        }
    }

    #[test]
    fn n1_reserved_bits_are_ignored_and_stay() {
        for reserved in 0..16 {
            let conex = Conex::from_bits(0xA0 | reserved);
            assert_eq!(conex.declaration(), declaring(false, true, false));
            assert_eq!(conex.is_odd(), reserved != 0);
            let mut bytes = CDO.emit(TCP, conex);
            let credit = Conex::declaring(Declaration { credit: true, ..Declaration::default() });
            assert_eq!(CDO.write(&mut bytes, credit), Ok(true));
            assert_eq!(bytes[4], 0x90 | reserved);
        }
    }

    #[test]
    fn n2_without_x_nothing_is_declared() {
        for bits in 0..0x80 {
            assert_eq!(Conex::from_bits(bits).declaration(), None);
            assert_eq!(Conex::from_bits(bits).is_odd(), bits != 0);
        }
    }

    /// Upper two bits 00: skip if not recognised. Third bit 0: does not change en route.
    #[test]
    fn n7_nodes_that_do_not_know_the_option_let_it_through() {
        assert_eq!(Cdo::default().option_type >> 5, 0b000);
    }

    #[test]
    fn another_type_is_found_under_that_type_alone() {
        let own = Cdo { option_type: 0x3E };
        let bytes = own.emit(TCP, Conex::from_bits(0xF0));
        assert_eq!(own.parse(&bytes), Ok(Some(Conex::from_bits(0xF0))));
        assert_eq!(CDO.parse(&bytes), Ok(None));
    }

    #[test]
    fn it_is_found_beside_activity_and_padding() {
        let both = [TCP, 1, 0x1E, 4, 0x54, 0x47, 1, 0x80, 0, 0x1E, 1, 0xC0, 1, 2, 0, 0];
        assert_eq!(CDO.parse(&both), Ok(Some(Conex::from_bits(0xC0))));
        let activity = crate::activity::ipv6::parse(&both).expect("is a header");
        assert_eq!(activity.map(|activity| activity.bits()), Some(0x180));
    }

    #[test]
    fn what_is_not_all_there_or_there_twice_is_an_error_and_nothing_is_written() {
        let cases: [(&[u8], WireError); 4] = [
            (&[TCP, 0, 0x1E, 1], WireError::Truncated { have: 4, need: 8 }),
            (&[TCP, 1, 0x1E, 1, 0x80, 0, 0, 0], WireError::Truncated { have: 8, need: 16 }),
            (&[TCP, 0, 0x1E, 6, 0x80, 0, 0, 0], WireError::OptionOverrun { at: 2 }),
            (&[TCP, 0, 0x1E, 1, 0x80, 0x1E, 1, 0x80], WireError::RepeatedOption { at: 5 }),
        ];
        for (bytes, error) in cases {
            let mut copy = bytes.to_vec();
            assert_eq!(CDO.parse(bytes), Err(error));
            assert_eq!(CDO.write(&mut copy, Conex::from_bits(0xF0)), Err(error));
            assert_eq!(copy, bytes);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), kind: u8) {
            let cdo = Cdo { option_type: kind };
            let _ = cdo.parse(&bytes);
            let _ = cdo.write(&mut bytes.clone(), Conex::from_bits(0xF0));
        }

        #[test]
        fn writing_touches_its_four_bits_alone(
            before in prop::collection::vec(any::<u8>(), 0..14),
            (old, new) in any::<(u8, u8)>(),
            payload in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let foreign = [&[0x22, before.len() as u8], &before[..]].concat();
            let mut bytes = [&[TCP, 0][..], &foreign, &[0x1E, 1, old]].concat();
            let at = bytes.len() - 1;
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes[1] = (bytes.len() / 8 - 1) as u8;
            bytes.extend(payload);
            let mut wanted = bytes.clone();
            wanted[at] = old & 0x0F | new & 0xF0;
            prop_assert_eq!(CDO.write(&mut bytes, Conex::from_bits(new)), Ok(true));
            prop_assert_eq!(&bytes, &wanted);
            prop_assert_eq!(CDO.parse(&bytes), Ok(Some(Conex::from_bits(wanted[at]))));
        }
    }
}
