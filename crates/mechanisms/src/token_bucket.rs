//! Token bucket: an allowance that is filled over time and drained by charges.
//!
//! ```text
//! f ← min(d, f + r (t − t_last))     r = fill rate, d = bucket depth; f is the initial level at first
//! f ← max(−e, f − amount)            e = how far below empty it may go: the floor, often 0
//! ```
//!
//! It counts bytes, or packets of any size, by the units of its parameters. Amounts are integers in billionths of a
//! token, and a token is a bit or the thousandth of a packet, so that refilling in many steps or in one gives exactly
//! the same fill.
//!
//! Used by the policers of congestion policing queues, and of congestion exposure.

use core::ops::{Add, Neg, Sub};

use crate::parameters::ParameterError;
use crate::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time, TokenRate, Tokens};

/// Amount in a bucket, or debt, in billionths of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credit(i64);

/// Size and fill rate of a bucket: all in packets, or all in bytes and bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucketParams {
    /// Fill rate r.
    pub fill_rate: TokenRate,
    /// Depth d.
    pub depth: Tokens,
    /// Maximum debt e; zero by default.
    pub floor: Option<Tokens>,
    /// Initial fill; a full bucket by default.
    pub initial: Option<Tokens>,
}

/// Common part of all buckets of a kind.
#[derive(Clone, Copy, Debug)]
pub struct BucketRule {
    /// Fill rate r, tokens per second, or billionths of a token per nanosecond.
    tokens_per_sec: u64,
    /// Depth d.
    depth: Credit,
    /// Lowest fill, −e.
    lowest: Credit,
    /// Initial fill.
    initial: Credit,
}

/// One bucket.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    fill: Credit,
    last: Time,
}

impl Credit {
    /// No tokens.
    pub const ZERO: Credit = Credit(0);
    /// Largest possible bucket.
    pub const MAX: Credit = Credit::of(Bytes::new(1_000_000_000));

    /// Returns the charge for `len` bytes of congestion.
    pub const fn of(len: Bytes) -> Self {
        Credit((len.as_bits() * NANOS_PER_SEC) as i64)
    }

    /// Returns a number of tokens.
    pub const fn of_tokens(tokens: Tokens) -> Self {
        match tokens {
            Tokens::Packets { thousandths } => Credit((thousandths * NANOS_PER_SEC) as i64),
            Tokens::Bytes(bytes) => Credit::of(bytes),
        }
    }

    /// Returns this share of the amount, rounded to the nearest billionth of a token.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Credit((self.0 as f64 * share.clamp(0.0, 1.0) + 0.5) as i64)
    }

    /// Returns the amount in bytes, for a bucket that counts them.
    pub fn as_bytes(self) -> f64 {
        self.0 as f64 / (8.0 * NANOS_PER_SEC as f64)
    }

    /// Returns the amount in packets, for a bucket that counts them.
    pub fn as_packets(self) -> f64 {
        self.0 as f64 / (1000.0 * NANOS_PER_SEC as f64)
    }

    /// Returns the amount in billionths of a token; zero if it is negative.
    pub fn billionths(self) -> u64 {
        self.0.try_into().unwrap_or(0)
    }

    /// Returns the amount times a factor, which may be negative.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Credit(libm::round(self.0 as f64 * factor) as i64)
    }

    /// Returns the ratio to another amount.
    pub fn ratio(self, other: Credit) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl Add for Credit {
    type Output = Credit;
    fn add(self, rhs: Credit) -> Credit {
        Credit(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Credit {
    type Output = Credit;
    fn sub(self, rhs: Credit) -> Credit {
        Credit(self.0.saturating_sub(rhs.0))
    }
}

impl Neg for Credit {
    type Output = Credit;
    fn neg(self) -> Credit {
        Credit(-self.0)
    }
}

impl TokenBucketParams {
    /// Returns a bucket that counts bytes, is full initially and has no debt.
    pub const fn of_bytes(fill_rate: Rate, depth: Bytes) -> Self {
        let (fill_rate, depth) = (TokenRate::Bits(fill_rate), Tokens::Bytes(depth));
        TokenBucketParams { fill_rate, depth, floor: None, initial: None }
    }

    /// Returns the errors of the values together, at the keys `depth`, `floor` and `initial`: their unit has to be that
    /// of the fill rate, they have to be within range, and the initial fill must not exceed the depth.
    pub fn errors(&self) -> Vec<ParameterError> {
        let given = [("depth", Some(self.depth)), ("floor", self.floor), ("initial", self.initial)];
        let error = |(key, tokens): (&'static str, Option<Tokens>)| {
            let tokens = tokens?;
            let message = match () {
                () if tokens.counts_packets() != self.fill_rate.counts_packets() => format!(
                    "{tokens} beside a fill_rate of {}: give both in packets, or both in bytes",
                    self.fill_rate
                ),
                () if !tokens.can_be_counted() => {
                    format!("{tokens} are beyond any sense; at most 1 GB, or 8000000 packets")
                }
                () if key == "depth" && tokens.is_zero() => "must be more than nothing".to_owned(),
                () if key == "initial" && self.is_too_small_for(tokens) => {
                    format!("{tokens} do not fit into a depth of {}; give at most that", self.depth)
                }
                () => return None,
            };
            Some((key, message))
        };
        given.into_iter().filter_map(error).collect()
    }

    fn is_too_small_for(&self, tokens: Tokens) -> bool {
        Credit::of_tokens(tokens) > Credit::of_tokens(self.depth)
    }

    /// Returns an error if the bucket does not hold a packet of this size, since it would then drop everything.
    pub fn validate(&self, packet: Bytes) -> Option<ParameterError> {
        let holds = match self.depth {
            Tokens::Packets { thousandths } => thousandths >= 1000,
            Tokens::Bytes(depth) => depth >= packet,
        };
        let message = || {
            let packet = packet.get();
            format!("{} do not hold a packet, of {packet} B; give at least that", self.depth)
        };
        (!holds).then(|| ("depth", message()))
    }

    /// Returns the common part of these buckets.
    ///
    /// # Panics
    ///
    /// If an amount exceeds [`Credit::MAX`], or the depth is zero.
    pub fn rule(&self) -> BucketRule {
        let amounts = [Some(self.depth), self.floor, self.initial];
        assert!(amounts.iter().flatten().all(Tokens::can_be_counted), "{self:?}");
        assert!(!self.depth.is_zero(), "a bucket of nothing");
        let depth = Credit::of_tokens(self.depth);
        BucketRule {
            tokens_per_sec: match self.fill_rate {
                TokenRate::Packets { thousandths_per_sec } => thousandths_per_sec,
                TokenRate::Bits(rate) => rate.as_bps(),
            },
            depth,
            lowest: -self.floor.map_or(Credit::ZERO, Credit::of_tokens),
            initial: self.initial.map_or(depth, Credit::of_tokens),
        }
    }
}

impl BucketRule {
    /// Returns d.
    pub const fn depth(&self) -> Credit {
        self.depth
    }

    /// Returns the rule with another fill rate, tokens per second.
    #[must_use]
    pub const fn filled_at(self, tokens_per_sec: u64) -> Self {
        BucketRule { tokens_per_sec, ..self }
    }

    /// Returns a bucket in its initial state.
    pub const fn bucket(&self, now: Time) -> TokenBucket {
        TokenBucket { fill: self.initial, last: now }
    }

    /// Returns the fill after an amount has been taken.
    #[inline]
    pub fn after(&self, fill: Credit, amount: Credit) -> Credit {
        (fill - amount).max(self.lowest)
    }

    /// How long it takes until an amount has come in; nothing where it is not positive.
    pub fn until(&self, amount: Credit) -> Span {
        Span::from_nanos(amount.billionths().div_ceil(self.tokens_per_sec.max(1)))
    }

    /// What comes in within `elapsed`; no bucket has room for more than what does not fit a number.
    const fn earned(&self, elapsed: Span) -> u64 {
        self.tokens_per_sec.saturating_mul(elapsed.as_nanos())
    }
}

impl TokenBucket {
    /// Returns the fill at the last update; without charges it can only have grown since.
    #[inline]
    pub const fn fill_before(&self) -> Credit {
        self.fill
    }

    /// Returns the time of the last update.
    pub const fn last(&self) -> Time {
        self.last
    }

    /// Updates and returns the fill.
    #[inline]
    pub fn fill(&mut self, rule: &BucketRule, now: Time) -> Credit {
        self.fill = self.fill_at(rule, now);
        self.last = now;
        self.fill
    }

    /// Returns the fill at `now` if nothing is taken until then.
    #[inline]
    pub fn fill_at(&self, rule: &BucketRule, now: Time) -> Credit {
        let earned = rule.earned(now.since(self.last));
        let room = rule.depth.0.abs_diff(self.fill.0);
        Credit(self.fill.0.saturating_add_unsigned(earned.min(room)))
    }

    /// Takes an amount, or less down to the lowest fill. Returns the amount taken.
    #[inline]
    pub fn take(&mut self, rule: &BucketRule, now: Time, amount: Credit) -> Credit {
        let before = self.fill(rule, now);
        self.fill = rule.after(before, amount);
        before - self.fill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn packets(thousandths: u64) -> Tokens {
        Tokens::Packets { thousandths }
    }

    /// The bucket of the ConEx paper: 45 packets deep, with this maximum debt.
    fn deep_45(packets_per_sec: u64, floor: Option<Tokens>) -> TokenBucketParams {
        TokenBucketParams {
            fill_rate: TokenRate::Packets { thousandths_per_sec: 1000 * packets_per_sec },
            depth: packets(45_000),
            floor,
            initial: None,
        }
    }

    #[test]
    fn a_bucket_of_packets_fills_at_packets_per_second_to_its_depth() {
        let rule = deep_45(3, None).rule();
        let mut bucket = rule.bucket(at(0));
        assert_eq!(bucket.fill(&rule, at(0)).as_packets(), 45.0, "full at first");
        bucket.take(&rule, at(0), Credit::of_tokens(packets(45_000)));
        for (ms, want) in [(0, 0.0), (1_000, 3.0), (2_500, 7.5), (60_000, 45.0)] {
            assert_eq!(bucket.fill(&rule, at(ms)).as_packets(), want, "after {ms} ms");
        }
    }

    #[test]
    fn a_floor_is_how_far_below_empty_it_goes_and_what_is_owed_is_paid_back_first() {
        let rule = deep_45(1, Some(packets(4_500))).rule();
        let mut bucket = rule.bucket(at(0));
        let taken = bucket.take(&rule, at(0), Credit::of_tokens(packets(100_000)));
        assert_eq!(taken.as_packets(), 49.5, "down to the floor, and no more");
        for (ms, want) in [(0, -4.5), (4_500, 0.0), (5_500, 1.0)] {
            assert_eq!(bucket.fill(&rule, at(ms)).as_packets(), want, "after {ms} ms");
        }
    }

    #[test]
    fn the_initial_level_is_what_is_there_at_first() {
        let params = TokenBucketParams { initial: Some(packets(2_000)), ..deep_45(1, None) };
        let rule = params.rule();
        assert_eq!(rule.bucket(at(0)).fill(&rule, at(0)).as_packets(), 2.0);
    }

    /// Rates and depths at the limits of their ranges: no overflow in between.
    #[test]
    fn an_age_of_idling_fills_even_the_deepest_bucket_from_its_floor() {
        let most = Tokens::Bytes(Bytes::new(1_000_000_000));
        for bps in [1, 1_000_000_000_000_000] {
            let params = TokenBucketParams {
                fill_rate: TokenRate::Bits(Rate::from_bps(bps)),
                depth: most,
                floor: Some(most),
                initial: None,
            };
            let rule = params.rule();
            let mut bucket = rule.bucket(at(0));
            for _ in 0..3 {
                bucket.take(&rule, at(0), Credit::MAX);
            }
            assert_eq!(bucket.fill(&rule, at(0)), -Credit::of_tokens(most));
            assert_eq!(bucket.fill(&rule, Time::NEVER), Credit::of_tokens(most));
        }
    }

    #[test]
    fn all_inconsistent_parameters_are_reported_together() {
        let invalid = TokenBucketParams {
            depth: Tokens::Bytes(Bytes::new(64_000)),
            initial: Some(packets(9_000_000_000)),
            ..deep_45(1, Some(Tokens::Bytes(Bytes::ZERO)))
        };
        let keys = |params: &TokenBucketParams| {
            params.errors().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&invalid), ["depth", "floor", "initial"]);
        let overfull = TokenBucketParams { initial: Some(packets(45_001)), ..deep_45(1, None) };
        assert_eq!(keys(&overfull), ["initial"]);
        assert!(keys(&deep_45(1, Some(packets(4_500)))).is_empty());
    }

    #[test]
    fn a_bucket_holds_a_packet_of_those_there_are() {
        let of_bytes = |len| TokenBucketParams::of_bytes(Rate::from_bps(1), Bytes::new(len));
        let packet = Bytes::new(1500);
        assert!(of_bytes(1500).validate(packet).is_none());
        assert!(of_bytes(1499).validate(packet).is_some());
        let of_packets = |depth| TokenBucketParams { depth: packets(depth), ..deep_45(1, None) };
        assert!(of_packets(1000).validate(packet).is_none());
        assert!(of_packets(999).validate(packet).is_some());
    }

    proptest! {
        /// For any sequence of events, the fill stays between the lowest value and the depth, and the amount taken is
        /// at most the inflow plus depth plus maximum debt: r t + d + e.
        #[test]
        fn what_is_taken_is_bounded_by_rate_depth_and_floor(
            steps in prop::collection::vec((0..20_000u64, 0..60_000u64), 1..200),
            rate in 0..200u64, owed in 0..90_000u64,
        ) {
            let rule = deep_45(rate, Some(packets(owed))).rule();
            let mut bucket = rule.bucket(at(0));
            let (mut ms, mut taken) = (0, 0.0);
            for (gap_ms, thousandths) in steps {
                ms += gap_ms;
                taken += bucket.take(&rule, at(ms), Credit::of_tokens(packets(thousandths))).as_packets();
                let fill = bucket.fill(&rule, at(ms)).as_packets();
                prop_assert!((-(owed as f64) / 1e3..=45.0).contains(&fill), "{fill}");
            }
            let bound = rate as f64 * ms as f64 / 1e3 + 45.0 + owed as f64 / 1e3;
            prop_assert!(taken <= bound + 1e-6, "{taken} of {bound}");
        }

        /// Reading the fill often changes nothing, to the last billionth of a token.
        #[test]
        fn refilling_in_many_steps_equals_refilling_in_one(
            steps in prop::collection::vec(0..1_000_000_007u64, 1..50),
        ) {
            let rule = deep_45(7, Some(packets(500))).rule();
            let mut often = rule.bucket(at(0));
            often.take(&rule, at(0), Credit::of_tokens(packets(45_300)));
            let mut once = often;
            let mut now = at(0);
            for ns in steps {
                now += Span::from_nanos(ns);
                prop_assert_eq!(often.fill_at(&rule, now), often.fill(&rule, now));
            }
            prop_assert_eq!(often.fill(&rule, now), once.fill(&rule, now));
        }
    }
}
