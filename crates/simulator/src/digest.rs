//! Hash of all events of a run, to compare two runs.

use crate::connections::ConnectionId;
use crate::packet::{Packet, flags};

/// Running hash; not cryptographic.
///
/// Each flow has one per direction, and they are joined at the end, so that the result does not depend on the order in
/// which the engine processes events of different flows or ends.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

/// Flags of declarations and feedback beyond classic ECN.
const DECLARED: u32 = flags::AE
    | flags::INNER_ECT
    | flags::INNER_CE
    | flags::CONEX
    | flags::LOSS
    | flags::MARK
    | flags::CREDIT
    | flags::RE;

const FIRST_SEVEN: u32 = 0x7f;

impl Default for Digest {
    fn default() -> Self {
        Digest(0x9e37_79b9_7f4a_7c15)
    }
}

impl Digest {
    /// Mixes in two words.
    #[inline]
    pub fn mix(&mut self, a: u64, b: u64) {
        self.0 =
            (self.0.rotate_left(23) ^ a ^ b.rotate_left(32)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    /// Mixes in a packet that has reached its host: time and contents. Flags have the positions of the eight-bit
    /// layout, whose last bit is the parity of the connection's number; further flags are mixed in where they are set.
    #[inline]
    pub fn mix_packet(&mut self, packet: &Packet) {
        let pushed = if packet.has(flags::PSH) { flags::ECE } else { 0 };
        let few = u64::from(packet.flags & FIRST_SEVEN | pushed);
        let even = u64::from(ConnectionId::of(packet).is_even());
        self.mix(packet.at.as_nanos(), packet.number << 8 | even << 7 | few);
        let more = packet.flags & DECLARED;
        if more != 0 {
            // A ticket is the index of stored options, which depends on the order in which others were released.
            let payload = if packet.has(flags::OPTIONS) { 0 } else { packet.payload };
            self.mix(more.into(), payload.into());
        }
    }

    /// Mixes in another digest.
    pub fn join(&mut self, other: Digest) {
        self.mix(other.0, 0);
    }

    /// Returns it as 16 hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0 ^ self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_both_count() {
        let of = |words: &[(u64, u64)]| {
            let mut digest = Digest::default();
            words.iter().for_each(|&(a, b)| digest.mix(a, b));
            digest.hex()
        };
        assert_eq!(of(&[(1, 2), (3, 4)]), of(&[(1, 2), (3, 4)]));
        assert_ne!(of(&[(1, 2), (3, 4)]), of(&[(3, 4), (1, 2)]));
        assert_ne!(of(&[(1, 2)]), of(&[(2, 1)]));
    }
}
