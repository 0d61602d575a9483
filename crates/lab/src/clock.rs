//! The clock of a run.

use std::time::{Duration, Instant};

use tidegate_mechanisms::units::Time;

/// Time since the start of the run (`CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// The run starts now.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// The present.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// How long until `at`; zero if it is over.
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.since(self.now()).as_nanos())
    }
}
