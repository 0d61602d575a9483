//! Wake-ups: starts, samples and timeouts. Arrivals of packets have their own queue in [`crate::transit`], because
//! every packet moves it.
//!
//! At equal times, arrivals come before timers (an ACK that arrives in the nanosecond of its timeout stops it), and
//! timers fire in the order of insertion.
//!
//! Most timers never fire, since every ACK restarts its sender's. They wait unsorted for their day. When a day begins,
//! each of its timers is checked: those that have been moved to a later time are filed under a later day, and the rest
//! is sorted.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;
use tidegate_mechanisms::units::Time;

use crate::ack_timers::{AckSlot, AckTimers};
use crate::in_order::{InOrder, time_of, wake_of};
use crate::wake::{TimerId, Wake};

/// Bits of a time within its day: a day has 34 ms, less than most timers wait.
const DAY: u32 = 25;
/// Number of days to come with separate lists.
const DAYS: u64 = u32::BITS as u64;
/// Distance in timers of the look-ahead that the callback of a new day gets for prefetching.
const AFTER: usize = 8;
/// Capacity that the list of a day keeps when the day is over.
const MOST_ROOM: usize = 64;

/// Wake-ups of flows and probes.
pub struct Timers {
    /// Timers of receivers, which come before all others at equal times.
    pub acks: AckTimers,
    /// Timers of the current day and of earlier days.
    today: InOrder,
    /// Number of the current day.
    day: u64,
    /// Timers of the days to come, by the lowest bits of the day's number.
    days: Vec<Vec<u128>>,
    /// Bit set of the non-empty days.
    booked: u32,
    /// Timers that were beyond the separate days when they were set.
    later: QuaternaryHeap<Reverse<u128>>,
    /// Time of the first timer that is not a receiver's.
    planned: Time,
    /// Lower bound of all timers.
    next: Time,
}

/// Owners of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// Receivers, senders, flows and probes.
    All,
    /// All but receivers.
    Senders,
    /// Receivers, which delay acknowledgements.
    Receivers,
    /// Nothing.
    None,
}

/// Status of a timer before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerStatus {
    /// It fires as set.
    Due,
    /// It fires at this later time instead.
    Later(Time),
    /// It is no longer needed.
    Void,
}

impl Default for Timers {
    fn default() -> Self {
        Timers::with_lines(0)
    }
}

const fn day_of(at: Time) -> u64 {
    at.as_nanos() >> DAY
}

const fn place_of(day: u64) -> usize {
    (day % DAYS) as usize
}

impl Timers {
    /// Returns an empty queue, with `places` places in lines of receivers.
    pub fn with_lines(places: usize) -> Self {
        let (today, later) = (InOrder::default(), QuaternaryHeap::default());
        let (acks, next) = (AckTimers::with_lines(places), Time::NEVER);
        Timers { acks, today, day: 0, days: Vec::new(), booked: 0, later, planned: next, next }
    }

    /// Returns a lower bound of all timers; [`Time::NEVER`] if none is set.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// Returns a lower bound of the timers of these owners.
    #[inline]
    pub fn next_of(&self, owners: Owners) -> Time {
        match owners {
            Owners::All => self.next,
            Owners::Senders => self.planned,
            Owners::Receivers => self.acks.next_time(),
            Owners::None => Time::NEVER,
        }
    }

    /// Sets a timer. It cannot be cancelled; the receiver of the wake-up checks whether it still applies.
    #[inline(never)]
    pub fn push(&mut self, at: Time, wake: Wake) {
        let key = self.today.key(at, wake);
        self.add(key);
        self.planned = self.planned.min(at);
        self.next = self.next.min(at);
    }

    /// Sets or resets the timer of a receiver.
    #[inline]
    pub fn set_ack(&mut self, seat: AckSlot, at: Time) {
        if self.acks.set(seat, at) {
            self.next = self.next.min(at);
        }
    }

    /// Raises the bound of receivers' timers to the first of them.
    pub fn find_first_ack(&mut self) {
        self.acks.find_first();
        self.next = self.planned.min(self.acks.next_time());
    }

    /// Takes a timer of a receiver that expires now.
    pub fn take_ack(&mut self, now: Time) -> Option<TimerId> {
        let taken = self.acks.take(now);
        self.next = self.planned.min(self.acks.next_time());
        taken
    }

    #[inline]
    fn add(&mut self, key: u128) {
        let day = day_of(time_of(key));
        if day <= self.day {
            self.today.push(key);
        } else if day - self.day < DAYS {
            self.book(place_of(day), key);
        } else {
            self.later.push(Reverse(key));
        }
    }

    #[inline]
    fn book(&mut self, place: usize, key: u128) {
        if self.days.is_empty() {
            self.days.resize_with(DAYS as usize, Vec::new);
        }
        self.booked |= 1 << place;
        self.days[place].push(key);
    }

    /// Whether no timer is left in the current day, so that the next belongs to another.
    #[inline]
    pub fn day_is_over(&self) -> bool {
        self.today.next_time() == Time::NEVER
    }

    /// Begins the day of the next timer. `prospect` returns the status of each of its timers; its last argument is the
    /// wake-up of a later timer, for prefetching.
    pub fn begin_day(&mut self, mut prospect: impl FnMut(Wake, Time, Option<Wake>) -> TimerStatus) {
        self.day = day_of(self.planned);
        let place = place_of(self.day);
        self.booked &= !(1 << place);
        let mut keys = self.days.get_mut(place).map_or_else(Vec::new, core::mem::take);
        while let Some(Reverse(key)) = self.later.peek()
            && day_of(time_of(*key)) == self.day
        {
            keys.push(*key);
            self.later.pop();
        }
        for (number, &key) in keys.iter().enumerate() {
            let (wake, after) = (wake_of(key), keys.get(number + AFTER));
            match prospect(wake, time_of(key), after.copied().map(wake_of)) {
                TimerStatus::Due => self.today.push(key),
                TimerStatus::Later(at) => {
                    let key = self.today.key(at, wake);
                    self.add(key);
                }
                TimerStatus::Void => {}
            }
        }
        // The list keeps its capacity unless that is large.
        keys.clear();
        if keys.capacity() <= MOST_ROOM
            && let Some(day) = self.days.get_mut(place)
        {
            *day = keys;
        }
        self.find_next();
    }

    #[inline]
    fn find_next(&mut self) {
        self.planned = match self.today.next_time() {
            Time::NEVER => self.first_to_come(),
            next => next,
        };
        self.next = self.planned.min(self.acks.next_time());
    }

    /// Returns the time of the first timer after the current day.
    fn first_to_come(&self) -> Time {
        let later = self.later.peek().map(|Reverse(key)| *key);
        let from = place_of(self.day);
        let next = from + self.booked.rotate_right(from as u32).trailing_zeros() as usize;
        let day = self.days.get(next % DAYS as usize).into_iter().flatten();
        day.copied().chain(later).min().map_or(Time::NEVER, time_of)
    }

    /// Returns the wake-up of the next timer of the current day.
    #[inline]
    pub fn next_wake(&self) -> Option<Wake> {
        self.today.first().map(wake_of)
    }

    /// Moves the next timer of the current day to a later time.
    #[inline]
    pub fn put_off(&mut self, wake: Wake, at: Time) {
        self.today.pop();
        let key = self.today.key(at, wake);
        self.add(key);
        self.find_next();
    }

    /// Takes the next timer.
    #[cfg(test)]
    pub fn pop(&mut self) -> Option<(Time, Wake)> {
        self.pop_before(Time::NEVER)
    }

    /// Takes the next timer if it comes before `until`.
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, Wake)> {
        while self.next_time() < until {
            let now = self.next_time();
            if self.acks.next_time() <= now {
                if let Some(TimerId(half)) = self.take_ack(now) {
                    return Some((now, Wake::DelayedAck(half)));
                }
            } else {
                let wake = self.pop_planned()?;
                return Some((now, wake));
            }
        }
        None
    }

    /// Takes the next timer that is not a receiver's.
    #[inline]
    pub fn pop_planned(&mut self) -> Option<Wake> {
        if self.day_is_over() {
            if self.planned == Time::NEVER {
                return None;
            }
            self.begin_day(|_, _, _| TimerStatus::Due);
        }
        let key = self.today.pop()?;
        self.find_next();
        Some(wake_of(key))
    }
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
        /// Few or many timers, so that the structure grows and shrinks; within a day, across several, and beyond the
        /// separate days. When a day begins, some timers have moved to a later time and some are void.
        #[test]
        fn timers_fire_in_the_order_of_their_times(
            scale in prop::sample::select(vec![0, 20, 24]),
            steps in prop::collection::vec((0..1_000u64, 0..6u32), 0..400),
        ) {
            let (mut timers, mut model) = (Timers::default(), std::collections::BTreeSet::new());
            // At equal times they fire in the order in which they were set.
            let mut set = 0;
            let mut set_for = |at: Time, number: u32| {
                set += 1;
                (at, set, number)
            };
            for (number, (at, step)) in steps.into_iter().enumerate() {
                let (at, number) = (Time::from_nanos(at << scale), number as u32);
                if step < 3 {
                    timers.push(at, Wake::Start(number));
                    model.insert(set_for(at, number));
                } else if step == 5 {
                    if timers.day_is_over() && !model.is_empty() {
                        timers.begin_day(|wake, at, _| {
                            let own = model.iter().find(|own| (own.0, Wake::Start(own.2)) == (at, wake));
                            let own = *own.expect("was set");
                            let later = Time::from_nanos(at.as_nanos() + (7 << (scale + 4)));
                            match own.2 % 4 {
                                0 => {
                                    model.remove(&own);
                                    TimerStatus::Void
                                }
                                1 => {
                                    model.remove(&own);
                                    model.insert(set_for(later, own.2));
                                    TimerStatus::Later(later)
                                }
                                _ => TimerStatus::Due,
                            }
                        });
                    }
                    if !timers.day_is_over() && let Some((_, _, first)) = model.pop_first() {
                        prop_assert_eq!(timers.next_wake(), Some(Wake::Start(first)));
                        timers.put_off(Wake::Start(number), at);
                        model.insert(set_for(at, number));
                    }
                } else {
                    let first = model.pop_first().map(|(at, _, number)| (at, Wake::Start(number)));
                    prop_assert_eq!(timers.pop(), first);
                }
                let next = model.first().map_or(Time::NEVER, |(at, ..)| *at);
                prop_assert_eq!(timers.next_time(), next);
            }
            while let Some((at, _, number)) = model.pop_first() {
                prop_assert_eq!(timers.pop(), Some((at, Wake::Start(number))));
            }
            prop_assert_eq!(timers.pop(), None);
        }
    }
}
