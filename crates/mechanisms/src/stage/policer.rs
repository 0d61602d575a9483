//! Policer: a token bucket for each user, which drops packets above a rate and a burst. The single token bucket is that
//! of RFC 2697 without its excess burst; with a peak rate, a packet has to conform to both buckets of RFC 2698, as with
//! Linux's `tc ... police rate burst peakrate`.
//!
//! ```text
//! f ← min(B, f + R (t − t_last))          R = rate, B = burst; full at first
//! g ← min(M, g + P (t − t_last))          P = peak_rate, M = peak_burst, where there is a peak rate
//! L ≤ f and L ≤ g     f ← f − L,  g ← g − L, and the packet passes
//! else                it is dropped, and takes nothing
//! ```
//!
//! with L the packet's size on the wire, headers included. A policer has no queue, so it delays nothing. TCP needs a burst
//! of about its bandwidth-delay product to use the rate: with less it loses packets before the rate is reached.

use super::by_user::ByUser;
use super::conex_policer::Buckets;
use super::{Capabilities, Passage, Passing, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::token_bucket::{BucketRule, Credit, TokenBucket, TokenBucketParams};
use crate::units::{Bytes, Rate, Time};

parameters! {
    /// Drops packets above a rate and a burst: a plain token bucket for each user.
    pub struct PolicerParams {
        /// R: rate, headers included.
        pub rate: Rate,
        /// B: burst, the depth of the bucket.
        pub burst: Bytes = "100 kB",
        /// P: rate that is never exceeded for longer than peak_burst. Default: none.
        pub peak_rate: Option<Rate>,
        /// M: burst above the peak rate.
        pub peak_burst: Bytes = "3 kB",
        /// Owner of a bucket.
        pub buckets: Buckets = "by-user",
    }
    check PolicerParams::errors;
}

/// Keys of a rate and of its burst, for errors.
const KEYS: [[&str; 2]; 2] = [["rate", "burst"], ["peak_rate", "peak_burst"]];

impl PolicerParams {
    fn limits(&self) -> [Option<TokenBucketParams>; 2] {
        [
            Some(TokenBucketParams::of_bytes(self.rate, self.burst)),
            self.peak_rate.map(|peak| TokenBucketParams::of_bytes(peak, self.peak_burst)),
        ]
    }

    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = Vec::new();
        for ([_, burst], limit) in KEYS.into_iter().zip(self.limits()) {
            let found = limit.map_or(Vec::new(), |limit| limit.errors());
            errors.extend(found.into_iter().map(|(_, message)| (burst, message)));
        }
        if self.peak_rate.is_some_and(|peak| peak < self.rate) {
            errors.push(("peak_rate", "is below rate".to_owned()));
        }
        errors
    }
}

/// Buckets of a user: for the rate, and for the peak rate.
#[derive(Clone, Copy, Debug)]
struct Account([Option<TokenBucket>; 2]);

/// State of one policer.
#[derive(Clone, Debug)]
pub struct Policer {
    buckets: Buckets,
    rules: [Option<BucketRule>; 2],
    accounts: ByUser<Account>,
    /// Conforming packets and bytes, by user.
    conforming: ByUser<[u64; 2]>,
}

/// Reasons of drops, in the order of [`KEYS`].
const REASONS: [Passage; 2] = [Passage::Drop("above rate"), Passage::Drop("above peak rate")];

impl Stage for Policer {
    type Params = PolicerParams;

    const ABOUT: About = About {
        name: "policer",
        title: "Policer",
        source: "RFC 2697, RFC 2698; Linux tc-police(8)",
        usage: r#"users.NAME.ingress = [{ kind = "policer", rate = "15 Mb/s", burst = "150 kB" }]"#,
        file: "stage/policer.rs",
        text: crate::mechanism::source_text!("policer.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { has_levels: true, ..Capabilities::NONE };

    fn new(params: PolicerParams) -> Self {
        Policer {
            buckets: params.buckets,
            rules: params.limits().map(|limit| limit.map(|limit| limit.rule())),
            accounts: ByUser::new(),
            conforming: ByUser::new(),
        }
    }

    fn validate(params: &PolicerParams, packet: Bytes) -> Option<ParameterError> {
        let mut limits = KEYS.into_iter().zip(params.limits());
        limits.find_map(|([_, burst], limit)| {
            limit?.validate(packet).map(|(_, message)| (burst, message))
        })
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        let (now, size, rules) = (packet.now, Credit::of(packet.len), &self.rules);
        let full = || Account(rules.map(|rule| rule.map(|rule| rule.bucket(now))));
        let Account(buckets) = self.accounts.of(self.buckets.account_of(packet.user), full);
        for ((bucket, rule), reason) in buckets.iter_mut().zip(rules).zip(&REASONS) {
            if let (Some(bucket), Some(rule)) = (bucket, rule)
                && bucket.fill(rule, now) < size
            {
                return reason.clone();
            }
        }
        for (bucket, rule) in buckets.iter_mut().zip(rules) {
            if let (Some(bucket), Some(rule)) = (bucket, rule) {
                bucket.take(rule, now, size);
            }
        }
        let [packets, bytes] = self.conforming.of(packet.user, Default::default);
        *packets += 1;
        *bytes += packet.len.get();
        Passage::On
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, [packets, bytes]) in self.conforming.iter() {
            each(user, "conforming_packets", *packets);
            each(user, "conforming_bytes", *bytes);
        }
    }

    fn state_bytes(&self) -> usize {
        self.accounts.state_bytes()
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let account = self.accounts.get(self.buckets.account_of(user));
        if let (Some(Account([Some(bucket), _])), [Some(rule), _]) = (account, &self.rules) {
            each("fill_bytes", bucket.fill_at(rule, now).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    const MBPS: fn(u64) -> Rate = |mbps| Rate::from_bps(mbps * 1_000_000);

    fn params(peak_rate: Option<Rate>) -> PolicerParams {
        PolicerParams {
            rate: MBPS(12),
            burst: Bytes::new(15_000),
            peak_rate,
            peak_burst: Bytes::new(3_000),
            buckets: Buckets::ByUser,
        }
    }

    /// Returns the number of packets of 1500 B that pass, of those sent by a user at these times in microseconds.
    fn passed(policer: &mut Policer, user: u32, at_us: impl IntoIterator<Item = u64>) -> usize {
        let times = at_us.into_iter().map(|us| Time::ZERO + Span::from_micros(us));
        let passes = |now| {
            let mut packet = Passing { now, ..Passing::of_user(user) };
            policer.pass(&mut packet, || panic!("drew")) == Passage::On
        };
        times.map(passes).filter(|on| *on).count()
    }

    #[test]
    fn a_burst_passes_at_once_and_then_the_rate() {
        let mut policer = Policer::new(params(None));
        assert_eq!(passed(&mut policer, 1, [0; 30]), 10, "15 kB");
        assert_eq!(passed(&mut policer, 2, [0; 30]), 10, "each user has a bucket");
        // 24 Mb/s for a second: half of it passes, one packet a millisecond.
        assert_eq!(passed(&mut policer, 1, (1..=2000).map(|n| 500 * n)), 1000);
    }

    #[test]
    fn one_bucket_is_shared_by_all() {
        let mut policer = Policer::new(PolicerParams { buckets: Buckets::One, ..params(None) });
        assert_eq!(passed(&mut policer, 1, [0; 7]) + passed(&mut policer, 2, [0; 7]), 10);
    }

    /// A packet that does not conform to one bucket takes nothing from the other.
    #[test]
    fn a_packet_conforms_to_rate_and_peak_rate() {
        let mut policer = Policer::new(params(Some(MBPS(24))));
        assert_eq!(passed(&mut policer, 1, [0; 30]), 2, "3 kB above the peak rate");
        // 48 Mb/s: the peak rate passes half of it until the burst is used up.
        assert_eq!(passed(&mut policer, 1, (1..=32).map(|n| 250 * n)), 16);
        assert_eq!(passed(&mut policer, 1, (33..=432).map(|n| 250 * n)), 100, "then the rate");
    }

    #[test]
    fn what_cannot_be_is_an_error_with_its_key() {
        let keys = |params: &PolicerParams| {
            params.errors().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&params(Some(MBPS(11)))), ["peak_rate"]);
        assert_eq!(keys(&PolicerParams { burst: Bytes::ZERO, ..params(None) }), ["burst"]);
        let jumbo = Policer::validate(&params(Some(MBPS(24))), Bytes::new(9_000));
        assert_eq!(jumbo.map(|(key, _)| key), Some("peak_burst"));
    }
}
