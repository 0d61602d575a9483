//! Pacing: a segment or burst is sent when the previous one would have been transmitted at the pacing rate, as in
//! Linux's internal pacing (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`, `tcp_pacing_check`).
//!
//! ```text
//! rate = gain · max(cwnd, outstanding) / srtt       segments per second; gain by the controller:
//!        slow start (cwnd < ssthresh/2) or later    2 and 1.2 (Linux), 2 and 1 (Prague)
//! next = departure + n/rate − min(departure − last next, n/rate / 2)        from the tenth segment on
//! ```
//!
//! Paced segments have their own wake-up ([`super::timer`]). Probes and the retransmission after a timeout are not
//! paced.

use tidegate_mechanisms::units::{Span, Time};

use super::delivery_rate::DeliveryRate;

/// Segments of a connection that leave before pacing begins.
const UNPACED: u32 = 10;

/// Pacing of one sender.
#[derive(Default)]
pub struct Pacer {
    /// Earliest send time of the next segment.
    next: Time,
    /// Number of segments sent, counted up to [`UNPACED`].
    sent: u32,
    /// Samples of the delivery rate, for a controller that models its path, which is paced always.
    pub rate: Option<DeliveryRate>,
}

impl Pacer {
    /// Returns the earliest send time of the next segment, if that is later than `now`.
    #[inline]
    pub fn wait_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// Exempts the next segment from pacing.
    pub fn release(&mut self, now: Time) {
        self.next = self.next.min(now);
    }

    /// Records the sending of segments; `rate` is the pacing rate in segments per nanosecond, if known.
    pub fn on_sent(&mut self, segments: u32, rate: Option<f64>, now: Time) {
        let late = now.since(self.next).as_nanos();
        self.next = self.next.max(now);
        self.sent = (self.sent + segments).min(UNPACED);
        let Some(rate) = rate.filter(|_| self.sent == UNPACED) else { return };
        let length = (f64::from(segments) / rate) as u64;
        self.next += Span::from_nanos(length - late.min(length / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);
    /// One segment per 10 ms.
    const RATE: Option<f64> = Some(1e-7);

    /// A delay shortens the next wait by up to a half.
    #[test]
    fn a_segment_delays_the_next_by_its_time_at_the_rate() {
        for (late_ms, wait_ms) in [(0, 10), (2, 8), (50, 5)] {
            let next = MS(100 - late_ms);
            let mut pacer = Pacer { next, sent: UNPACED, rate: None };
            pacer.on_sent(1, RATE, MS(100));
            assert_eq!(pacer.wait_until(MS(100)), Some(MS(100 + wait_ms)), "{late_ms} ms late");
        }
    }

    #[test]
    fn the_first_ten_segments_and_those_before_a_round_trip_is_known_do_not_wait() {
        let mut pacer = Pacer::default();
        pacer.on_sent(9, RATE, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), None);
        pacer.on_sent(1, None, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), None);
        pacer.on_sent(1, RATE, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), Some(MS(110)));
        pacer.release(MS(105));
        assert_eq!(pacer.wait_until(MS(105)), None);
    }
}
