//! AICP-b, AQM-integrated congestion policing by probability: the square of the AQM's probability, and an additional
//! one for customers whose bucket is almost empty. D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and
//! figure 6.
//!
//! All drops are the policer's. With f/d, the relative fill of the customer's bucket:
//!
//! ```text
//! p = p_AQM² + p_max (1 − (f/d)/x)      f/d < x
//! p = p_AQM²                            otherwise
//! f ← f − size · p_AQM                  per forwarded packet, or per packet
//! ```
//!
//! The square reduces small probabilities for customers within their allowance; at 1, where the AQM cannot control the
//! queue, it changes nothing.
//!
//! Not specified by the paper: a packet is charged with p_AQM, unsquared (`charge = "aqm"`), or with its own
//! probability p (`charge = "own"`), under which customers have equal losses instead of equal shares. Dropped packets
//! cost nothing, or as much as forwarded ones (`charge_dropped`). The customer's own probability applies always, or
//! only in congestion, where p_AQM > 0 (`only_in_congestion`). For RED the latter follows "does not touch the
//! thresholds but manipulates the drop probability" literally, and section III-B4 allows such a condition. If it
//! applies always, a customer with an empty bucket is blocked until the bucket has refilled, which at r takes minutes,
//! and the link idles meanwhile.

use super::aicp_a::integrated_signal;
use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Charge, Differentiate, Signal, TokenBuckets};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Rate, Share};

parameters! {
    /// AQM-integrated congestion policing: the AQM's probability squared, and an additional one for customers whose
    /// bucket is almost empty.
    pub struct AicpBParams {
        /// r: fill rate, the sustained congestion that each customer is entitled to.
        pub fill_rate: Rate = "300 B/s",
        /// d: bucket depth of each customer.
        pub depth: Bytes = "225 kB",
        /// x: share of the full bucket below which a customer's own probability begins.
        pub start: Share = "0.25",
        /// p_max: that probability at an empty bucket.
        pub max_probability: Share = "0.5",
        /// Probability with which a packet is charged.
        pub charge: Charge = "aqm",
        /// Charge packets that are dropped or marked as well.
        pub charge_dropped: bool = "false",
        /// Apply the customer's own probability only if the AQM's is above 0.
        pub only_in_congestion: bool = "false",
    }
    check bucket_fits;
}

bucket_of! { AicpBParams }

/// Policers of all customers.
#[derive(Clone, Debug)]
pub struct AicpB {
    start: f64,
    max_probability: f64,
    charge: Charge,
    charge_dropped: bool,
    only_in_congestion: bool,
    buckets: TokenBuckets,
}

impl Differentiate for AicpB {
    type Params = AicpBParams;

    const ABOUT: About = About {
        name: "aicp-b",
        title: "AQM-integrated congestion policing by probability (AICP-b)",
        source: "Wagner, Congestion Policing Queues, section IV-C",
        usage: r#"bottleneck.differentiation = { kind = "aicp-b" }"#,
        file: "bottleneck/aicp_b.rs",
        text: crate::mechanism::source_text!("aicp_b.rs"),
    };

    /// Returns policers with full buckets.
    fn new(params: AicpBParams) -> Self {
        let AicpBParams { charge, charge_dropped, only_in_congestion, .. } = params;
        let (start, max_probability) = (params.start.0, params.max_probability.0);
        let buckets = TokenBuckets::new(params.bucket());
        AicpB { start, max_probability, charge, charge_dropped, only_in_congestion, buckets }
    }

    #[inline(never)]
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let plain = aqm.probability(arrival);
        let p = self.probability(arrival, plain);
        let (signal, pays) = integrated_signal(aqm, p, draw, self.charge_dropped);
        if pays {
            self.charge(arrival, p, plain);
        }
        signal
    }

    fn validate(params: &AicpBParams, packet: Bytes) -> Option<ParameterError> {
        params.bucket().validate(packet)
    }

    fn state_bytes(&self) -> usize {
        self.buckets.state_bytes()
    }
}

impl AicpB {
    /// Returns the probability of dropping (or marking) this packet, where the AQM's is `p`.
    #[inline]
    pub fn probability(&mut self, arrival: &Arrival, p: f64) -> f64 {
        if self.only_in_congestion && p <= 0.0 {
            return 0.0;
        }
        let ratio = self.buckets.fill_ratio(arrival.user, arrival.now);
        let own = self.max_probability * (1.0 - ratio / self.start).max(0.0);
        (p * p + own).min(1.0)
    }

    /// Charges a packet, whose probability was `own` where the AQM's is `plain`.
    #[inline]
    pub fn charge(&mut self, arrival: &Arrival, own: f64, plain: f64) {
        self.buckets.charge(arrival, self.charge.choose(own, plain));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival_of;
    use super::*;
    use crate::token_bucket::Credit;
    use crate::units::Time;
    use proptest::prelude::*;

    fn probability(fill: f64, p: f64) -> f64 {
        let depth = Bytes::new(225_000);
        let mut aicp = AicpB::new(AicpBParams {
            fill_rate: Rate::from_bps(8 * 300),
            depth,
            start: Share(0.25),
            max_probability: Share(0.5),
            charge: Charge::Aqm,
            charge_dropped: false,
            only_in_congestion: false,
        });
        aicp.buckets.drain(0, Time::ZERO, Credit::of(depth).share(1.0 - fill));
        aicp.probability(&arrival_of(0, 0), p)
    }

    /// Formula of the paper at its break points.
    #[test]
    fn the_probability_is_the_aqms_squared_plus_what_the_fill_adds() {
        let points = [
            (0.0, 0.0, 0.5),
            (0.25, 0.1, 0.01),
            (0.125, 0.0, 0.25),
            (1.0, 1.0, 1.0),
            (0.0, 0.9, 1.0),
        ];
        for (fill, p, want) in points {
            assert!((probability(fill, p) - want).abs() < 1e-9, "fill {fill}, p {p}");
        }
    }

    proptest! {
        #[test]
        fn a_probability_stays_one_and_never_falls_with_the_fill(
            p in 0.0..=1.0f64, a in 0.0..=1.0f64, b in 0.0..=1.0f64,
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!((0.0..=1.0).contains(&probability(low, p)));
            prop_assert!(probability(low, p) >= probability(high, p));
        }
    }
}
