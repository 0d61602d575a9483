//! Token buckets, one for each customer: a congestion allowance that fills with time and that
//! congestion empties.
//!
//! ```text
//! f ← min(d, f + r (t − t_last))     r = fill rate, d = bucket depth
//! f ← max(0, f − amount)
//! ```
//!
//! Amounts are whole billionths of a bit, so that a nanosecond at one bit per second is one of them
//! and refilling in many steps or in one gives the same fill to the last digit.

use super::Arrival;
use crate::parameters::Mistake;
use crate::units::{Bytes, LARGEST_PACKET, NANOS_PER_SEC, Rate, Span, Time};

/// An amount in a bucket, in billionths of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credit(u64);

/// Size and fill rate of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucketParams {
    /// r: the sustained congestion that a customer is entitled to.
    pub fill_rate: Rate,
    /// d: what a customer can save up.
    pub depth: Bytes,
}

impl TokenBucketParams {
    /// A bucket holds a packet, and its fill can be counted in billionths of a bit.
    pub fn mistake(&self) -> Option<Mistake> {
        let (depth, least, most) = (self.depth.get(), LARGEST_PACKET.get(), Credit::MAX_BYTES);
        let message = || format!("{depth} B is not from {least} B, the largest packet, to 2 GB");
        (!(least..=most).contains(&depth)).then(|| ("depth", message()))
    }
}

/// For a policer's parameters with `fill_rate` and `depth`: their bucket, and whether it fits.
macro_rules! bucket_of {
    ($params:ident) => {
        impl $params {
            /// Each customer's bucket.
            const fn bucket(&self) -> $crate::bottleneck::TokenBucketParams {
                let (fill_rate, depth) = (self.fill_rate, self.depth);
                $crate::bottleneck::TokenBucketParams { fill_rate, depth }
            }
        }

        fn bucket_fits(params: &$params) -> Option<$crate::parameters::Mistake> {
            params.bucket().mistake()
        }
    };
}
pub(super) use bucket_of;

/// The bucket of one customer.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    fill: Credit,
    last: Time,
}

/// The buckets of all customers, all alike; a customer's is full until he is first seen.
#[derive(Clone, Debug)]
pub struct TokenBuckets {
    fill_rate: Rate,
    depth: Credit,
    by_user: Vec<TokenBucket>,
}

impl Credit {
    /// Nothing.
    pub const ZERO: Credit = Credit(0);
    /// The largest bucket, 2 GB.
    pub const MAX_BYTES: u64 = 2_000_000_000;

    /// What `len` bytes cost that are wholly due to congestion.
    pub const fn of(len: Bytes) -> Self {
        Credit(len.as_bits() * NANOS_PER_SEC)
    }

    /// This share of the amount, rounded to the nearest billionth of a bit.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Credit((self.0 as f64 * share.clamp(0.0, 1.0) + 0.5) as u64)
    }

    /// The amount in bytes.
    pub fn as_bytes(self) -> f64 {
        self.0 as f64 / (8.0 * NANOS_PER_SEC as f64)
    }

    /// What comes in at `rate` within `elapsed`; no bucket holds more than what does not fit.
    const fn earned(rate: Rate, elapsed: Span) -> Self {
        Credit(rate.as_bps().saturating_mul(elapsed.as_nanos()))
    }
}

impl TokenBuckets {
    /// Full buckets.
    ///
    /// # Panics
    /// If a bucket is larger than [`Credit::MAX_BYTES`] or holds nothing.
    pub fn new(params: TokenBucketParams) -> Self {
        let depth = params.depth.get();
        assert!((1..=Credit::MAX_BYTES).contains(&depth), "a bucket of {depth} B");
        let depth = Credit::of(params.depth);
        TokenBuckets { fill_rate: params.fill_rate, depth, by_user: Vec::new() }
    }

    /// What customer `user` has now.
    #[inline]
    pub fn fill(&mut self, user: u32, now: Time) -> Credit {
        let (fill_rate, depth) = (self.fill_rate, self.depth);
        let bucket = self.of(user, now);
        let earned = Credit::earned(fill_rate, now.since(bucket.last));
        bucket.fill = Credit(bucket.fill.0.saturating_add(earned.0).min(depth.0));
        bucket.last = now;
        bucket.fill
    }

    /// What customer `user` has now, as a share of the full bucket.
    #[inline]
    pub fn fill_ratio(&mut self, user: u32, now: Time) -> f64 {
        self.fill(user, now).0 as f64 / self.depth.0 as f64
    }

    /// Takes an amount from customer `user`, or what he has left.
    #[inline]
    pub fn drain(&mut self, user: u32, now: Time, amount: Credit) {
        self.fill(user, now);
        let bucket = self.of(user, now);
        bucket.fill = Credit(bucket.fill.0.saturating_sub(amount.0));
    }

    /// Takes from a packet's customer the share `p` of the packet.
    #[inline]
    pub fn charge(&mut self, arrival: &Arrival, p: f64) {
        if p > 0.0 {
            self.drain(arrival.user, arrival.now, Credit::of(arrival.len).share(p));
        }
    }

    /// Bytes of the buckets of all customers seen so far.
    pub const fn state_bytes(&self) -> usize {
        self.by_user.len() * size_of::<TokenBucket>()
    }

    #[inline]
    fn of(&mut self, user: u32, now: Time) -> &mut TokenBucket {
        let index = user as usize;
        if index >= self.by_user.len() {
            self.grow(index, now);
        }
        &mut self.by_user[index]
    }

    /// Makes room for customers not seen so far.
    #[cold]
    fn grow(&mut self, index: usize, now: Time) {
        self.by_user.resize(index + 1, TokenBucket { fill: self.depth, last: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The paper's table I, AFCP and AICP.
    const PARAMS: TokenBucketParams =
        TokenBucketParams { fill_rate: Rate::from_bps(8 * 300), depth: Bytes::new(225_000) };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Congestion Policing Queues, table I: 300 B/s fill 225 kB in 750 s, 550 B/s fill 350 kB in
    /// 636.4 s.
    #[test]
    fn an_empty_bucket_fills_in_depth_over_rate() {
        let icp =
            TokenBucketParams { fill_rate: Rate::from_bps(8 * 550), depth: Bytes::new(350_000) };
        for (params, full_s) in [(PARAMS, 750.0), (icp, 350_000.0 / 550.0)] {
            let mut buckets = TokenBuckets::new(params);
            buckets.drain(0, at(0), Credit::of(params.depth));
            assert_eq!(buckets.fill(0, at(0)), Credit::ZERO);
            let half = buckets.fill_ratio(0, Time::ZERO + Span::from_secs_f64(full_s / 2.0));
            assert!((half - 0.5).abs() < 1e-9);
            let full = Time::ZERO + Span::from_secs_f64(full_s + 1e-6);
            assert_eq!(buckets.fill(0, full), Credit::of(params.depth));
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
        let fast = TokenBucketParams { fill_rate: Rate::mbps(400_000), ..PARAMS };
        let mut buckets = TokenBuckets::new(fast);
        buckets.drain(0, at(0), Credit::of(Bytes::new(1)));
        assert_eq!(buckets.fill_ratio(0, Time::NEVER), 1.0);
    }

    proptest! {
        /// Whatever happens, a bucket holds no less than nothing and no more than its depth.
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

        /// Reading the fill often changes nothing, to the last billionth of a bit.
        #[test]
        fn refilling_in_many_steps_equals_refilling_in_one(
            steps in prop::collection::vec(0..1_000_000_007u64, 1..50),
        ) {
            let mut often = TokenBuckets::new(PARAMS);
            often.drain(0, at(0), Credit::of(Bytes::new(225_000)));
            let mut once = often.clone();
            let mut now = at(0);
            for ns in steps {
                now += Span::from_nanos(ns);
                often.fill(0, now);
            }
            prop_assert_eq!(often.fill(0, now), once.fill(0, now));
        }

        /// Over any time a customer drains at most the depth and what the fill rate brings.
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
