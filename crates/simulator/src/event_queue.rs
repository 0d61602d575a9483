//! What happens next.
//!
//! Two lanes keep the queue short. The *arrivals* lane holds one entry per link: the packet at
//! the head of its pipe, because a link never reorders. The *timers* lane holds starts, samples
//! and time-outs. So pending events grow with links and flows, not with packets in flight, and
//! the lane that moves for every packet stays a few cache lines long.
//!
//! At equal times arrivals come before timers (an ACK that arrives in the nanosecond of its
//! time-out stops it), arrivals go by link number, timers by insertion.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{MAX_LINKS, MAX_RUN};

/// Packets due at the far end of links, one entry per busy link.
#[derive(Default)]
pub struct Arrivals {
    heap: QuaternaryHeap<Reverse<u64>>,
    /// The first entry is over: the next push takes its place, which costs one descent through the
    /// heap where a pop and a push would cost two.
    vacant: bool,
}

/// Wake-ups of flows and probes.
#[derive(Default)]
pub struct Timers {
    heap: QuaternaryHeap<Reverse<u128>>,
    inserted: u32,
    next: Option<Time>,
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
    /// Next packet of a constant-bit-rate source.
    Cbr(u32),
    /// Time series.
    Sample,
}

const KIND_SHIFT: u32 = 29;

impl Wake {
    fn pack(self) -> u32 {
        let (kind, id) = match self {
            Wake::Start(id) => (0, id),
            Wake::Retransmit(id) => (1, id),
            Wake::DelayedAck(id) => (2, id),
            Wake::Cbr(id) => (3, id),
            Wake::Sample => (4, 0),
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
            3 => Wake::Cbr(id),
            _ => Wake::Sample,
        }
    }
}

/// An arrival's key packs time and link into one word, because the heap lives on comparing them.
const LINK_BITS: u32 = MAX_LINKS.trailing_zeros();
const _: () = assert!(MAX_RUN.as_nanos() == 1 << (64 - LINK_BITS));

#[inline]
fn arrival_key(at: Time, link: usize) -> Reverse<u64> {
    debug_assert!(link < MAX_LINKS);
    // What arrives after the longest run is never taken, so that its order does not matter.
    let at_ns = at.as_nanos().min(MAX_RUN.as_nanos() - 1);
    Reverse(at_ns << LINK_BITS | link as u64)
}

impl Arrivals {
    /// When the next packet arrives; [`Time::NEVER`] if none is under way.
    #[inline]
    pub fn next_time(&mut self) -> Time {
        if self.vacant {
            self.vacant = false;
            self.heap.pop();
        }
        self.heap.peek().map_or(Time::NEVER, |key| Time::from_nanos(key.0 >> LINK_BITS))
    }

    /// The link whose head arrives next. To be asked after [`Arrivals::next_time`].
    #[inline]
    pub fn next_link(&self) -> Option<usize> {
        debug_assert!(!self.vacant);
        self.heap.peek().map(|key| key.0 as usize & (MAX_LINKS - 1))
    }

    /// A link that was empty has a head now.
    #[inline(always)]
    pub fn push(&mut self, at: Time, link: usize) {
        let key = arrival_key(at, link);
        if self.vacant {
            self.vacant = false;
            self.set_first(key);
        } else {
            self.heap.push(key);
        }
    }

    /// The head of the next link is taken; `following` is due next on that link.
    #[inline]
    pub fn take_next(&mut self, link: usize, following: Option<Time>) {
        match following {
            Some(at) => self.set_first(arrival_key(at, link)),
            None => self.vacant = true,
        }
    }

    #[inline]
    fn set_first(&mut self, key: Reverse<u64>) {
        if let Some(mut first) = self.heap.peek_mut() {
            *first = key;
        }
    }
}

impl Timers {
    /// When the next timer fires; [`Time::NEVER`] if none is set.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next.unwrap_or(Time::NEVER)
    }

    /// Sets a timer. There is no cancelling: whoever is woken checks whether it still matters.
    #[inline]
    pub fn push(&mut self, at: Time, wake: Wake) {
        self.inserted = self.inserted.wrapping_add(1);
        let order = u128::from(self.inserted) << 32 | u128::from(wake.pack());
        self.heap.push(Reverse(u128::from(at.as_nanos()) << 64 | order));
        self.next = Some(self.next_time().min(at));
    }

    /// Takes the next timer.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Wake)> {
        let time_of = |key: u128| Time::from_nanos((key >> 64) as u64);
        let Reverse(key) = self.heap.pop()?;
        self.next = self.heap.peek().map(|next| time_of(next.0));
        Some((time_of(key), Wake::unpack(key as u32)))
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn what_is_due_after_the_longest_run_comes_last() {
        let mut arrivals = Arrivals::default();
        arrivals.push(Time::ZERO + MAX_RUN * 3, 1);
        arrivals.push(Time::from_nanos(5), 2);
        assert_eq!((arrivals.next_time(), arrivals.next_link()), (Time::from_nanos(5), Some(2)));
        arrivals.take_next(2, None);
        assert!(arrivals.next_time() > Time::from_nanos(5));
        assert_eq!(arrivals.next_link(), Some(1));
    }

    #[test]
    fn a_link_keeps_one_entry_while_its_pipe_is_busy() {
        let mut arrivals = Arrivals::default();
        let at = Time::from_nanos;
        let next = |arrivals: &mut Arrivals| (arrivals.next_time(), arrivals.next_link());
        arrivals.push(at(10), 4);
        arrivals.push(at(12), 5);
        assert_eq!(next(&mut arrivals), (at(10), Some(4)));
        arrivals.take_next(4, Some(at(20)));
        assert_eq!(next(&mut arrivals), (at(12), Some(5)));
        arrivals.take_next(5, None);
        arrivals.push(at(15), 6);
        assert_eq!(next(&mut arrivals), (at(15), Some(6)), "takes the place that was left");
        arrivals.take_next(6, None);
        assert_eq!(next(&mut arrivals), (at(20), Some(4)));
        arrivals.take_next(4, None);
        assert_eq!(arrivals.next_time(), Time::NEVER);
    }
}
