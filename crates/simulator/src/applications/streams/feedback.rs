//! How a sender of datagrams learns what became of them: reports of counters that only grow, so that a lost report
//! hides nothing (T. Zimmermann's dissertation, section 7.3.2).

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Share, Span, Time};

use super::super::{Carrier, End};
use super::label::DatagramKind;

/// A report on the wire: IPv4, UDP and a receiver report of RTCP with three counters.
const REPORT: Bytes = Bytes::new(72);

/// Price of a path on which so many packets were sent, came through, and were marked: `((sent − received) +
/// marked)/sent` (7.3.3). What has overtaken a packet counts it as lost for once, and then it comes: hence within
/// 0 and 1.
pub fn path_price(sent: u64, received: u64, marked: u64) -> f64 {
    (((sent as f64 - received as f64) + marked as f64) / sent as f64).clamp(0.0, 1.0)
}

/// The moving average of prices, once there is one more of this weight.
pub fn averaged(mean: Option<f64>, price: f64, weight: f64) -> f64 {
    mean.map_or(price, |mean| mean + weight * (price - mean))
}

/// What a receiver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    /// Beyond the highest number that has arrived: so many had been sent by then.
    sent: u64,
    received: u64,
    marked: u64,
}

/// Both ends of the path on which counters come back.
pub struct StreamFeedback {
    interval: Span,
    price_weight: f64,
    /// The receiver's.
    counted: Counters,
    reported: Counters,
    due: Option<Time>,
    /// Reports in transit, with their numbers: what they say.
    unconfirmed: VecDeque<(u64, Counters)>,
    reports: u64,
    /// The sender's.
    known: Counters,
    price: Option<(f64, Time)>,
}

impl StreamFeedback {
    /// Reports so often, of which the newest has this weight in the price.
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

    /// The `number`th packet of the stream has arrived.
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

    /// The application has been woken: sends the report that is due, and none where there is nothing new.
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

    /// The `number`th report has arrived. Those before it that have not are lost, and what they said is in this one.
    /// Returns the price that it tells of, before it is averaged.
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

    /// The price of the path since the report before, (7.3.3), and its moving average.
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

    /// The mean price of the path, of which the last report came when; `None` before the first.
    pub fn price(&self) -> Option<(f64, Time)> {
        self.price
    }

    /// For so long nothing was sent, so that nothing was marked: the mean forgets as if reports had said so.
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
