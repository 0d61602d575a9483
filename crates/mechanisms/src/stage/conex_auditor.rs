//! ConEx auditor: holds senders to what their packets have met, behind the last bottleneck.
//! M. Mathis and B. Briscoe, RFC 7713 (ConEx: abstract mechanism), sections 3.2 and 5.5, which leaves open what
//! "sufficient" means. Here it is, for a flow, in bytes on the wire:
//!
//! ```text
//! C, E, L    declared so far, this packet included: credit, marks, losses
//! M, R, D    met so far: marked (CE), lost; dropped here for losses that were not declared, beyond s and a thousandth of all
//! M', R', D' the same as it was an allowance a ago; at least one, at most two
//!
//! at once    C + E + L ≥ (1 − τ) (M + R)      what is not declared yet is covered by credit
//! marks      E ≥ (1 − τ) M'                   what was marked is declared as marked
//! losses     L ≥ (1 − τ) (R' + D')            what was lost is declared as lost
//!
//! p = (b − s)/s from 0 to 1      b = what is missing of them: the most of those that this packet does not answer
//! ```
//!
//! p is the probability with which a packet is dropped. A packet that declares a loss answers what is missing of
//! losses, one that declares a mark what is missing of marks, and any declaration what is missing at once: whoever
//! declares with every packet for as long as it owes (RFC 7786, section 5.1) is never dropped, however long that
//! takes it. Nothing but declarations settles a debt. Who declares a share of its losses declares it of what is dropped
//! here as well, with which it would pay for the rest of R if D did not count. So a sender who declares too little by the
//! same share for long enough loses everything, but for one who hides so little of its losses that τ and what is spared
//! of D cover it. That is spared since honest senders would else owe the more the more they lose here.
//!
//! The slack s and the tolerance τ are what an honest sender may be off: packets out of order, which look missing
//! until they come; unequal packets, where a sender counts payload; and declarations that are lost and declared
//! again a round trip later.
//!
//! By what a loss shows depends on where the auditor stands (RFC 7713, section 5.5), as `losses` has it:
//!
//! - behind the last bottleneck, by a `gap` in the sequence that a transport's own numbers have. A packet that comes late
//!   into it and was sent before its successors was overtaken, not lost; one that was sent after them repairs a loss;
//! - near the sender, where all that it sends comes by in its order, by a `repeat` of a number;
//! - at the bottleneck itself, at an end of its link, by what the `queue` drops, whatever headers show;
//! - before the end of a `tunnel` all of whose packets may be marked, by a mark around what is not ECN-capable: its end
//!   drops that (RFC 6040).
//!
//! Where headers show no sequence, the first two audit marks alone.
//!
//! State appears with the first packet that declares something, and needs no request, so that a new route does no
//! harm. Until then a flow is one of the undeclared, which share one balance:
//!
//! ```text
//! U ← min(100 s, U + 100 L)    per marked packet of them       p = min(1, U/s)       U ← U − L    per drop
//! ```
//!
//! with L the packet's size: congestion that nobody declares costs a hundred times as much, since whoever evades a
//! policer that way gains more than a few losses take from it. An honest sender gives credit with its first packets.
//!
//! Of those among them that no queue can mark (Not-ECT) losses cannot be seen in sequences without state, so that nothing
//! would ever be held against them: all together they have a slack in each allowance, and the rest is dropped. What
//! the queue itself drops is seen, and counts as a mark does.
//!
//! Flows are kept in slots, eight of which may hold a flow. There are more of them as more flows come, up to
//! `memory`; then a new flow takes the place of the one of its eight that was not seen for longest.
//!
//! Packets outside ConEx, and acknowledgements, are not looked at.

use super::by_user::ByUser;
use super::slots::{FlowKey, Slots};
use super::{Capabilities, Declared, Ecn, EcnRules, Passage, Passing, Stage};
use crate::bottleneck::falls;
use crate::mechanism::About;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Bytes, Share, Span, Time};
use crate::{parameters, words};
use flow::{AuditedFlow, Balance};

mod flow;

parameters! {
    /// Drops packets of senders that declare less congestion than their packets have met.
    pub struct ConexAuditorParams {
        /// a: how long a declaration may take: a round trip of the longest path, queues included.
        pub allowance: Span = "500 ms",
        /// s: what may be missing of a flow's declarations; with twice as much all is dropped.
        pub slack: Bytes = "6 kB",
        /// τ: share of what was met that need not be declared.
        pub tolerance: Share = "0.02",
        /// By what a loss shows.
        pub losses: LossSign = "gap",
        /// What flows may be remembered in.
        pub memory: Bytes = "8 MB",
    }
    check ConexAuditorParams::errors;
}

words! {
    /// How losses are detected: position of the auditor (RFC 7713, section 5.5).
    pub enum LossSign {
        /// Something is missing in the sequence: behind the last bottleneck.
        Gap = "gap",
        /// Something is sent again: near the sender.
        Repeat = "repeat",
        /// The queue of the link at whose end the auditor is drops it.
        Queue = "queue",
        /// Something that is not ECN-capable is marked in its tunnel, whose end is next.
        Tunnel = "tunnel",
    }
}

impl ConexAuditorParams {
    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = too_short(&[("allowance", self.allowance)]);
        let slack = self.slack.get();
        if !(1..=MAX_SLACK).contains(&slack) {
            errors.push(("slack", format!("{slack} B is not from 1 B to 1 GB")));
        }
        let (least, most) = (Slots::<AuditedFlow>::LEAST_BYTES, MAX_MEMORY);
        if !(least..=most).contains(&self.memory.get()) {
            errors.push(("memory", format!("not from {least} B, which a few flows take, to 1 GB")));
        }
        errors
    }
}

const MAX_SLACK: u64 = 1_000_000_000;
const MAX_MEMORY: u64 = 1_000_000_000;

/// By so much the congestion counts that nobody declares, and by so much its debt may exceed the slack.
const UNDECLARED: f64 = 100.0;

/// State of one auditor.
#[derive(Clone, Debug)]
pub struct ConexAuditor {
    allowance: Span,
    slack: f64,
    /// 1 − τ.
    due: f64,
    losses: LossSign,
    flows: Slots<AuditedFlow>,
    /// U.
    undeclared: f64,
    /// Bytes that have passed lately of the undeclared that nobody can mark, and until when they were counted.
    unmarkable: (f64, Time),
    users: ByUser<Counts>,
}

/// What is counted of a user.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    audited: u64,
    undeclared: u64,
    flows: u64,
    /// Declared and met, of flows that have declared something.
    balance: Balance,
}

impl Stage for ConexAuditor {
    type Params = ConexAuditorParams;

    const ABOUT: About = About {
        name: "conex-auditor",
        title: "ConEx auditor",
        source: "RFC 7713, section 5.5",
        usage: r#"users.NAME.egress = [{ kind = "conex-auditor" }]"#,
        file: "stage/conex_auditor.rs",
        text: include_str!("conex_auditor.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { has_levels: true, ..Capabilities::NONE };

    fn new(params: ConexAuditorParams) -> Self {
        ConexAuditor {
            allowance: params.allowance,
            slack: params.slack.as_f64(),
            due: 1.0 - params.tolerance.0,
            losses: params.losses,
            flows: Slots::new(params.memory),
            undeclared: 0.0,
            unmarkable: (0.0, Time::ZERO),
            users: ByUser::new(),
        }
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        if !packet.declared.conex || packet.is_ack {
            return Passage::On;
        }
        match self.flow_of(packet) {
            Some(_) => self.judge(packet, draw),
            None => self.judge_undeclared(packet, draw),
        }
    }

    fn tunnels_by(params: &ConexAuditorParams) -> Option<EcnRules> {
        (params.losses == LossSign::Tunnel).then_some(EcnRules::Rfc7713)
    }

    fn observes_drops(params: &ConexAuditorParams) -> bool {
        params.losses == LossSign::Queue
    }

    fn observe_drop(&mut self, packet: &Passing) {
        if !packet.declared.conex || packet.is_ack {
            return;
        }
        let Some(flow) = self.flow_of(packet) else { return self.owe_undeclared(packet) };
        let before = flow.balance;
        flow.lose(packet);
        let change = flow.balance - before;
        let counts = self.users.of(packet.user, Counts::default);
        counts.balance = counts.balance + change;
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, Counts { audited, undeclared, flows, balance }) in self.users.iter() {
            each(user, "audited_packets", *audited);
            each(user, "undeclared_packets", *undeclared);
            each(user, "flows", *flows);
            balance.counts().into_iter().for_each(|(name, count)| each(user, name, count));
        }
    }

    fn state_bytes(&self) -> usize {
        self.flows.state_bytes()
    }

    fn levels(&self, user: u32, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(Counts { balance, .. }) = self.users.get(user) else { return };
        balance.levels().into_iter().for_each(|(name, level)| each(name, level));
    }
}

impl ConexAuditor {
    /// What is known of the flow of a packet, which is something as soon as one has declared anything.
    fn flow_of(&mut self, packet: &Passing) -> Option<&mut AuditedFlow> {
        let Declared { loss, mark, credit, .. } = packet.declared;
        let key = FlowKey::of(packet);
        if self.flows.find(key).is_none() {
            if !(loss || mark || credit) {
                return None;
            }
            self.flows.add(AuditedFlow::before(packet));
            self.users.of(packet.user, Counts::default).flows += 1;
        }
        self.flows.find(key)
    }

    /// What becomes of a packet of a flow that has declared something.
    fn judge(&mut self, packet: &Passing, draw: impl FnMut() -> f64) -> Passage {
        let flow = self.flows.find(FlowKey::of(packet)).expect("is there");
        let before = flow.balance;
        flow.see(packet, self.allowance, self.losses);
        let passage = match flow.missing(&packet.declared, (self.due, self.slack)) {
            Some((missing, reason)) if falls(missing / self.slack - 1.0, draw) => {
                // Near the sender it shows when it sends it again.
                if reason == AuditedFlow::LOSSES && self.losses != LossSign::Repeat {
                    flow.punish(packet);
                }
                Passage::Drop(reason)
            }
            _ => Passage::On,
        };
        let counts = self.users.of(packet.user, Counts::default);
        counts.audited += 1;
        counts.balance = counts.balance + (flow.balance - before);
        passage
    }

    /// What becomes of a packet of a flow that has never declared anything.
    fn judge_undeclared(&mut self, packet: &Passing, draw: impl FnMut() -> f64) -> Passage {
        self.users.of(packet.user, Counts::default).undeclared += 1;
        let len = packet.len.as_f64();
        if packet.ecn == Ecn::NotEct && self.losses != LossSign::Queue {
            return self.judge_unmarkable(packet.now, len);
        }
        if packet.is_marked() {
            self.owe_undeclared(packet);
        }
        if !falls(self.undeclared / self.slack, draw) {
            return Passage::On;
        }
        self.undeclared = (self.undeclared - len).max(0.0);
        Passage::Drop("nothing declared")
    }

    /// A packet of a flow that has never declared anything has met congestion.
    fn owe_undeclared(&mut self, packet: &Passing) {
        let owed = self.undeclared + UNDECLARED * packet.len.as_f64();
        self.undeclared = owed.min(UNDECLARED * self.slack);
    }

    /// A slack of them passes in each allowance.
    fn judge_unmarkable(&mut self, now: Time, len: f64) -> Passage {
        let (passed, last) = self.unmarkable;
        let allowances = now.since(last).as_secs() / self.allowance.as_secs();
        let passed = (passed - allowances * self.slack).max(0.0);
        let passes = passed + len <= self.slack;
        self.unmarkable = (passed + if passes { len } else { 0.0 }, now);
        if passes { Passage::On } else { Passage::Drop("nothing declared, nor markable") }
    }
}

#[cfg(test)]
mod tests;
