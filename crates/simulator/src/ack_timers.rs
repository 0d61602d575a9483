//! When acknowledgements leave that wait for a second segment, of all receivers.

use tidegate_mechanisms::units::{Span, Time};

use crate::deadlines::{Deadlines, SharedBound};
use crate::wake::TimerId;

/// Where a receiver waits: in the upper bits one of the lists of [`AckTimers`], below them its place there.
#[derive(Clone, Copy, Debug)]
pub struct AckSlot(u32);

/// Those that stand in lines ([`DelayedAcks`](crate::delayed_acks::DelayedAcks)) come after those of data forth and back.
const LINES: u32 = 2;
const PLACE_BITS: u32 = 30;

impl AckSlot {
    /// By the place of its connection, where a receiver has no line.
    pub fn of(half: TimerId) -> Self {
        AckSlot(u32::from(half.is_backward()) << PLACE_BITS | half.place())
    }

    /// In a line.
    pub fn in_line(place: u32) -> Self {
        assert!(place < 1 << PLACE_BITS, "lines have room for {} receivers", 1 << PLACE_BITS);
        AckSlot(LINES << PLACE_BITS | place)
    }

    /// Whether data flows against the flow; whoever has a line gets what flows with it.
    #[inline]
    pub fn is_backward(self) -> bool {
        self.list() == 1
    }

    #[inline]
    fn list(self) -> usize {
        (self.0 >> PLACE_BITS) as usize
    }

    #[inline]
    fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }
}

/// The timers of all receivers.
pub struct AckTimers {
    lists: [Deadlines; LINES as usize + 1],
    /// By places in lines: who stands there.
    in_line: Vec<TimerId>,
    /// None runs out before.
    next: Time,
}

impl AckTimers {
    /// None is set; lines have so many places.
    pub fn with_lines(places: usize) -> Self {
        let lists = [0, 0, places].map(Deadlines::with_places);
        AckTimers { lists, in_line: vec![TimerId(0); places], next: Time::NEVER }
    }

    /// None runs out before. Whether one does then is known by [`Self::take`].
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// Sets one, or sets it again. Returns whether it may run out before all others.
    #[inline]
    pub fn set(&mut self, seat: AckSlot, at: Time) -> bool {
        let lowers = self.lists[seat.list()].set(seat.place(), at);
        if lowers {
            self.next = self.next.min(at);
        }
        lowers
    }

    /// Stops one.
    #[inline]
    pub fn clear(&mut self, seat: AckSlot) {
        self.lists[seat.list()].clear(seat.place());
    }

    /// A receiver stands at a place in its line from now on. Whoever stood there before owes nothing, since one connection of a
    /// flow comes after the other where receivers are served ahead of time.
    pub fn join_line(&mut self, place: u32, receiver: TimerId) {
        self.in_line[place as usize] = receiver;
    }

    /// Whether anybody in a line may owe something before, by where its bound is.
    #[inline]
    pub fn is_line_due(&self, bound_at: u32, until: Time) -> bool {
        self.lists[LINES as usize].is_due_before(until, bound_at)
    }

    /// Takes whose turn it is first in a line, and when, if that is before `until`.
    pub fn take_in_line(&mut self, line: SharedBound, until: Time) -> Option<(Time, TimerId)> {
        let (at, place) = self.lists[LINES as usize].take_of(line, until)?;
        Some((at, self.in_line[place as usize]))
    }

    /// Takes one that runs out now.
    pub fn take(&mut self, now: Time) -> Option<TimerId> {
        let until = now + Span::from_nanos(1);
        let mut taken = None;
        for (number, list) in self.lists.iter_mut().enumerate() {
            if taken.is_none()
                && let Some((_, place)) = list.take_before(until)
            {
                taken = Some(match number as u32 {
                    LINES => self.in_line[place as usize],
                    back => TimerId::new(place, back == 1),
                });
            }
        }
        self.next = self.lists.iter().map(Deadlines::bound).fold(Time::NEVER, Time::min);
        taken
    }

    /// Asks for that of a receiver without a line to which data flows forth.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        self.lists[0].prefetch(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wakes_its_own_receiver() {
        let ns = Time::from_nanos;
        let mut timers = AckTimers::with_lines(64);
        timers.join_line(33, TimerId::new(9, false));
        let halves = [TimerId::new(3, false), TimerId::new(3, true), TimerId::new(9, false)];
        let seats = [AckSlot::of(halves[0]), AckSlot::of(halves[1]), AckSlot::in_line(33)];
        for (seat, at) in seats.into_iter().zip([7, 5, 6]) {
            timers.set(seat, ns(at));
        }
        assert_eq!(timers.next_time(), ns(5));
        assert_eq!([4, 5, 5].map(|at| timers.take(ns(at))), [None, Some(halves[1]), None]);
        timers.clear(seats[0]);
        assert_eq!([6, 7].map(|at| timers.take(ns(at))), [Some(halves[2]), None]);
        assert_eq!(timers.next_time(), Time::NEVER);
    }
}
