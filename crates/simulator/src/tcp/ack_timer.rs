//! Delayed-acknowledgement timer: a single timer that is checked when it expires and not stopped before.
//!
//! It runs by the receiver's own clock, which is ahead where the receiver is served ahead of time. Checks that would
//! find nothing due are skipped; their effect is evaluated when the next segment arrives.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::Time;

/// Delayed-acknowledgement timer.
#[derive(Clone, Copy, Debug)]
pub struct AckTimer {
    /// Time at which the acknowledgement is due; [`Time::NEVER`] if none is.
    due: Time,
    /// Time of the next check; [`Time::NEVER`] if there is none.
    looks_at: Time,
}

impl AckTimer {
    /// Returns a timer that is not set.
    pub fn new() -> Self {
        AckTimer { due: Time::NEVER, looks_at: Time::NEVER }
    }

    /// Sets the timer. Returns the time at which the acknowledgement is sent unless another packet carries it: not
    /// before the next check.
    pub fn set(&mut self, due: Time) -> Time {
        self.due = due;
        self.looks_at = select_unpredictable(self.looks_at == Time::NEVER, due, self.looks_at);
        self.sent_at()
    }

    /// Returns the time at which the acknowledgement is sent unless another packet carries it; [`Time::NEVER`] if none
    /// is due.
    pub fn sent_at(&self) -> Time {
        if self.due == Time::NEVER { Time::NEVER } else { self.due.max(self.looks_at) }
    }

    /// Clears the due time.
    #[inline]
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }

    /// Whether an acknowledgement is sent before `until`. If not, a check before then finds none due, and the next is
    /// when one is.
    #[inline]
    pub fn is_sent_before(&mut self, until: Time) -> bool {
        let is_sent = self.sent_at() < until;
        let looks = select_unpredictable(self.looks_at < until, self.due, self.looks_at);
        self.looks_at = looks;
        is_sent
    }

    /// Handles expiry: nothing is due, and no check is pending.
    pub fn run_out(&mut self) {
        *self = AckTimer::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ns(n: u64) -> Time {
        Time::from_nanos(n)
    }

    /// A timer that is set repeatedly, as acknowledgements leave before they are due, is checked once.
    #[test]
    fn one_look_serves_however_often_it_is_set() {
        let mut timer = AckTimer::new();
        assert_eq!(timer.set(ns(40)), ns(40));
        timer.clear();
        assert_eq!(timer.sent_at(), Time::NEVER);
        assert_eq!(timer.set(ns(60)), ns(60));
        assert!(!timer.is_sent_before(ns(60)) && timer.is_sent_before(ns(61)));
    }

    /// A shorter delay does not advance the check.
    #[test]
    fn what_is_due_before_the_next_look_leaves_then() {
        let mut timer = AckTimer::new();
        timer.set(ns(40));
        timer.clear();
        assert_eq!(timer.set(ns(30)), ns(40));
    }

    #[test]
    fn a_look_that_finds_nothing_is_the_last() {
        let mut timer = AckTimer::new();
        timer.set(ns(40));
        timer.clear();
        assert!(!timer.is_sent_before(ns(41)));
        assert_eq!(timer.set(ns(30)), ns(30));
    }

    proptest! {
        /// Equivalent to performing every check on time: each finds the acknowledgement due, is postponed until it is,
        /// or ends the timer if none is due.
        #[test]
        fn looks_need_not_be_made_when_they_are_due(
            steps in prop::collection::vec((1..30_u64, 0..3_u32, 1..60_u64), 0..60),
        ) {
            let (mut timer, mut now) = (AckTimer::new(), 0);
            let (mut due, mut look) = (None, None);
            for (gap, step, delay) in steps {
                now += gap;
                let mut left = None;
                while let Some(at) = look.filter(|at| *at < now) {
                    look = due.filter(|due| *due > at);
                    if due.is_some_and(|due| due <= at) {
                        (due, left) = (None, Some(at));
                    }
                }
                let sent_at = timer.sent_at();
                prop_assert_eq!(timer.is_sent_before(ns(now)), left.is_some());
                if let Some(at) = left {
                    prop_assert_eq!(sent_at, ns(at));
                    timer.run_out();
                }
                match step {
                    0 => {
                        timer.clear();
                        due = None;
                    }
                    _ => {
                        timer.set(ns(now + delay));
                        due = Some(now + delay);
                        look = look.or(due);
                    }
                }
            }
        }
    }
}
