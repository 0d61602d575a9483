//! AICP-b, AQM-integrated congestion policing by probability: the square of the AQM's probability,
//! and a further one for customers whose bucket is almost empty.
//! D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and figure 6.
//!
//! There is no drop apart from the policer's. With f/d, how full the customer's bucket is:
//!
//! ```text
//! p = p_AQM² + p_max (1 − (f/d)/x)      f/d < x
//! p = p_AQM²                            otherwise
//! f ← f − size · p_AQM                  per forwarded packet
//! ```
//!
//! The square takes the AQM's small probabilities off customers who keep within their allowance;
//! at 1, where the AQM has lost hold of the queue, it leaves them all.
//!
//! Where the paper leaves it open: a packet is charged with p_AQM, unsquared (`charge = "aqm"`), or
//! with its own probability p (`charge = "own"`). With p_AQM, p_max falls on a customer who has run out
//! until his bucket has filled up again, which at r takes minutes: the link then idles. With p, the fill
//! settles a little below x·d, where what he pays for is what he earns.

use super::{Arrival, Charge, TokenBucketParams, TokenBuckets};

/// Parameters of AICP-b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AicpBParams {
    /// Each customer's bucket.
    pub bucket: TokenBucketParams,
    /// x: share of the full bucket below which a customer's own probability begins.
    pub start: f64,
    /// p_max: that probability at an empty bucket.
    pub max_probability: f64,
    /// What a forwarded packet costs.
    pub charge: Charge,
}

/// The policers of all customers.
#[derive(Clone, Debug)]
pub struct AicpB {
    start: f64,
    max_probability: f64,
    charge: Charge,
    buckets: TokenBuckets,
}

impl AicpB {
    /// Policers with full buckets.
    pub fn new(params: AicpBParams) -> Self {
        let AicpBParams { bucket, start, max_probability, charge } = params;
        AicpB { start, max_probability, charge, buckets: TokenBuckets::new(bucket) }
    }

    /// All customers' buckets.
    pub const fn buckets(&self) -> &TokenBuckets {
        &self.buckets
    }

    /// Probability of dropping (or marking) this packet, where the AQM has `p`.
    #[inline]
    pub fn probability(&mut self, arrival: &Arrival, p: f64) -> f64 {
        let ratio = self.buckets.fill_ratio(arrival.user, arrival.now);
        let own = self.max_probability * (1.0 - ratio / self.start).max(0.0);
        (p * p + own).min(1.0)
    }

    /// Charges a forwarded packet, whose probability was `own` where the AQM's is `plain`.
    #[inline]
    pub fn on_forwarded(&mut self, arrival: &Arrival, own: f64, plain: f64) {
        self.buckets.charge(arrival, self.charge.choose(own, plain));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Credit;
    use super::super::tests::arrival_of;
    use super::*;
    use crate::units::{Bytes, Rate, Time};
    use proptest::prelude::*;

    fn probability(fill: f64, p: f64) -> f64 {
        let depth = Bytes::new(225_000);
        let bucket = TokenBucketParams { fill_rate: Rate::from_bps(8 * 300), depth };
        let mut aicp = AicpB::new(AicpBParams {
            bucket,
            start: 0.25,
            max_probability: 0.5,
            charge: Charge::Aqm,
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
