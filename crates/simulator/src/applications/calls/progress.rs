//! Counts of calls requested, blocked, and in progress.

use tidegate_mechanisms::units::{Span, Time};

/// Counts of calls, and time averages of the number in progress.
#[derive(Default)]
pub struct CallProgress {
    since: Time,
    offered: u64,
    blocked: u64,
    begun: u64,
    ended: u64,
    /// Total time from requests to beginnings.
    waited: Span,
    now: u64,
    most: u64,
    changed: Time,
    /// Integrals over time of the number of calls and of its square.
    calls_s: f64,
    squares_s: f64,
}

impl CallProgress {
    /// Starts the measured time: resets all counts but the number in progress.
    pub fn measure(&mut self, now: Time) {
        let in_progress = self.now;
        *self = CallProgress {
            since: now,
            changed: now,
            now: in_progress,
            most: in_progress,
            ..CallProgress::default()
        };
    }

    pub fn on_offered(&mut self) {
        self.offered += 1;
    }

    pub fn on_blocked(&mut self) {
        self.blocked += 1;
    }

    /// Counts the beginning of a call that was requested at `asked`.
    pub fn on_begun(&mut self, asked: Time, now: Time) {
        self.until(now);
        self.begun += 1;
        self.waited = self.waited + (now - asked);
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    pub fn on_ended(&mut self, now: Time) {
        self.until(now);
        self.ended += 1;
        self.now -= 1;
    }

    fn until(&mut self, now: Time) {
        (self.calls_s, self.squares_s) = self.integrals(now);
        self.changed = now;
    }

    fn integrals(&self, now: Time) -> (f64, f64) {
        let (calls, time_s) = (self.now as f64, (now - self.changed).as_secs());
        (self.calls_s + calls * time_s, self.squares_s + calls * calls * time_s)
    }

    /// Reports the metrics at `now`.
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let (calls_s, squares_s) = self.integrals(now);
        let time_s = (now - self.since).as_secs();
        let mean = calls_s / time_s;
        each("offered", self.offered as f64);
        each("blocked", self.blocked as f64);
        each("begun", self.begun as f64);
        each("ended", self.ended as f64);
        each("blocking", self.blocked as f64 / (self.blocked + self.begun) as f64);
        each("calls", mean);
        // Rounding would leave a variance slightly below zero for a constant number.
        each("calls_variance", (squares_s / time_s - mean * mean).max(0.0));
        each("most_calls", self.most as f64);
        each("set_up_s", self.waited.as_secs() / self.begun as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_over_the_time_that_they_take() {
        let at = |s: u64| Time::ZERO + Span::from_secs_f64(s as f64);
        let mut progress = CallProgress::default();
        progress.on_begun(at(0), at(0));
        progress.measure(at(10));
        progress.on_offered();
        progress.on_begun(at(19), at(20));
        progress.on_offered();
        progress.on_blocked();
        progress.on_ended(at(25));
        let mut reported = std::collections::HashMap::new();
        progress.metrics(at(30), &mut |what, value| {
            reported.insert(what, value);
        });
        // One for 10 s, two for 5, one for 5.
        assert_eq!(reported["calls"], 1.25);
        assert_eq!(reported["calls_variance"], (10.0 + 4.0 * 5.0 + 5.0) / 20.0 - 1.25 * 1.25);
        assert_eq!((reported["offered"], reported["blocked"], reported["begun"]), (2.0, 1.0, 1.0));
        assert_eq!(
            (reported["blocking"], reported["set_up_s"], reported["most_calls"]),
            (0.5, 1.0, 2.0)
        );
    }
}
