//! The timer of delayed acknowledgements: one, which is looked after when it is due, and is not stopped meanwhile.
//!
//! It runs by the receiver's own clock, which is ahead of everybody else's where the receiver is served ahead of
//! time. Looks at which nothing is due are not made when they would be: what has become of them is seen when the next segment
//! comes.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::Time;

/// The timer.
#[derive(Clone, Copy, Debug)]
pub struct AckTimer {
    /// When the acknowledgement is due; [`Time::NEVER`] if none is.
    due: Time,
    /// When the receiver looks after it; [`Time::NEVER`] if it does not.
    looks_at: Time,
}

impl AckTimer {
    /// One that is not set.
    pub fn new() -> Self {
        AckTimer { due: Time::NEVER, looks_at: Time::NEVER }
    }

    /// Sets it. Returns when the acknowledgement leaves, if nothing else lets it go before: no sooner than the receiver
    /// looks next.
    pub fn set(&mut self, due: Time) -> Time {
        self.due = due;
        self.looks_at = select_unpredictable(self.looks_at == Time::NEVER, due, self.looks_at);
        self.sent_at()
    }

    /// When the acknowledgement leaves, if nothing else lets it go before; [`Time::NEVER`] if none is due.
    pub fn sent_at(&self) -> Time {
        if self.due == Time::NEVER { Time::NEVER } else { self.due.max(self.looks_at) }
    }

    /// Nothing is due any more.
    #[inline]
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }

    /// Whether an acknowledgement leaves before `until`. Else a look before then finds none due, and the next is when one is.
    #[inline]
    pub fn is_sent_before(&mut self, until: Time) -> bool {
        let is_sent = self.sent_at() < until;
        let looks = select_unpredictable(self.looks_at < until, self.due, self.looks_at);
        self.looks_at = looks;
        is_sent
    }

    /// It has run out: nothing is due, and nobody looks.
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

    /// Set again and again, as acknowledgements leave before they are due, it is looked after once for all that.
    #[test]
    fn one_look_serves_however_often_it_is_set() {
        let mut timer = AckTimer::new();
        assert_eq!(timer.set(ns(40)), ns(40));
        timer.clear();
        assert_eq!(timer.sent_at(), Time::NEVER);
        assert_eq!(timer.set(ns(60)), ns(60));
        assert!(!timer.is_sent_before(ns(60)) && timer.is_sent_before(ns(61)));
    }

    /// A delay that has become shorter does not bring the look forward.
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
        /// As if every look were made when it is due: each finds the acknowledgement due, or is put off until it is, or
        /// is the last if none is due.
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
