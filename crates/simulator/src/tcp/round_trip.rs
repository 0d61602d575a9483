//! Round-trip times and the retransmission time-out (RFC 6298).
//!
//! ```text
//! first sample R:   srtt ← R,  rttvar ← R/2
//! later samples R:  rttvar ← ¾ rttvar + ¼ |srtt − R|,  srtt ← ⅞ srtt + ⅛ R
//! rto = max(srtt + 4 rttvar, min)            RFC 6298
//! rto = srtt + max(4 rttvar, min)            Linux
//! ```
//!
//! Doubled by each time-out, up to the maximum; back to the formula with the next sample.

use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::RtoPlan;

/// Estimator and time-out of one connection.
pub struct RoundTrip {
    min: Span,
    max: Span,
    min_bounds_variance: bool,
    /// Smoothed round-trip time, ns; 0 before the first sample.
    srtt_ns: u64,
    rttvar_ns: u64,
    rto_ns: u64,
}

impl RoundTrip {
    /// Before the first sample.
    pub fn new(plan: RtoPlan) -> Self {
        let RtoPlan { initial, min, max, min_bounds_variance } = plan;
        let rto_ns = initial.as_nanos();
        RoundTrip { min, max, min_bounds_variance, srtt_ns: 0, rttvar_ns: 0, rto_ns }
    }

    /// Takes a sample.
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        let r = rtt.as_nanos().max(1);
        if self.srtt_ns == 0 {
            self.srtt_ns = r;
            self.rttvar_ns = r / 2;
        } else {
            let error = self.srtt_ns.abs_diff(r);
            self.rttvar_ns = self.rttvar_ns - self.rttvar_ns / 4 + error / 4;
            self.srtt_ns = self.srtt_ns - self.srtt_ns / 8 + r / 8;
        }
        let (spread, min) = (4 * self.rttvar_ns, self.min.as_nanos());
        let rto = if self.min_bounds_variance {
            self.srtt_ns + spread.max(min)
        } else {
            (self.srtt_ns + spread).max(min)
        };
        self.rto_ns = rto.min(self.max.as_nanos());
    }

    /// Doubles the time-out.
    pub fn back_off(&mut self) {
        self.rto_ns = (2 * self.rto_ns).min(self.max.as_nanos());
    }

    /// Smoothed round-trip time, `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt_ns > 0).then(|| Span::from_nanos(self.srtt_ns))
    }

    /// Smoothed round-trip time in nanoseconds, 0 before the first sample.
    #[inline]
    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns
    }

    /// The time-out in force.
    #[inline]
    pub fn rto(&self) -> Span {
        Span::from_nanos(self.rto_ns)
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
        }
    }

    /// RFC 6298, section 2, by hand: R = 100 ms, then 180 ms.
    #[test]
    fn the_estimator_follows_rfc_6298() {
        let mut rt = RoundTrip::new(plan(false));
        assert_eq!((rt.srtt(), rt.rto()), (None, Span::from_secs(1)));
        rt.sample(Span::from_millis(100));
        assert_eq!(rt.rto(), Span::from_millis(300));
        rt.sample(Span::from_millis(180));
        assert_eq!(rt.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rt.rto(), Span::from_micros(110_000 + 4 * 57_500));
    }

    #[test]
    fn linux_adds_its_minimum_to_the_round_trip_time() {
        let (mut rfc, mut linux) = (RoundTrip::new(plan(false)), RoundTrip::new(plan(true)));
        for _ in 0..100 {
            rfc.sample(Span::from_millis(30));
            linux.sample(Span::from_millis(30));
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
        rt.sample(Span::from_millis(10));
        assert_eq!(rt.rto(), Span::from_millis(200));
    }
}
