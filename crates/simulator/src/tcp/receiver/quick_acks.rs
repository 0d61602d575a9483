//! Quick ACKs, which are not delayed (`tcp_event_data_recv` and `tcp_enter_quickack_mode` of Linux).

use super::{Delaying, Receiver, SEGMENTS_PER_ACK};
use crate::packet::{Packet, flags};

impl Receiver {
    /// Grants quick ACKs again where Linux does (`tcp_event_data_recv`, `tcp_enter_quickack_mode`).
    #[inline]
    pub(super) fn renew_quick_acks(&mut self, packet: &Packet) {
        let shows_loss = self.shows_loss(packet);
        let Some(delaying) = self.delaying.as_deref_mut() else { return };
        let Delaying { plan: delay, adapted, window, silence, answered, last_arrival, .. } =
            delaying;
        if let Some(answered) = answered.take() {
            match answered.round_trip(packet.at) {
                _ if !self.timestamps => {}
                Some(rtt) => silence.sample(rtt, packet.at),
                None => silence.begin_unknown(),
            }
            if let Some(window) = window {
                window.begin(answered, packet.at, packet.stamp);
            }
        } else {
            let in_order = packet.number == self.next;
            let gap = packet.at.since(*last_arrival);
            let again = packet.number < self.next || (delay.quick_acks_out_of_order && shows_loss);
            let silent = in_order && gap > silence.rto();
            if (again || silent) && delay.quick_acks_again {
                self.quick = delay.quick_acks;
            }
            if let Some(delay) = adapted {
                if again {
                    delay.deflate();
                } else if in_order {
                    delay.on_gap(gap, silence.rto());
                }
            }
        }
        let delay = *delay;
        let in_order = packet.number == self.next;
        *last_arrival = core::hint::select_unpredictable(in_order, packet.at, *last_arrival);
        let latched = self.ecn && !self.each_mark && self.counted.is_none();
        if latched && delay.quick_acks_again && !delay.quick_acks_out_of_order {
            self.note_mark_or_retransmit(packet, delay.quick_acks);
        }
    }

    /// Linux since 4.18: two quick ACKs for the first mark that the sender has not answered with CWR, since its window
    /// may be very small, and for a segment that is not ECN-capable where others were: a retransmission.
    fn note_mark_or_retransmit(&mut self, packet: &Packet, most: u32) {
        let capable = packet.has(flags::ECT) || packet.has(flags::CE);
        let news = if capable {
            packet.has(flags::CE) && (!self.echo_congestion || packet.has(flags::CWR))
        } else {
            self.capable_seen
        };
        if news {
            self.quick = self.quick.max(SEGMENTS_PER_ACK.min(most));
        }
        self.capable_seen |= capable;
    }

    /// Whether CWR asks for an immediate ACK, since the sender's window may be a single segment (Linux since 4.18:
    /// `tcp_ecn_accept_cwr`).
    #[inline]
    pub(super) fn answers_cwr(&self, packet: &Packet) -> bool {
        packet.has(flags::CWR)
            && self.counted.is_none()
            && self.delaying.as_deref().is_some_and(|Delaying { plan, .. }| {
                plan.quick_acks_again && !plan.quick_acks_out_of_order
            })
    }

    /// Whether the segment is out of order or, with ECN, not ECN-capable and thus a retransmission (Linux before 4.18:
    /// `tcp_data_queue`, `TCP_ECN_check_ce`).
    fn shows_loss(&self, packet: &Packet) -> bool {
        packet.number > self.next || (self.ecn && !packet.has(flags::ECT) && !packet.has(flags::CE))
    }
}
