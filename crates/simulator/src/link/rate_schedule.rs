//! Rate of a link that changes over time.
//!
//! The bits sent are the integral of the rate: a packet whose transmission spans a change continues at the new rate,
//! and waits while that is zero. Bits times 10⁹ (rate in bit/s times nanoseconds) are integers, so only the end of a
//! transmission is rounded, up to the next nanosecond.

use std::sync::Arc;

use tidegate_mechanisms::units::{NANOS_PER_SEC, Span, Time};
use tidegate_scenario::plan::{LinkKind, TracedRate};
use tidegate_scenario::trace::RateStep;

use crate::transmission::Transmission;

/// Rates over time.
pub(super) struct RateSchedule {
    /// Steps by time; the first begins with the run. Links that follow the same trace share them.
    steps: Arc<[RateStep]>,
    then: Then,
}

/// Continuation after the steps.
enum Then {
    /// The last step continues.
    Last,
    /// Another step, which continues.
    Step(RateStep),
    /// The steps are repeated.
    Again {
        length: Span,
        /// Bits sent in all steps, in 10⁻⁹ bit.
        sent: u128,
        sending: Span,
    },
}

impl RateSchedule {
    /// Returns the schedule of a link; `None` if its rate never changes.
    ///
    /// # Panics
    /// If the last rate is zero.
    pub(super) fn of(link: &LinkKind) -> Option<Box<Self>> {
        if let Some(traced) = &link.rate_trace {
            return Some(Box::new(RateSchedule::along(traced)));
        }
        let changes = &link.rate_changes.0;
        let last = changes.last()?;
        assert!(last.rate.0.as_bps() > 0, "an outage ends");
        let mut steps = vec![RateStep::first(link.rate.as_bps())];
        for change in changes {
            let before = steps.last().expect("there is a first");
            steps.push(before.followed_by(Time::ZERO + change.at, change.rate.0.as_bps()));
        }
        Some(Box::new(RateSchedule { steps: steps.into(), then: Then::Last }))
    }

    fn along(TracedRate { trace, repeat }: &TracedRate) -> Self {
        let (sent, sending) = trace.whole();
        let last = trace.steps().last().expect("a valid trace has steps");
        let then = match repeat {
            true => Then::Again { length: trace.length(), sent, sending },
            false => {
                let end = Time::ZERO + trace.length();
                Then::Step(last.followed_by(end, trace.mean().as_bps()))
            }
        };
        RateSchedule { steps: Arc::clone(trace.steps()), then }
    }

    /// Returns the step at a time of the first pass.
    fn step_at(&self, at: Time) -> &RateStep {
        // The first step begins at zero.
        &self.steps[self.steps.partition_point(|step| step.from <= at) - 1]
    }

    /// Returns the bits that a continuously sending link has sent up to a time, in 10⁻⁹ bit, and its sending time.
    fn up_to(&self, at: Time) -> (u128, Span) {
        let of = |step: &RateStep, at| (step.sent_at(at), step.sending_at(at));
        match &self.then {
            Then::Step(last) if at >= last.from => of(last, at),
            Then::Again { length, sent, sending } => {
                let (passes, rest) =
                    (at.as_nanos() / length.as_nanos(), at.as_nanos() % length.as_nanos());
                let at = Time::from_nanos(rest);
                let (sent_now, sending_now) = of(self.step_at(at), at);
                (u128::from(passes) * sent + sent_now, *sending * passes + sending_now)
            }
            _ => of(self.step_at(at), at),
        }
    }

    /// Returns the time at which this amount has been sent.
    fn time_of(&self, sent: u128) -> Time {
        // Searches the last step before which less has been sent. Its rate is not zero.
        let in_step = |step: &RateStep, sent: u128| {
            let elapsed = (sent - step.sent_before).div_ceil(u128::from(step.rate_bps));
            step.from.as_nanos() + elapsed as u64
        };
        let in_steps = |sent: u128| {
            let place = self.steps.partition_point(|step| step.sent_before < sent) - 1;
            in_step(&self.steps[place], sent)
        };
        Time::from_nanos(match &self.then {
            Then::Step(last) if last.sent_before < sent => in_step(last, sent),
            Then::Again { length, sent: whole, .. } => {
                let passes = (sent - 1) / whole;
                length.as_nanos() * passes as u64 + in_steps(sent - passes * whole)
            }
            _ => in_steps(sent),
        })
    }

    /// Returns the transmission of `len` bytes that begins at this time.
    pub(super) fn transmission(&self, len: u16, begins: Time) -> Transmission {
        let bits = u128::from(len) * u128::from(8 * NANOS_PER_SEC);
        let (sent, sending) = self.up_to(begins);
        let ends = self.time_of(sent + bits);
        Transmission { ends, sending: self.up_to(ends).1 - sending }
    }

    /// Returns the sending time of a link that is always busy.
    pub(super) fn sending(&self, from: Time, to: Time) -> Span {
        self.up_to(to).1 - self.up_to(from).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_mechanisms::parameters::Tables;
    use tidegate_mechanisms::units::{Bytes, Rate, RateOrOutage};
    use tidegate_scenario::plan::{Buffer, LinkPlan, RateChange};
    use tidegate_scenario::trace::RateTrace;

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

    /// 24,000 bits in 3 ms, then 0 for 1 ms, repeatedly or once: 6 Mb/s on average.
    #[test]
    fn a_trace_starts_over_or_its_mean_stays() {
        let along = |repeat| {
            let trace = RateTrace::read("time_ms,rate_mbps\n0,12\n1,0\n2,12\n3,0\n");
            RateSchedule::along(&TracedRate { trace, repeat })
        };
        let again = along(true);
        assert_eq!(times(&again, 1500, 0), [0.001, 0.001]);
        assert_eq!(times(&again, 3000, 0), [0.003, 0.002]);
        assert_eq!(times(&again, 3000, 3), [0.007, 0.002]);
        assert_eq!(times(&again, 1500, 40_003), [40.005, 0.001]);
        assert_eq!(again.sending(Time::ZERO, Time::from_nanos(9_500_000)).as_nanos(), 5_000_000);
        let once = along(false);
        assert_eq!(times(&once, 3000, 2), [0.006, 0.003]);
        assert_eq!(times(&once, 1500, 40_003), [40.005, 0.002]);
    }

    proptest! {
        #[test]
        fn bits_are_the_integral_of_the_rate(
            rates in prop::collection::vec(prop::sample::select(vec![0, 1 << 28, 3 << 30, 123_456_789_123]), 0..9),
            lens in prop::collection::vec(1..200u16, 1..9),
        ) {
            let mut rates = [&[1 << 30], &rates[..], &[5 << 30]].concat();
            rates.dedup();
            let mut steps = vec![RateStep::first(rates[0])];
            for (&rate_bps, us) in rates[1..].iter().zip(1..) {
                let next = steps[steps.len() - 1].followed_by(Time::from_nanos(us * 1000), rate_bps);
                steps.push(next);
            }
            let schedule = RateSchedule { steps: steps.into(), then: Then::Last };
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
