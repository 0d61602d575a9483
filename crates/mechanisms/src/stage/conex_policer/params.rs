//! Parameters of the ConEx policer.

use crate::parameters::ParameterError;
use crate::token_bucket::{Credit, TokenBucketParams};
use crate::units::{Bytes, Rate, TokenRate, Tokens};
use crate::{parameters, words};

parameters! {
    /// Limits users to an allowance of congestion, by their senders' declarations.
    pub struct ConexPolicerParams {
        /// r: fill rate, the congestion that may be declared in the long run, in the unit of the tokens.
        pub fill_rate: TokenRate,
        /// d: bucket depth, in packets or bytes as the fill rate.
        pub depth: Tokens,
        /// Unit of the tokens.
        pub tokens: CountedAs = "bytes",
        /// Drop probability as a function of the fill.
        pub curve: PolicerCurve = "mild",
        /// e: maximum debt of the bucket. Default: a tenth of the depth if mild, else the depth.
        pub floor: Option<Tokens>,
        /// Initial fill. Default: a full bucket.
        pub initial: Option<Tokens>,
        /// Owner of an allowance.
        pub buckets: Buckets = "by-user",
        /// What happens to packets above the allowance.
        pub action: PolicerAction = "drop",
        /// Packets of a user that are dropped, or deprioritised, when its bucket is empty.
        pub drops: Stopped = "all",
        /// Charge declarations on packets that the policer drops.
        pub charge_dropped: bool = "true",
        /// Fill that decides about a packet: the one after it has paid, or the one that it finds.
        pub judged: Judged = "once-paid",
        /// Charge credit, as losses and marks are.
        pub charge_credit: bool = "true",
        /// CE marks that packets have when they arrive.
        pub upstream: Upstream = "ignore",
        /// Treatment of packets outside ConEx.
        pub not_conex: NotConex = "police",
        /// With not_conex = "limit": rate at which they pass, for each bucket.
        pub not_conex_rate: Option<Rate>,
        /// With not_conex = "limit": burst that passes at once.
        pub not_conex_burst: Bytes = "15 kB",
    }
    check ConexPolicerParams::errors;
}

words! {
    /// Drop probability as a function of the fill.
    pub enum PolicerCurve {
        /// 1 where the bucket is empty, else 0.
        Strict = "strict",
        /// From 0 where it is empty to 1 a tenth of the depth below.
        Mild = "mild",
        /// From 0 where it is empty to 1 a whole depth below.
        Soft = "soft",
        /// Nothing is dropped; packets above the allowance are counted.
        Observe = "observe",
    }
}

words! {
    /// What happens to packets above the allowance.
    pub enum PolicerAction {
        /// They are dropped.
        Drop = "drop",
        /// They become lower effort (RFC 8622), which a scheduler with such a class serves after the others.
        Deprioritise = "deprioritise",
    }
}

words! {
    /// Unit of a policer's tokens.
    pub enum CountedAs {
        /// Bytes: a declaration costs the size of its packet. The fill rate is in bit/s.
        Bytes = "bytes",
        /// Packets: a declaration costs one, whatever the size of its packet. The fill rate is in packets/s.
        Packets = "packets",
    }
}

words! {
    /// CE marks that packets have when they arrive at a policer.
    pub enum Upstream {
        /// They pay for nothing: upstream there is only the user's host, which could have set them.
        Ignore = "ignore",
        /// Each pays for a mark declared later: another network stands upstream.
        Credit = "credit",
    }
}

words! {
    /// Owner of an allowance.
    pub enum Buckets {
        /// Each user has its own.
        ByUser = "by-user",
        /// All that pass share one.
        One = "one",
    }
}

words! {
    /// Packets that are dropped.
    pub enum Stopped {
        /// All packets.
        All = "all",
        /// Packets with a declaration that costs tokens.
        Declared = "declared",
    }
}

words! {
    /// Fill that decides about a packet.
    pub enum Judged {
        /// Fill after the packet has paid.
        OncePaid = "once-paid",
        /// Fill that the packet finds, as in ns-2's token bucket (adc/tbf.cc): decide, then charge.
        AsFound = "as-found",
    }
}

words! {
    /// Treatment of packets outside ConEx, which cost nothing.
    pub enum NotConex {
        /// Dropped with the rest of their user.
        Police = "police",
        /// They pass, and are counted.
        Pass = "pass",
        /// A limited rate passes.
        Limit = "limit",
        /// Dropped.
        Drop = "drop",
    }
}

impl CountedAs {
    /// Returns the error of a fill rate in another unit.
    fn misfit(self, rate: TokenRate) -> Option<String> {
        match (self, rate.counts_packets()) {
            (CountedAs::Bytes, true) => Some(format!(
                "{rate} where tokens are bytes: give a rate in bit/s and a depth in bytes, or tokens = \"packets\""
            )),
            (CountedAs::Packets, false) => Some(format!(
                "{rate} where tokens are packets: give a rate in packets/s, or tokens = \"bytes\""
            )),
            _ => None,
        }
    }
}

impl Buckets {
    /// Returns the account of a user: its own, or the common one.
    pub const fn account_of(self, user: u32) -> u32 {
        match self {
            Buckets::ByUser => user,
            Buckets::One => 0,
        }
    }
}

impl PolicerCurve {
    /// Returns the drop probability for this fill and depth.
    pub fn probability(self, fill: Credit, depth: Credit) -> f64 {
        let missing = (-fill).ratio(depth);
        match self {
            PolicerCurve::Strict => f64::from(u8::from(fill <= Credit::ZERO)),
            PolicerCurve::Mild => (missing / MILD).clamp(0.0, 1.0),
            PolicerCurve::Soft => missing.clamp(0.0, 1.0),
            PolicerCurve::Observe => 0.0,
        }
    }

    /// Returns the drop probability for a fill in multiples of the depth; it is constant above 1 and below −1.
    pub fn probability_at(self, fill: f64) -> f64 {
        self.probability(Credit::MAX.times(fill.clamp(-1.0, 1.0)), Credit::MAX)
    }

    /// Returns the lowest fill, as a debt, of a bucket of this depth.
    fn floor(self, depth: Tokens) -> Tokens {
        match (self, depth) {
            (PolicerCurve::Mild, Tokens::Packets { thousandths }) => {
                Tokens::Packets { thousandths: thousandths / 10 }
            }
            (PolicerCurve::Mild, Tokens::Bytes(bytes)) => {
                Tokens::Bytes(Bytes::new(bytes.get() / 10))
            }
            _ => depth,
        }
    }
}

/// Debt, as a share of the depth, at which mild drops everything.
const MILD: f64 = 0.1;

impl ConexPolicerParams {
    pub(super) fn bucket(&self) -> TokenBucketParams {
        let floor = self.floor.unwrap_or_else(|| self.curve.floor(self.depth));
        let (fill_rate, depth, initial) = (self.fill_rate, self.depth, self.initial);
        TokenBucketParams { fill_rate, depth, floor: Some(floor), initial }
    }

    /// Returns the bucket of packets outside ConEx, if they have one.
    pub(super) fn limit(&self) -> Option<TokenBucketParams> {
        let of = |rate| TokenBucketParams::of_bytes(rate, self.not_conex_burst);
        self.not_conex_rate.map(of)
    }

    fn errors(&self) -> Vec<ParameterError> {
        if let Some(error) = self.tokens.misfit(self.fill_rate) {
            return vec![("fill_rate", error)];
        }
        let given = |key: &str| key != "floor" || self.floor.is_some();
        let mut errors = self.bucket().errors();
        errors.retain(|(key, _)| given(key));
        let limits = self.not_conex == NotConex::Limit;
        let unusable = match (limits, self.not_conex_rate) {
            (true, None) => Some("missing; not_conex = \"limit\" needs a rate, e.g. \"10 Mb/s\""),
            (false, Some(_)) => Some("has no meaning without not_conex = \"limit\""),
            _ => None,
        };
        errors.extend(unusable.map(|message| ("not_conex_rate", message.to_owned())));
        let burst = self.limit().map_or(Vec::new(), |limit| limit.errors());
        errors.extend(burst.into_iter().map(|(_, message)| ("not_conex_burst", message)));
        errors
    }
}
