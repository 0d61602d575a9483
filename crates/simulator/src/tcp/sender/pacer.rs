//! Pacing: a segment or burst leaves when the one before it would have left the link at the pacing rate, as Linux's
//! internal pacing has it (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`, `tcp_pacing_check`).
//!
//! ```text
//! rate = gain · max(cwnd, outstanding) / srtt       segments per second; gain by the controller:
//!        slow start (cwnd < ssthresh/2) or later    2 and 1.2 (Linux), 2 and 1 (Prague)
//! next = departure + n/rate − min(departure − last next, n/rate / 2)        from the tenth segment on
//! ```
//!
//! What waits for its time has a wake-up of its own ([`super::timer`]). Probes and the retransmission that a timeout
//! releases do not wait.

use tidegate_mechanisms::sender::{Pacing, Window};
use tidegate_mechanisms::units::{Span, Time};

/// Segments of a connection that leave before pacing begins.
const UNPACED: u32 = 10;

/// Pacing of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    gains: Pacing,
    /// When the next segment may leave.
    next: Time,
    /// Segments that have left, counted up to [`UNPACED`].
    sent: u32,
}

impl Pacer {
    /// Of a new connection.
    pub fn new(gains: Pacing) -> Self {
        Pacer { gains, next: Time::ZERO, sent: 0 }
    }

    /// When the next segment may leave, if not now.
    #[inline]
    pub fn wait_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// The next segment need not wait.
    pub fn release(&mut self, now: Time) {
        self.next = self.next.min(now);
    }

    /// So many segments leave now, with `outstanding` of them unacknowledged.
    pub fn on_sent(
        &mut self,
        segments: u32,
        window: Window,
        outstanding: u32,
        srtt: Option<Span>,
        now: Time,
    ) {
        let late = now.since(self.next).as_nanos();
        self.next = self.next.max(now);
        self.sent = (self.sent + segments).min(UNPACED);
        let Some(srtt) = srtt.filter(|_| self.sent == UNPACED) else { return };
        let in_window = window.cwnd.max(f64::from(outstanding));
        let rate = self.gains.gain(window) * in_window / srtt.as_nanos() as f64;
        let length = (f64::from(segments) / rate) as u64;
        self.next += Span::from_nanos(length - late.min(length / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);
    /// 12 segments in 100 ms, at gain 1.2: one each 100/14.4 ms.
    const WINDOW: Window = Window { cwnd: 12.0, ssthresh: 12.0 };
    const SRTT: Option<Span> = Some(Span::from_millis(100));

    fn pacer(next: Time) -> Pacer {
        Pacer { next, sent: UNPACED, ..Pacer::new(Pacing::LINUX) }
    }

    /// What is late takes up to half of the next wait off.
    #[test]
    fn a_segment_delays_the_next_by_its_time_at_the_rate() {
        for (late_ms, wait_ns) in [(0, 6_944_444), (2, 4_944_444), (50, 3_472_222)] {
            let mut pacer = pacer(MS(100 - late_ms));
            pacer.on_sent(1, WINDOW, 12, SRTT, MS(100));
            let wait = pacer.wait_until(MS(100)).expect("waits").since(MS(100));
            assert_eq!(wait.as_nanos(), wait_ns, "{late_ms} ms late");
        }
    }

    #[test]
    fn slow_start_is_paced_at_twice_the_windows_rate() {
        let mut pacer = pacer(MS(100));
        pacer.on_sent(1, Window { cwnd: 20.0, ssthresh: f64::INFINITY }, 10, SRTT, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), Some(Time::ZERO + Span::from_micros(102_500)));
    }

    #[test]
    fn the_first_ten_segments_and_those_before_a_round_trip_is_known_do_not_wait() {
        let mut pacer = Pacer::new(Pacing::LINUX);
        pacer.on_sent(9, WINDOW, 9, SRTT, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), None);
        pacer.on_sent(1, WINDOW, 10, None, MS(100));
        assert_eq!(pacer.wait_until(MS(100)), None);
        pacer.on_sent(1, WINDOW, 11, SRTT, MS(100));
        assert!(pacer.wait_until(MS(100)).is_some());
        pacer.release(MS(100));
        assert_eq!(pacer.wait_until(MS(100)), None);
    }
}
