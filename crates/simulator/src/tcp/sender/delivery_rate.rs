//! Delivery rate samples for controllers that model their path; [`tidegate_mechanisms::sender::path_model`] has the
//! equations (Linux: `net/ipv4/tcp_rate.c`).
//!
//! The state at a segment's last transmission is stored beside it until it is acknowledged. Senders with other
//! controllers store nothing.

use tidegate_mechanisms::sender::{LostSegment, Newest, Totals};
use tidegate_mechanisms::units::{Span, Time};

use super::samples::Samples;

/// Capacity for an initial window.
const LEAST: usize = 16;

/// State at the last transmission of a segment.
#[derive(Clone, Copy, Default)]
struct Departure {
    /// Send time of the newest segment delivered before.
    first_sent: Time,
    /// Time of the last delivery before.
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
}

/// State of one sender.
pub struct DeliveryRate {
    totals: Totals,
    first_sent: Time,
    /// Number of delivered segments up to which samples are limited by the application.
    app_limited_to: Option<u64>,
    min_rtt: Option<Span>,
    /// Ring buffer, indexed by segment.
    departures: Box<[Departure]>,
    /// Seed of the controller's random numbers.
    pub seed: u64,
}

impl DeliveryRate {
    /// Creates the state before the connection is established, which delivers its request.
    pub fn new() -> Self {
        DeliveryRate {
            totals: Totals { delivered: 1, ..Totals::default() },
            first_sent: Time::ZERO,
            app_limited_to: None,
            min_rtt: None,
            departures: Box::default(),
            seed: 0,
        }
    }

    /// Starts at the establishment of the connection, with the round-trip time of its request if known.
    pub fn begin(&mut self, rtt: Option<Span>, now: Time) {
        self.min_rtt = rtt;
        self.totals.delivered_at = now;
    }

    /// Returns the segments delivered and lost so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    fn place(&self, segment: u64) -> usize {
        segment as usize & self.departures.len().wrapping_sub(1)
    }

    /// Records the transmission of a segment; `una` is the first unacknowledged segment, and `in_flight` the number of
    /// segments in flight with this one. `alone`: no other segment is outstanding.
    pub fn on_sent(&mut self, segment: u64, una: u64, in_flight: u32, alone: bool, now: Time) {
        if alone {
            self.first_sent = now;
            self.totals.delivered_at = now;
        }
        if segment - una >= self.departures.len() as u64 {
            self.grow(una, segment);
        }
        let place = self.place(segment);
        self.departures[place] = Departure {
            first_sent: self.first_sent,
            delivered_at: self.totals.delivered_at,
            delivered: self.totals.delivered,
            lost: self.totals.lost,
            in_flight,
            app_limited: self.app_limited_to.is_some(),
        };
    }

    #[cold]
    fn grow(&mut self, una: u64, segment: u64) {
        let need = ((segment - una + 1) as usize).next_power_of_two().max(LEAST);
        let grown = vec![Departure::default(); need].into();
        let old = core::mem::replace(&mut self.departures, grown);
        for kept in una..una + old.len() as u64 {
            let place = self.place(kept);
            self.departures[place] = old[kept as usize & (old.len() - 1)];
        }
    }

    /// Records a lost segment. Returns the state at its transmission.
    pub fn on_lost(&mut self, segment: u64, now: Time) -> LostSegment {
        self.totals.lost += 1;
        let departure = self.departures[self.place(segment)];
        LostSegment {
            segment,
            now,
            in_flight: departure.in_flight,
            lost_before: departure.lost,
            app_limited: departure.app_limited,
            totals: self.totals,
        }
    }

    /// Counts lost segments without further information.
    pub fn count_lost(&mut self, segments: u32) {
        self.totals.lost += u64::from(segments);
    }

    /// Processes an ACK of newly delivered segments. Returns the state at the transmission of the newest, if the ACK
    /// delivers any, and the RTT sample.
    pub fn on_ack(
        &mut self,
        delivered: u32,
        samples: Option<&Samples>,
        now: Time,
    ) -> (Option<Newest>, Option<Span>) {
        self.totals.delivered += u64::from(delivered);
        if delivered > 0 {
            self.totals.delivered_at = now;
        }
        self.app_limited_to = self.app_limited_to.filter(|end| self.totals.delivered <= *end);
        let Some(samples) = samples else { return (None, None) };
        let rtt = samples.of_path();
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
        }
        let newest = samples.latest.map(|_| self.newest(samples.newest, now));
        (newest, rtt)
    }

    fn newest(&mut self, (sent, segment): (Time, u64), now: Time) -> Newest {
        let departure = self.departures[self.place(segment)];
        self.first_sent = sent;
        let interval = sent.since(departure.first_sent).max(now.since(departure.delivered_at));
        let possible = self.min_rtt.is_none_or(|min_rtt| interval >= min_rtt);
        Newest {
            delivered_before: departure.delivered,
            lost_before: departure.lost,
            in_flight: departure.in_flight,
            app_limited: departure.app_limited,
            interval: possible.then_some(interval),
        }
    }

    /// Marks the data in flight as limited by the application.
    pub fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited_to = Some(self.totals.delivered + u64::from(in_flight));
    }

    /// Whether samples are currently limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_to.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::scoreboard::DUP_THRESH;
    use crate::tcp::send_times::SendTimes;
    use crate::tcp::sender::samples::{AckReading, NamedBy};

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);

    struct Bench {
        rate: DeliveryRate,
        times: SendTimes,
        una: u64,
    }

    impl Bench {
        fn new() -> Self {
            let mut rate = DeliveryRate::new();
            rate.begin(Some(Span::from_millis(20)), MS(0));
            Bench { rate, times: SendTimes::default(), una: 0 }
        }

        fn send(&mut self, segment: u64, at_ms: u64) {
            self.times.note(self.una, segment, MS(at_ms), false);
            let in_flight = (segment - self.una + 1) as u32;
            self.rate.on_sent(segment, self.una, in_flight, in_flight == 1, MS(at_ms));
        }

        /// Returns the number of segments delivered since the newest was sent, and the interval in milliseconds.
        fn acknowledge(&mut self, to: u64, at_ms: u64) -> Option<(u64, u64)> {
            let reading = AckReading { now: MS(at_ms), min_rtt: Span::ZERO, echo: None };
            let mut samples = Samples::default();
            for segment in self.una..to {
                samples.arrive(&self.times, segment, NamedBy::ByNumber, reading);
            }
            let delivered = (to - self.una) as u32;
            self.una = to;
            let (newest, _) = self.rate.on_ack(delivered, Some(&samples), MS(at_ms));
            let newest = newest?;
            let interval = newest.interval?;
            let since = self.rate.totals().delivered - newest.delivered_before;
            Some((since, interval.as_nanos() / 1_000_000))
        }
    }

    /// Four segments at 0 ms arrive with 10 ms between them; the segments sent on their ACKs measure that rate a round
    /// trip later.
    #[test]
    fn the_rate_is_that_of_the_longer_of_send_and_ack_interval() {
        let mut bench = Bench::new();
        (0..4).for_each(|segment| bench.send(segment, 0));
        for n in 0..4 {
            let at_ms = 20 + 10 * n;
            assert_eq!(bench.acknowledge(n + 1, at_ms), Some((n + 1, at_ms)));
            bench.send(4 + n, at_ms);
        }
        // The last left at 50 ms, and what had arrived by then at 0 ms.
        assert_eq!(
            bench.acknowledge(8, 70),
            Some((4, 50)),
            "acknowledged at once, but sent one by one"
        );
    }

    #[test]
    fn a_sample_shorter_than_any_round_trip_is_none() {
        let mut bench = Bench::new();
        bench.send(0, 0);
        assert_eq!(bench.acknowledge(1, 10), Some((1, 10)), "the shortest by now");
        bench.rate.min_rtt = Some(Span::from_millis(20));
        bench.times = SendTimes::default();
        bench.send(1, 30);
        bench.rate.min_rtt = Some(Span::from_millis(40));
        let departure = bench.rate.newest((MS(30), 1), MS(50));
        assert_eq!(departure.interval, None);
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_has_arrived() {
        let mut bench = Bench::new();
        (0..3).for_each(|segment| bench.send(segment, 0));
        bench.rate.limit_by_application(DUP_THRESH);
        for (to, limited) in [(2, true), (3, true), (4, false)] {
            bench.send(to + 1, 5);
            bench.acknowledge(to, 20 + to);
            assert_eq!(bench.rate.is_app_limited(), limited, "{to} acknowledged");
        }
    }
}
