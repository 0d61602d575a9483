//! Round-trip times and the retransmission timeout (RFC 6298).
//!
//! ```text
//! first sample R:   srtt ← R,  rttvar ← R/2
//! later samples R:  rttvar ← ¾ rttvar + ¼ |srtt − R|,  srtt ← ⅞ srtt + ⅛ R
//! rto = max(srtt + 4 rttvar, min)            RFC 6298
//! rto = srtt + max(4 rttvar, min)            Linux
//! ```
//!
//! Optionally, a sample below srtt by more than rttvar raises rttvar by an eighth of the usual amount (Linux,
//! `tcp_rtt_estimator`). Each timeout doubles the RTO, up to the maximum; the next sample returns it to the formula.
//! Optionally, the fourth doubling and later ones discard srtt, so that the next sample counts as the first (section 5;
//! ns-2, `TcpAgent::rtt_backoff`).

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::RtoPlan;

/// Minimum RTO of a connection whose handshake gave no round-trip sample (RFC 6298, section 5.7; Linux,
/// `TCP_TIMEOUT_FALLBACK`).
const AFTER_UNKNOWN: Span = Span::from_secs(3);

/// Number of doublings in a row from which on srtt is discarded, if that option is set.
const FORGETS_FROM: u8 = 4;

/// Estimator and timeout of one connection.
#[derive(Clone)]
pub struct RoundTrip {
    min: Span,
    max: Span,
    min_bounds_variance: bool,
    backoff_forgets: bool,
    damp_falls: bool,
    /// Whether the next sample counts as the first.
    fresh: bool,
    /// Number of doublings since the last sample.
    doubled: u8,
    /// Smoothed round-trip time, ns; 0 before the first sample.
    srtt_ns: u64,
    rttvar_ns: u64,
    rto_ns: u64,
    /// RTO in force, ns: an ACK with a sample may restart the timer with the old value.
    in_force_ns: u64,
    lags: bool,
    /// Whether the initial RTO is below the fallback.
    begins_shorter: bool,
    /// Clock granularity, ns; 0 for an exact clock.
    tick_ns: u64,
    /// With a granularity: srtt in eighths of a tick.
    eighths: i64,
    /// With a granularity: rttvar in quarters of a tick.
    quarters: i64,
}

impl RoundTrip {
    /// Returns the estimator before the first sample.
    pub fn new(plan: RtoPlan) -> Self {
        let RtoPlan {
            initial,
            min,
            max,
            min_bounds_variance,
            backoff_forgets,
            lags,
            damp_falls,
            tick,
        } = plan;
        RoundTrip {
            min,
            max,
            min_bounds_variance,
            backoff_forgets,
            damp_falls,
            fresh: true,
            doubled: 0,
            srtt_ns: 0,
            rttvar_ns: 0,
            rto_ns: initial.as_nanos(),
            in_force_ns: initial.as_nanos(),
            lags,
            begins_shorter: initial < AFTER_UNKNOWN,
            tick_ns: tick.map_or(0, Span::as_nanos),
            eighths: 0,
            quarters: 0,
        }
    }

    /// Takes a sample.
    #[inline]
    pub fn sample(&mut self, rtt: Span, now: Time) {
        let before = self.rto_ns;
        self.take(rtt, now);
        self.in_force_ns = if self.lags { before } else { self.rto_ns };
    }

    /// Starts without a sample from the handshake, since its packets were retransmitted: an initial RTO below three
    /// seconds becomes three seconds, any other remains doubled.
    pub fn begin_unknown(&mut self) {
        if self.begins_shorter {
            self.doubled = 0;
            self.rto_ns = AFTER_UNKNOWN.min(self.max).as_nanos();
            self.settle();
        }
    }

    /// Puts the last computed RTO in force.
    #[inline]
    pub fn settle(&mut self) {
        self.in_force_ns = self.rto_ns;
    }

    #[inline]
    fn take(&mut self, rtt: Span, now: Time) {
        self.doubled = 0;
        let first = core::mem::take(&mut self.fresh);
        if self.tick_ns > 0 {
            return self.take_ticks(rtt, now, first);
        }
        let r = rtt.as_nanos().max(1);
        if first {
            self.srtt_ns = r;
            self.rttvar_ns = r / 2;
        } else {
            // Whether round trips fall or rise is unpredictable.
            let falls = r < self.srtt_ns;
            let error = select_unpredictable(
                falls,
                self.srtt_ns.wrapping_sub(r),
                r.wrapping_sub(self.srtt_ns),
            );
            self.rttvar_ns = if self.damp_falls {
                self.damped(falls, error)
            } else {
                self.rttvar_ns - self.rttvar_ns / 4 + error / 4
            };
            self.srtt_ns = self.srtt_ns - self.srtt_ns / 8 + r / 8;
        }
        self.set_rto();
    }

    /// Returns rttvar after a sample that differs from srtt by `error`, with decreases damped.
    #[inline(never)]
    fn damped(&self, falls: bool, error: u64) -> u64 {
        if self.damps(falls, error > self.rttvar_ns) {
            self.rttvar_ns + (error - self.rttvar_ns) / 32
        } else {
            self.rttvar_ns - self.rttvar_ns / 4 + error / 4
        }
    }

    fn set_rto(&mut self) {
        let (spread, min) = (4 * self.rttvar_ns, self.min.as_nanos());
        let rto = if self.min_bounds_variance {
            self.srtt_ns + spread.max(min)
        } else {
            (self.srtt_ns + spread).max(min)
        };
        self.rto_ns = rto.min(self.max.as_nanos());
    }

    /// Takes a sample as a number of clock ticks, with integer arithmetic in eighths and quarters that truncates
    /// (Jacobson 1988, appendix A; ns-2, `TcpAgent::rtt_update`).
    #[inline(never)]
    fn take_ticks(&mut self, rtt: Span, now: Time, first: bool) {
        let tick = self.tick_ns;
        let ticks_at = |t: u64| (t / tick) as i64;
        let sent = now.as_nanos().saturating_sub(rtt.as_nanos());
        let ticks = (ticks_at(now.as_nanos()) - ticks_at(sent)).max(1);
        if first {
            (self.eighths, self.quarters) = (8 * ticks, 2 * ticks);
        } else {
            let error = ticks - self.eighths / 8;
            self.eighths = (self.eighths + error).max(1);
            let more = error.abs() - self.quarters / 4;
            let more = if self.damps(error < 0, more > 0) { more / 8 } else { more };
            self.quarters = (self.quarters + more).max(1);
        }
        self.srtt_ns = self.eighths as u64 * tick / 8;
        let rto = (self.quarters + self.eighths / 8) as u64 * tick;
        self.rto_ns = rto.max(self.min.as_nanos()).min(self.max.as_nanos());
    }

    /// Whether rttvar grows by only an eighth of the usual amount.
    #[inline]
    fn damps(&self, falls: bool, grows: bool) -> bool {
        self.damp_falls && falls && grows
    }

    /// Doubles the RTO.
    pub fn back_off(&mut self) {
        self.double();
        self.fresh |= self.backoff_forgets && self.doubled >= FORGETS_FROM;
    }

    fn double(&mut self) {
        // ns-2 doubles up to 64-fold, and further until the maximum is reached.
        if self.doubled < 6 || self.rto_ns < self.max.as_nanos() {
            self.doubled += 1;
        }
        self.rto_ns = (2 * self.rto_ns).min(self.max.as_nanos());
        self.settle();
    }

    /// Ends the backoff, returning to the RTO of the last sample.
    pub fn end_backoff(&mut self) {
        if self.doubled == 0 || self.fresh {
            return;
        }
        self.doubled = 0;
        if self.tick_ns > 0 {
            let rto = (self.quarters + self.eighths / 8) as u64 * self.tick_ns;
            self.rto_ns = rto.max(self.min.as_nanos()).min(self.max.as_nanos());
        } else {
            self.set_rto();
        }
    }

    /// Takes a sample without ending the backoff.
    pub fn sample_backed_off(&mut self, rtt: Span, now: Time) {
        let doubled = self.doubled;
        self.sample(rtt, now);
        (0..doubled).for_each(|_| self.double());
        self.doubled = doubled;
    }

    /// Returns the smoothed round-trip time; `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt_ns > 0).then(|| Span::from_nanos(self.srtt_ns))
    }

    /// Returns the smoothed round-trip time in nanoseconds; 0 before the first sample.
    #[inline]
    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns
    }

    /// Returns the RTO in force.
    #[inline]
    pub fn rto(&self) -> Span {
        Span::from_nanos(self.in_force_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(min_bounds_variance: bool) -> RtoPlan {
        RtoPlan {
            initial: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(60),
            min_bounds_variance,
            backoff_forgets: false,
            lags: false,
            damp_falls: false,
            tick: None,
        }
    }

    /// RFC 6298, section 2, by hand: R = 100 ms, then 180 ms.
    #[test]
    fn the_estimator_follows_rfc_6298() {
        let mut rt = RoundTrip::new(plan(false));
        assert_eq!((rt.srtt(), rt.rto()), (None, Span::from_secs(1)));
        rt.sample(Span::from_millis(100), Time::ZERO);
        assert_eq!(rt.rto(), Span::from_millis(300));
        rt.sample(Span::from_millis(180), Time::ZERO);
        assert_eq!(rt.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rt.rto(), Span::from_micros(110_000 + 4 * 57_500));
    }

    #[test]
    fn linux_adds_its_minimum_to_the_round_trip_time() {
        let (mut rfc, mut linux) = (RoundTrip::new(plan(false)), RoundTrip::new(plan(true)));
        for _ in 0..100 {
            rfc.sample(Span::from_millis(30), Time::ZERO);
            linux.sample(Span::from_millis(30), Time::ZERO);
        }
        assert_eq!(rfc.rto(), Span::from_millis(200));
        assert_eq!(linux.rto(), Span::from_millis(230));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rt = RoundTrip::new(plan(false));
        for want in [2, 4, 8, 16, 32, 60, 60] {
            rt.back_off();
            assert_eq!(rt.rto(), Span::from_secs(want));
        }
        rt.sample(Span::from_millis(10), Time::ZERO);
        assert_eq!(rt.rto(), Span::from_millis(200));
    }

    /// Linux, `tcp_rtt_estimator`, by hand: R = 100 ms, so that rttvar is 50 ms, then another sample.
    #[test]
    fn a_fall_beyond_the_deviation_raises_it_by_an_eighth_of_the_usual() {
        let spread = |damp_falls: bool, tick: Option<Span>, then_ms: u64| {
            let mut rt =
                RoundTrip::new(RtoPlan { damp_falls, tick, min: Span::ZERO, ..plan(false) });
            rt.sample(Span::from_millis(100), Time::ZERO + Span::from_secs(1));
            rt.sample(Span::from_millis(then_ms), Time::ZERO + Span::from_secs(2));
            (rt.rto().as_nanos() - rt.srtt_ns()) as f64 / 4e6
        };
        let tick = Some(Span::from_micros(125));
        for (then_ms, usual, damped) in [(20, 57.5, 50.9375), (60, 47.5, 47.5), (180, 57.5, 57.5)] {
            for tick in [None, tick] {
                let found = [false, true].map(|damps| spread(damps, tick, then_ms));
                for (found, want) in found.into_iter().zip([usual, damped]) {
                    assert!((found - want).abs() < 0.1, "{then_ms} ms: {found} for {want}");
                }
            }
        }
    }

    /// RFC 6298, section 5.7.
    #[test]
    fn a_handshake_that_shows_no_round_trip_leaves_three_seconds_at_least() {
        for (initial_s, want_s) in [(1, 3), (3, 12), (5, 20)] {
            let initial = Span::from_secs(initial_s);
            let mut rt = RoundTrip::new(RtoPlan { initial, ..plan(false) });
            rt.back_off();
            rt.back_off();
            rt.begin_unknown();
            assert_eq!((rt.srtt(), rt.rto()), (None, Span::from_secs(want_s)), "{initial_s} s");
        }
    }

    #[test]
    fn a_sample_may_leave_the_timeout_doubled() {
        let mut rt = RoundTrip::new(plan(false));
        rt.back_off();
        rt.back_off();
        rt.sample_backed_off(Span::from_millis(10), Time::ZERO);
        assert_eq!(rt.rto(), Span::from_millis(800));
        rt.sample(Span::from_millis(10), Time::ZERO);
        assert_eq!(rt.rto(), Span::from_millis(200));
    }

    #[test]
    fn four_doublings_in_a_row_may_forget_the_round_trip() {
        for (tick, doublings, want_ms) in
            [(None, 3, 112), (None, 4, 200), (Some(1), 3, 112), (Some(1), 4, 200)]
        {
            let tick = tick.map(Span::from_millis);
            let mut rt = RoundTrip::new(RtoPlan { backoff_forgets: true, tick, ..plan(false) });
            let at = Time::ZERO + Span::from_secs(1);
            rt.sample(Span::from_millis(100), at);
            (0..doublings).for_each(|_| rt.back_off());
            rt.sample(Span::from_millis(200), at);
            assert_eq!(rt.srtt_ns() / 1_000_000, want_ms, "{tick:?}, {doublings}");
        }
    }

    /// Arithmetic of ns-2 by hand: 100 ticks, then 107; then 100 repeatedly, where 3/4 of a tick remains.
    #[test]
    fn a_clock_of_ticks_drops_what_is_over() {
        let mut rt = RoundTrip::new(RtoPlan { tick: Some(Span::from_millis(1)), ..plan(false) });
        let at = Time::ZERO + Span::from_secs(1);
        rt.sample(Span::from_millis(100), at);
        assert_eq!(rt.rto(), Span::from_millis(300));
        rt.sample(Span::from_micros(106_001), at);
        assert_eq!((rt.srtt_ns(), rt.rto()), (100_875_000, Span::from_millis(100 + 200 + 7 - 50)));
        (0..100).for_each(|_| rt.sample(Span::from_millis(250), at));
        assert_eq!(rt.rto(), Span::from_millis(253));
    }
}
