//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// Returns the one's complement sum of `bytes` as 16-bit words in network byte order. An odd last byte is the upper
/// half of a word.
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks();
    let last = rest.first().map_or(0, |&byte| u32::from(byte) << 8);
    // 65536 bytes, more than the longest IP header, cannot overflow 32 bits.
    fold(words.iter().map(|&word| u32::from(u16::from_be_bytes(word))).sum::<u32>() + last)
}

/// Returns the sum of two parts, the first of which has an even length.
pub(crate) fn add(first: u16, second: u16) -> u16 {
    fold(u32::from(first) + u32::from(second))
}

/// Returns the checksum after words with sum `old` have been replaced by words with sum `new` (RFC 1624, equation 3,
/// which unlike its predecessors never turns 0x0000 into 0xFFFF).
pub(crate) fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u32::from(!checksum) + u32::from(!old) + u32::from(new))
}

/// Adds the carries; none is left after two rounds.
fn fold(sum: u32) -> u16 {
    let once = (sum >> 16) + (sum & 0xFFFF);
    ((once >> 16) + once) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, section 3.
    #[test]
    fn the_sum_is_that_of_the_rfc() {
        assert_eq!(sum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]), 0xDDF2);
        assert_eq!(sum(&[]), 0);
        assert_eq!(sum(&[0x12]), 0x1200);
    }

    /// RFC 1624, section 4: the example for which the equation of RFC 1141 fails.
    #[test]
    fn the_update_is_that_of_the_rfc() {
        assert_eq!(update(0xDD2F, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn an_update_equals_a_new_sum(
            mut bytes in prop::collection::vec(any::<u8>(), 2..60),
            at: prop::sample::Index,
            word: [u8; 2],
        ) {
            bytes[0] |= 0x40; // as an IP version does: headers are never all zero
            let before = !sum(&bytes);
            let (words, _) = bytes.as_chunks_mut();
            let old = std::mem::replace(&mut words[at.index(words.len())], word);
            prop_assume!(bytes.iter().any(|&byte| byte != 0));
            let updated = update(before, u16::from_be_bytes(old), u16::from_be_bytes(word));
            prop_assert_eq!(updated, !sum(&bytes));
        }
    }
}
