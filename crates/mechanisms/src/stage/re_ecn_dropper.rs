//! Re-ECN dropper: drops packets of flows that have declared less than they were marked, behind the last queue. Y.
//! Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability in
//! Cellular Networks", ITC 23, 2011, section II.
//!
//! ```text
//! b ← b + s    positive packets and credit        s = size on the wire
//! b ← b − s    negative packets (marked)
//!
//! where b < 0  packets that declare nothing are dropped
//! ```
//!
//! Flows whose balance b is zero or positive lose nothing: excess declarations are not penalized. Choices where the
//! paper is silent:
//!
//! - *Declarations pass* even if b < 0, since they increase it.
//! - *Dropped packets do not count.* Their receiver never sees the mark, so that no sender could declare it.
//! - *Before the first declaration* a flow is undeclared, and all undeclared flows share one debt:
//!
//! ```text
//! d ← min(10 MB, d + 100 s)    per marked packet of them       where d > 0: dropped, d ← d − s
//! ```
//!
//! Undeclared marks thus cost a hundred times as much, and starting a new flow for every few packets gains nothing. An
//! honest sender gives credit with its first packet.
//!
//! A flow takes sixteen bytes, in slots as those of the ConEx auditor: eight of them may hold it, their number grows
//! with the number of flows, up to `memory`, and then the least recently seen flow is removed. A removed flow starts at
//! zero with its next declaration; after a pause honest senders give credit again.
//!
//! Packets outside re-ECN, and acknowledgements, are ignored.

use super::by_user::ByUser;
use super::slots::{FlowKey, Remembered, Slots};
use super::{Capabilities, Passage, Passing, ReEcn, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Time};

parameters! {
    /// Drops packets of flows whose re-ECN declarations are fewer than their marks.
    pub struct ReEcnDropperParams {
        /// Maximum memory for flows.
        pub memory: Bytes = "16 MB",
    }
    check ReEcnDropperParams::errors;
}

impl ReEcnDropperParams {
    fn errors(&self) -> Option<ParameterError> {
        let least = Slots::<Flow>::LEAST_BYTES;
        let fits = (least..=MAX_MEMORY).contains(&self.memory.get());
        let message = || format!("not from {least} B, which a few flows take, to 1 GB");
        (!fits).then(|| ("memory", message()))
    }
}

const MAX_MEMORY: u64 = 1_000_000_000;

/// Factor of undeclared marks, and their maximum debt.
const UNDECLARED: u64 = 100;
const MOST_UNDECLARED: u64 = 10_000_000;

/// State of one dropper.
#[derive(Clone, Debug)]
pub struct ReEcnDropper {
    flows: Slots<Flow>,
    /// Debt d of undeclared flows.
    undeclared: u64,
    users: ByUser<Counts>,
}

/// Flow with a declaration.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: FlowKey,
    /// Balance b.
    balance: i32,
    /// Arrival time of its last packet, ms.
    seen_ms: u32,
}

impl Remembered for Flow {
    fn key(&self) -> FlowKey {
        self.key
    }

    fn seen(&self) -> u64 {
        self.seen_ms.into()
    }
}

/// Counts of a user.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    positive: u64,
    credit: u64,
    negative: u64,
    outside: u64,
    undeclared: u64,
    flows: u64,
}

impl Stage for ReEcnDropper {
    type Params = ReEcnDropperParams;

    const ABOUT: About = About {
        name: "re-ecn-dropper",
        title: "Re-ECN dropper",
        source: "Zhang et al., Metering Re-ECN, 2011, section II",
        usage: r#"users.NAME.egress = [{ kind = "re-ecn-dropper" }]"#,
        file: "stage/re_ecn_dropper.rs",
        text: crate::mechanism::source_text!("re_ecn_dropper.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { has_levels: true, ..Capabilities::NONE };

    fn new(ReEcnDropperParams { memory }: ReEcnDropperParams) -> Self {
        ReEcnDropper { flows: Slots::new(memory), undeclared: 0, users: ByUser::new() }
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        if packet.is_ack {
            return Passage::On;
        }
        let counts = self.users.of(packet.user, Counts::default);
        let says = packet.re_ecn();
        if says == ReEcn::Outside {
            counts.outside += packet.len.get();
            return Passage::On;
        }
        let key = FlowKey::of(packet);
        if self.flows.find(key).is_none() {
            match says {
                ReEcn::Positive | ReEcn::Credit => {
                    self.flows.add(Flow { key, balance: 0, seen_ms: 0 });
                    counts.flows += 1;
                }
                // Includes marked packets of classic ECN.
                ReEcn::Cancelled => return Passage::On,
                _ => return self.judge_undeclared(packet, says),
            }
        }
        let flow = self.flows.find(key).expect("is there");
        flow.seen_ms = (packet.now.as_nanos() / 1_000_000) as u32;
        let declares = !matches!(says, ReEcn::Neutral | ReEcn::Negative);
        if flow.balance < 0 && !declares {
            return Passage::Drop("negative balance");
        }
        let (len, counted) = (packet.len.get() as i32, packet.len.get());
        match says {
            ReEcn::Positive => counts.positive += counted,
            ReEcn::Credit => counts.credit += counted,
            ReEcn::Negative => counts.negative += counted,
            ReEcn::Neutral | ReEcn::Cancelled | ReEcn::Outside => return Passage::On,
        }
        let worth = if declares { len } else { -len };
        flow.balance = flow.balance.saturating_add(worth);
        Passage::On
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, counts) in self.users.iter() {
            let Counts { positive, credit, negative, outside, undeclared, flows } = *counts;
            let named = [
                ("positive_bytes", positive),
                ("credit_bytes", credit),
                ("negative_bytes", negative),
                ("outside_bytes", outside),
                ("undeclared_bytes", undeclared),
                ("flows", flows),
            ];
            named.into_iter().for_each(|(name, count)| each(user, name, count));
        }
    }

    fn state_bytes(&self) -> usize {
        self.flows.state_bytes()
    }

    fn levels(&self, user: u32, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(Counts { positive, credit, negative, .. }) = self.users.get(user) else { return };
        each("balance_bytes", (positive + credit) as f64 - *negative as f64);
    }
}

impl ReEcnDropper {
    /// Returns the share dropped of consecutive packets without declarations, from a flow with this balance in packets
    /// (at least −1, since dropped packets do not count), computed by the dropper's code.
    pub fn dropped_share(balance: i64, packets: u32) -> f64 {
        let mut dropper = ReEcnDropper::new(ReEcnDropperParams { memory: Bytes::new(MAX_MEMORY) });
        let mut passes = |says| dropper.pass(&mut Passing::in_re_ecn(says), || 0.0) == Passage::On;
        // It starts with one credit, since a flow is created by a declaration; marks take it away again.
        passes(ReEcn::Credit);
        let more = if balance > 0 { ReEcn::Positive } else { ReEcn::Negative };
        for _ in 0..(balance - 1).unsigned_abs() {
            passes(more);
        }
        let dropped = (0..packets).filter(|_| !passes(ReEcn::Neutral)).count();
        dropped as f64 / f64::from(packets)
    }

    /// Judges a packet of a flow without any declaration.
    fn judge_undeclared(&mut self, packet: &Passing, says: ReEcn) -> Passage {
        let len = packet.len.get();
        self.users.of(packet.user, Counts::default).undeclared += len;
        let owed = self.undeclared;
        if says == ReEcn::Negative {
            self.undeclared = (owed + UNDECLARED * len).min(MOST_UNDECLARED);
        }
        if owed == 0 {
            return Passage::On;
        }
        self.undeclared = self.undeclared.saturating_sub(len);
        Passage::Drop("nothing declared")
    }
}

#[cfg(test)]
#[path = "re_ecn_dropper_tests.rs"]
mod tests;
