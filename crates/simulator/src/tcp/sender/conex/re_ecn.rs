//! Re-ECN: declarations in the ECN field and the RE flag beside it. B. Briscoe et al., "Re-ECN: Adding Accountability
//! for Causing Congestion to TCP/IP"; codepoints as in table I of A. Sanhaji et al.
//!
//! ```text
//! g += marked and, if it says so, lost     bytes on the wire
//! a packet   positive   ECT(1), RE 0       if g > 0;  g −= its size
//!            credit     Not-ECT, RE 1      else, while credit does not cover what is in flight
//!            neutral    ECT(1), RE 1       else
//! ```
//!
//! Credit is given once: congestion experienced later is declared by positive packets, so that behind the last queue
//! the declarations equal the marks plus the credit. Credit starts over after a pause, in which the network may have
//! lost the flow's state.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::ReEcn as Plan;

use super::cheat::CongestionGauges;
use crate::packet::flags;

/// Flags of the ECN field as senders set it.
pub const ECN_FIELD: u32 = flags::ECT | flags::ECT_1;

/// State specific to re-ECN.
#[derive(Debug)]
pub struct ReEcnSender {
    losses: bool,
    idle: Span,
    /// Send time of the last packet.
    last: Time,
}

impl ReEcnSender {
    /// Returns the state for a plan.
    pub const fn new(plan: &Plan) -> Self {
        ReEcnSender { losses: plan.losses, idle: plan.idle, last: Time::ZERO }
    }

    /// Returns the amount to declare: one codepoint stands for losses and marks.
    pub fn declarable(&self, met: CongestionGauges) -> CongestionGauges {
        let loss = if self.losses { met.loss } else { 0 };
        CongestionGauges { loss: 0, mark: met.mark + loss }
    }

    /// Handles the sending of a packet. Returns whether a pause precedes it.
    pub fn was_idle(&mut self, now: Time) -> bool {
        now.since(core::mem::replace(&mut self.last, now)) >= self.idle
    }

    /// Returns the codepoint of a declaration, as flags.
    pub const fn coded(declared: u32) -> u32 {
        match declared {
            0 => ECN_FIELD | flags::RE,
            flags::CREDIT => flags::RE,
            _ => ECN_FIELD,
        }
    }
}
