//! Declarations of an unresponsive sender whose receiver reports marks and losses.
//!
//! ```text
//! an arrival that shows congestion   after `late`: loss += share · lost bytes, mark += share · marked bytes
//! a packet leaves    L if loss > 0, E if mark > 0; of each −= its size; C while less credit was given than wanted
//!                    re-ECN: positive if loss + mark > 0; −= its size; else credit, else neutral
//! ```
//!
//! A number missing at an arrival is a loss, until it arrives. After a second without arrivals all that was sent
//! is taken for lost: otherwise a sender whose packets are all dropped would have nothing to declare, for ever. Amounts
//! are bytes on the wire.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Probability, Span, Time};
use tidegate_scenario::plan;

use crate::packet::flags;

/// Time without arrivals after which the sender takes its packets for lost.
const SILENCE: Span = Span::from_millis(1000);

/// State of the reports and of what they still have to be declared for.
#[derive(Debug)]
pub struct Reported {
    shares: [f64; 2],
    late: Span,
    /// Credit that is still to be given, bytes.
    credit: i64,
    re_ecn: bool,
    /// Number of the next packet that the receiver expects, and which of the ones before are missing.
    expected: u64,
    missing: u128,
    /// Time of the last arrival, or since which silence is counted.
    heard: Time,
    /// Reports under way, with the time of their arrival: losses and marks.
    reports: VecDeque<(Time, [f64; 2])>,
    /// Losses and marks to be declared.
    gauges: [f64; 2],
}

impl Reported {
    /// Returns the state for ConEx.
    pub fn conex(plan: &plan::Reported) -> Self {
        let plan::Reported { marks, losses, late, credit } = *plan;
        Self::new([losses, marks], late, credit, false)
    }

    /// Returns the state for re-ECN; `None` if nothing is declared.
    pub fn re_ecn(plan: &plan::ReportedReEcn) -> Option<Self> {
        let plan::ReportedReEcn { marks, losses, late, credit } = *plan;
        let silent = marks.0 == 0.0 && losses.0 == 0.0 && credit == Bytes::ZERO;
        (!silent).then(|| Self::new([losses, marks], late, credit, true))
    }

    fn new(shares: [Probability; 2], late: Span, credit: Bytes, re_ecn: bool) -> Self {
        Reported {
            shares: shares.map(|share| share.0),
            late,
            credit: credit.get() as i64,
            re_ecn,
            expected: 0,
            missing: 0,
            heard: Time::ZERO,
            reports: VecDeque::new(),
            gauges: [0.0; 2],
        }
    }

    /// Handles the start of the flow.
    pub fn begin(&mut self, now: Time) {
        self.heard = now;
    }

    /// Handles an arrival at the receiver, of a packet of this size.
    pub fn on_arrival(&mut self, now: Time, number: u64, marked: bool, size: Bytes) {
        self.heard = now;
        let met = [self.newly_missing(number), i64::from(marked)];
        if met != [0, 0] {
            let of = |place: usize| self.shares[place] * met[place] as f64 * size.as_f64();
            self.reports.push_back((now + self.late, [of(0), of(1)]));
        }
    }

    /// Returns the number of packets newly missing with this one; −1 if it was missing itself.
    fn newly_missing(&mut self, number: u64) -> i64 {
        if let Some(ahead) = number.checked_sub(self.expected) {
            self.expected = number + 1;
            let gap = ahead.min(127) as u32;
            let before = self.missing.checked_shl(gap + 1).unwrap_or(0);
            self.missing = before | ((1 << gap) - 1) << 1;
            return ahead as i64;
        }
        let place = u32::try_from(self.expected - 1 - number).unwrap_or(u32::MAX);
        let bit = 1u128.checked_shl(place).unwrap_or(0);
        let fills = self.missing & bit != 0;
        self.missing &= !bit;
        -i64::from(fills)
    }

    /// Returns the flags of packet `number`, of this size, that leaves now, besides ECT(0).
    pub fn declare(&mut self, now: Time, number: u64, size: Bytes) -> u32 {
        if now.since(self.heard) >= SILENCE {
            let lost = number.saturating_sub(self.expected);
            self.gauges[0] += self.shares[0] * lost as f64 * size.as_f64();
            (self.heard, self.expected, self.missing) = (now, number.max(self.expected), 0);
        }
        while let Some((_, met)) = self.reports.pop_front_if(|(due, _)| *due <= now) {
            self.gauges = [self.gauges[0] + met[0], self.gauges[1] + met[1]];
        }
        if self.re_ecn { self.coded(size) } else { self.flagged(size) }
    }

    fn flagged(&mut self, size: Bytes) -> u32 {
        let mut declared = flags::CONEX;
        for (gauge, flag) in self.gauges.iter_mut().zip([flags::LOSS, flags::MARK]) {
            if *gauge > 0.0 {
                *gauge -= size.as_f64();
                declared |= flag;
            }
        }
        declared | if self.gives_credit(size) { flags::CREDIT } else { 0 }
    }

    fn coded(&mut self, size: Bytes) -> u32 {
        let [loss, mark] = &mut self.gauges;
        *mark += core::mem::take(loss);
        if *mark > 0.0 {
            *mark -= size.as_f64();
            return flags::ECT | flags::ECT_1;
        }
        let neutral = flags::ECT | flags::ECT_1 | flags::RE;
        if self.gives_credit(size) { flags::RE } else { neutral }
    }

    fn gives_credit(&mut self, size: Bytes) -> bool {
        let gives = self.credit > 0;
        self.credit -= if gives { size.get() as i64 } else { 0 };
        gives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(1500);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn truthful() -> Reported {
        let (all, late) = (Probability(1.0), Span::from_millis(100));
        Reported::conex(&plan::Reported { marks: all, losses: all, late, credit: Bytes::new(3000) })
    }

    #[test]
    fn marks_and_losses_are_declared_once_when_they_have_been_reported() {
        let mut sender = truthful();
        let credit = flags::CONEX | flags::CREDIT;
        assert_eq!(
            [0, 1, 2].map(|ms| sender.declare(at(ms), 0, SIZE)),
            [credit, credit, flags::CONEX]
        );
        for (number, marked) in [(0, true), (3, false), (4, true)] {
            sender.on_arrival(at(10), number, marked, SIZE);
        }
        assert_eq!(sender.declare(at(109), 5, SIZE), flags::CONEX);
        let both = flags::CONEX | flags::LOSS | flags::MARK;
        assert_eq!([0; 3].map(|_| sender.declare(at(110), 5, SIZE)), [both, both, flags::CONEX]);
    }

    #[test]
    fn a_packet_that_arrives_late_was_not_lost() {
        let mut sender = truthful();
        for number in [0, 2, 1, 5, 3, 3] {
            sender.on_arrival(at(0), number, false, SIZE);
        }
        let losses = (0..9).filter(|_| sender.declare(at(200), 6, SIZE) & flags::LOSS != 0);
        assert_eq!(losses.count(), 1, "number 4");
    }

    #[test]
    fn what_nothing_is_heard_of_was_lost() {
        let mut sender = truthful();
        sender.on_arrival(at(0), 0, false, SIZE);
        let losses = |sender: &mut Reported, ms| {
            (0..9).filter(|_| sender.declare(at(ms), 4, SIZE) & flags::LOSS != 0).count()
        };
        assert_eq!([999, 1000, 2000].map(|ms| losses(&mut sender, ms)), [0, 3, 0]);
        sender.on_arrival(at(2_100), 4, false, SIZE);
        assert_eq!(losses(&mut sender, 2_300), 0, "they are counted once");
    }

    #[test]
    fn in_re_ecn_a_packet_is_positive_or_gives_credit_or_is_neutral() {
        let plan = plan::ReportedReEcn {
            marks: Probability(0.5),
            losses: Probability(1.0),
            late: Span::ZERO,
            credit: Bytes::new(1500),
        };
        let mut sender = Reported::re_ecn(&plan).expect("declares");
        for number in [0, 1, 2, 4] {
            sender.on_arrival(at(0), number, true, SIZE);
        }
        let (positive, neutral) =
            (flags::ECT | flags::ECT_1, flags::ECT | flags::ECT_1 | flags::RE);
        let said = [0; 5].map(|_| sender.declare(at(1), 5, SIZE));
        assert_eq!(said, [positive, positive, positive, flags::RE, neutral]);
        let blind = plan::ReportedReEcn {
            marks: Probability(0.0),
            losses: Probability(0.0),
            credit: Bytes::ZERO,
            ..plan
        };
        assert!(Reported::re_ecn(&blind).is_none());
    }
}
