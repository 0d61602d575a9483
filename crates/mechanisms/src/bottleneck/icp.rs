//! Independent congestion policing (ICP): a policer in front of the queue whose only input from the queue is which of a
//! customer's packets were dropped or marked. D. P. Wagner, "Congestion Policing Queues", 2014, section IV-A, figures 3
//! and 4.
//!
//! Each customer has a token bucket. The fill f alone decides whether a packet reaches the queue; a packet that the
//! queue then drops or marks costs its size. With the fill at which dropping begins, x·d:
//!
//! ```text
//! step      p = 1 if f < size, else 0
//! slope     p = 1 − f/(x d)            f < x d, else 0
//! squared   p = (1 − f/(x d))²         f < x d, else 0
//! f ← f − size                         per packet that the queue dropped or marked
//! ```
//!
//! Not specified by the paper: packets dropped by the policer itself cost nothing, and a packet lost to a full buffer
//! costs as much as one lost to the AQM. Figure 4 has the shape of the functions, but its text does not say where they
//! begin, so x is a parameter.

use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Differentiate, Signal, TokenBuckets, falls};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::token_bucket::Credit;
use crate::units::{Bytes, Rate, Share, Time};
use crate::{parameters, words};

parameters! {
    /// Independent congestion policing: customers whose packets were dropped or marked too often are
    /// dropped in front of the queue.
    pub struct IcpParams {
        /// r: fill rate, the sustained drops and marks that each customer is entitled to.
        pub fill_rate: Rate = "550 B/s",
        /// d: bucket depth of each customer, in bytes of drops and marks.
        pub depth: Bytes = "350 kB",
        /// Drop probability as a function of the fill.
        pub curve: IcpCurve = "step",
        /// x: share of the full bucket below which slope and squared begin to drop.
        pub start: Share = "0.5",
    }
    check bucket_fits;
}

bucket_of! { IcpParams }

words! {
    /// Drop probability as a function of the fill.
    pub enum IcpCurve {
        /// 1 for packets larger than the fill, else 0.
        Step = "step",
        /// Linear in the missing fill.
        Slope = "slope",
        /// Square of the missing fill.
        Squared = "squared",
    }
}

/// Policers of all customers.
#[derive(Clone, Debug)]
pub struct Icp {
    curve: IcpCurve,
    start: f64,
    buckets: TokenBuckets,
}

impl Differentiate for Icp {
    type Params = IcpParams;

    const ABOUT: About = About {
        name: "icp",
        title: "Independent congestion policing (ICP)",
        source: "Wagner, Congestion Policing Queues, section IV-A",
        usage: r#"bottleneck.differentiation = { kind = "icp", curve = "step" }"#,
        file: "bottleneck/icp.rs",
        text: crate::mechanism::source_text!("icp.rs"),
    };

    /// Losses to a full buffer count as well.
    const NEEDS_NO_AQM: bool = true;

    /// Returns policers with full buckets.
    fn new(params: IcpParams) -> Self {
        let IcpParams { curve, start, .. } = params;
        Icp { curve, start: start.0, buckets: TokenBuckets::new(params.bucket()) }
    }

    #[inline(never)]
    fn signal(
        &mut self,
        aqm: &mut Aqm,
        arrival: &Arrival,
        mut draw: impl FnMut() -> f64,
    ) -> Signal {
        if falls(self.probability(arrival), &mut draw) {
            return Signal::Policed { may_mark: false };
        }
        let p = aqm.probability(arrival);
        let signal = aqm.signal(p, draw);
        if signal.is_some() {
            self.on_signal(arrival.user, arrival.now, arrival.len);
        }
        signal
    }

    /// A packet lost to a full buffer costs what one lost to the AQM does.
    fn on_overflow(&mut self, user: u32, now: Time, len: Bytes) {
        self.on_signal(user, now, len);
    }

    fn validate(params: &IcpParams, packet: Bytes) -> Option<ParameterError> {
        params.bucket().validate(packet)
    }

    fn state_bytes(&self) -> usize {
        self.buckets.state_bytes()
    }
}

impl Icp {
    /// Returns the probability with which the policer drops this packet in front of the queue.
    #[inline]
    pub fn probability(&mut self, arrival: &Arrival) -> f64 {
        if self.curve == IcpCurve::Step {
            let fill = self.buckets.fill(arrival.user, arrival.now);
            return f64::from(u8::from(fill < Credit::of(arrival.len)));
        }
        let ratio = self.buckets.fill_ratio(arrival.user, arrival.now);
        let missing = (1.0 - ratio / self.start).max(0.0);
        if self.curve == IcpCurve::Slope { missing } else { missing * missing }
    }

    /// Charges a packet that the queue has dropped or marked.
    #[inline]
    pub fn on_signal(&mut self, user: u32, now: Time, len: Bytes) {
        self.buckets.drain(user, now, Credit::of(len));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival_of;
    use super::*;
    use proptest::prelude::*;

    const FULL: u64 = 350_000;

    /// Returns a policer whose only customer has `fill` bytes left.
    fn icp(curve: IcpCurve, start: f64, fill: u64) -> Icp {
        let (fill_rate, depth) = (Rate::from_bps(8 * 550), Bytes::new(FULL));
        let mut icp = Icp::new(IcpParams { fill_rate, depth, curve, start: Share(start) });
        icp.on_signal(0, Time::ZERO, Bytes::new(FULL - fill));
        icp
    }

    fn probability(curve: IcpCurve, start: f64, fill: u64) -> f64 {
        icp(curve, start, fill).probability(&arrival_of(0, 0))
    }

    #[test]
    fn the_step_drops_what_costs_more_than_is_left() {
        assert_eq!(probability(IcpCurve::Step, 0.5, 1500), 0.0);
        assert_eq!(probability(IcpCurve::Step, 0.5, 1499), 1.0);
    }

    #[test]
    fn slope_and_square_begin_at_the_same_fill_and_end_at_1() {
        for (curve, at_half) in [(IcpCurve::Slope, 0.5), (IcpCurve::Squared, 0.25)] {
            for (fill, want) in [(FULL, 0.0), (FULL / 2, 0.0), (FULL / 4, at_half), (0, 1.0)] {
                assert!((probability(curve, 0.5, fill) - want).abs() < 1e-9, "{curve:?} {fill}");
            }
        }
    }

    /// Packets are dropped until the fill rate has added a packet's size: 1500 B at 550 B/s.
    #[test]
    fn the_step_lets_one_packet_pass_after_size_over_fill_rate() {
        let mut icp = icp(IcpCurve::Step, 0.5, 0);
        for (ms, want) in [(0, 1.0), (2727, 1.0), (2728, 0.0)] {
            assert_eq!(icp.probability(&arrival_of(0, ms)), want, "after {ms} ms");
        }
    }

    proptest! {
        #[test]
        fn less_fill_never_drops_less(
            curve in prop::sample::select(vec![IcpCurve::Step, IcpCurve::Slope, IcpCurve::Squared]),
            start in 0.01..1.0, a in 0..=FULL, b in 0..=FULL,
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(probability(curve, start, low) >= probability(curve, start, high));
        }
    }
}
