//! Token bucket: an allowance that fills with time and that something empties.
//!
//! ```text
//! f ← min(d, f + r (t − t_last))     r = fill rate, d = bucket depth; f is the initial level at first
//! f ← max(−e, f − amount)            e = how far below empty it may go: the floor, often 0
//! ```
//!
//! It counts bytes, or packets of any size; which of them, its parameters say by their units. Amounts are
//! whole billionths of a token, and a token is a bit or the thousandth of a packet, so that refilling in many
//! steps or in one gives the same fill to the last digit.
//!
//! The policers of congestion policing queues have buckets of it, and those of congestion exposure.

use core::ops::{Add, Neg, Sub};

use crate::parameters::ParameterError;
use crate::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time, TokenRate, Tokens};

/// An amount in a bucket, or owed to it, in billionths of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credit(i64);

/// Size and fill rate of a bucket: all in packets, or all in bytes and bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucketParams {
    /// r: what comes in.
    pub fill_rate: TokenRate,
    /// d: what can be saved up.
    pub depth: Tokens,
    /// e: what can be owed; nothing if it is not said.
    pub floor: Option<Tokens>,
    /// What is there at first; a full bucket if it is not said.
    pub initial: Option<Tokens>,
}

/// What all buckets of a kind have in common.
#[derive(Clone, Copy, Debug)]
pub struct BucketRule {
    /// r, in tokens per second: billionths of a token per nanosecond.
    tokens_per_sec: u64,
    /// d.
    depth: Credit,
    /// −e.
    lowest: Credit,
    /// At first.
    initial: Credit,
}

/// One bucket.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    fill: Credit,
    last: Time,
}

impl Credit {
    /// Nothing.
    pub const ZERO: Credit = Credit(0);
    /// The largest bucket.
    pub const MAX: Credit = Credit::of(Bytes::new(1_000_000_000));

    /// What `len` bytes cost that are wholly due to congestion.
    pub const fn of(len: Bytes) -> Self {
        Credit((len.as_bits() * NANOS_PER_SEC) as i64)
    }

    /// So many tokens.
    pub const fn of_tokens(tokens: Tokens) -> Self {
        match tokens {
            Tokens::Packets { thousandths } => Credit((thousandths * NANOS_PER_SEC) as i64),
            Tokens::Bytes(bytes) => Credit::of(bytes),
        }
    }

    /// This share of the amount, rounded to the nearest billionth of a token.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Credit((self.0 as f64 * share.clamp(0.0, 1.0) + 0.5) as i64)
    }

    /// The amount in bytes, of a bucket that counts them.
    pub fn as_bytes(self) -> f64 {
        self.0 as f64 / (8.0 * NANOS_PER_SEC as f64)
    }

    /// The amount in packets, of a bucket that counts them.
    pub fn as_packets(self) -> f64 {
        self.0 as f64 / (1000.0 * NANOS_PER_SEC as f64)
    }

    /// The amount in billionths of a token; nothing if it is below that.
    pub fn billionths(self) -> u64 {
        self.0.try_into().unwrap_or(0)
    }

    /// The amount so many times, also less than once, or owed.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Credit(libm::round(self.0 as f64 * factor) as i64)
    }

    /// As a multiple of another amount.
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
    /// A bucket that counts bytes, is full at first and stops when it is empty.
    pub const fn of_bytes(fill_rate: Rate, depth: Bytes) -> Self {
        let (fill_rate, depth) = (TokenRate::Bits(fill_rate), Tokens::Bytes(depth));
        TokenBucketParams { fill_rate, depth, floor: None, initial: None }
    }

    /// What is wrong with the values together, at the keys `depth`, `floor` and `initial`: they have to count
    /// what the fill rate counts, no more of it than fits a number, and no more at first than the depth.
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

    /// A bucket that does not hold a packet stops everything: what is wrong then, where packets have this
    /// size.
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

    /// What all these buckets have in common.
    ///
    /// # Panics
    /// If an amount is larger than [`Credit::MAX`], or the bucket holds nothing.
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
    /// d.
    pub const fn depth(&self) -> Credit {
        self.depth
    }

    /// The same, of buckets into which something else comes: tokens per second.
    #[must_use]
    pub const fn filled_at(self, tokens_per_sec: u64) -> Self {
        BucketRule { tokens_per_sec, ..self }
    }

    /// A bucket at the beginning.
    pub const fn bucket(&self, now: Time) -> TokenBucket {
        TokenBucket { fill: self.initial, last: now }
    }

    /// The fill after an amount has been taken from one.
    #[inline]
    pub fn after(&self, fill: Credit, amount: Credit) -> Credit {
        (fill - amount).max(self.lowest)
    }

    /// What comes in within `elapsed`; no bucket has room for more than what does not fit a number.
    const fn earned(&self, elapsed: Span) -> u64 {
        self.tokens_per_sec.saturating_mul(elapsed.as_nanos())
    }
}

impl TokenBucket {
    /// What was there when it was looked at last; without taking, more can only have come in.
    #[inline]
    pub const fn fill_before(&self) -> Credit {
        self.fill
    }

    /// When it was looked at last.
    pub const fn last(&self) -> Time {
        self.last
    }

    /// What is there now.
    #[inline]
    pub fn fill(&mut self, rule: &BucketRule, now: Time) -> Credit {
        self.fill = self.fill_at(rule, now);
        self.last = now;
        self.fill
    }

    /// What will be there at `now` if nothing is taken.
    #[inline]
    pub fn fill_at(&self, rule: &BucketRule, now: Time) -> Credit {
        let earned = rule.earned(now.since(self.last));
        let room = rule.depth.0.abs_diff(self.fill.0);
        Credit(self.fill.0.saturating_add_unsigned(earned.min(room)))
    }

    /// Takes an amount, or what there is down to the floor. Returns what it has taken.
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

    /// The ConEx paper's: 45 packets deep, and what may be owed of them.
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

    /// Rates and depths at the ends of what can be given: no overflow anywhere between.
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
        /// Whatever happens, the fill stays between the floor and the depth, and over any time no more is
        /// taken than what comes in, the depth and the floor: r t + d + e.
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
