//! Two priority classes in one buffer: all packets of *first* leave before those of *behind*.

use super::{Capacity, Queue, Queued, TransmitterState};
use crate::bottleneck::DropReason;

/// Strict priority of one FIFO queue over another.
#[derive(Clone, Debug)]
pub(super) struct TwoClasses {
    capacity: Capacity,
    first: Queue,
    behind: Queue,
}

/// Class of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    First,
    Behind,
}

impl TwoClasses {
    /// Returns empty queues.
    pub(super) fn new(capacity: Capacity) -> Self {
        TwoClasses { capacity, first: Queue::default(), behind: Queue::default() }
    }

    /// Appends a packet to its class. If the buffer is full, the last packet of *behind* makes room for one of *first*;
    /// one of *behind* is dropped itself.
    #[inline]
    pub(super) fn push(
        &mut self,
        packet: Queued,
        class: Class,
        line: &TransmitterState,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        while !self.capacity.fits(self.backlog(), line, 1, packet.bytes()) {
            let last = if class == Class::First { self.behind.pop_last() } else { None };
            match last {
                Some(last) => lose(last, DropReason::Full),
                None => return lose(packet, DropReason::Full),
            }
        }
        match class {
            Class::First => self.first.push(packet),
            Class::Behind => self.behind.push(packet),
        }
    }

    /// Takes the oldest packet of *first*, else of *behind*.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Queued> {
        self.first.pop().or_else(|| self.behind.pop())
    }

    /// Returns the packets and bytes of both.
    #[inline]
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.first.len() + self.behind.len(), self.first.bytes() + self.behind.bytes())
    }

    /// Whether *behind* is empty.
    #[cfg(test)]
    pub(super) fn nothing_is_behind(&self) -> bool {
        self.behind.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place};
    use super::*;
    use proptest::prelude::*;

    fn offer(classes: &mut TwoClasses, handle: u32, class: Class) -> Vec<u32> {
        let mut lost = Vec::new();
        classes.push(packet(handle), class, &IDLE, |packet, reason| {
            assert_eq!(reason, DropReason::Full);
            lost.push(packet.handle);
        });
        lost
    }

    #[test]
    fn the_last_packet_behind_makes_room_for_one_that_is_first() {
        let mut classes = TwoClasses::new(place(2).capacity);
        assert!(offer(&mut classes, 1, Class::Behind).is_empty());
        assert!(offer(&mut classes, 2, Class::Behind).is_empty());
        assert_eq!(offer(&mut classes, 3, Class::Behind), [3], "its own class makes no room");
        assert_eq!(offer(&mut classes, 4, Class::First), [2]);
        assert_eq!(offer(&mut classes, 5, Class::First), [1]);
        assert_eq!(offer(&mut classes, 6, Class::First), [6]);
        assert_eq!(classes.pop().map(|packet| packet.handle), Some(4));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_unsaid_and_the_room_is_kept(
            steps in prop::collection::vec((any::<bool>(), any::<bool>()), 1..300),
        ) {
            let mut classes = TwoClasses::new(place(5).capacity);
            let mut inside = 0;
            for (is_first, depart) in steps {
                let class = if is_first { Class::First } else { Class::Behind };
                inside += 1 - offer(&mut classes, 0, class).len() as i64;
                if depart && classes.pop().is_some() {
                    inside -= 1;
                }
                prop_assert_eq!(i64::from(classes.backlog().0), inside);
                prop_assert!(inside <= 5);
            }
        }
    }
}
