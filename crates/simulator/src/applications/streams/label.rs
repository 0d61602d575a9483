//! Encoding of a datagram's purpose in its number.

/// Purpose of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// Piece of a frame; from the receiver, a report.
    Stream,
    /// Probe; from the receiver, the answer to an unmarked probe.
    Probe,
    /// From the receiver: the answer to a marked probe.
    Marked,
}

/// Bits of the sequence number; packets have 48 bits for kind and number.
const NUMBER: u32 = 46;

impl DatagramKind {
    /// Returns the packet's label for the `number`th datagram of this kind.
    pub fn label(self, number: u64) -> u64 {
        debug_assert!(number < 1 << NUMBER);
        let kind = match self {
            DatagramKind::Stream => 0,
            DatagramKind::Probe => 1,
            DatagramKind::Marked => 2,
        };
        kind << NUMBER | number
    }

    /// Returns the kind and the number within the kind.
    pub fn of(label: u64) -> (Self, u64) {
        let kind = match label >> NUMBER {
            0 => DatagramKind::Stream,
            1 => DatagramKind::Probe,
            _ => DatagramKind::Marked,
        };
        (kind, label & ((1 << NUMBER) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_as_it_was_written() {
        for kind in [DatagramKind::Stream, DatagramKind::Probe, DatagramKind::Marked] {
            for number in [0, 7, (1 << NUMBER) - 1] {
                assert_eq!(DatagramKind::of(kind.label(number)), (kind, number));
                assert!(kind.label(number) < 1 << 48);
            }
        }
    }
}
