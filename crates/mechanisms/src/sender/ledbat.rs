//! LEDBAT: a background sender, which keeps the queueing delay that it causes at a target and yields to others. S.
//! Shalunov et al., RFC 6817 (Low Extra Delay Background Transport), section 2.4.2.
//!
//! ```text
//! each ACK:   base      = the shortest one-way delay of the last BASE_HISTORY minutes
//!             current   = the shortest of the last CURRENT_FILTER ACKs
//!             queuing   = current − base
//!             off_target = (TARGET − queuing)/TARGET
//!             cwnd ← max(cwnd + GAIN off_target acked/cwnd, MIN_CWND)        in segments
//! loss, mark: cwnd ← max(cwnd/2, MIN_CWND), once a round trip
//! timeout:   cwnd ← 1
//! ```
//!
//! One-way delays are differences between the clocks of receiver and sender; the clock offset cancels. A queue with a
//! capacity below TARGET is filled until it overflows, as by any other sender.
//!
//! Not specified there: CURRENT_FILTER is 4, BASE_HISTORY 10 minutes, MIN_CWND 2 segments, and there is no slow start
//! (section 2.4.2 has none). Differs from it: a window that is not full does not grow at all, where RFC 6817 allows
//! ALLOWED_INCREASE above the data in flight. A flow that begins while others' segments wait includes their delay in
//! its base delay (late-comer's advantage, section 4.4).

use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Factor, Span, Time};

/// Number of minutes in the base delay history.
const BASE_HISTORY: usize = 10;
/// Number of ACKs whose minimum is the current delay.
const CURRENT_FILTER: usize = 4;
/// Smallest window, segments.
const MIN_CWND: f64 = MIN_SSTHRESH;
const MINUTE_NANOS: u64 = 60_000_000_000;
/// RFC 6817, section 2.5: maximum target of an implementation.
const MAX_TARGET: Span = Span::from_millis(100);

parameters! {
    /// RFC 6817: keeps the queueing delay that it causes at a target, and yields to flows that cause more.
    pub struct LedbatParams {
        /// Target of the queueing delay.
        pub target: Span = "100 ms",
        /// Gain of the window; at most a segment a round trip with 1.
        pub gain: Factor = "1.0",
    }
    check stays_in_the_background;
}

fn stays_in_the_background(params: &LedbatParams) -> Vec<ParameterError> {
    let LedbatParams { target, gain: Factor(gain) } = *params;
    let checks = [
        (target == Span::ZERO, "target", "must not be zero"),
        (target > MAX_TARGET, "target", "is above 100 ms, the most that RFC 6817 allows"),
        (gain <= 0.0, "gain", "must be above 0"),
        (gain > 1.0, "gain", "is above 1: faster than TCP, which RFC 6817 forbids"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    failed.map(|(_, key, message)| (key, message.to_owned())).collect()
}

/// State of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: LedbatParams,
    delays: Box<Delays>,
}

/// Recent one-way delays.
#[derive(Clone, Debug)]
struct Delays {
    /// Minimum delay of each minute; the maximum value for minutes without samples.
    base: [Span; BASE_HISTORY],
    /// Number of the latest of these minutes, from the start of the run.
    minute: u64,
    current: [Span; CURRENT_FILTER],
    next: usize,
}

const NEVER_MEASURED: Span = Span::from_nanos(u64::MAX);

impl Delays {
    fn new() -> Self {
        Delays {
            base: [NEVER_MEASURED; BASE_HISTORY],
            minute: 0,
            current: [NEVER_MEASURED; CURRENT_FILTER],
            next: 0,
        }
    }

    /// Adds a sample. Returns the queueing delay.
    fn queuing(&mut self, delay: Span, now: Time) -> Span {
        let minute = now.as_nanos() / MINUTE_NANOS;
        let passed = (minute - self.minute).min(BASE_HISTORY as u64);
        for begun in minute + 1 - passed..=minute {
            self.base[begun as usize % BASE_HISTORY] = NEVER_MEASURED;
        }
        self.minute = minute;
        let own = &mut self.base[minute as usize % BASE_HISTORY];
        *own = delay.min(*own);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
        let least = |all: &[Span]| all.iter().copied().fold(NEVER_MEASURED, Span::min);
        least(&self.current) - least(&self.base)
    }
}

impl Sender for Ledbat {
    type Params = LedbatParams;

    const ABOUT: About = About {
        name: "ledbat",
        title: "LEDBAT",
        source: "RFC 6817",
        usage: r#"tcp.congestion_control = { kind = "ledbat", target = "25 ms" }"#,
        file: "sender/ledbat.rs",
        text: crate::mechanism::source_text!("ledbat.rs"),
    };

    const READS_ONE_WAY_DELAY: bool = true;
}

impl Control for Ledbat {
    fn new(params: LedbatParams) -> Self {
        Ledbat { params, delays: Box::new(Delays::new()) }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // No slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
        let Some(delay) = ack.one_way_delay else { return };
        let queuing = self.delays.queuing(delay, ack.now);
        let LedbatParams { target, gain: Factor(gain) } = self.params;
        let off_target = 1.0 - queuing.as_secs() / target.as_secs();
        if off_target < 0.0 || ack.window_limited {
            let cwnd = window.cwnd + gain * off_target * f64::from(ack.acked) / window.cwnd;
            window.cwnd = cwnd.max(MIN_CWND.min(window.cwnd));
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        (self.beta() * window.cwnd).max(MIN_CWND)
    }

    fn beta(&self) -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    fn ledbat() -> Ledbat {
        Ledbat::new(LedbatParams { target: Span::from_millis(100), gain: Factor(1.0) })
    }

    /// Acknowledges a round trip with this one-way delay. Returns the change of the window.
    fn round(ledbat: &mut Ledbat, window: &mut Window, delay_ms: u64, now_ms: u64) -> f64 {
        let before = window.cwnd;
        for _ in 0..before as u32 {
            let one_way_delay = Some(Span::from_millis(delay_ms));
            ledbat.on_ack(window, &Ack { one_way_delay, ..ack_at(now_ms) });
        }
        window.cwnd - before
    }

    /// RFC 6817, section 2.4.2: one segment more without queueing, none at the target, and one less at twice the
    /// target.
    #[test]
    fn the_window_moves_in_proportion_to_the_distance_from_the_target() {
        let (mut ledbat, mut window) = (ledbat(), Window { cwnd: 100.0, ssthresh: 50.0 });
        assert!((round(&mut ledbat, &mut window, 40, 0) - 1.0).abs() < 0.02);
        // The minimum of the last four counts.
        for (delay_ms, want) in [(90, 0.5), (140, 0.0), (240, -1.0)] {
            round(&mut ledbat, &mut Window { cwnd: 4.0, ssthresh: 4.0 }, delay_ms, 1);
            let mut window = window;
            let moved = round(&mut ledbat, &mut window, delay_ms, 1);
            assert!((moved - want).abs() < 0.02, "{delay_ms} ms: {moved}");
        }
    }

    #[test]
    fn the_shortest_delay_is_forgotten_after_ten_minutes() {
        let (mut ledbat, minute_ms) = (ledbat(), 60_000);
        let mut window = Window { cwnd: 100.0, ssthresh: 50.0 };
        round(&mut ledbat, &mut window, 40, 0);
        for (minute, want) in [(1, 0.0), (9, 0.0), (10, 1.0), (100, 1.0)] {
            let mut window = window;
            round(&mut ledbat, &mut Window { cwnd: 4.0, ssthresh: 4.0 }, 140, minute * minute_ms);
            let moved = round(&mut ledbat, &mut window, 140, minute * minute_ms);
            assert!((moved - want).abs() < 0.02, "minute {minute}: {moved}");
        }
    }

    #[test]
    fn it_begins_without_slow_start_and_keeps_two_segments() {
        let (mut ledbat, mut window) = (ledbat(), Window::new(2));
        for now_ms in 0..10 {
            round(&mut ledbat, &mut window, 40, now_ms);
        }
        assert!(window.cwnd > 9.0 && window.cwnd <= 12.0, "{window:?}");
        for now_ms in 10..30 {
            round(&mut ledbat, &mut window, 900, now_ms);
        }
        assert_eq!(window.cwnd, 2.0);
    }

    #[test]
    fn more_than_the_rfc_allows_is_a_error() {
        let invalid = LedbatParams { target: Span::from_millis(101), gain: Factor(1.5) };
        let keys: Vec<_> = stays_in_the_background(&invalid).iter().map(|error| error.0).collect();
        assert_eq!(keys, ["target", "gain"]);
    }
}
