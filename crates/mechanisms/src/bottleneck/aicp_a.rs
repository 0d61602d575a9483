//! AICP-a, AQM-integrated congestion policing by thresholds: RED with thresholds that increase with the fill of a
//! customer's bucket. D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and figure 6.
//!
//! All drops are the policer's. With f/d, the relative fill of the customer's bucket:
//!
//! ```text
//! min_th' = min_th (1 + f/d)      max_th' = max_th (1 + f/d)
//! p = RED with these thresholds, at the average that all customers share
//! f ← f − size · p                per forwarded packet, or per packet
//! ```
//!
//! Not specified by the paper: a packet is charged with RED's probability at the customer's thresholds (`charge =
//! "own"`), or at RED's plain ones (`charge = "aqm"`), the congestion of the queue regardless of the customer's
//! discount. A dropped packet costs nothing, or as much as a forwarded one (`charge_dropped`): the paper's section
//! III-B3 has arguments for both.

use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Differentiate, Signal, TokenBuckets, falls};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Rate};
use crate::{parameters, words};

words! {
    /// Probability with which an AQM-integrated policer charges a packet.
    pub enum Charge {
        /// Probability of this packet.
        Own = "own",
        /// Probability of the AQM without a policer.
        Aqm = "aqm",
    }
}

impl Charge {
    /// Returns the probability that is charged.
    pub(super) const fn choose(self, own: f64, plain: f64) -> f64 {
        match self {
            Charge::Own => own,
            Charge::Aqm => plain,
        }
    }
}

/// Returns the verdict of an AQM-integrated policer on a packet of probability `p`, and whether the packet is charged.
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
    /// AQM-integrated congestion policing: RED with thresholds that grow up to double with the fill of a customer's
    /// bucket.
    pub struct AicpAParams {
        /// r: fill rate, the sustained congestion that each customer is entitled to.
        pub fill_rate: Rate = "300 B/s",
        /// d: bucket depth of each customer.
        pub depth: Bytes = "225 kB",
        /// Probability with which a packet is charged.
        pub charge: Charge = "own",
        /// Charge packets that are dropped or marked as well.
        pub charge_dropped: bool = "false",
    }
    check bucket_fits;
}

bucket_of! { AicpAParams }

/// Policers of all customers.
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
        text: crate::mechanism::source_text!("aicp_a.rs"),
    };

    /// Returns policers with full buckets.
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
    /// Returns the factor of the thresholds for this packet: 1 (empty bucket) to 2 (full).
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

    /// Formula of the paper, at both ends and in the middle.
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
