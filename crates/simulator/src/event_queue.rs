//! Wake-ups: starts, samples and time-outs. Arrivals of packets have a queue of their own, in
//! [`crate::transit`], because that one moves for every packet.
//!
//! At equal times arrivals come before timers (an ACK that arrives in the nanosecond of its time-out
//! stops it), and timers go by insertion.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;
use tidegate_mechanisms::units::Time;

use crate::ring::Ring;

/// Wake-ups of flows and probes.
pub struct Timers {
    /// All of them, in order, where there are few: most new ones are among the last.
    few: Ring<u128>,
    /// Those that came when there were many.
    heap: QuaternaryHeap<Reverse<u128>>,
    inserted: u32,
    next: Time,
}

/// Whom a timer wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A flow starts, or starts its next transfer.
    Start(u32),
    /// Retransmission time-out of a flow's sender.
    Retransmit(u32),
    /// Delayed acknowledgement of a flow's receiver.
    DelayedAck(u32),
    /// Delayed acknowledgements of all receivers on a line.
    DelayedAcks(u32),
    /// Next packet of a constant-bit-rate source, or next write of an application over TCP.
    Application(u32),
    /// A flow takes another way: a number of [`tidegate_scenario::plan::Plan::moves`].
    Move(u32),
    /// A flow offers to pay something else: a number of [`tidegate_scenario::plan::Plan::offers`].
    Offer(u32),
    /// Time series.
    Sample,
}

const KIND_SHIFT: u32 = 29;
/// So many are few.
const FEW: usize = 48;

impl Wake {
    fn pack(self) -> u32 {
        let (kind, id) = match self {
            Wake::Start(id) => (0, id),
            Wake::Retransmit(id) => (1, id),
            Wake::DelayedAck(id) => (2, id),
            Wake::Application(id) => (3, id),
            Wake::DelayedAcks(id) => (4, id),
            Wake::Move(id) => (5, id),
            Wake::Offer(id) => (6, id),
            Wake::Sample => (7, 0),
        };
        debug_assert!(id < 1 << KIND_SHIFT);
        kind << KIND_SHIFT | id
    }

    fn unpack(word: u32) -> Self {
        let id = word & ((1 << KIND_SHIFT) - 1);
        match word >> KIND_SHIFT {
            0 => Wake::Start(id),
            1 => Wake::Retransmit(id),
            2 => Wake::DelayedAck(id),
            3 => Wake::Application(id),
            4 => Wake::DelayedAcks(id),
            5 => Wake::Move(id),
            6 => Wake::Offer(id),
            _ => Wake::Sample,
        }
    }
}

impl Default for Timers {
    fn default() -> Self {
        let (few, heap) = (Ring::default(), QuaternaryHeap::default());
        Timers { few, heap, inserted: 0, next: Time::NEVER }
    }
}

impl Timers {
    /// When the next timer fires; [`Time::NEVER`] if none is set.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// Sets a timer. There is no cancelling: whoever is woken checks whether it still matters.
    #[inline(never)]
    pub fn push(&mut self, at: Time, wake: Wake) {
        let key = self.key(at, wake);
        self.add(key);
        self.next = self.next.min(at);
    }

    #[inline(always)]
    fn add(&mut self, key: u128) {
        if self.few.len() < FEW && self.heap.is_empty() {
            self.few.insert(key);
        } else {
            self.heap.push(Reverse(key));
        }
    }

    #[inline(always)]
    fn key(&mut self, at: Time, wake: Wake) -> u128 {
        self.inserted = self.inserted.wrapping_add(1);
        let order = u128::from(self.inserted) << 32 | u128::from(wake.pack());
        u128::from(at.as_nanos()) << 64 | order
    }

    /// Whom the next timer wakes.
    #[inline]
    pub fn next_wake(&self) -> Option<Wake> {
        self.first().map(|key| Wake::unpack(key as u32))
    }

    /// Sets the next timer anew, for whom it would wake: in its place, which takes less than to take it and set
    /// another.
    #[inline]
    pub fn put_off(&mut self, wake: Wake, at: Time) {
        let key = self.key(at, wake);
        let few = self.few.front().copied();
        if let Some(mut first) = self.heap.peek_mut()
            && few.is_none_or(|few| first.0 < few)
        {
            *first = Reverse(key);
        } else {
            self.few.pop();
            self.add(key);
        }
        self.next = self.first().map_or(Time::NEVER, time_of);
    }

    /// Takes the next timer.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Wake)> {
        let key = self.take_first()?;
        self.next = self.first().map_or(Time::NEVER, time_of);
        Some((time_of(key), Wake::unpack(key as u32)))
    }

    #[inline(always)]
    fn first(&self) -> Option<u128> {
        let (few, heap) = (self.few.front().copied(), self.heap.peek());
        match heap {
            None => few,
            Some(Reverse(key)) => Some(few.map_or(*key, |few| few.min(*key))),
        }
    }

    #[inline(always)]
    fn take_first(&mut self) -> Option<u128> {
        match self.heap.peek() {
            Some(Reverse(key)) if self.few.front().is_none_or(|few| key < few) => {
                self.heap.pop().map(|Reverse(key)| key)
            }
            _ => self.few.pop(),
        }
    }
}

const fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn timers_at_the_same_time_fire_in_the_order_they_were_set() {
        let mut timers = Timers::default();
        let at = Time::from_nanos(7);
        for flow in [3, 1, 2] {
            timers.push(at, Wake::Retransmit(flow));
        }
        timers.push(Time::from_nanos(6), Wake::Sample);
        let order: Vec<_> = core::iter::from_fn(|| timers.pop()).map(|(_, wake)| wake).collect();
        assert_eq!(
            order,
            [Wake::Sample, Wake::Retransmit(3), Wake::Retransmit(1), Wake::Retransmit(2)]
        );
    }

    proptest! {
        /// Few or many, and with so many that few become many and few again.
        #[test]
        fn timers_fire_in_the_order_of_their_times(
            steps in prop::collection::vec((0..1_000u64, 0..6u32), 0..400),
        ) {
            let (mut timers, mut model) = (Timers::default(), std::collections::BTreeSet::new());
            for (number, (at, step)) in steps.into_iter().enumerate() {
                let at = Time::from_nanos(at);
                if step < 3 {
                    timers.push(at, Wake::Start(number as u32));
                    model.insert((at, number as u32));
                } else if step == 5 {
                    // Set anew, it comes after those that were set for the same time before.
                    if let Some((_, first)) = model.pop_first() {
                        prop_assert_eq!(timers.next_wake(), Some(Wake::Start(first)));
                        timers.put_off(Wake::Start(number as u32), at);
                        model.insert((at, number as u32));
                    }
                } else {
                    let first = model.pop_first().map(|(at, number)| (at, Wake::Start(number)));
                    prop_assert_eq!(timers.pop(), first);
                }
                let next = model.first().map_or(Time::NEVER, |(at, _)| *at);
                prop_assert_eq!(timers.next_time(), next);
            }
            while let Some((at, number)) = model.pop_first() {
                prop_assert_eq!(timers.pop(), Some((at, Wake::Start(number))));
            }
            prop_assert_eq!(timers.pop(), None);
        }
    }
}
