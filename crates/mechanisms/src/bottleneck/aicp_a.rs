//! AICP-a, AQM-integrated congestion policing by thresholds: RED whose thresholds rise with what is
//! left in a customer's bucket.
//! D. P. Wagner, "Congestion Policing Queues", 2014, section IV-C and figure 6.
//!
//! There is no drop apart from the policer's. With f/d, how full the customer's bucket is:
//!
//! ```text
//! min_th' = min_th (1 + f/d)      max_th' = max_th (1 + f/d)
//! p = RED with these thresholds, at the average that all customers share
//! f ← f − size · p                per forwarded packet
//! ```
//!
//! Where the paper leaves it open: a packet is charged with the probability that RED has for it, at the
//! customer's thresholds (`charge = "own"`), or at RED's plain ones (`charge = "aqm"`), the congestion
//! that the queue sees whatever the customer is let off.

use super::{Arrival, TokenBucketParams, TokenBuckets};

/// What a policer that is part of the AQM charges a forwarded packet with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The probability that this very packet had.
    Own,
    /// The AQM's probability, before the policer changed it.
    Aqm,
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

/// Parameters of AICP-a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AicpAParams {
    /// Each customer's bucket.
    pub bucket: TokenBucketParams,
    /// What a forwarded packet costs.
    pub charge: Charge,
}

/// The policers of all customers.
#[derive(Clone, Debug)]
pub struct AicpA {
    charge: Charge,
    buckets: TokenBuckets,
}

impl AicpA {
    /// Policers with full buckets.
    pub fn new(params: AicpAParams) -> Self {
        AicpA { charge: params.charge, buckets: TokenBuckets::new(params.bucket) }
    }

    /// All customers' buckets.
    pub const fn buckets(&self) -> &TokenBuckets {
        &self.buckets
    }

    /// By what the thresholds are multiplied for this packet: 1 (empty bucket) to 2 (full).
    #[inline]
    pub fn stretch(&mut self, arrival: &Arrival) -> f64 {
        1.0 + self.buckets.fill_ratio(arrival.user, arrival.now)
    }

    /// Charges a forwarded packet, whose probability was `own` where RED's is `plain`.
    #[inline]
    pub fn on_forwarded(&mut self, arrival: &Arrival, own: f64, plain: f64) {
        self.buckets.charge(arrival, self.charge.choose(own, plain));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival_of;
    use super::*;
    use crate::units::{Bytes, Rate};
    use proptest::prelude::*;

    fn aicp() -> AicpA {
        let bucket =
            TokenBucketParams { fill_rate: Rate::from_bps(8 * 300), depth: Bytes::new(225_000) };
        AicpA::new(AicpAParams { bucket, charge: Charge::Aqm })
    }

    /// The paper's formula, at both ends and in the middle.
    #[test]
    fn thresholds_are_stretched_by_one_plus_the_fill() {
        let mut aicp = aicp();
        assert_eq!(aicp.stretch(&arrival_of(0, 0)), 2.0);
        (0..75).for_each(|_| aicp.on_forwarded(&arrival_of(0, 0), 0.0, 1.0)); // 112.5 kB
        assert!((aicp.stretch(&arrival_of(0, 0)) - 1.5).abs() < 1e-12);
        (0..75).for_each(|_| aicp.on_forwarded(&arrival_of(0, 0), 0.0, 1.0));
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
                aicp.on_forwarded(&arrival_of(0, ms), p, p);
                prop_assert!((1.0..=2.0).contains(&aicp.stretch(&arrival_of(0, ms))));
            }
        }
    }
}
