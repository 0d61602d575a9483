//! The timer of delayed acknowledgements: one, which is looked after when it is due, and is not stopped meanwhile.
//!
//! It runs by the receiver's own clock, which is ahead of everybody else's where the receiver is served ahead of
//! time. So there are two times: when the receiver looks after its timer, and when the world wakes it to do so.

use tidegate_mechanisms::units::Time;

use crate::event_queue::Prospect;

/// The timer.
#[derive(Clone, Copy, Debug)]
pub struct AckTimer {
    /// When the acknowledgement is due; [`Time::NEVER`] if none is.
    due: Time,
    /// When the receiver looks after it; [`Time::NEVER`] if it does not.
    looks_at: Time,
    /// When the wake-up comes that it has asked for; [`Time::NEVER`] if none does.
    wake_at: Time,
}

impl AckTimer {
    /// One that is not set.
    pub fn new() -> Self {
        AckTimer { due: Time::NEVER, looks_at: Time::NEVER, wake_at: Time::NEVER }
    }

    /// Sets it. Returns whether the receiver looks after it then, and did not look after it before.
    pub fn set(&mut self, due: Time) -> bool {
        self.due = due;
        let begins = self.looks_at == Time::NEVER;
        if begins {
            self.looks_at = due;
        }
        begins
    }

    /// Nothing is due any more.
    #[inline]
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }

    /// When the receiver looks after it.
    #[inline]
    pub fn looks_at(&self) -> Time {
        self.looks_at
    }

    /// The receiver looks after it at `now`, when it wanted to. Returns whether it has run out; if it is due
    /// later, the receiver looks again then.
    pub fn look(&mut self, now: Time) -> bool {
        let runs_out = self.due <= now;
        self.looks_at = if runs_out { Time::NEVER } else { self.due };
        runs_out
    }

    /// When to ask for a wake-up, if that has not been asked for.
    pub fn ask(&mut self) -> Option<Time> {
        let sooner = self.looks_at < self.wake_at;
        self.wake_at = self.wake_at.min(self.looks_at);
        sooner.then_some(self.looks_at)
    }

    /// A wake-up comes at `at`, which may be `now` or later. Tells what is known of it.
    #[inline]
    pub fn foresee(&mut self, at: Time, now: Time) -> Prospect {
        if self.wake_at != at {
            return Prospect::Void;
        }
        if at == now && self.looks_at == now && self.due > now {
            self.looks_at = self.due;
        }
        if self.looks_at <= at || self.looks_at == Time::NEVER {
            return Prospect::Due;
        }
        self.wake_at = self.looks_at;
        Prospect::Later(self.looks_at)
    }

    /// A wake-up comes at `now`. Returns whether it is the one that was asked for, and not left over from a
    /// connection that had this place before.
    pub fn wakes(&mut self, now: Time) -> bool {
        let ours = self.wake_at == now;
        if ours {
            self.wake_at = Time::NEVER;
        }
        ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(n: u64) -> Time {
        Time::from_nanos(n)
    }

    /// Set again and again, as acknowledgements leave before they are due, it asks for one wake-up at a time.
    #[test]
    fn one_wake_up_serves_however_often_it_is_set() {
        let mut timer = AckTimer::new();
        assert!(timer.set(ns(40)));
        assert_eq!(timer.ask(), Some(ns(40)));
        timer.clear();
        assert!(!timer.set(ns(60)));
        assert_eq!(timer.ask(), None);
        assert!(!timer.wakes(ns(39)));
        assert!(timer.wakes(ns(40)) && !timer.look(ns(40)));
        assert_eq!(timer.ask(), Some(ns(60)));
        assert!(timer.wakes(ns(60)) && timer.look(ns(60)));
        assert_eq!((timer.ask(), timer.looks_at()), (None, Time::NEVER));
    }

    /// A wake-up that is too early comes again when the receiver looks; one that is due does not.
    #[test]
    fn a_wake_up_that_is_too_early_is_put_off() {
        let mut timer = AckTimer::new();
        let now = |timer: &mut AckTimer, n| timer.foresee(ns(n), ns(n));
        assert!(timer.set(ns(40)) && timer.ask() == Some(ns(40)));
        timer.set(ns(60));
        assert_eq!(now(&mut timer, 39), Prospect::Void, "another's");
        assert_eq!(timer.foresee(ns(40), ns(30)), Prospect::Due, "it may be set for 50 ns by then");
        assert_eq!(now(&mut timer, 40), Prospect::Later(ns(60)));
        assert_eq!((timer.looks_at(), now(&mut timer, 60)), (ns(60), Prospect::Due));
        timer.clear();
        assert_eq!(now(&mut timer, 60), Prospect::Due, "nothing is due");
        assert!(timer.wakes(ns(60)) && !timer.look(ns(60)));
    }

    /// The receiver's clock is ahead: it has looked already when the wake-up comes, and waits for another time.
    #[test]
    fn a_receiver_may_look_before_it_is_woken() {
        let mut timer = AckTimer::new();
        assert!(timer.set(ns(40)));
        assert_eq!(timer.ask(), Some(ns(40)));
        assert!(timer.look(ns(40)), "a segment that arrives at 50 ns is served at 30 ns");
        timer.clear();
        assert!(timer.set(ns(90)));
        assert_eq!(timer.ask(), None, "the wake-up at 40 ns is still to come");
        assert!(timer.wakes(ns(40)) && timer.looks_at() > ns(40));
        assert_eq!(timer.ask(), Some(ns(90)));
    }
}
