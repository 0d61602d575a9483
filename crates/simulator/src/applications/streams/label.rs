//! What the number of a datagram says.

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// A piece of a frame; or, from the receiver, a report.
    Stream,
    /// A probe; or, from the receiver, the answer to one that came without a mark.
    Probe,
    /// From the receiver: the answer to a probe that came with a mark.
    Marked,
}

/// Bits of what is numbered; packets have 48 for both.
const NUMBER: u32 = 46;

impl DatagramKind {
    /// As a packet has it: the `number`th of its kind.
    pub fn label(self, number: u64) -> u64 {
        debug_assert!(number < 1 << NUMBER);
        let kind = match self {
            DatagramKind::Stream => 0,
            DatagramKind::Probe => 1,
            DatagramKind::Marked => 2,
        };
        kind << NUMBER | number
    }

    /// What a packet is for, and which of its kind it is.
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
