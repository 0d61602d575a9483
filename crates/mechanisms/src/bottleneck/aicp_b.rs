//! AICP-b, AQM-integrated congestion policing by probability: the square of the AQM's probability,
//! and a further one for customers whose bucket is almost empty.
//! D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and figure 6.
//!
//! There is no drop apart from the policer's. With f/d, how full the customer's bucket is:
//!
//! ```text
//! p = p_AQM² + p_max (1 − (f/d)/x)      f/d < x
//! p = p_AQM²                            otherwise
//! f ← f − size · p_AQM                  per forwarded packet, or per packet
//! ```
//!
//! The square takes the AQM's small probabilities off customers who keep within their allowance;
//! at 1, where the AQM has lost hold of the queue, it leaves them all.
//!
//! Where the paper leaves it open: a packet is charged with p_AQM, unsquared (`charge = "aqm"`), or
//! with its own probability p (`charge = "own"`), under which customers lose alike instead of sharing
//! alike. Dropped packets cost nothing, or as much (`charge_dropped`). And the customer's own probability
//! counts always, or only in congestion, where p_AQM > 0 (`only_in_congestion`; for RED this reads
//! "does not touch the thresholds but manipulates the drop probability" to the letter, and section
//! III-B4 allows for such a condition). If always, a customer who has run out is stopped until its
//! bucket has filled up again, which at r takes minutes, and the link idles meanwhile.

use super::aicp_a::integrated_signal;
use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Charge, Differentiate, Signal, TokenBuckets};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Rate, Share};

parameters! {
    /// AQM-integrated congestion policing: the AQM's probability squared, and a further one for
    /// customers whose bucket is almost empty.
    pub struct AicpBParams {
        /// r: sustained rate of congestion that each customer is entitled to.
        pub fill_rate: Rate = "300 B/s",
        /// d: what a customer can save up.
        pub depth: Bytes = "225 kB",
        /// x: share of the full bucket below which a customer's own probability begins.
        pub start: Share = "0.25",
        /// p_max: that probability at an empty bucket.
        pub max_probability: Share = "0.5",
        /// The probability that a packet costs.
        pub charge: Charge = "aqm",
        /// Whether packets that are dropped or marked cost tokens as well.
        pub charge_dropped: bool = "false",
        /// Whether the customer's own probability counts only where the AQM's is above 0.
        pub only_in_congestion: bool = "false",
    }
    check bucket_fits;
}

bucket_of! { AicpBParams }

/// The policers of all customers.
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
        text: include_str!("aicp_b.rs"),
    };

    /// Full buckets.
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
    /// Probability of dropping (or marking) this packet, where the AQM has `p`.
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

    /// The paper's formula at its break points.
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
