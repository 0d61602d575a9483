//! Token buckets of all customers, with common parameters: each holds a congestion allowance in bytes, which is filled
//! over time and drained by congestion, down to zero.

use super::Arrival;
use crate::token_bucket::{BucketRule, Credit, TokenBucket, TokenBucketParams};
use crate::units::Time;

/// Defines the bucket of a policer's parameters with `fill_rate` and `depth`, and its validation.
macro_rules! bucket_of {
    ($params:ident) => {
        impl $params {
            /// Returns the parameters of each customer's bucket.
            const fn bucket(&self) -> $crate::token_bucket::TokenBucketParams {
                $crate::token_bucket::TokenBucketParams::of_bytes(self.fill_rate, self.depth)
            }
        }

        fn bucket_fits(params: &$params) -> Vec<$crate::parameters::ParameterError> {
            params.bucket().errors()
        }
    };
}
pub(super) use bucket_of;

/// Token buckets of all customers, with common parameters; a bucket is full until its customer is first seen.
#[derive(Clone, Debug)]
pub struct TokenBuckets {
    rule: BucketRule,
    by_user: Vec<TokenBucket>,
}

impl TokenBuckets {
    /// Returns full buckets.
    pub fn new(params: TokenBucketParams) -> Self {
        TokenBuckets { rule: params.rule(), by_user: Vec::new() }
    }

    /// Returns the fill of customer `user`.
    #[inline]
    pub fn fill(&mut self, user: u32, now: Time) -> Credit {
        let (rule, bucket) = self.of(user, now);
        bucket.fill(rule, now)
    }

    /// Returns the fill of customer `user` as a share of the full bucket.
    #[inline]
    pub fn fill_ratio(&mut self, user: u32, now: Time) -> f64 {
        self.fill(user, now).ratio(self.rule.depth())
    }

    /// Drains an amount from the bucket of customer `user`, down to zero.
    #[inline]
    pub fn drain(&mut self, user: u32, now: Time, amount: Credit) {
        let (rule, bucket) = self.of(user, now);
        bucket.take(rule, now, amount);
    }

    /// Charges a packet's customer the share `p` of the packet.
    #[inline]
    pub fn charge(&mut self, arrival: &Arrival, p: f64) {
        if p > 0.0 {
            self.drain(arrival.user, arrival.now, Credit::of(arrival.len).share(p));
        }
    }

    /// Returns the size of the buckets of all customers seen so far, bytes.
    pub const fn state_bytes(&self) -> usize {
        self.by_user.len() * size_of::<TokenBucket>()
    }

    #[inline]
    fn of(&mut self, user: u32, now: Time) -> (&BucketRule, &mut TokenBucket) {
        let index = user as usize;
        if index >= self.by_user.len() {
            self.grow(index, now);
        }
        (&self.rule, &mut self.by_user[index])
    }

    /// Adds buckets for customers not seen so far.
    #[cold]
    fn grow(&mut self, index: usize, now: Time) {
        self.by_user.resize(index + 1, self.rule.bucket(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate, Span};
    use proptest::prelude::*;

    /// Table I of the paper, AFCP and AICP.
    const PARAMS: TokenBucketParams =
        TokenBucketParams::of_bytes(Rate::from_bps(8 * 300), Bytes::new(225_000));

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Congestion Policing Queues, table I: 300 B/s fill 225 kB in 750 s, 550 B/s fill 350 kB in
    /// 636.4 s.
    #[test]
    fn an_empty_bucket_fills_in_depth_over_rate() {
        for (fill_rate, depth, full_s) in [(300, 225_000, 750.0), (550, 350_000, 350_000.0 / 550.0)]
        {
            let (fill_rate, depth) = (Rate::from_bps(8 * fill_rate), Bytes::new(depth));
            let mut buckets = TokenBuckets::new(TokenBucketParams::of_bytes(fill_rate, depth));
            buckets.drain(0, at(0), Credit::of(depth));
            assert_eq!(buckets.fill(0, at(0)), Credit::ZERO);
            let half = buckets.fill_ratio(0, Time::ZERO + Span::from_secs_f64(full_s / 2.0));
            assert!((half - 0.5).abs() < 1e-9);
            let full = Time::ZERO + Span::from_secs_f64(full_s + 1e-6);
            assert_eq!(buckets.fill(0, full), Credit::of(depth));
        }
    }

    #[test]
    fn customers_do_not_touch_each_others_buckets() {
        let mut buckets = TokenBuckets::new(PARAMS);
        buckets.drain(7, at(0), Credit::of(Bytes::new(225_000)));
        assert_eq!(buckets.fill_ratio(3, at(1)), 1.0);
        assert_eq!(buckets.fill_ratio(1_000, at(1)), 1.0);
        assert!(buckets.fill_ratio(7, at(1)) < 1e-5);
    }

    #[test]
    fn an_age_of_idling_fills_the_bucket_and_does_not_overflow() {
        let fast = TokenBucketParams::of_bytes(Rate::mbps(400_000), Bytes::new(225_000));
        let mut buckets = TokenBuckets::new(fast);
        buckets.drain(0, at(0), Credit::of(Bytes::new(1)));
        assert_eq!(buckets.fill_ratio(0, Time::NEVER), 1.0);
    }

    proptest! {
        /// For any sequence of events, the fill stays between zero and the depth.
        #[test]
        fn the_fill_stays_between_empty_and_full(
            steps in prop::collection::vec((0..100_000u64, 0..100_000u64), 1..100),
        ) {
            let mut buckets = TokenBuckets::new(PARAMS);
            let mut ms = 0;
            for (gap_ms, len) in steps {
                ms += gap_ms;
                buckets.drain(0, at(ms), Credit::of(Bytes::new(len)));
                prop_assert!((0.0..=1.0).contains(&buckets.fill_ratio(0, at(ms))));
            }
        }

        /// Over any time a customer drains at most the depth plus the fill rate times that time.
        #[test]
        fn what_is_drained_is_bounded_by_depth_and_rate(
            steps in prop::collection::vec((0..20_000u64, 1..60_000u64), 1..200),
        ) {
            let mut buckets = TokenBuckets::new(PARAMS);
            let (mut ms, mut drained) = (0, 0.0);
            for (gap_ms, len) in steps {
                ms += gap_ms;
                let want = Credit::of(Bytes::new(len));
                if buckets.fill(0, at(ms)) >= want {
                    buckets.drain(0, at(ms), want);
                    drained += len as f64;
                }
            }
            prop_assert!(drained <= 225_000.0 + 300.0 * ms as f64 / 1e3);
        }
    }
}
