//! ConEx policer: limits each user to an allowance of congestion, by its senders' declarations. A. Sanhaji, P. Niger,
//! P. Cadro and A.-L. Beylot, "ConEx Performance Evaluation and Application to Video Streaming", 2015, section III-F,
//! figures 5 and 6; RFC 7713 (ConEx: abstract mechanism), section 5.4.3.
//!
//! Each user has a token bucket, whose fill rate is the congestion that the user may cause and whose depth is the burst
//! of congestion that it may save up. Only packets with declarations take tokens: their size, or one if packets are
//! counted, for each loss (L), mark (E) and credit (C) declared. A sender that declares nothing pays nothing, whatever
//! it sends.
//!
//! ```text
//! a = declarations of this packet · size, less marks that packets had when they came here (upstream)
//! f ← min(d, f + r (t − t_last))        r = fill rate, d = bucket depth
//! f ← max(−e, f − a)                    e = floor
//!
//! strict    p = 1 where f ≤ 0, else 0                      e = d
//! mild      p = min(1, −f/(d/10)) where f < 0, else 0      e = d/10
//! soft      p = min(1, −f/d) where f < 0, else 0           e = d
//! observe   p = 0                                          e = d
//! ```
//!
//! p is the drop probability of this packet, after it has paid, or before (`judged`).
//!
//! *Marks on arrival.* Where users enter the network, only the user's own host can have set CE, so that it is the
//! user's own and pays for nothing (`upstream = "ignore"`). Behind another network, congestion upstream of the policer
//! is not the user's to pay here: with `upstream = "credit"` a CE mark on arrival pays for a mark declared later, so
//! that the charge is the congestion of the rest of the path. At a user's ingress that would let a sender set CE on
//! all its packets, declare a mark on each, satisfy every auditor, and pay nothing.
//!
//! *Tokens.* By default they are bytes. Where they are packets, as in the paper, a packet of 9000 B declares six times
//! as much for the same price as one of 1500 B.
//!
//! Choices where the sources are silent or differ:
//!
//! - *Which packets are dropped.* The paper drops all packets of a user, which is the default; a policer that drops
//!   only packets with declarations needs to look at no others.
//! - *The cost of a dropped declaration.* Its tokens, since the congestion has already been caused. A sender that
//!   declares it again (RFC 7786) pays twice; `charge_dropped = false` charges what passes, each declaration once.
//! - *The decisive fill.* The fill after the packet has paid; `judged = "as-found"` decides first and charges
//!   afterwards, as token buckets in ns-2 do (`adc/tbf.cc`).
//! - *The lowest fill.* In the paper's figure the fill falls to the value where p is 1. For strict that value would be
//!   0, at which the bucket would pass packets again at once; its debt may be as large as for soft, one depth, so that
//!   users wait at most d/r after their last declaration.
//! - *Credit.* The paper counts losses and marks; the RFC all ConEx-marked packets. By default credit is charged:
//!   otherwise new flows with credit, started whenever one is used up, would never pay.
//! - *Action.* The paper drops. A policer may use a class of DiffServ instead (RFC 7713, section 5.4.3): with `action =
//!   "deprioritise"`, p is the probability that the packet becomes lower effort (RFC 8622).
//! - *Packets outside ConEx.* By default dropped with the other packets of their user, so that not declaring does not
//!   evade the policer.
use super::by_user::ByUser;
use super::{Capabilities, Declared, Ecn, FastVerdict, PacketSummary, Passage, Passing, Stage};
use crate::bottleneck::falls;
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::token_bucket::{BucketRule, Credit, TokenBucket};
use crate::units::{Bytes, Time, Tokens};
pub use params::{
    Buckets, ConexPolicerParams, CountedAs, Judged, NotConex, PolicerAction, PolicerCurve, Stopped,
    Upstream,
};

mod params;

/// State of one policer.
#[derive(Clone, Debug)]
pub struct ConexPolicer {
    curve: PolicerCurve,
    action: PolicerAction,
    drops: Stopped,
    buckets: Buckets,
    charge_dropped: bool,
    judged: Judged,
    charge_credit: bool,
    upstream: Upstream,
    not_conex: NotConex,
    rule: BucketRule,
    limit: Option<BucketRule>,
    counts_packets: bool,
    accounts: ByUser<Account>,
    counts: ByUser<Counts>,
}

/// Account of a user.
#[derive(Clone, Copy, Debug)]
struct Account {
    bucket: TokenBucket,
    /// Bucket of packets outside ConEx.
    limit: Option<TokenBucket>,
    /// Marks of arriving packets that have not paid for a declaration yet.
    upstream: Credit,
}

/// Counts of a user: packets and bytes of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    by_kind: [[u64; 2]; NAMES.len()],
    over_allowance: u64,
    /// Packets and bytes that became lower effort.
    deprioritised: [u64; 2],
    /// Tokens taken, in billionths of a token.
    taken: u128,
}

impl Counts {
    fn add(&mut self, kind: Kind, len: Bytes) {
        let [packets, bytes] = &mut self.by_kind[kind as usize];
        *packets += 1;
        *bytes += len.get();
    }
}

/// Kinds of counts in packets and bytes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Conex,
    NotConex,
    DeclaredLoss,
    DeclaredMark,
    DeclaredCredit,
    Upstream,
}

/// Names of [`Kind`]: packets, bytes.
const NAMES: [[&str; 2]; 6] = [
    ["conex_packets", "conex_bytes"],
    ["not_conex_packets", "not_conex_bytes"],
    ["declared_loss_packets", "declared_loss_bytes"],
    ["declared_mark_packets", "declared_mark_bytes"],
    ["declared_credit_packets", "declared_credit_bytes"],
    ["marked_upstream_packets", "marked_upstream_bytes"],
];

/// Reasons of drops.
const OVER_ALLOWANCE: Passage = Passage::Drop("over allowance");
const NOT_CONEX: Passage = Passage::Drop("not ConEx");
const NOT_CONEX_LIMIT: Passage = Passage::Drop("not ConEx, above limit");

impl Stage for ConexPolicer {
    type Params = ConexPolicerParams;

    const ABOUT: About = About {
        name: "conex-policer",
        title: "ConEx policer",
        source: "Sanhaji et al. 2015, section III-F; RFC 7713, section 5.4.3",
        usage: r#"users.NAME.ingress = [{ kind = "conex-policer", fill_rate = "540 kb/s", depth = "67500 B" }]"#,
        file: "stage/conex_policer.rs",
        text: crate::mechanism::source_text!("conex_policer.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { has_levels: true, has_fast_path: true, ..Capabilities::NONE };

    fn new(params: ConexPolicerParams) -> Self {
        ConexPolicer {
            curve: params.curve,
            action: params.action,
            drops: params.drops,
            buckets: params.buckets,
            charge_dropped: params.charge_dropped,
            judged: params.judged,
            charge_credit: params.charge_credit,
            upstream: params.upstream,
            not_conex: params.not_conex,
            rule: params.bucket().rule(),
            limit: params.limit().map(|limit| limit.rule()),
            counts_packets: params.fill_rate.counts_packets(),
            accounts: ByUser::new(),
            counts: ByUser::new(),
        }
    }

    fn deprioritises(params: &ConexPolicerParams) -> bool {
        params.action == PolicerAction::Deprioritise
    }

    fn validate(params: &ConexPolicerParams, packet: Bytes) -> Option<ParameterError> {
        let burst = params.limit().and_then(|limit| limit.validate(packet));
        let burst = burst.map(|(_, message)| ("not_conex_burst", message));
        params.bucket().validate(packet).or(burst)
    }

    #[inline]
    fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
        let &PacketSummary { user, len, ecn, declared, .. } = packet;
        if self.passes_free(user, len, ecn == Ecn::Ce, declared) {
            FastVerdict::Pass
        } else {
            FastVerdict::Full
        }
    }

    fn pass(&mut self, packet: &mut Passing, mut draw: impl FnMut() -> f64) -> Passage {
        if self.passes_free(packet.user, packet.len, packet.is_marked(), packet.declared) {
            return Passage::On;
        }
        self.count(packet);
        match packet.declared.conex {
            true => self.police(packet, draw),
            false => self.pass_outside(packet, &mut draw),
        }
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        let (tokens, token) = match self.counts_packets {
            true => ("tokens_taken_packets", Tokens::Packets { thousandths: 1000 }),
            false => ("tokens_taken_bytes", Tokens::Bytes(Bytes::new(1))),
        };
        for (user, counts) in self.counts.iter() {
            for (name, count) in NAMES.iter().flatten().zip(counts.by_kind.iter().flatten()) {
                each(user, name, *count);
            }
            each(user, "over_allowance_packets", counts.over_allowance);
            if self.action == PolicerAction::Deprioritise {
                each(user, "deprioritised_packets", counts.deprioritised[0]);
                each(user, "deprioritised_bytes", counts.deprioritised[1]);
            }
            let taken = counts.taken / u128::from(Credit::of_tokens(token).billionths());
            each(user, tokens, u64::try_from(taken).unwrap_or(u64::MAX));
        }
    }

    fn state_bytes(&self) -> usize {
        self.accounts.state_bytes()
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(account) = self.accounts.get(self.buckets.account_of(user)) else { return };
        let fill = account.bucket.fill_at(&self.rule, now);
        match self.counts_packets {
            true => each("fill_packets", fill.as_packets()),
            false => each("fill_bytes", fill.as_bytes()),
        }
    }
}

impl ConexPolicer {
    /// State per user without counts for tables, bytes.
    pub const STATE_BYTES_PER_USER: usize = size_of::<Account>();

    /// Counts and passes a packet that has no declaration, was not marked, and whose user had tokens at the last
    /// declaration: since then the fill can only have grown, so that most packets need no arithmetic.
    #[inline]
    fn passes_free(&mut self, user: u32, len: Bytes, marked: bool, declared: Declared) -> bool {
        let Declared { conex, loss, mark, credit, .. } = declared;
        let has_tokens = |account: &Account| account.bucket.fill_before() > Credit::ZERO;
        let free = conex
            && !(loss || mark || credit || marked)
            && self.accounts.get(self.buckets.account_of(user)).is_some_and(has_tokens);
        if free {
            self.counts.of(user, Counts::default).add(Kind::Conex, len);
        }
        free
    }

    fn count(&mut self, packet: &Passing) {
        let counts = self.counts.of(packet.user, Counts::default);
        let mut count = |holds: bool, kind: Kind| {
            if holds {
                counts.add(kind, packet.len);
            }
        };
        let Declared { conex, loss, mark, credit, re: _ } = packet.declared;
        count(conex, Kind::Conex);
        count(!conex, Kind::NotConex);
        count(conex && loss, Kind::DeclaredLoss);
        count(conex && mark, Kind::DeclaredMark);
        count(conex && credit, Kind::DeclaredCredit);
        count(conex && packet.is_marked(), Kind::Upstream);
    }

    /// Returns the cost of a single declaration on a packet of this size.
    fn size(&self, packet: &Passing) -> Credit {
        match self.counts_packets {
            true => Credit::of_tokens(Tokens::Packets { thousandths: 1000 }),
            false => Credit::of(packet.len),
        }
    }

    /// Charges a packet of a ConEx sender, and judges it.
    fn police(&mut self, packet: &mut Passing, mut draw: impl FnMut() -> f64) -> Passage {
        let (now, size) = (packet.now, self.size(packet));
        let Declared { loss, mark, credit, .. } = packet.declared;
        let when = |holds: bool| if holds { size } else { Credit::ZERO };
        let (rule, charge_credit) = (self.rule, self.charge_credit);
        let pays = self.upstream == Upstream::Credit && packet.is_marked();
        let account = self.account(packet.user, now);
        account.upstream = account.upstream + when(pays);
        let paid_upstream = when(mark).min(account.upstream);
        account.upstream = account.upstream - paid_upstream;
        let cost = when(loss) + when(mark) + when(credit && charge_credit) - paid_upstream;
        let found = account.bucket.fill(&rule, now);
        let left = rule.after(found, cost);
        let decisive = match self.judged {
            Judged::OncePaid => left,
            Judged::AsFound => found,
        };
        let stoppable = self.drops == Stopped::All || cost > Credit::ZERO;
        let stopped = stoppable && falls(self.curve.probability(decisive, rule.depth()), &mut draw);
        let dropped = stopped && self.action == PolicerAction::Drop;
        let taken = match dropped && !self.charge_dropped {
            true => Credit::ZERO,
            false => self.account(packet.user, now).bucket.take(&rule, now, cost),
        };
        let counts = self.counts.of(packet.user, Counts::default);
        counts.taken += u128::from(taken.billionths());
        counts.over_allowance += u64::from(left < Credit::ZERO);
        if stopped { self.stop(packet) } else { Passage::On }
    }

    /// Drops a packet above the allowance, or lets it pass as lower effort.
    fn stop(&mut self, packet: &mut Passing) -> Passage {
        if self.action == PolicerAction::Drop {
            return OVER_ALLOWANCE;
        }
        packet.lower_effort = true;
        let [packets, bytes] = &mut self.counts.of(packet.user, Counts::default).deprioritised;
        *packets += 1;
        *bytes += packet.len.get();
        Passage::On
    }

    /// Judges a packet outside ConEx.
    fn pass_outside(&mut self, packet: &mut Passing, draw: &mut impl FnMut() -> f64) -> Passage {
        let (now, rule) = (packet.now, self.rule);
        match self.not_conex {
            NotConex::Pass => Passage::On,
            NotConex::Drop => NOT_CONEX,
            NotConex::Police if self.drops == Stopped::Declared => Passage::On,
            NotConex::Police => {
                let fill = self.account(packet.user, now).bucket.fill(&rule, now);
                let stopped = falls(self.curve.probability(fill, rule.depth()), draw);
                if stopped { self.stop(packet) } else { Passage::On }
            }
            NotConex::Limit => {
                let Some(limit) = self.limit else { return Passage::On };
                let bucket = &mut self.account(packet.user, now).limit;
                let bucket = bucket.as_mut().expect("a bucket where there is a limit");
                let cost = Credit::of(packet.len);
                if bucket.fill(&limit, now) < cost {
                    return NOT_CONEX_LIMIT;
                }
                bucket.take(&limit, now, cost);
                Passage::On
            }
        }
    }

    fn account(&mut self, user: u32, now: Time) -> &mut Account {
        let user = self.buckets.account_of(user);
        let (rule, limit) = (&self.rule, &self.limit);
        self.accounts.of(user, || Account {
            bucket: rule.bucket(now),
            limit: limit.map(|limit| limit.bucket(now)),
            upstream: Credit::ZERO,
        })
    }
}

#[cfg(test)]
#[path = "conex_policer_tests.rs"]
mod tests;
