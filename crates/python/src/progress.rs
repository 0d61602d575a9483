//! Reports of a run to Python.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tidegate_simulator::Report;

/// Time between reports: readers see them move, and runs do not wait for the interpreter's lock.
const EVERY: Duration = Duration::from_millis(100);

/// Calls a function of Python at most ten times a second.
pub struct Reporter<'a> {
    call: &'a Py<PyAny>,
    last: Instant,
}

impl<'a> Reporter<'a> {
    pub fn new(call: &'a Py<PyAny>) -> Self {
        Reporter { call, last: now() }
    }

    /// Calls it with simulated seconds, share of the run, and hops of packets. What it raises ends no run.
    pub fn report(&mut self, at: Report) {
        let time = now();
        if time.duration_since(self.last) < EVERY {
            return;
        }
        self.last = time;
        Python::attach(|py| {
            if let Err(error) = self.call.call1(py, (at.simulated_s, at.share, at.hops)) {
                error.write_unraisable(py, Some(self.call.bind(py)));
            }
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "when people see a report changes no run")]
fn now() -> Instant {
    Instant::now()
}
