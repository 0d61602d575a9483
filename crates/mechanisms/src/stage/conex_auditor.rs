//! ConEx auditor: checks senders' declarations against the congestion of their packets, behind the last bottleneck. M.
//! Mathis and B. Briscoe, RFC 7713 (ConEx: abstract mechanism), sections 3.2 and 5.5, which does not specify what is
//! "sufficient". Here it is, for a flow, in bytes on the wire:
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
//! p is the drop probability of a packet. A packet that declares a loss is exempt from missing losses, one that
//! declares a mark from missing marks, and any declaration from what is missing of both together: a sender that
//! declares with every packet while it has a debt (RFC 7786, section 5.1) never loses a packet, however long that
//! takes. Only declarations reduce a debt. A sender that declares a fixed share of its losses also declares that share
//! of the auditor's drops, which would pay for the rest of R if D did not count. A sender that declares a constant
//! share for long enough therefore loses everything, unless the share is so high that τ and the exempt part of D cover
//! the rest. That part is exempt since otherwise the debt of honest senders would grow with the auditor's drops.
//!
//! The slack s and the tolerance τ allow for errors of honest senders: reordered packets, which are missing until they
//! arrive; packets of unequal size, if a sender counts payload; and declarations that are lost and repeated a round
//! trip later.
//!
//! The sign of a loss depends on the auditor's position (RFC 7713, section 5.5), as configured by `losses`:
//!
//! - behind the last bottleneck, a `gap` in the transport's sequence numbers. A packet that fills it later and was sent
//!   before its successors was reordered, not lost; one sent after them repairs a loss;
//! - near the sender, where all packets pass in order, a `repeat` of a number. If the packet before it declared a loss,
//!   that is lost as well, and to be declared again (RFC 7786, loss of ConEx information);
//! - at the bottleneck itself, at an end of its link, a drop by the `queue`, regardless of headers;
//! - before the end of a `tunnel` in which all packets may be marked, a mark on the outer header of a packet that is
//!   not ECN-capable, which the tunnel egress drops (RFC 6040).
//!
//! If headers show no sequence, the first two audit marks only. A `gap` shows a packet that is lost several times once.
//!
//! State is created by the first packet with a declaration, without signalling, so that a change of route does no harm.
//! Until then a flow is undeclared, and all undeclared flows share one balance:
//!
//! ```text
//! U ← min(100 s, U + 100 L)    per marked packet of them       p = min(1, U/s)       U ← U − L    per drop
//! ```
//!
//! with L the packet's size: undeclared congestion costs a hundred times as much, since evading a policer in this way
//! gains more than a few losses cost. An honest sender gives credit with its first packets.
//!
//! Losses of undeclared packets that no queue can mark (Not-ECT) are not visible in sequences without state, so that
//! such packets would have no debt: all of them together have a slack in each allowance, and the rest is dropped. Drops
//! by the queue itself are visible, and count as marks.
//!
//! Flows are kept in slots, eight of which may hold a given flow. The number of slots grows with the number of flows,
//! up to `memory`; then a new flow replaces the least recently seen of its eight. A user who knows how slots are chosen, and
//! may choose addresses and ports, can push other flows out; a `secret` prevents it.
//!
//! Packets outside ConEx, and acknowledgements, are ignored.

use super::by_user::ByUser;
use super::slots::{FlowKey, Slots};
use super::{Capabilities, Declared, Ecn, EcnRules, Passage, Passing, Stage};
use crate::bottleneck::falls;
use crate::mechanism::About;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Bytes, Share, Span, Time, Whole};
use crate::{parameters, words};
use flow::{AuditedFlow, Balance};

mod flow;

parameters! {
    /// Drops packets of senders that declare less congestion than their packets have experienced.
    pub struct ConexAuditorParams {
        /// a: maximum delay of a declaration: a round trip of the longest path, queues included.
        pub allowance: Span = "500 ms",
        /// s: permitted shortfall of a flow's declarations; at twice that, all its packets are dropped.
        pub slack: Bytes = "6 kB",
        /// τ: share of the congestion that need not be declared.
        pub tolerance: Share = "0.02",
        /// Sign of a loss.
        pub losses: LossSign = "gap",
        /// Maximum memory for flows.
        pub memory: Bytes = "8 MB",
        /// Number that places flows in their slots, to be kept secret and drawn at random where users choose the
        /// addresses and ports of their flows. Default: none, for simulations.
        pub secret: Option<Whole<1, { u32::MAX }>>,
    }
    check ConexAuditorParams::errors;
}

words! {
    /// Detection of losses, by the position of the auditor (RFC 7713, section 5.5).
    pub enum LossSign {
        /// A gap in the sequence: behind the last bottleneck.
        Gap = "gap",
        /// A retransmission: near the sender.
        Repeat = "repeat",
        /// A drop by the queue of the link at whose end the auditor is.
        Queue = "queue",
        /// A mark in a tunnel on a packet that is not ECN-capable, in front of the tunnel's end.
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

/// Factor of undeclared congestion, and of its maximum debt relative to the slack.
const UNDECLARED: f64 = 100.0;

/// State of one auditor.
#[derive(Clone, Debug)]
pub struct ConexAuditor {
    allowance: Span,
    slack: f64,
    /// Share 1 − τ that is due.
    due: f64,
    losses: LossSign,
    flows: Slots<AuditedFlow>,
    /// Balance U of undeclared flows.
    undeclared: f64,
    /// Recent bytes of undeclared packets that cannot be marked, and the end of their counting period.
    unmarkable: (f64, Time),
    users: ByUser<Counts>,
}

/// Counts of a user.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    audited: u64,
    undeclared: u64,
    flows: u64,
    /// Declarations and congestion, of flows with a declaration.
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
        text: crate::mechanism::source_text!("conex_auditor.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { has_levels: true, ..Capabilities::NONE };

    fn new(params: ConexAuditorParams) -> Self {
        ConexAuditor {
            allowance: params.allowance,
            slack: params.slack.as_f64(),
            due: 1.0 - params.tolerance.0,
            losses: params.losses,
            flows: Slots::new(params.memory).with_secret(params.secret.map(|secret| secret.0)),
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
    /// Returns the state of a packet's flow, which exists from its first declaration on.
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

    /// Judges a packet of a flow with a declaration.
    fn judge(&mut self, packet: &Passing, draw: impl FnMut() -> f64) -> Passage {
        let flow = self.flows.find(FlowKey::of(packet)).expect("is there");
        let before = flow.balance;
        flow.see(packet, self.allowance, self.losses);
        let passage = match flow.missing(&packet.declared, (self.due, self.slack)) {
            Some((missing, reason)) if falls(missing / self.slack - 1.0, draw) => {
                // Near the sender a drop shows when it is retransmitted.
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

    /// Judges a packet of a flow without any declaration.
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

    /// Adds congestion of a flow without any declaration.
    fn owe_undeclared(&mut self, packet: &Passing) {
        let owed = self.undeclared + UNDECLARED * packet.len.as_f64();
        self.undeclared = owed.min(UNDECLARED * self.slack);
    }

    /// Passes up to one slack of such packets in each allowance.
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
