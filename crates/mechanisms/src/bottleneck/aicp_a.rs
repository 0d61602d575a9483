//! AICP-a, AQM-integrated congestion policing by thresholds: RED whose thresholds rise with what is
//! left in a customer's bucket.
//! D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and figure 6.
//!
//! There is no drop apart from the policer's. With f/d, how full the customer's bucket is:
//!
//! ```text
//! min_th' = min_th (1 + f/d)      max_th' = max_th (1 + f/d)
//! p = RED with these thresholds, at the average that all customers share
//! f ← f − size · p                per forwarded packet, or per packet
//! ```
//!
//! Where the paper leaves it open: a packet is charged with the probability that RED has for it, at the
//! customer's thresholds (`charge = "own"`), or at RED's plain ones (`charge = "aqm"`), the congestion
//! that the queue sees whatever the customer is let off. And a packet that is dropped costs nothing, or
//! as much as a forwarded one (`charge_dropped`): the paper's section III-B3 has reasons for both.

use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Differentiate, Signal, TokenBuckets, falls};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Rate};
use crate::{parameters, words};

words! {
    /// The probability that a policer which is part of the AQM charges a packet with.
    pub enum Charge {
        /// The one that this very packet had.
        Own = "own",
        /// The AQM's, as it would be without a policer.
        Aqm = "aqm",
    }
}

impl Charge {
    /// The one of the two that counts.
    pub(super) const fn choose(self, own: f64, plain: f64) -> f64 {
        match self {
            Charge::Own => own,
            Charge::Aqm => plain,
        }
    }
}

/// The verdict of a policer that is part of the AQM on a packet of probability `p`, and whether the
/// packet costs something.
pub(super) fn integrated_signal(
    aqm: &mut Aqm,
    p: f64,
    draw: impl FnMut() -> f64,
    charge_dropped: bool,
) -> (Signal, bool) {
    let signalled = falls(p, draw);
    aqm.on_verdict(signalled);
    let policed = Signal::Policed { may_mark: !aqm.is_forced() };
    (if signalled { policed } else { Signal::None }, !signalled || charge_dropped)
}

parameters! {
    /// AQM-integrated congestion policing: RED with thresholds that grow up to double with what is left
    /// in a customer's bucket.
    pub struct AicpAParams {
        /// r: sustained rate of congestion that each customer is entitled to.
        pub fill_rate: Rate = "300 B/s",
        /// d: what a customer can save up.
        pub depth: Bytes = "225 kB",
        /// The probability that a packet costs.
        pub charge: Charge = "own",
        /// Whether packets that are dropped or marked cost tokens as well.
        pub charge_dropped: bool = "false",
    }
    check bucket_fits;
}

bucket_of! { AicpAParams }

/// The policers of all customers.
#[derive(Clone, Debug)]
pub struct AicpA {
    charge: Charge,
    charge_dropped: bool,
    buckets: TokenBuckets,
}

impl Differentiate for AicpA {
    type Params = AicpAParams;

    const ABOUT: About = About {
        name: "aicp-a",
        title: "AQM-integrated congestion policing by thresholds (AICP-a)",
        source: "Wagner, Congestion Policing Queues, section IV-C",
        usage: r#"bottleneck.differentiation = { kind = "aicp-a" }"#,
        file: "bottleneck/aicp_a.rs",
        text: include_str!("aicp_a.rs"),
    };

    /// Full buckets.
    fn new(params: AicpAParams) -> Self {
        let AicpAParams { charge, charge_dropped, .. } = params;
        AicpA { charge, charge_dropped, buckets: TokenBuckets::new(params.bucket()) }
    }

    #[inline(never)]
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let stretch = self.stretch(arrival);
        let (p, plain) = aqm.stretched_probability(arrival, stretch);
        let (signal, pays) = integrated_signal(aqm, p, draw, self.charge_dropped);
        if pays {
            self.charge(arrival, p, plain);
        }
        signal
    }

    fn validate(params: &AicpAParams, packet: Bytes) -> Option<ParameterError> {
        params.bucket().validate(packet)
    }

    fn state_bytes(&self) -> usize {
        self.buckets.state_bytes()
    }
}

impl AicpA {
    /// By what the thresholds are multiplied for this packet: 1 (empty bucket) to 2 (full).
    #[inline]
    pub fn stretch(&mut self, arrival: &Arrival) -> f64 {
        1.0 + self.buckets.fill_ratio(arrival.user, arrival.now)
    }

    /// Charges a packet, whose probability was `own` where RED's is `plain`.
    #[inline]
    pub fn charge(&mut self, arrival: &Arrival, own: f64, plain: f64) {
        self.buckets.charge(arrival, self.charge.choose(own, plain));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival_of;
    use super::*;
    use proptest::prelude::*;

    fn aicp() -> AicpA {
        let (fill_rate, depth) = (Rate::from_bps(8 * 300), Bytes::new(225_000));
        AicpA::new(AicpAParams { fill_rate, depth, charge: Charge::Aqm, charge_dropped: false })
    }

    /// The paper's formula, at both ends and in the middle.
    #[test]
    fn thresholds_are_stretched_by_one_plus_the_fill() {
        let mut aicp = aicp();
        assert_eq!(aicp.stretch(&arrival_of(0, 0)), 2.0);
        (0..75).for_each(|_| aicp.charge(&arrival_of(0, 0), 0.0, 1.0)); // 112.5 kB
        assert!((aicp.stretch(&arrival_of(0, 0)) - 1.5).abs() < 1e-12);
        (0..75).for_each(|_| aicp.charge(&arrival_of(0, 0), 0.0, 1.0));
        assert_eq!(aicp.stretch(&arrival_of(0, 0)), 1.0);
    }

    proptest! {
        #[test]
        fn the_stretch_stays_between_1_and_2(
            charges in prop::collection::vec((0..10_000u64, 0.0..1.0f64), 1..100),
        ) {
            let (mut aicp, mut ms) = (aicp(), 0);
            for (gap_ms, p) in charges {
                ms += gap_ms;
                aicp.charge(&arrival_of(0, ms), p, p);
                prop_assert!((1.0..=2.0).contains(&aicp.stretch(&arrival_of(0, ms))));
            }
        }
    }
}
