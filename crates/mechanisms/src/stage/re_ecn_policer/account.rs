//! Account of a flow or user: its bucket, and its measurements.

use super::{Policed, ReEcnPolicerParams, Signals, Taken, tcp_fair_bytes_per_sec};
use crate::stage::ReEcn;
use crate::stage::slots::{FlowKey, Remembered};
use crate::token_bucket::{BucketRule, Credit, TokenBucket};
use crate::units::{Bytes, Span, Time, TokenRate, Tokens};

/// Common part of a policer's accounts.
#[derive(Clone, Copy, Debug)]
pub struct AccountRules {
    rule: BucketRule,
    tokens: Taken,
    counts_packets: bool,
    /// Maximum fill rate r, tokens per second.
    most: u64,
    k: f64,
    /// 8 k / T, for the fast computation of B with the configured T; 0 if T is measured.
    per_byte: f64,
    weight: f64,
    signals: Signals,
    /// Configured T, s.
    round_trip_s: f32,
    /// Shortest measurement of a rate with the configured T.
    least_span: Span,
}

/// Account of a flow or user. Fields that need not be exact have four bytes, since there may be a million accounts.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    key: FlowKey,
    bucket: TokenBucket,
    /// Mean interval N, packets; 0 before the first positive packet.
    interval: f32,
    /// Packets since the start of the last event, including this one.
    since: u32,
    /// Start of the last event, ms.
    event_ms: u32,
    /// Mean packet size s, bytes; 0 before the first.
    size: f32,
    /// Round trip T, s; 0 between a request and the first data, if it is measured.
    round_trip_s: f32,
    /// Time of the last rate measurement, or of the request, µs; only differences count.
    measured_us: u32,
    /// Bytes that have arrived since then.
    bytes: u32,
    /// Arrival rate B_i, or rate of positive volume with "positive" tokens, B/s.
    rate: f32,
}

impl Remembered for Account {
    fn key(&self) -> FlowKey {
        self.key
    }

    fn seen(&self) -> u64 {
        self.bucket.last().as_nanos()
    }
}

/// Tolerance in tokens between the two computations, below [`FAST`].
const NEAR: f64 = 1.0 / 1024.0;
/// Fill rate in tokens per second up to which rounding errors stay below [`NEAR`].
const FAST: f64 = (1_u64 << 38) as f64;
/// Above this, floating-point numbers are integers.
const ONES: f64 = (1_u64 << 52) as f64;

const fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// Shortest measurement of a rate.
const LEAST_SPAN: Span = Span::from_millis(10);

fn least_span(round_trip_s: f32) -> Span {
    Span::from_secs_f64(round_trip_s.into()).max(LEAST_SPAN)
}

impl AccountRules {
    /// Returns the rules for these parameters.
    pub fn new(params: &ReEcnPolicerParams, rule: BucketRule) -> Self {
        let round_trip_s = params.least_round_trip_s();
        let most = match params.fill_rate {
            TokenRate::Bits(rate) => rate.as_bps(),
            TokenRate::Packets { thousandths_per_sec } => thousandths_per_sec,
        };
        let is_at_hand = params.tokens == Taken::Data && round_trip_s > 0.0 && (most as f64) < FAST;
        AccountRules {
            rule,
            tokens: params.tokens,
            counts_packets: params.fill_rate.counts_packets(),
            most,
            k: params.k.0,
            per_byte: match is_at_hand {
                true => 8.0 * params.k.0 / f64::from(round_trip_s as f32),
                false => 0.0,
            },
            weight: params.weight.0,
            signals: params.signals,
            round_trip_s: round_trip_s as f32,
            least_span: least_span(round_trip_s as f32),
        }
    }

    /// Returns the shortest measurement of a rate.
    #[inline]
    fn least_span(&self, round_trip_s: f32) -> Span {
        if round_trip_s == self.round_trip_s { self.least_span } else { least_span(round_trip_s) }
    }

    /// Returns a packet's size in tokens.
    fn size(&self, len: Bytes) -> Credit {
        match self.counts_packets {
            true => Credit::of_tokens(Tokens::Packets { thousandths: 1000 }),
            false => Credit::of(len),
        }
    }

    /// Whether a packet takes tokens.
    fn takes(&self, says: ReEcn) -> bool {
        match self.tokens {
            Taken::Data => true,
            Taken::Positive => {
                matches!(says, ReEcn::Positive | ReEcn::Cancelled | ReEcn::Credit)
            }
        }
    }
}

impl Account {
    /// Returns the account before this packet, its first.
    pub fn beginning(packet: &Policed, law: &AccountRules, round_trip_s: f64) -> Self {
        Account {
            key: packet.key(),
            bucket: law.rule.bucket(packet.now),
            interval: 0.0,
            since: 0,
            event_ms: 0,
            size: 0.0,
            round_trip_s: round_trip_s as f32,
            measured_us: micros(packet.now),
            bytes: 0,
            rate: 0.0,
        }
    }

    /// Handles an arriving packet: the inflow until then is at the previous rate, `fill_rate_now` if that is known, and
    /// its declaration counts from now on.
    pub fn see(&mut self, packet: &Policed, law: &AccountRules, fill_rate_now: Option<u64>) {
        // No inflow matters to a full bucket.
        let is_full = self.bucket.fill_before() == law.rule.depth();
        let rule = match is_full {
            true => law.rule,
            false => law.rule.filled_at(fill_rate_now.unwrap_or_else(|| self.fill_rate_now(law))),
        };
        self.bucket.fill(&rule, packet.now);
        if packet.is_request {
            return;
        }
        let len = packet.len.as_f64() as f32;
        let weight = if self.size == 0.0 { 1.0 } else { law.weight as f32 };
        self.size += weight * (len - self.size);
        self.since = self.since.saturating_add(1);
        let positive = matches!(packet.says, ReEcn::Positive | ReEcn::Cancelled);
        if positive && self.begins_event(packet.now, law) {
            let n = self.since as f32;
            let first = self.interval == 0.0;
            self.interval = match first {
                true => n.max(self.interval_of_rate(law)),
                false => self.mean_with(n, law),
            };
            self.since = 0;
        }
        self.measure_rate(packet, law);
    }

    /// Returns the N at which the arrival rate would be allowed.
    fn interval_of_rate(&self, law: &AccountRules) -> f32 {
        let packets_per_round_trip = self.rate * self.round_trip_s / self.size;
        (packets_per_round_trip / law.k as f32).powi(2)
    }

    /// Whether a positive packet begins a new event.
    fn begins_event(&mut self, now: Time, law: &AccountRules) -> bool {
        let now_ms = (now.as_nanos() / 1_000_000) as u32;
        let since_ms = f64::from(now_ms.wrapping_sub(self.event_ms));
        let begins = self.interval == 0.0
            || law.signals == Signals::Each
            || since_ms >= 1e3 * f64::from(self.round_trip_s);
        if begins {
            self.event_ms = now_ms;
        }
        begins
    }

    /// Returns the time since the last rate measurement.
    const fn since_measured(&self, now: Time) -> Span {
        Span::from_micros(micros(now).wrapping_sub(self.measured_us) as u64)
    }

    fn mean_with(&self, n: f32, law: &AccountRules) -> f32 {
        self.interval + law.weight as f32 * (n - self.interval)
    }

    fn measure_rate(&mut self, packet: &Policed, law: &AccountRules) {
        if law.takes(packet.says) {
            let tokens = if law.counts_packets { 1 } else { packet.len.get() as u32 };
            self.bytes = self.bytes.saturating_add(tokens);
        }
        let span = self.since_measured(packet.now);
        if span >= law.least_span(self.round_trip_s) {
            self.rate = (f64::from(self.bytes) / span.as_secs()) as f32;
            (self.bytes, self.measured_us) = (0, micros(packet.now));
        }
    }

    /// Measures T: a request begins a round trip, and data ends it; results are at least `least_s`.
    pub fn measure(&mut self, packet: &Policed, least_s: f64) {
        if packet.is_request {
            (self.round_trip_s, self.measured_us, self.bytes) = (0.0, micros(packet.now), 0);
        } else if self.round_trip_s == 0.0 {
            let measured_s = self.since_measured(packet.now).as_secs();
            self.round_trip_s = measured_s.max(least_s) as f32;
        }
    }

    /// Returns p; `None` before the first declaration.
    fn declared_share(&self, law: &AccountRules) -> Option<f64> {
        (self.interval > 0.0).then(|| 1.0 / f64::from(self.longer(law)))
    }

    /// Returns 1/p.
    fn longer(&self, law: &AccountRules) -> f32 {
        let open = self.since as f32;
        if open > self.interval { self.mean_with(open, law) } else { self.interval }
    }

    /// Returns the fill rate, tokens per second.
    fn tokens_per_sec(&self, law: &AccountRules) -> f64 {
        if law.tokens == Taken::Positive {
            return law.most as f64;
        }
        let round_trip_s = f64::from(self.round_trip_s);
        let fair = self
            .declared_share(law)
            .filter(|_| round_trip_s > 0.0)
            .map(|p| 8.0 * tcp_fair_bytes_per_sec(law.k, self.size.into(), round_trip_s, p));
        let most = law.most as f64;
        fair.unwrap_or(most).min(most)
    }

    /// Returns the fill rate in whole tokens per second, as a bucket takes it.
    #[inline]
    pub fn fill_rate_now(&self, law: &AccountRules) -> u64 {
        if self.interval == 0.0 {
            return law.most;
        }
        self.at_hand(law).unwrap_or_else(|| self.exactly(law))
    }

    #[cold]
    fn exactly(&self, law: &AccountRules) -> u64 {
        self.tokens_per_sec(law) as u64
    }

    /// Returns [`Self::fill_rate_now`] by one root and no division, if it is far enough from integers that rounding
    /// makes no difference.
    #[inline]
    fn at_hand(&self, law: &AccountRules) -> Option<u64> {
        if self.round_trip_s != law.round_trip_s {
            return None;
        }
        let root = libm::sqrt(f64::from(self.longer(law)));
        let near = (law.per_byte * f64::from(self.size) * root).min(FAST);
        // Adding rounds to an integer where the last digit is one.
        let rounded = near + ONES;
        let part = near - (rounded - ONES);
        let whole = rounded.to_bits() - ONES.to_bits() - u64::from(part < 0.0);
        let is_clear = part.abs() > NEAR;
        is_clear.then_some(whole.min(law.most))
    }

    /// Whether the bucket is empty for this packet, which it has just seen.
    pub fn is_empty(&self, packet: &Policed, law: &AccountRules) -> bool {
        self.bucket.fill_before() < law.size(packet.len)
    }

    /// Returns p_l: the share of the arrival rate above the fill rate; 1 until a round trip has given the arrival rate.
    pub fn excess(&self, law: &AccountRules) -> f64 {
        if self.rate == 0.0 {
            return 1.0;
        }
        let per_token = if law.counts_packets { 1000.0 } else { 8.0 };
        let allowed = self.tokens_per_sec(law) / per_token;
        (1.0 - allowed / f64::from(self.rate)).clamp(0.0, 1.0)
    }

    /// Charges a packet that it has just seen, so that there is no further inflow.
    pub fn charge(&mut self, packet: &Policed, law: &AccountRules) {
        if law.takes(packet.says) {
            self.bucket.take(&law.rule, packet.now, law.size(packet.len));
        }
    }

    /// Returns the fill [B or packets], p, and the fill rate [bit/s or packets/s], after the last packet.
    pub fn levels(&self, law: &AccountRules) -> [f64; 3] {
        let fill = self.bucket.fill_before();
        let (fill, per_sec) = match law.counts_packets {
            true => (fill.as_packets(), self.tokens_per_sec(law) / 1000.0),
            false => (fill.as_bytes(), self.tokens_per_sec(law)),
        };
        [fill, self.declared_share(law).unwrap_or(0.0), per_sec]
    }

    /// See [`super::ReEcnPolicer::change_bytes`].
    pub fn change_bytes(
        law: &AccountRules,
        round_trip_s: f64,
        (len, positive): (Bytes, bool),
        elapsed: Span,
        p: f64,
    ) -> f64 {
        let says = if positive { ReEcn::Positive } else { ReEcn::Neutral };
        let (user, flow, connection, is_request) = (0, 0, 0, false);
        let packet = |now| Policed { now, len, user, flow, connection, is_request, says };
        let mut account = Account::beginning(&packet(Time::ZERO), law, round_trip_s);
        (account.interval, account.size) = ((1.0 / p) as f32, len.as_f64() as f32);
        account.bucket.take(&law.rule, Time::ZERO, law.rule.depth().share(0.5));
        let before = account.bucket.fill_at(&law.rule, Time::ZERO);
        let now = Time::ZERO + elapsed;
        account.see(&packet(now), law, None);
        account.charge(&packet(now), law);
        (account.bucket.fill_before() - before).as_bytes()
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
