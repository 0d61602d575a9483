//! Progress of a run.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

/// Number of reports until the measurement of a run ends.
const REPORTS: u64 = 50;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Share of the time until the end of the measurement that is simulated. It stays 1 while the run waits for
    /// transfers.
    pub share: f64,
    /// Packets that links have accepted so far, each counted at each link.
    pub hops: u64,
}

/// Reports at even steps of the simulated time.
pub struct Progress<'a> {
    next: Time,
    step: Span,
    /// Until the measurement ends.
    all: Span,
    report: Option<&'a mut dyn FnMut(Report)>,
}

impl<'a> Progress<'a> {
    /// No reports.
    pub fn silent() -> Self {
        Progress { next: Time::NEVER, step: Span::ZERO, all: Span::ZERO, report: None }
    }

    /// `report` is called at each step.
    pub fn to(plan: &Plan, report: &'a mut dyn FnMut(Report)) -> Self {
        let all = plan.warm_up + plan.duration;
        let step = Span::from_nanos((all.as_nanos() / REPORTS).max(1));
        Progress { next: Time::ZERO + step, step, all, report: Some(report) }
    }

    /// When the next report is due.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The run has come to where the next report is due, after that number of hops of packets.
    pub fn report(&mut self, hops: u64) {
        let simulated_s = self.next.since(Time::ZERO).as_secs();
        let share = (simulated_s / self.all.as_secs()).min(1.0);
        if let Some(report) = &mut self.report {
            report(Report { simulated_s, share, hops });
        }
        self.next += self.step;
    }
}
