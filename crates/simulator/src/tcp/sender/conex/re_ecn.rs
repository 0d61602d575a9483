//! Re-ECN: what a sender declares in the ECN field and the RE bit beside it. B. Briscoe et al., "Re-ECN: Adding
//! Accountability for Causing Congestion to TCP/IP"; codepoints as in table I of A. Sanhaji et al.
//!
//! ```text
//! g += marked and, if it says so, lost     bytes on the wire
//! a packet   positive   ECT(1), RE 0       if g > 0;  g −= its size
//!            credit     Not-ECT, RE 1      else, while credit does not cover what is in flight
//!            neutral    ECT(1), RE 1       else
//! ```
//!
//! Credit is given once: what is met later is answered by positive packets, so that behind the last queue what
//! was declared is what was marked, and credit besides. It begins again after a pause, in which the network may have
//! forgotten the flow.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::ReEcn as Plan;

use super::cheat::CongestionGauges;
use crate::packet::flags;

/// The flags of the ECN field as senders set it.
pub const ECN_FIELD: u32 = flags::ECT | flags::ECT_1;

/// What is particular to re-ECN.
#[derive(Debug)]
pub struct ReEcnSender {
    losses: bool,
    idle: Span,
    /// When the last packet left.
    last: Time,
}

impl ReEcnSender {
    /// As a plan has it.
    pub const fn new(plan: &Plan) -> Self {
        ReEcnSender { losses: plan.losses, idle: plan.idle, last: Time::ZERO }
    }

    /// What is to be declared: one codepoint stands for both.
    pub fn declarable(&self, met: CongestionGauges) -> CongestionGauges {
        let loss = if self.losses { met.loss } else { 0 };
        CongestionGauges { loss: 0, mark: met.mark + loss }
    }

    /// A packet leaves. Returns whether none has for long.
    pub fn was_idle(&mut self, now: Time) -> bool {
        now.since(core::mem::replace(&mut self.last, now)) >= self.idle
    }

    /// The codepoint that says it, as flags.
    pub const fn coded(declared: u32) -> u32 {
        match declared {
            0 => ECN_FIELD | flags::RE,
            flags::CREDIT => flags::RE,
            _ => ECN_FIELD,
        }
    }
}
