//! Sequence numbers that have arrived in a tunnel: exact under loss, reordering and duplication.

use core::ops::Range;

/// Reordering up to which a late packet is distinguished from a duplicate, packets.
pub const MEMORY: u64 = 1024;
const WORDS: usize = (MEMORY / 64) as usize;

/// Sequence numbers of a tunnel's packets, which headers carry modulo 2¹⁶. They are extended relative to the latest: a
/// gap of more than 32,767 packets is not recognized.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Highest number that has arrived, plus one.
    next: u64,
    received: u64,
    /// Bit set of the last [`MEMORY`] numbers that have arrived.
    arrived: [u64; WORDS],
}

/// Status of a packet by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceStatus {
    /// The packet is the latest, and the numbers in this range are missing so far.
    Latest(Range<u64>),
    /// The packet was overtaken by others, and was missing until now.
    Late,
    /// The packet has arrived before.
    Again,
    /// The packet is too late for its status to be known: it counts as missing.
    Stale,
}

impl Numbers {
    /// Records the arrival of a packet with this number.
    pub fn arrive(&mut self, sequence: u16) -> SequenceStatus {
        let ahead = sequence.wrapping_sub(self.next as u16) as i16;
        match u64::try_from(ahead) {
            Ok(gap) => {
                let missing = self.next..self.next + gap;
                self.advance(missing.end);
                SequenceStatus::Latest(missing)
            }
            Err(_) => self.arrive_late(u64::from(ahead.unsigned_abs())),
        }
    }

    fn advance(&mut self, number: u64) {
        let first = self.next.max((number + 1).saturating_sub(MEMORY));
        (first..number).for_each(|missing| self.set(missing, false));
        self.set(number, true);
        self.next = number + 1;
        self.received += 1;
    }

    fn arrive_late(&mut self, behind: u64) -> SequenceStatus {
        if behind > MEMORY || behind > self.next {
            return SequenceStatus::Stale;
        }
        let number = self.next - behind;
        let (word, bit) = place(number);
        if self.arrived[word] & bit != 0 {
            return SequenceStatus::Again;
        }
        self.set(number, true);
        self.received += 1;
        SequenceStatus::Late
    }

    const fn set(&mut self, number: u64, arrived: bool) {
        let (word, bit) = place(number);
        if arrived {
            self.arrived[word] |= bit;
        } else {
            self.arrived[word] &= !bit;
        }
    }

    /// Returns the number of packets that have arrived.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of missing packets up to the latest.
    pub const fn missing(&self) -> u64 {
        self.next - self.received
    }

    /// Returns the latest number modulo 2¹⁶; 0 before the first.
    pub const fn latest(&self) -> u16 {
        (self.next as u16).wrapping_sub(1)
    }
}

const fn place(number: u64) -> (usize, u64) {
    ((number / 64) as usize % WORDS, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_that_wraps_is_the_next() {
        let mut numbers = Numbers::default();
        for number in 0..200_000u64 {
            assert_eq!(numbers.arrive(number as u16), SequenceStatus::Latest(number..number));
        }
        assert_eq!((numbers.received(), numbers.missing()), (200_000, 0));
        assert_eq!(numbers.latest(), (199_999 % 65_536) as u16);
    }

    #[test]
    fn what_is_overtaken_is_missing_until_it_comes_and_counts_once() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.arrive(2), SequenceStatus::Latest(0..2), "the first number is 0");
        assert_eq!(numbers.arrive(65_535), SequenceStatus::Stale, "none is before the first");
        assert_eq!(numbers.arrive(0), SequenceStatus::Late);
        assert_eq!(numbers.arrive(0), SequenceStatus::Again);
        assert_eq!(numbers.arrive(2), SequenceStatus::Again);
        assert_eq!((numbers.received(), numbers.missing()), (2, 1));
        assert_eq!(numbers.arrive(1024), SequenceStatus::Latest(3..1024));
        assert_eq!(numbers.arrive(1), SequenceStatus::Late, "as late as can be distinguished");
        numbers.arrive(1025);
        numbers.arrive(1026);
        assert_eq!(
            numbers.arrive(2),
            SequenceStatus::Stale,
            "1024 have come, or were missed, behind it"
        );
        assert_eq!((numbers.received(), numbers.missing()), (6, 1021));
    }

    proptest! {
        /// Compared with a set of all arrivals, from any number on, with gaps, duplicates and reordering of up to 900
        /// places.
        #[test]
        fn counts_are_those_of_a_set(
            start in 0..200_000u64,
            steps in prop::collection::vec((0..40u64, 0..900u64), 1..400),
        ) {
            let mut numbers = Numbers::default();
            let mut set: std::collections::BTreeSet<u64> = (0..start).collect();
            (0..start).for_each(|number| { numbers.arrive(number as u16); });
            let mut next = start;
            for (step, back) in steps {
                let number = if step < 4 { next.saturating_sub(back) } else { next + step - 4 };
                next = next.max(number + 1);
                let is_new = set.insert(number);
                let arrival = numbers.arrive(number as u16);
                prop_assert_eq!(is_new, arrival != SequenceStatus::Again);
                prop_assert!(arrival != SequenceStatus::Stale);
            }
            let (all, received) = (next, set.len() as u64);
            prop_assert_eq!((numbers.received(), numbers.missing()), (received, all - received));
        }
    }
}
