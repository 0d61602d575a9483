//! Re-ECN policer: limits flows or users to TCP's rate at the congestion that they declare. Y. Zhang, I. Johansson, H.
//! Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability in Cellular Networks", ITC
//! 23, 2011, section II.
//!
//! ```text
//! B = k s/(T √p)      k ≤ √(3/2), s = mean packet size, T = round-trip time, p = 1/N
//! N ← (1 − w) N + w n                         with each event that is declared, n packets after the one before
//!
//! tokens = "data"      f ← min(D, f + min(r, B) Δt) − s     per packet        r = what comes in at most,
//! tokens = "positive"  f ← min(D, f + r Δt) − s             per positive one  D = depth, b_start at first
//!
//! where f < s    sanction = "discard"         the packet is dropped
//!                sanction = "probability"     it is dropped with p_l = (B_i − B)/B_i, B_i = the rate that comes
//! ```
//!
//! A dropped packet takes nothing, unless charge_dropped is set; with p_l, a packet that passes an empty bucket adds its
//! size to the debt, up to D.
//! The paper has both kinds of tokens in one paragraph: its update equation takes each packet's size out of the bucket,
//! while an earlier sentence says that only positive packets consume tokens. The first limits a flow to a rate that
//! decreases with its declarations, the second to an amount of congestion at any rate. With "positive" tokens p_l
//! compares positive volume with r.
//!
//! *Positive packets that are dropped.* Without a charge for them a flood pays for its congestion with packets that do
//! not pass, of which it has plenty. With charge_dropped = true they take tokens as well and the bucket may owe up to
//! its depth, so that an empty bucket stops all packets of its owner until their congestion is paid: a congestion
//! bucket.
//!
//! Choices where the paper is silent:
//!
//! - *Before the first declaration* p is not known and B is unbounded: the fill rate is r, its maximum. A sender that
//!   declares nothing thus gets r, whether it uses re-ECN or not.
//! - *p counts events*: a positive packet begins an event, and those within a round trip after it belong to it. TCP
//!   reacts once a round trip, however many packets were marked, and its formula holds for this p (RFC 5348, section
//!   5.2). With signals = "each" every positive packet counts, as in the paper's text: then slow start, in which a
//!   queue marks half a window, limits a flow for minutes.
//! - *The first N* is at least the one at which the arrival rate would be allowed (RFC 5348, section 6.3.1), since the
//!   first mark of slow start comes much earlier than TCP's mean interval at that rate. Its effect is bounded by r.
//! - *The moving average of p* is one of N, as in the paper's notation: it covers 1/w declarations, however rare they
//!   are. Packets since the last declaration count as soon as they exceed N, so that the allowance of a sender that
//!   stops declaring grows gradually.
//! - *Credit* declares no congestion: it does not count for p, but takes "positive" tokens.
//! - *T* is configured, or measured for each flow, from its connection request to its first data, or both: then the
//!   configured value is a lower bound. With measurement alone it is unknown for flows without a request, and a sender
//!   that does not wait for the answer can make it arbitrarily short: then only r bounds B, as before the first
//!   declaration.
//!
//! Acknowledgements are ignored.

use super::by_user::ByUser;
use super::slots::{FlowKey, Slots};
use super::{Capabilities, Passage, Passing, ReEcn, Stage};
use crate::bottleneck::falls;
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::token_bucket::TokenBucketParams;
use crate::units::{Bytes, Factor, Share, Span, Time, TokenRate, Tokens};
use crate::{parameters, words};
use account::{Account, AccountRules};

mod account;

parameters! {
    /// Limits flows or users to TCP's rate at the congestion that they declare by re-ECN.
    pub struct ReEcnPolicerParams {
        /// r: largest fill rate of a bucket.
        pub fill_rate: TokenRate,
        /// D: bucket depth.
        pub depth: Tokens,
        /// b_start: initial fill. Default: a full bucket.
        pub initial: Option<Tokens>,
        /// Packets that share a bucket.
        pub buckets: BucketScope = "by-flow",
        /// Packets that take tokens.
        pub tokens: Taken = "data",
        /// Treatment of packets that find the bucket empty.
        pub sanction: Sanction = "probability",
        /// Charge positive packets that are dropped, too, with tokens = "positive": the bucket may owe up to its depth.
        pub charge_dropped: bool = "false",
        /// k: at most √(3/2), which is TCP's.
        pub k: Factor = "1.224744871391589",
        /// T: round-trip time of a bucket's owner, with tokens = "data", unless it is measured.
        pub round_trip: Option<Span>,
        /// Measure T of each flow, from its request to its first data, and use it if it is longer than round_trip.
        pub measures: bool = "false",
        /// Packets that count for p.
        pub signals: Signals = "events",
        /// w: weight of a new sample in N.
        pub weight: Share = "0.125",
        /// Treatment of packets outside re-ECN.
        pub outside: Outside = "police",
        /// With buckets = "by-flow": maximum memory for flows.
        pub memory: Bytes = "64 MB",
    }
    check ReEcnPolicerParams::errors;
}

words! {
    /// Packets that share a bucket.
    pub enum BucketScope {
        /// Each flow.
        ByFlow = "by-flow",
        /// Each user, for all its flows together.
        ByUser = "by-user",
        /// All users at this stage.
        Together = "together",
    }
}

words! {
    /// Packets that take tokens.
    pub enum Taken {
        /// Each packet; the fill rate falls as more is declared.
        Data = "data",
        /// Positive packets and credit.
        Positive = "positive",
    }
}

words! {
    /// Treatment of packets that find the bucket empty.
    pub enum Sanction {
        /// They are dropped.
        Discard = "discard",
        /// They are dropped with the probability by which they exceed the rate.
        Probability = "probability",
    }
}

words! {
    /// Packets that count for p.
    pub enum Signals {
        /// Positive packets that are a round trip apart.
        Events = "events",
        /// Each positive packet.
        Each = "each",
    }
}

words! {
    /// Treatment of packets outside re-ECN.
    pub enum Outside {
        /// Policed as senders that declare nothing.
        Police = "police",
        /// They pass without charge.
        Pass = "pass",
        /// They are dropped.
        Drop = "drop",
    }
}

/// √(3/2): TCP's constant with an acknowledgement for each packet.
const MOST_K: f64 = 1.224_744_871_391_589;
/// Tolerance for rounded values such as 1.2247449.
const ROUNDED: f64 = 1e-6;
const MAX_MEMORY: u64 = 1_000_000_000;

/// Returns B [B/s]: TCP's rate with packets of `size_bytes`, a round trip of `round_trip_s` and a share p of marked
/// packets. k ≤ √(3/2).
pub fn tcp_fair_bytes_per_sec(k: f64, size_bytes: f64, round_trip_s: f64, p: f64) -> f64 {
    k * size_bytes / (round_trip_s * libm::sqrt(p))
}

/// Round trip so short that B is above any r, s.
const NO_TIME_S: f64 = 1e-12;

impl ReEcnPolicerParams {
    /// Returns T if none is measured, and the lower bound of measured ones, s.
    fn least_round_trip_s(&self) -> f64 {
        let unknown = if self.measures { NO_TIME_S } else { 0.0 };
        self.round_trip.map_or(unknown, Span::as_secs)
    }

    fn bucket(&self) -> TokenBucketParams {
        let (fill_rate, depth, initial) = (self.fill_rate, self.depth, self.initial);
        let owes = self.sanction == Sanction::Probability || self.charge_dropped;
        let floor = owes.then_some(depth);
        TokenBucketParams { fill_rate, depth, floor, initial }
    }

    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = self.bucket().errors();
        errors.retain(|(key, _)| *key != "floor");
        let data = self.tokens == Taken::Data;
        let least = Slots::<Account>::LEAST_BYTES;
        let checks = [
            (
                self.k.0 > MOST_K + ROUNDED,
                "k",
                "is above √(3/2), at which a flow has more than TCP: at most 1.2247449".to_owned(),
            ),
            (
                data && self.round_trip.is_none() && !self.measures,
                "round_trip",
                "missing; what TCP would have follows from it: give e.g. \"100 ms\", or of flows measures = true"
                    .to_owned(),
            ),
            (
                self.round_trip.is_some_and(|span| span == Span::ZERO),
                "round_trip",
                "must not be zero".to_owned(),
            ),
            (
                data && self.fill_rate.counts_packets(),
                "fill_rate",
                "counts packets, but tokens = \"data\" are bytes: give e.g. \"5 Mb/s\"".to_owned(),
            ),
            (
                data && self.charge_dropped,
                "charge_dropped",
                "would charge each packet of a sender that is stopped: remove it, or give tokens = \"positive\"".to_owned(),
            ),
            (
                self.measures && self.buckets != BucketScope::ByFlow,
                "measures",
                "users have no round-trip time of their own: remove it, or set buckets = \"by-flow\""
                    .to_owned(),
            ),
            (
                self.weight.0 == 0.0,
                "weight",
                "nothing would ever change what was declared first: above 0".to_owned(),
            ),
            (
                !(least..=MAX_MEMORY).contains(&self.memory.get()),
                "memory",
                format!("not from {least} B, which a few flows take, to 1 GB"),
            ),
        ];
        let failed = checks.into_iter().filter(|(fails, ..)| *fails);
        errors.extend(failed.map(|(_, key, message)| (key, message)));
        errors
    }
}

/// State of one policer.
#[derive(Clone, Debug)]
pub struct ReEcnPolicer {
    law: AccountRules,
    sanction: Sanction,
    charge_dropped: bool,
    outside: Outside,
    measures: bool,
    round_trip_s: f64,
    accounts: Accounts,
    counts: ByUser<Counts>,
}

/// Buckets.
#[derive(Clone, Debug)]
enum Accounts {
    ByFlow(Slots<Account>),
    ByUser(ByUser<Account>),
    Together(Option<Account>),
}

/// Buckets that have left a policer with their user.
#[derive(Debug)]
pub struct Carried(Vec<Account>);

/// Packet with the fields that a policer uses; no acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Policed {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire.
    pub len: Bytes,
    /// Number of the user whose packet it is.
    pub user: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Number of its connection; 0 if its header does not show that.
    pub connection: u32,
    /// Whether it is a connection request.
    pub is_request: bool,
    /// Its meaning in re-ECN.
    pub says: ReEcn,
}

impl Policed {
    fn of(packet: &Passing) -> Self {
        let &Passing { now, len, user, flow, sequence, is_request, .. } = packet;
        let (connection, says) = (sequence.map_or(0, |own| own.connection), packet.re_ecn());
        Policed { now, len, user, flow, connection, is_request, says }
    }

    fn key(&self) -> FlowKey {
        FlowKey::new(self.flow, self.connection)
    }
}

/// Counts of a user.
#[derive(Clone, Copy, Debug)]
struct Counts {
    positive: [u64; 2],
    credit: [u64; 2],
    all: [u64; 2],
    outside: [u64; 2],
    /// Times of its first packet, and of the first drop.
    first: Time,
    sanctioned: Option<Time>,
    /// Bucket seen last, if it is not the user's own.
    left: Option<Account>,
    /// If it is the user's own: its fill rate until the next packet, tokens per second.
    fill_rate_now: Option<u64>,
}

const EMPTY: Passage = Passage::Drop("bucket empty");
const OUTSIDE: Passage = Passage::Drop("outside re-ECN");

impl Stage for ReEcnPolicer {
    type Params = ReEcnPolicerParams;

    const ABOUT: About = About {
        name: "re-ecn-policer",
        title: "Re-ECN policer",
        source: "Zhang et al., Metering Re-ECN, 2011, section II",
        usage: r#"users.NAME.ingress = [{ kind = "re-ecn-policer", fill_rate = "5 Mb/s", depth = "100 kB", round_trip = "100 ms" }]"#,
        file: "stage/re_ecn_policer.rs",
        text: crate::mechanism::source_text!("re_ecn_policer.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { has_levels: true, ..Capabilities::NONE };

    fn new(params: ReEcnPolicerParams) -> Self {
        let rule = params.bucket().rule();
        ReEcnPolicer {
            law: AccountRules::new(&params, rule),
            sanction: params.sanction,
            charge_dropped: params.charge_dropped,
            outside: params.outside,
            measures: params.measures,
            round_trip_s: params.least_round_trip_s(),
            accounts: match params.buckets {
                BucketScope::ByFlow => Accounts::ByFlow(Slots::new(params.memory)),
                BucketScope::ByUser => Accounts::ByUser(ByUser::new()),
                BucketScope::Together => Accounts::Together(None),
            },
            counts: ByUser::new(),
        }
    }

    fn validate(params: &ReEcnPolicerParams, packet: Bytes) -> Option<ParameterError> {
        params.bucket().validate(packet)
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        if packet.is_ack { Passage::On } else { self.police(&Policed::of(packet), draw) }
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, counts) in self.counts.iter() {
            let Counts { all, positive, credit, outside, first, sanctioned, .. } = counts;
            for (name, count) in NAMES.iter().zip([all, positive, credit, outside]) {
                name.iter().zip(count).for_each(|(name, count)| each(user, name, *count));
            }
            let until = sanctioned.map(|at| at.since(*first).as_nanos() / 1000);
            until.into_iter().for_each(|us| each(user, "until_sanction_us", us));
        }
    }

    fn state_bytes(&self) -> usize {
        match &self.accounts {
            Accounts::ByFlow(slots) => slots.state_bytes(),
            Accounts::ByUser(accounts) => accounts.state_bytes(),
            Accounts::Together(account) => size_of_val(account),
        }
    }

    fn levels(&self, user: u32, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let left = match &self.accounts {
            Accounts::ByUser(accounts) => accounts.get(user),
            Accounts::ByFlow(_) | Accounts::Together(_) => {
                self.counts.get(user).and_then(|counts| counts.left.as_ref())
            }
        };
        let Some(bucket) = left else { return };
        let names = ["fill", "declared_share", "allowed_bps"];
        names.into_iter().zip(bucket.levels(&self.law)).for_each(|(name, level)| each(name, level));
    }
}

/// Names of the counts: packets, bytes.
const NAMES: [[&str; 2]; 4] = [
    ["policed_packets", "policed_bytes"],
    ["positive_packets", "positive_bytes"],
    ["credit_packets", "credit_bytes"],
    ["outside_packets", "outside_bytes"],
];

fn find_or_add(
    slots: &mut Slots<Account>,
    key: FlowKey,
    begin: impl FnOnce() -> Account,
) -> &mut Account {
    if slots.find(key).is_none() {
        slots.add(begin());
    }
    slots.find(key).expect("is there")
}

impl Counts {
    const fn beginning(now: Time) -> Self {
        let none = [0; 2];
        let (positive, credit, all, outside) = (none, none, none, none);
        let (sanctioned, left, fill_rate_now) = (None, None, None);
        Counts { positive, credit, all, outside, first: now, sanctioned, left, fill_rate_now }
    }

    const fn see(&mut self, says: ReEcn, len: Bytes) {
        let kind = match says {
            ReEcn::Positive | ReEcn::Cancelled => Some(&mut self.positive),
            ReEcn::Credit => Some(&mut self.credit),
            ReEcn::Outside => Some(&mut self.outside),
            ReEcn::Neutral | ReEcn::Negative => None,
        };
        if let Some([packets, bytes]) = kind {
            (*packets, *bytes) = (*packets + 1, *bytes + len.get());
        }
        self.all[0] += 1;
        self.all[1] += len.get();
    }
}

impl ReEcnPolicer {
    /// Judges a packet.
    #[inline]
    pub fn police(&mut self, packet: &Policed, draw: impl FnMut() -> f64) -> Passage {
        let counts = self.counts.of(packet.user, || Counts::beginning(packet.now));
        counts.see(packet.says, packet.len);
        match self.outside {
            Outside::Pass if packet.says == ReEcn::Outside => return Passage::On,
            Outside::Drop if packet.says == ReEcn::Outside => return OUTSIDE,
            _ => {}
        }
        let (law, round_trip_s) = (&self.law, self.round_trip_s);
        let begin = || Account::beginning(packet, law, round_trip_s);
        let by_user = matches!(self.accounts, Accounts::ByUser(_));
        let account = match &mut self.accounts {
            Accounts::ByUser(accounts) => accounts.of(packet.user, begin),
            Accounts::ByFlow(slots) => find_or_add(slots, packet.key(), begin),
            Accounts::Together(account) => account.get_or_insert_with(begin),
        };
        if self.measures {
            account.measure(packet, round_trip_s);
        }
        account.see(packet, law, counts.fill_rate_now);
        let p_drop = match account.is_empty(packet, law) {
            false => 0.0,
            true if self.sanction == Sanction::Discard => 1.0,
            true => account.excess(law),
        };
        let dropped = falls(p_drop, draw);
        if !dropped || self.charge_dropped {
            account.charge(packet, law);
        }
        // The fill rate from now on is known. Computing it at the next packet would delay the verdict by a root and two
        // divisions; here nothing waits for it.
        match by_user {
            true => counts.fill_rate_now = Some(account.fill_rate_now(law)),
            false => counts.left = Some(*account),
        }
        if dropped {
            counts.sanctioned.get_or_insert(packet.now);
            return EMPTY;
        }
        Passage::On
    }

    /// Returns the change of a bucket's fill in bytes, from half of the depth, by a packet of `len` that arrives
    /// `elapsed` after the last, if a share `p` is positive, and this one if `positive`; computed by the policer's
    /// code.
    pub fn change_bytes(
        params: &ReEcnPolicerParams,
        len: Bytes,
        elapsed: Span,
        p: f64,
        positive: bool,
    ) -> f64 {
        let law = AccountRules::new(params, params.bucket().rule());
        let round_trip_s = params.least_round_trip_s();
        Account::change_bytes(&law, round_trip_s, (len, positive), elapsed, p)
    }

    /// Removes and returns the buckets of a user; `owns` selects its flows. A common bucket stays.
    pub fn hand_out(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> Carried {
        if let Some(counts) = self.counts.get_mut(user) {
            (counts.left, counts.fill_rate_now) = (None, None);
        }
        Carried(match &mut self.accounts {
            Accounts::ByUser(accounts) => accounts.take(user).into_iter().collect(),
            Accounts::ByFlow(slots) => slots.take_those(|key| owns(key.flow())),
            Accounts::Together(_) => Vec::new(),
        })
    }

    /// Adds the buckets that a user had at a policer with the same parameters.
    pub fn take_in(&mut self, user: u32, Carried(buckets): Carried) {
        for bucket in buckets {
            match &mut self.accounts {
                Accounts::ByUser(accounts) => *accounts.of(user, || bucket) = bucket,
                Accounts::ByFlow(slots) => *slots.add(bucket) = bucket,
                Accounts::Together(_) => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "re_ecn_policer_tests.rs"]
mod tests;
