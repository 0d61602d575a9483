//! Delayed-acknowledgement timeout as estimated by Linux (`ato`).
//!
//! ```text
//! segment after a gap g     ato ← ato/2 + least/2   if g ≤ least/2
//!                           ato ← ato/2 + g         if least/2 < g < ato
//! the delay runs out        ato ← min(2 ato, rto)
//! an ACK is sent at once
//! for the last quick ACK    ato ← least
//! delay = min(ato, max(srtt, least)),  with 500 ms for srtt where there is none
//! ```
//!
//! `srtt` and `rto` are the receiver's own, from the handshake. With a window of one segment the sender waits for this
//! delay in every round trip, so that it doubles until it equals the round trip.

use tidegate_mechanisms::units::Span;

use super::round_trip::RoundTrip;

/// Maximum delay without a round-trip sample.
const MOST: Span = Span::from_millis(500);

/// State of the estimator.
#[derive(Clone, Copy, Debug)]
pub struct AckDelay {
    least: Span,
    ato: Span,
}

impl AckDelay {
    /// Returns the estimator at the start of a connection.
    pub fn new(least: Span) -> Self {
        AckDelay { least, ato: least }
    }

    /// Updates the estimate by the gap between two segments in order.
    #[inline]
    pub fn on_gap(&mut self, gap: Span, rto: Span) {
        let (gap, ato, least) = (gap.as_nanos(), self.ato.as_nanos(), self.least.as_nanos());
        if gap <= least / 2 {
            self.ato = Span::from_nanos(ato / 2 + least / 2);
        } else if gap < ato {
            self.ato = Span::from_nanos((ato / 2 + gap).min(rto.as_nanos()));
        }
    }

    /// Updates the estimate after the delay expired before another segment arrived.
    pub fn on_missed(&mut self, rto: Span) {
        self.ato = Span::from_nanos((2 * self.ato.as_nanos()).min(rto.as_nanos()));
    }

    /// Resets the estimate when quick acknowledgements begin or end.
    pub fn deflate(&mut self) {
        self.ato = self.least;
    }

    /// Returns the delay of the next acknowledgement.
    pub fn delay(&self, handshake: &RoundTrip) -> Span {
        let most = handshake.srtt().unwrap_or(MOST);
        self.ato.min(most.max(self.least))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::plan::RtoPlan;

    use super::*;

    const LEAST: Span = Span::from_millis(40);

    fn handshake(rtt_ms: Option<u64>) -> RoundTrip {
        let mut trip = RoundTrip::new(RtoPlan {
            initial: Span::from_secs(3),
            min: Span::from_millis(200),
            max: Span::from_secs(120),
            min_bounds_variance: true,
            backoff_forgets: false,
            lags: false,
            damp_falls: false,
            tick: None,
        });
        if let Some(rtt) = rtt_ms {
            trip.sample(Span::from_millis(rtt), tidegate_mechanisms::units::Time::ZERO);
        }
        trip
    }

    /// Returns successive delays if each expires.
    fn delays_ms(rtt_ms: Option<u64>) -> Vec<u64> {
        let (trip, mut delay) = (handshake(rtt_ms), AckDelay::new(LEAST));
        (0..6)
            .map(|_| {
                let waits = delay.delay(&trip);
                delay.on_missed(trip.rto());
                waits.as_nanos() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn it_doubles_up_to_the_round_trip_of_the_handshake() {
        assert_eq!(delays_ms(Some(110)), [40, 80, 110, 110, 110, 110]);
        assert_eq!(delays_ms(Some(12)), [40; 6], "never less than the least");
        assert_eq!(
            delays_ms(None),
            [40, 80, 160, 320, 500, 500],
            "half a second where none is known"
        );
    }

    #[test]
    fn close_segments_and_quick_acknowledgements_bring_it_down() {
        let (trip, mut delay) = (handshake(Some(400)), AckDelay::new(LEAST));
        for _ in 0..3 {
            delay.on_missed(trip.rto());
        }
        assert_eq!(delay.delay(&trip), Span::from_millis(320));
        delay.on_gap(Span::from_millis(5), trip.rto());
        assert_eq!(delay.delay(&trip), Span::from_millis(180));
        delay.on_gap(Span::from_millis(100), trip.rto());
        assert_eq!(delay.delay(&trip), Span::from_millis(190));
        delay.deflate();
        assert_eq!(delay.delay(&trip), LEAST);
    }
}
