//! Rate of a link that changes over time.
//!
//! The bits sent are the integral of the rate: a packet whose transmission spans a change continues at the new rate,
//! and waits while that is zero. Bits times 10⁹ (rate in bit/s times nanoseconds) are integers, so only the end of a
//! transmission is rounded, up to the next nanosecond.

use tidegate_mechanisms::units::{NANOS_PER_SEC, Span, Time};
use tidegate_scenario::plan::LinkKind;

use crate::transmission::Transmission;

/// Rates over time.
pub(super) struct RateSchedule {
    /// Steps by time; the first begins with the run.
    steps: Vec<Step>,
}

/// Rate from a time on.
struct Step {
    from: Time,
    rate_bps: u64,
    /// Bits that a busy link has sent before the step, in units of 10⁻⁹ bit.
    sent_before: u128,
    /// Time that a busy link has been sending before the step.
    sending_before: Span,
}

impl Step {
    /// Returns the value of `sent_before` at a time within this step.
    fn sent_at(&self, at: Time) -> u128 {
        let elapsed = u128::from(at.since(self.from).as_nanos());
        self.sent_before + u128::from(self.rate_bps) * elapsed
    }

    fn sending_at(&self, at: Time) -> Span {
        match self.rate_bps {
            0 => self.sending_before,
            _ => self.sending_before + at.since(self.from),
        }
    }
}

impl RateSchedule {
    /// Returns the schedule of a link; `None` if its rate never changes.
    ///
    /// # Panics
    /// If the last rate is zero.
    pub(super) fn of(link: &LinkKind) -> Option<Box<Self>> {
        let changes = &link.rate_changes.0;
        let last = changes.last()?;
        assert!(last.rate.0.as_bps() > 0, "an outage ends");
        let start = Step {
            from: Time::ZERO,
            rate_bps: link.rate.as_bps(),
            sent_before: 0,
            sending_before: Span::ZERO,
        };
        let mut steps = vec![start];
        for change in changes {
            let from = Time::ZERO + change.at;
            let before = steps.last().expect("there is a first");
            let step = Step {
                from,
                rate_bps: change.rate.0.as_bps(),
                sent_before: before.sent_at(from),
                sending_before: before.sending_at(from),
            };
            steps.push(step);
        }
        Some(Box::new(RateSchedule { steps }))
    }

    fn step_at(&self, at: Time) -> &Step {
        // The first step begins at zero.
        &self.steps[self.steps.partition_point(|step| step.from <= at) - 1]
    }

    /// Returns the transmission of `len` bytes that begins at this time.
    pub(super) fn transmission(&self, len: u16, begins: Time) -> Transmission {
        let bits = u128::from(len) * u128::from(8 * NANOS_PER_SEC);
        let sent = self.step_at(begins).sent_at(begins) + bits;
        // The step before the first whose `sent_before` reaches `sent`. Its rate is not zero.
        let step = &self.steps[self.steps.partition_point(|step| step.sent_before < sent) - 1];
        let in_step = (sent - step.sent_before).div_ceil(u128::from(step.rate_bps));
        let ends = Time::from_nanos(step.from.as_nanos() + in_step as u64);
        Transmission { ends, sending: self.sending(begins, ends) }
    }

    /// Returns the sending time of a link that is always busy.
    pub(super) fn sending(&self, from: Time, to: Time) -> Span {
        self.step_at(to).sending_at(to) - self.step_at(from).sending_at(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_mechanisms::parameters::Tables;
    use tidegate_mechanisms::units::{Bytes, Rate, RateOrOutage};
    use tidegate_scenario::plan::{Buffer, LinkPlan, RateChange};

    fn schedule(bps: u64, changes: &[(u64, u64)]) -> RateSchedule {
        let (rate, packet) = (Rate::from_bps(bps), Bytes::new(1500));
        let plain =
            LinkPlan::plain("link".to_owned(), rate, Span::ZERO, Buffer::Packets(9), packet);
        let mut kind = (*plain.kind).clone();
        let change = |&(ms, bps): &(u64, u64)| RateChange {
            at: Span::from_millis(ms),
            rate: RateOrOutage(Rate::from_bps(bps)),
        };
        kind.declared.rate_changes = Tables(changes.iter().map(change).collect());
        *RateSchedule::of(&kind).expect("changes")
    }

    fn times(schedule: &RateSchedule, len: u16, begins_ms: u64) -> [f64; 2] {
        let begins = Time::ZERO + Span::from_millis(begins_ms);
        let Transmission { ends, sending } = schedule.transmission(len, begins);
        [ends.since(Time::ZERO).as_secs(), sending.as_secs()]
    }

    /// 1500 B are 12,000 bits: 1000 of them are sent at 1 kb/s from 10 s to 11 s, and the others at 10 Mb/s.
    #[test]
    fn a_transmission_goes_on_at_the_new_rate() {
        let slow = schedule(10_000_000, &[(10_000, 1_000), (11_000, 10_000_000)]);
        assert_eq!(times(&slow, 1500, 10_000), [11.0011, 1.0011]);
        assert_eq!(times(&slow, 1500, 9_000), [9.0012, 0.0012]);
        assert_eq!(times(&slow, 1500, 11_000), [11.0012, 0.0012]);
    }

    #[test]
    fn nothing_is_sent_in_an_outage() {
        let outage = schedule(1_000_000, &[(6, 0), (20, 2_000_000)]);
        // 6000 bits before the outage, and 6000 after it.
        assert_eq!(times(&outage, 1500, 0), [0.023, 0.009]);
        assert_eq!(times(&outage, 1500, 10), [0.026, 0.006]);
        // A transmission that ends as the outage begins is not delayed.
        assert_eq!(times(&outage, 750, 0), [0.006, 0.006]);
    }

    /// Sends back-to-back packets, nanosecond by nanosecond.
    fn one_by_one(rates: &[u64], lens: &[u16]) -> Vec<u64> {
        let rate_at = |ns: u64| rates[(ns as usize / 1000).min(rates.len() - 1)];
        let (mut now, mut ends) = (0, Vec::new());
        for len in lens {
            let mut left = i128::from(*len) * 8 * i128::from(NANOS_PER_SEC);
            while left > 0 {
                left -= i128::from(rate_at(now));
                now += 1;
            }
            ends.push(now);
        }
        ends
    }

    proptest! {
        #[test]
        fn bits_are_the_integral_of_the_rate(
            rates in prop::collection::vec(prop::sample::select(vec![0, 1 << 28, 3 << 30, 123_456_789_123]), 0..9),
            lens in prop::collection::vec(1..200u16, 1..9),
        ) {
            let mut rates = [&[1 << 30], &rates[..], &[5 << 30]].concat();
            rates.dedup();
            let steps = rates.iter().scan((0, Span::ZERO, 0u128), |state, &rate_bps| {
                let (us, sending_before, sent_before) = *state;
                let step = Step { from: Time::from_nanos(us * 1000), rate_bps, sent_before, sending_before };
                let next = Time::from_nanos((us + 1) * 1000);
                *state = (us + 1, step.sending_at(next), step.sent_at(next));
                Some(step)
            });
            let schedule = RateSchedule { steps: steps.collect() };
            let mut now = Time::ZERO;
            for (len, want) in lens.iter().zip(one_by_one(&rates, &lens)) {
                let got = schedule.transmission(*len, now);
                prop_assert_eq!(got.ends.as_nanos(), want);
                let sending = (now.as_nanos()..want).filter(|ns| rates[(*ns as usize / 1000).min(rates.len() - 1)] > 0);
                prop_assert_eq!(got.sending.as_nanos(), sending.count() as u64);
                now = got.ends;
            }
        }
    }
}
