//! What a time-out means to a sender that tells losses by time: as in Linux since 4.18 (`tcp_enter_loss`,
//! `tcp_process_loss`).
//!
//! ```text
//! time-out    lost: the first segment, and what was sent more than a round trip ago, but for what is sacked
//!             cwnd = in flight + 1; the first goes out again
//! while in the state of loss, slow start; a repair that is lost again begins a fast recovery
//! F-RTO       1st ACK  advances    send new segments, if there are any
//!             2nd ACK  sacks them  the time-out was right
//!             an ACK shows that a segment has arrived which was sent once and before    it was premature
//! ```
//!
//! A premature one is taken back as a whole. So is one of which a timestamp shows that it was premature.

use tidegate_mechanisms::units::Time;

use super::acknowledgement::Delivery;
use super::{Sender, State};
use crate::packet::Packet;
use crate::tcp::Door;

/// What may be sent after an ACK in the state of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permit {
    /// What is lost first, as always.
    Any,
    /// New segments only: the next ACK tells whether the time-out was right.
    New,
}

impl Sender {
    /// The retransmission timer has run out.
    pub(super) fn lose_by_time(&mut self, door: &mut Door) {
        let first = matches!(self.state, State::Open | State::Reducing);
        let progress = self.rack.as_ref().is_none_or(|rack| rack.progress);
        let again = self.state == State::Loss && progress;
        self.mark_late(door.now);
        if self.state == State::Open || self.una >= self.point || again {
            self.remember_for_undo(false);
            let in_flight = self.in_flight();
            self.window.ssthresh =
                self.controller.ssthresh_on_congestion(&self.window, door.now, in_flight);
        }
        self.controller.on_timeout(&mut self.window, door.now);
        self.window.cwnd = f64::from(self.in_flight() + 1);
        self.state = State::Loss;
        self.point = self.nxt;
        let frto = self.frto && (first || !progress);
        if let Some(rack) = &mut self.rack {
            rack.frto = frto;
            rack.progress = false;
            rack.forget_probe();
        }
        self.send(door);
    }

    /// The first segment counts as lost, and what was sent more than a round trip ago.
    fn mark_late(&mut self, now: Time) {
        let (una, nxt) = (self.una, self.nxt);
        let (Some(rack), board) = (&mut self.rack, &mut self.board) else { return };
        let end = (board.lost_below().max(una + 1)..nxt).find(|segment| {
            !board.is_sacked(*segment) && rack.times.of(*segment).0 + rack.rtt > now
        });
        board.mark_lost_below(una, nxt, end.unwrap_or(nxt));
        rack.lose_repairs_until(una, board, now);
        board.forget_repair(una);
    }

    /// An ACK arrives in the state of loss.
    pub(super) fn judge_loss(&mut self, delivery: &Delivery, packet: &Packet, now: Time) -> Permit {
        let advanced = delivery.newly > 0;
        if advanced && self.open_if_in_vain(packet, now) {
            return Permit::Any;
        }
        let recovered = self.una >= self.point;
        let (nxt, point) = (self.nxt, self.point);
        let more = self.available() > 0;
        let Some(rack) = &mut self.rack else { return Permit::Any };
        let mut permit = Permit::Any;
        if rack.frto {
            if delivery.samples.first_original < point {
                self.undo();
                self.unmark_losses(now);
                return Permit::Any;
            }
            if nxt > point {
                rack.frto = !(delivery.sacks_more || delivery.newly == 0);
            } else if advanced && !recovered {
                self.point = nxt;
                rack.frto = more;
                permit = if more { Permit::New } else { Permit::Any };
            }
        }
        if recovered && permit == Permit::Any {
            self.leave_reduction(now);
        }
        permit
    }

    /// Sends new segments as the window allows; where none can be sent, the time-out counts as right.
    pub(super) fn send_permitted(&mut self, permit: Permit, door: &mut Door) {
        if permit == Permit::New {
            let before = self.nxt;
            while self.in_flight() < self.window.cwnd as u32 && self.available() > 0 {
                self.send_new(false, door);
            }
            if self.nxt > before {
                return self.note_usage(self.in_flight() >= self.window.cwnd as u32);
            }
            if let Some(rack) = &mut self.rack {
                rack.frto = false;
            }
        }
        self.send(door);
    }
}
