//! Delayed-acknowledgement timers of all receivers.

use tidegate_mechanisms::units::{Span, Time};

use crate::deadlines::{Deadlines, SharedBound};
use crate::wake::TimerId;

/// Slot of a receiver's timer: the upper bits select one of the lists of [`AckTimers`], the lower bits the place in it.
#[derive(Clone, Copy, Debug)]
pub struct AckSlot(u32);

/// Lists below this number hold the timers of forward and backward halves; lists from it on hold lines
/// ([`DelayedAcks`](crate::delayed_acks::DelayedAcks)).
const LINES: u32 = 2;
const PLACE_BITS: u32 = 30;

impl AckSlot {
    /// Slot by the place of the connection, for a receiver without a line.
    pub fn of(half: TimerId) -> Self {
        AckSlot(u32::from(half.is_backward()) << PLACE_BITS | half.place())
    }

    /// Slot in a line.
    pub fn in_line(place: u32) -> Self {
        assert!(place < 1 << PLACE_BITS, "lines have room for {} receivers", 1 << PLACE_BITS);
        AckSlot(LINES << PLACE_BITS | place)
    }

    /// Whether the timer belongs to a backward half. A receiver in a line always belongs to a forward half.
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

/// Timers of all receivers.
pub struct AckTimers {
    lists: [Deadlines; LINES as usize + 1],
    /// Receiver that occupies each place of the lines.
    in_line: Vec<TimerId>,
    /// Lower bound of all expiry times.
    next: Time,
}

impl AckTimers {
    /// Returns timers of which none is set, with `places` places in lines.
    pub fn with_lines(places: usize) -> Self {
        let lists = [0, 0, places].map(Deadlines::with_places);
        AckTimers { lists, in_line: vec![TimerId(0); places], next: Time::NEVER }
    }

    /// Returns a lower bound of all expiry times. [`Self::take`] finds out whether a timer expires then.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// Sets or resets a timer. Returns whether it may expire before all others.
    #[inline]
    pub fn set(&mut self, seat: AckSlot, at: Time) -> bool {
        let lowers = self.lists[seat.list()].set(seat.place(), at);
        if lowers {
            self.next = self.next.min(at);
        }
        lowers
    }

    /// Stops a timer.
    #[inline]
    pub fn clear(&mut self, seat: AckSlot) {
        self.lists[seat.list()].clear(seat.place());
    }

    /// Assigns a place in a line to a receiver. The previous occupant has no pending acknowledgement, since connections
    /// of a flow succeed one another where receivers are served ahead of time.
    pub fn join_line(&mut self, place: u32, receiver: TimerId) {
        self.in_line[place as usize] = receiver;
    }

    /// Whether a receiver in a line may have an acknowledgement due before `until`; `bound_at` is the position of the
    /// line's bound.
    #[inline]
    pub fn is_line_due(&self, bound_at: u32, until: Time) -> bool {
        self.lists[LINES as usize].is_due_before(until, bound_at)
    }

    /// Takes the first receiver of a line that is due before `until`, with its expiry time.
    pub fn take_in_line(&mut self, line: SharedBound, until: Time) -> Option<(Time, TimerId)> {
        let (at, place) = self.lists[LINES as usize].take_of(line, until)?;
        Some((at, self.in_line[place as usize]))
    }

    /// Takes a timer that expires now.
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

    /// Raises the lower bound to the first expiry time.
    pub fn find_first(&mut self) {
        self.lists.iter_mut().for_each(Deadlines::find_first);
        self.next = self.lists.iter().map(Deadlines::bound).fold(Time::NEVER, Time::min);
    }

    /// Prefetches the timer of a forward half's receiver without a line.
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
