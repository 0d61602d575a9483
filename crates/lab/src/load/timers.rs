//! Scheduled actions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_mechanisms::units::{Span, Time};

/// Scheduled action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadWake {
    /// A flow starts, or its next transfer.
    Start(usize),
    /// A UDP packet of a flow is due.
    Send(usize),
    /// The application of a flow has requested a wake-up.
    Application(usize),
    /// Window and round-trip time of all connections are read, for means.
    Sample {
        /// Time to the next reading.
        step: Span,
    },
    /// Window and round-trip time of some connections are read, for series.
    Series {
        /// Time to the next reading.
        step: Span,
    },
}

/// Scheduled actions, the earliest first.
#[derive(Default)]
pub struct LoadTimers(BinaryHeap<Reverse<(Time, LoadWake)>>);

impl LoadTimers {
    /// Schedules an action.
    pub fn push(&mut self, at: Time, wake: LoadWake) {
        self.0.push(Reverse((at, wake)));
    }

    /// Returns the time of the next action.
    pub fn next(&self) -> Time {
        self.0.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes an action that is due at `now` or earlier.
    pub fn pop_before(&mut self, now: Time) -> Option<(Time, LoadWake)> {
        if self.next() > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
