//! Admission by load: the measured sum with a time window.
//!
//! ```text
//! a call of rate r begins if  ν + r ≤ υμ;  then ν ← ν + r
//! ν ← sample                 where a sample is larger
//! ν ← largest of its samples at the end of each window
//! ```
//!
//! S. Jamin, S. Shenker, P. Danzig, "Comparison of measurement-based admission control algorithms for controlled-load
//! service", INFOCOM 1997. Differs from the paper: admitting a call does not restart the window.

use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::plan;

/// Measured load and the resulting admission decision.
pub struct MeasuredSum {
    /// Load limit υμ, bit/s.
    limit_bps: f64,
    sample: Span,
    window: Span,
    sample_ends: Time,
    window_ends: Time,
    /// Bytes sent since the sample began.
    sampled: Bytes,
    /// Load estimate ν, bit/s.
    load_bps: f64,
    /// Largest sample of the window, bit/s.
    largest_bps: f64,
}

impl MeasuredSum {
    /// Returns the estimator with a load of zero.
    pub fn new(plan: &plan::MeasuredSum) -> Self {
        MeasuredSum {
            limit_bps: plan.limit.as_bps() as f64,
            sample: plan.sample,
            window: plan.window,
            sample_ends: Time::ZERO + plan.sample,
            window_ends: Time::ZERO + plan.window,
            sampled: Bytes::new(0),
            load_bps: 0.0,
            largest_bps: 0.0,
        }
    }

    /// Counts a packet of a call.
    pub fn on_packet(&mut self, size: Bytes, now: Time) {
        self.until(now);
        self.sampled = self.sampled + size;
    }

    /// Whether a call of this rate is admitted. If so, its rate is added to the load.
    pub fn admits(&mut self, rate: Rate, now: Time) -> bool {
        self.until(now);
        let sum_bps = self.load_bps + rate.as_bps() as f64;
        let admits = sum_bps <= self.limit_bps;
        if admits {
            self.load_bps = sum_bps;
        }
        admits
    }

    /// Closes the samples and windows that have ended by `now`.
    fn until(&mut self, now: Time) {
        while self.sample_ends <= now {
            let sample_bps = self.sampled.as_bits() as f64 / self.sample.as_secs();
            self.sampled = Bytes::new(0);
            self.largest_bps = self.largest_bps.max(sample_bps);
            self.load_bps = self.load_bps.max(sample_bps);
            if self.window_ends <= self.sample_ends {
                self.load_bps = core::mem::take(&mut self.largest_bps);
                self.window_ends += self.window;
            }
            self.sample_ends += self.sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_load_and_calls_admitted_since_leave_capacity_or_not() {
        let seconds = |s: u64| Time::ZERO + Span::from_millis(1_000 * s);
        let mut sum = MeasuredSum::new(&plan::MeasuredSum {
            limit: Rate::from_bps(10_000),
            sample: Span::from_millis(1_000),
            window: Span::from_millis(4_000),
        });
        let call = Rate::from_bps(4_000);
        assert!(sum.admits(call, Time::ZERO) && sum.admits(call, Time::ZERO));
        assert!(!sum.admits(call, Time::ZERO), "12 kb/s of what was let in");
        // A second of 5 kb/s, and silence: that is the load of the first window, which ends at 4 s.
        sum.on_packet(Bytes::new(625), Time::ZERO);
        assert!(!sum.admits(call, seconds(3)));
        assert!(sum.admits(call, seconds(4)), "5 kb/s and 4");
        assert!(!sum.admits(call, seconds(5)), "9 kb/s and 4");
        assert!(sum.admits(call, seconds(8)), "silence for a whole window");
    }
}
