//! CAKE's ACK filter: which of the ACKs in a queue the newest one makes superfluous (`cake_ack_filter`).

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::units::Time;
use crate::words;

words! {
    /// CAKE's ACK filter.
    pub enum AckFilter {
        /// All ACKs stay.
        NoAckFilter = "no-ack-filter",
        /// Of ACKs that a later one covers two stay: as with delayed ACKs, and enough for three duplicates.
        Filter = "ack-filter",
        /// One stays.
        Aggressive = "ack-filter-aggressive",
    }
}

/// A TCP segment without data that only acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpAck {
    /// Identity of its connection and direction.
    pub connection: u64,
    /// Cumulative acknowledgement, in any unit.
    pub number: u64,
    /// Echoed time stamp.
    pub echo: Time,
    /// ECE and CWR.
    pub ecn: [bool; 2],
    /// Whether it has a flag or an option that must not be lost, such as AccECN's.
    pub is_special: bool,
    /// SACK blocks, `start..end` in the unit of `number`; unused ones are empty.
    pub sack: [(u64, u64); 3],
}

impl TcpAck {
    fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sack.into_iter().filter(|(start, end)| start < end)
    }

    /// Compares what is selectively acknowledged (`cake_tcph_sack_compare`): `Greater` if `newer` covers all blocks of
    /// this one and more, `Equal` if as much, `Less` otherwise, and for duplicates (D-SACK).
    fn covered_by(&self, newer: &TcpAck) -> Ordering {
        let bytes = |ack: &TcpAck| ack.blocks().map(|(start, end)| end - start).sum::<u64>();
        let is_duplicate = |(start, _): (u64, u64)| start < self.number;
        let is_covered = |(start, end): (u64, u64)| {
            newer.blocks().any(|(newer_start, newer_end)| newer_start <= start && newer_end >= end)
        };
        if self.blocks().any(|block| is_duplicate(block) || !is_covered(block)) {
            return Ordering::Less;
        }
        if bytes(newer) > bytes(self) { Ordering::Greater } else { Ordering::Equal }
    }
}

impl AckFilter {
    /// Returns the place of the packet to drop from a queue, of which the last has just arrived; packets that are no ACKs
    /// are `None`.
    pub(super) fn superfluous(self, queue: &VecDeque<Option<TcpAck>>) -> Option<usize> {
        let newest = (*queue.back()?)?;
        let before = queue.len() - 1;
        let mut eligible: Option<(usize, [bool; 2])> = None;
        let mut found = 0;
        for (place, older) in queue.iter().take(before).enumerate() {
            let Some(older) = older.filter(|older| older.connection == newest.connection) else {
                continue;
            };
            if eligible.is_some_and(|(_, ecn)| ecn != older.ecn) {
                // The ECN flags change behind it, which would be lost with it.
                eligible = None;
                found -= 1;
            }
            if older.is_special || older.echo > newest.echo || older.number > newest.number {
                continue;
            }
            let compared = older.covered_by(&newest);
            let same = older.number == newest.number && compared == Ordering::Equal;
            if compared == Ordering::Less || same {
                continue;
            }
            let (first, _) = *eligible.get_or_insert((place, older.ecn));
            found += 1;
            if found > 1 {
                return Some(first);
            }
        }
        let (place, ecn) = eligible?;
        let next_to_newest = place + 1 == before && ecn == newest.ecn;
        (self == AckFilter::Aggressive && next_to_newest).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [(u64, u64); 3] = [(0, 0); 3];

    fn ack(number: u64) -> Option<TcpAck> {
        Some(TcpAck {
            connection: 1,
            number,
            echo: Time::ZERO,
            ecn: [false; 2],
            is_special: false,
            sack: NONE,
        })
    }

    fn with(number: u64, change: impl FnOnce(&mut TcpAck)) -> Option<TcpAck> {
        let mut own = ack(number)?;
        change(&mut own);
        Some(own)
    }

    fn dropped(filter: AckFilter, queue: &[Option<TcpAck>]) -> Option<usize> {
        filter.superfluous(&queue.iter().copied().collect())
    }

    #[test]
    fn two_stay_and_of_the_aggressive_filter_one() {
        for (queue, filter, aggressive) in [
            (vec![ack(1)], None, None),
            (vec![ack(1), ack(2)], None, Some(0)),
            (vec![ack(1), ack(2), ack(3)], Some(0), Some(0)),
            (vec![None, ack(2), ack(3), None, ack(4)], Some(1), Some(1)),
            // Another packet stands between: only two of them are enough.
            (vec![ack(2), None, ack(4)], None, None),
        ] {
            assert_eq!(dropped(AckFilter::Filter, &queue), filter, "{queue:?}");
            assert_eq!(dropped(AckFilter::Aggressive, &queue), aggressive, "{queue:?}");
        }
    }

    #[test]
    fn duplicate_and_later_acks_stay() {
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(4), ack(4), ack(4)]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(5), ack(4)]), None);
        let other = with(1, |own| own.connection = 2);
        assert_eq!(dropped(AckFilter::Aggressive, &[other, ack(4)]), None);
        let special = with(1, |own| own.is_special = true);
        assert_eq!(dropped(AckFilter::Aggressive, &[special, ack(4)]), None);
        let late = with(1, |own| own.echo = Time::from_nanos(9));
        assert_eq!(dropped(AckFilter::Aggressive, &[late, ack(4)]), None);
    }

    /// What a later ACK does not repeat stays, and so do reports of duplicates.
    #[test]
    fn selective_acknowledgements_stay_unless_a_later_one_covers_them() {
        let sack = |number, blocks: [(u64, u64); 3]| with(number, |own| own.sack = blocks);
        let one = sack(4, [(6, 8), (0, 0), (0, 0)]);
        let more = sack(4, [(6, 9), (0, 0), (0, 0)]);
        let other = sack(4, [(8, 9), (0, 0), (0, 0)]);
        assert_eq!(dropped(AckFilter::Aggressive, &[one, more]), Some(0));
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(4), one]), Some(0));
        assert_eq!(dropped(AckFilter::Aggressive, &[one, other]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[one, ack(5)]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[one, one]), None, "they are duplicates");
        let duplicate = sack(4, [(2, 3), (0, 0), (0, 0)]);
        assert_eq!(dropped(AckFilter::Aggressive, &[duplicate, more]), None);
    }

    /// A change of ECE or CWR keeps the last ACK before it.
    #[test]
    fn changes_of_ecn_flags_are_kept() {
        let echo = |number| with(number, |own| own.ecn = [true, false]);
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(1), echo(2)]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(1), echo(2), echo(3)]), Some(1));
        assert_eq!(dropped(AckFilter::Filter, &[ack(1), ack(2), echo(3)]), Some(0));
        assert_eq!(dropped(AckFilter::Filter, &[ack(1), echo(2), ack(3), ack(4)]), None);
    }
}
