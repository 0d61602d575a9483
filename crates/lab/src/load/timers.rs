//! What is to be done when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_mechanisms::units::{Span, Time};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadWake {
    /// A flow starts, or its next transfer.
    Start(usize),
    /// A UDP packet of a flow is due.
    Send(usize),
    /// The application of a flow asked for it.
    Application(usize),
    /// All connections are asked for their window and round-trip time, for means.
    Sample {
        /// And again after this.
        step: Span,
    },
    /// Some are, for series.
    Series {
        /// And again after this.
        step: Span,
    },
}

/// All of it, the earliest first.
#[derive(Default)]
pub struct LoadTimers(BinaryHeap<Reverse<(Time, LoadWake)>>);

impl LoadTimers {
    /// Plans something.
    pub fn push(&mut self, at: Time, wake: LoadWake) {
        self.0.push(Reverse((at, wake)));
    }

    /// When something is due next.
    pub fn next(&self) -> Time {
        self.0.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// What is due at `now` or earlier.
    pub fn pop_before(&mut self, now: Time) -> Option<(Time, LoadWake)> {
        if self.next() > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
