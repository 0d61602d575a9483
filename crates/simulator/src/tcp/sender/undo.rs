//! Taking back a reduction for which there was no reason, by timestamps (Eifel, RFC 3522 and 4015), as
//! Linux does (`tcp_may_undo`, `tcp_packet_delayed`).
//!
//! ```text
//! the echo of an ACK that acknowledges new data is older than the first retransmission
//!     → what was sent first had arrived: cwnd ← max(cwnd, cwnd before), ssthresh likewise
//! ```
//!
//! Linux also undoes what duplicate SACKs show to have been in vain; receivers here send none.

use tidegate_mechanisms::sender::Window;
use tidegate_mechanisms::units::Time;

use super::{Sender, State};
use crate::packet::Packet;

/// What there was before a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// The window, and the threshold to go back to; `None` if there was a reason besides, such as a mark.
    before: Option<Window>,
    /// When the first segment was sent again since.
    first_repair: Option<Time>,
}

impl Sender {
    /// A reduction begins that may turn out to be without reason; one for a mark has one.
    pub(super) fn remember_for_undo(&mut self, marked: bool) {
        let Window { cwnd, ssthresh } = self.window;
        let before = (!marked).then(|| Window { cwnd, ssthresh: ssthresh.max(0.75 * cwnd) });
        if let Some(rack) = &mut self.rack {
            rack.undo = Some(Undo { before, first_repair: None });
        }
    }

    /// Congestion is echoed: whatever the reduction was for, now there is a reason.
    pub(super) fn forbid_undo(&mut self) {
        if let Some(undo) = self.rack.as_mut().and_then(|rack| rack.undo.as_mut()) {
            undo.before = None;
        }
    }

    /// Takes the reduction under way back if the ACK shows that nothing was lost. Returns whether it was.
    pub(super) fn undo_if_in_vain(&mut self, packet: &Packet) -> bool {
        let Some(undo) = self.rack.as_ref().and_then(|rack| rack.undo) else { return false };
        let in_vain = self.timestamps && undo.first_repair.is_some_and(|at| packet.stamp < at);
        if in_vain {
            self.undo();
        }
        in_vain
    }

    /// The same, and ends the repair. Returns whether it did.
    pub(super) fn open_if_in_vain(&mut self, packet: &Packet, now: Time) -> bool {
        let in_vain = self.undo_if_in_vain(packet);
        if in_vain {
            self.unmark_losses(now);
        }
        in_vain
    }

    /// Goes back to the window there was.
    pub(super) fn undo(&mut self) {
        let Some(undo) = self.rack.as_mut().and_then(|rack| rack.undo.take()) else { return };
        let Some(before) = undo.before else { return };
        self.window.cwnd = self.window.cwnd.max(before.cwnd);
        if before.ssthresh > self.window.ssthresh {
            self.window.ssthresh = before.ssthresh;
            self.announce_reduction = false;
        }
    }

    /// What counted as lost is only late after all.
    pub(super) fn unmark_losses(&mut self, now: Time) {
        self.board.forget_losses(self.una, self.nxt);
        if let Some(rack) = &mut self.rack {
            rack.advance_again();
        }
        self.state = State::Open;
        self.dup_acks = 0;
        self.controller.on_recovery_exit(&mut self.window, now);
    }
}

impl Undo {
    /// A segment is sent again.
    pub(super) fn on_repair(&mut self, now: Time) {
        self.first_repair.get_or_insert(now);
    }
}
