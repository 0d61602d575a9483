//! The clock of a run.

use std::time::{Duration, Instant};

use tidegate_mechanisms::units::Time;

/// Time since the start of the run (`CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the run.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// Returns the time until `at`; zero if it is past.
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.since(self.now()).as_nanos())
    }
}
