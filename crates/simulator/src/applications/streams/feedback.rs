//! Feedback for senders of datagrams: reports of cumulative counters, so that a lost report loses no information (T.
//! Zimmermann's dissertation, section 7.3.2).

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Share, Span, Time};

use super::super::{Carrier, End};
use super::label::DatagramKind;

/// Length of a report on the wire: IPv4, UDP and an RTCP receiver report with three counters.
const REPORT: Bytes = Bytes::new(72);

/// Returns the price of a path from the packets sent, received and marked: `((sent − received) + marked)/sent` (7.3.3).
/// A reordered packet counts as lost in one report and as received in the next, so the result is limited to 0 to 1.
pub fn path_price(sent: u64, received: u64, marked: u64) -> f64 {
    (((sent as f64 - received as f64) + marked as f64) / sent as f64).clamp(0.0, 1.0)
}

/// Returns the moving average after one more price of this weight.
pub fn averaged(mean: Option<f64>, price: f64, weight: f64) -> f64 {
    mean.map_or(price, |mean| mean + weight * (price - mean))
}

/// Cumulative counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    /// Highest number that has arrived plus one: at least this many packets had been sent.
    sent: u64,
    received: u64,
    marked: u64,
}

/// Both ends of the feedback path.
pub struct StreamFeedback {
    interval: Span,
    price_weight: f64,
    /// Counters at the receiver.
    counted: Counters,
    reported: Counters,
    due: Option<Time>,
    /// Reports in transit: number and counters.
    unconfirmed: VecDeque<(u64, Counters)>,
    reports: u64,
    /// Counters known to the sender.
    known: Counters,
    price: Option<(f64, Time)>,
}

impl StreamFeedback {
    /// Returns feedback with a report every `interval`, of which the newest has `price_weight` in the price.
    pub fn new(interval: Span, price_weight: Share) -> Self {
        StreamFeedback {
            interval,
            price_weight: price_weight.0,
            counted: Counters::default(),
            reported: Counters::default(),
            due: None,
            unconfirmed: VecDeque::new(),
            reports: 0,
            known: Counters::default(),
            price: None,
        }
    }

    /// Handles the arrival of the stream's packet `number`.
    pub fn on_packet(&mut self, number: u64, marked: bool, carrier: &mut impl Carrier) {
        self.counted.sent = self.counted.sent.max(number + 1);
        self.counted.received += 1;
        if marked {
            self.counted.marked += 1;
        }
        if self.due.is_none() {
            let due = carrier.now() + self.interval;
            self.due = Some(due);
            carrier.wake_at(due);
        }
    }

    /// Handles a wake-up: sends the due report, unless no packet has arrived since the last.
    pub fn wake(&mut self, carrier: &mut impl Carrier) {
        if self.due.is_none_or(|due| carrier.now() < due) {
            return;
        }
        self.due = None;
        if self.counted == self.reported {
            return;
        }
        self.reported = self.counted;
        self.unconfirmed.push_back((self.reports, self.counted));
        carrier.send_datagram(
            End::Receiver,
            DatagramKind::Stream.label(self.reports),
            REPORT,
            false,
        );
        self.reports += 1;
        let due = carrier.now() + self.interval;
        self.due = Some(due);
        carrier.wake_at(due);
    }

    /// Handles the arrival of report `number`. Earlier reports that have not arrived are lost; the counters of this one
    /// include theirs. Returns its price before averaging.
    pub fn on_report(&mut self, number: u64, now: Time) -> Option<f64> {
        while let Some((first, counters)) = self.unconfirmed.pop_front() {
            if first == number {
                return self.learn(counters, now);
            }
            if first > number {
                break;
            }
        }
        None
    }

    /// Returns the price of the path since the previous report, (7.3.3), and updates its moving average.
    fn learn(&mut self, counters: Counters, now: Time) -> Option<f64> {
        let sent = counters.sent - self.known.sent;
        let received = counters.received - self.known.received;
        let marked = counters.marked - self.known.marked;
        self.known = counters;
        if sent == 0 {
            return None;
        }
        let price = path_price(sent, received, marked);
        let mean = self.price.map(|(mean, _)| mean);
        self.price = Some((averaged(mean, price, self.price_weight), now));
        Some(price)
    }

    /// Returns the mean price of the path and the arrival time of the last report; `None` before the first.
    pub fn price(&self) -> Option<(f64, Time)> {
        self.price
    }

    /// Decays the mean over a time in which nothing was sent, as if reports had given a price of zero.
    pub fn fade(&mut self, time: Span) {
        if let Some((mean, _)) = &mut self.price {
            let reports = time.as_secs() / self.interval.as_secs();
            *mean *= libm::pow(1.0 - self.price_weight, reports);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighing(weight: f64) -> StreamFeedback {
        StreamFeedback::new(Span::from_millis(100), Share(weight))
    }

    /// Ten sent, two of them lost, and one of the eight marked.
    #[test]
    fn lost_and_marked_packets_have_the_same_price() {
        let mut feedback = weighing(1.0);
        let counters = Counters { sent: 10, received: 8, marked: 1 };
        feedback.unconfirmed.push_back((0, counters));
        feedback.on_report(0, Time::from_nanos(5));
        assert_eq!(feedback.price(), Some((0.3, Time::from_nanos(5))));
    }

    #[test]
    fn a_lost_report_hides_nothing() {
        let mut feedback = weighing(1.0);
        for (number, sent, marked) in [(0, 10, 0), (1, 20, 10), (2, 30, 10)] {
            let counters = Counters { sent, received: sent, marked };
            feedback.unconfirmed.push_back((number, counters));
        }
        feedback.on_report(0, Time::ZERO);
        assert_eq!(feedback.price(), Some((0.0, Time::ZERO)));
        feedback.on_report(2, Time::ZERO);
        assert_eq!(feedback.price(), Some((0.5, Time::ZERO)), "10 of 20 since the first report");
        assert_eq!(feedback.unconfirmed.len(), 0);
        feedback.on_report(1, Time::ZERO);
        assert_eq!(feedback.price(), Some((0.5, Time::ZERO)), "what comes late is old");
    }

    #[test]
    fn old_prices_fade_as_if_reports_had_none() {
        let mut feedback = weighing(0.1);
        feedback.price = Some((0.5, Time::ZERO));
        feedback.fade(Span::from_millis(200));
        let (price, _) = feedback.price().expect("there was one");
        assert!((price - 0.5 * 0.81).abs() < 1e-12, "{price}");
    }
}
