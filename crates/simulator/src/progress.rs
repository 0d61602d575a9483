//! Progress of a run.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

/// Number of reports until the measurement of a run ends.
const REPORTS: u64 = 50;

/// Reports at even steps of the simulated time.
pub struct Progress<'a> {
    next: Time,
    step: Span,
    /// Until the measurement ends.
    all: Span,
    report: Option<&'a mut dyn FnMut(f64)>,
}

impl<'a> Progress<'a> {
    /// No reports.
    pub fn silent() -> Self {
        Progress { next: Time::NEVER, step: Span::ZERO, all: Span::ZERO, report: None }
    }

    /// `report` gets the share of the time until the end of the measurement that is simulated. It stays 1 while the run
    /// waits for transfers.
    pub fn to(plan: &Plan, report: &'a mut dyn FnMut(f64)) -> Self {
        let all = plan.warm_up + plan.duration;
        let step = Span::from_nanos((all.as_nanos() / REPORTS).max(1));
        Progress { next: Time::ZERO + step, step, all, report: Some(report) }
    }

    /// When the next report is due.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The run has come to where the next report is due.
    pub fn report(&mut self) {
        let share = self.next.since(Time::ZERO).as_secs() / self.all.as_secs();
        if let Some(report) = &mut self.report {
            report(share.min(1.0));
        }
        self.next += self.step;
    }
}
