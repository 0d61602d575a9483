//! Times of events, actual and expected, by packetdrill's rules.
//!
//! ```text
//! +t         t after the event before has happened; of two packets that arrive, after the time that
//!            the script has for the first
//! tolerance  4 ms, or 12.5 % of the time since the event before, if that is more
//! ```

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};

use super::{PlayOptions, START, Stop};
use crate::endpoint::{Endpoint, Live};
use crate::script::When;

/// Maximum duration of a script.
const LONGEST: Span = Span::from_secs(86_400);

/// Expected time of an event.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    first: Time,
    last: Time,
    any: bool,
    tolerance: Span,
}

impl Due {
    /// Returns the earliest and the latest expected time.
    pub fn range(&self) -> (Time, Time) {
        (self.first, self.last)
    }

    /// Returns an expected range between two times, with the clock's tolerance.
    pub fn between(first: Time, last: Time, clock: &ScriptClock) -> Self {
        Due { first, last, any: false, tolerance: clock.tolerance }
    }

    /// Whether an actual time is within the expected range.
    pub fn holds(&self, at: Time) -> bool {
        self.any || (at + self.tolerance >= self.first && at <= self.last + self.tolerance)
    }
}

/// The current time, and the previous event.
pub struct ScriptClock {
    /// Current time.
    pub now: Time,
    tolerance: Span,
    tolerance_percent: f64,
    /// Expected time of the previous event, and whether that event was the arrival of a packet.
    before: Time,
    before_arrived: bool,
    /// Base of relative times of the current event.
    base: Time,
    /// Sent packets that the script has not yet expected.
    sent: VecDeque<Live>,
    /// Base of the script's timestamps: a value and its sending time.
    timestamps: Option<(u32, Time)>,
}

impl ScriptClock {
    pub fn new(options: &PlayOptions) -> Self {
        ScriptClock {
            now: START,
            tolerance: options.tolerance,
            tolerance_percent: options.tolerance_percent,
            before: START,
            before_arrived: false,
            base: START,
            sent: VecDeque::new(),
            timestamps: None,
        }
    }

    /// Returns the expected time of the next event.
    ///
    /// # Errors
    ///
    /// Fails if the time is more than a day after the start.
    pub fn due(&mut self, when: When, arrives: bool) -> Result<Due, Stop> {
        let relative = if self.before_arrived && arrives { self.before } else { self.now };
        self.base = match when {
            When::At(_) | When::Between(..) => START,
            When::After(_) | When::AfterBetween(..) | When::Any => relative,
        };
        let (first, last) = match when {
            When::At(us) | When::After(us) => (us, us),
            When::Between(first, last) | When::AfterBetween(first, last) => (first, last),
            When::Any => (0, 0),
        };
        let (first, last) = (self.at(first), self.at(last));
        let since = first.since(self.before).as_nanos() as f64;
        let share = Span::from_nanos((since * self.tolerance_percent / 100.0) as u64);
        if last.since(START) > LONGEST {
            return Err(Stop::Outside("a script that takes more than a day".to_owned()));
        }
        self.before = first;
        self.before_arrived = arrives;
        Ok(Due { first, last, any: when == When::Any, tolerance: self.tolerance.max(share) })
    }

    /// Returns the time `us` microseconds after the base of the current event.
    pub fn at(&self, us: u64) -> Time {
        self.base + Span::from_micros(us)
    }

    /// Runs the host until an event is due.
    pub fn wait_for(&mut self, due: Due, host: &mut Endpoint) -> Result<(), Stop> {
        while host.next_wake().is_some_and(|at| at < due.first) {
            host.wake();
            self.collect(host);
        }
        self.now = self.now.max(due.first);
        self.check(due, self.now, "this")
    }

    /// Returns the next packet that the host sends, by `end`.
    pub fn next_sent(&mut self, host: &mut Endpoint, end: Time) -> Option<Live> {
        self.collect(host);
        while self.sent.is_empty() {
            let at = host.next_wake().filter(|at| *at <= end)?;
            host.wake();
            self.now = self.now.max(at);
            self.collect(host);
        }
        self.sent.pop_front()
    }

    fn collect(&mut self, host: &mut Endpoint) {
        while let Some(live) = host.take_sent() {
            self.sent.push_back(live);
        }
    }

    /// Checks that an event happened at the expected time.
    pub fn check(&self, due: Due, at: Time, what: &str) -> Result<(), Stop> {
        if due.holds(at) {
            return Ok(());
        }
        let (first, last) = (self.seconds(due.first), self.seconds(due.last));
        let range =
            if first == last { format!("{first} s") } else { format!("{first} to {last} s") };
        let message = format!(
            "expected {what} at {range}, but it was at {} s (tolerance {} ms)",
            self.seconds(at),
            due.tolerance.as_nanos() as f64 / 1e6
        );
        Err(Stop::Failed(message))
    }

    /// Returns the time since the start of the script, seconds.
    fn seconds(&self, at: Time) -> f64 {
        (at.since(START).as_nanos() / 1000) as f64 / 1e6
    }

    /// Returns the difference between a packet's timestamp in the script and that of a clock that started with the
    /// first timestamp.
    pub fn timestamp_error(&mut self, script: u32, sent: Time, tick: Span) -> Span {
        let (first, at) = *self.timestamps.get_or_insert((script, sent));
        let ticks = sent.since(at).as_nanos() / tick.as_nanos().max(1);
        let ours = first.wrapping_add(ticks as u32);
        let off = (ours.wrapping_sub(script) as i32).unsigned_abs();
        tick * u64::from(off)
    }
}
