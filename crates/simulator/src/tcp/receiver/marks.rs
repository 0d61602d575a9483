//! ECN feedback of a receiver: the latched echo of RFC 3168, one echo per mark (RFC 8257), or counters (RFC 9768).

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::OptionPlan;

use super::Receiver;
use crate::packet::{Packet, ReceivedBytes, SackBlocks, flags};
use crate::tcp::accecn::handshake::Mode;
use crate::tcp::accecn::{Ace, Codepoint, Fitted, HandshakeOutcome, OptionRoom};

impl Receiver {
    /// Handles a SYN. Returns the flags of the SYN/ACK, and its counters if there are any. Until a segment arrives in
    /// order, the SYN's timestamp is echoed (RFC 7323, section 4.3).
    pub fn on_request(&mut self, request: &Packet) -> (u32, Option<ReceivedBytes>) {
        self.note_request(request);
        let capable = request.flags & flags::ECT;
        let Some(counted) = &mut self.counted else {
            // The sender may have fallen back to a SYN without ECN.
            self.capable &= capable != 0;
            let agrees = self.ecn && Mode::asked(Ace::of(request)) != Mode::None;
            return (self.capable() | if agrees { flags::ECE } else { 0 }, None);
        };
        let (mode, answer) = counted.on_request(request);
        let bytes = counted.first_bytes().filter(|_| answer.option);
        if mode != Mode::Accurate {
            self.counted = None;
            self.ecn = mode == Mode::Classic;
            self.capable = false;
        } else {
            self.capable = counted.server().outcome().capable;
        }
        ((self.capable() & capable) | answer.ace.flags(), bytes)
    }

    /// Handles the ECN fields of a SYN. A SYN that arrives after data is old and changes nothing.
    fn note_request(&mut self, request: &Packet) {
        if self.next > 0 || !self.out_of_order.is_empty() {
            return;
        }
        self.echo = request.stamp;
        if let Some(delaying) = &mut self.delaying {
            delaying.answered.get_or_insert_default().note(request.at);
        }
    }

    /// Handles a SYN/ACK to this host's SYN, sent at `answered`: its timestamp is echoed until a segment arrives in
    /// order.
    pub fn on_answer(&mut self, answered: Time) {
        if self.echo == Time::ZERO {
            self.echo = answered;
        }
    }

    /// Returns the outcome of the handshake for the sender of the opposite half.
    pub fn outcome(&self) -> HandshakeOutcome {
        let mode = if self.ecn { Mode::Classic } else { Mode::None };
        let counted = self.counted.as_ref();
        counted.map_or(HandshakeOutcome::plain(mode), |counted| counted.server().outcome())
    }

    /// Whether marks are counted (AccECN).
    #[inline]
    pub fn counts_marks(&self) -> bool {
        self.counted.is_some()
    }

    /// Returns the flag of ECN-capable packets, if acknowledgements are ECN-capable.
    #[inline]
    pub fn capable(&self) -> u32 {
        if self.capable { flags::ECT } else { 0 }
    }

    /// Updates the echo by RFC 3168, section 6.1.3, or RFC 8257, section 3.2. Returns whether an immediate
    /// acknowledgement is needed.
    pub(super) fn note_congestion(&mut self, packet: &Packet) -> bool {
        if let Some(gathered) = &mut self.prices {
            gathered.add(packet.payload);
        }
        if let Some(counted) = &mut self.counted {
            let missing = u32::from(self.full - packet.len);
            return counted.note(Codepoint::of(packet), u32::from(self.mss) - missing);
        }
        let marked = packet.has(flags::CE);
        if self.each_mark {
            return core::mem::replace(&mut self.echo_congestion, marked) != marked;
        }
        self.echo_congestion = marked || (self.echo_congestion && !packet.has(flags::CWR));
        false
    }

    /// Counts the ECN field of a packet without data.
    pub fn note_control(&mut self, ecn: Codepoint) {
        if let Some(counted) = &mut self.counted {
            counted.note(ecn, 0);
        }
    }

    /// Notes a duplicate segment for the next acknowledgement, if marks are counted.
    #[inline(never)]
    pub(super) fn note_whether_twice(&mut self, segment: u64) {
        let twice = segment < self.next || self.out_of_order.contains(segment, self.next);
        if let Some(counted) = self.counted.as_mut().filter(|_| twice) {
            counted.note_twice(segment);
        }
    }

    /// Whether the unacknowledged segments and the arriving one differ in their marks, so that the former have to be
    /// acknowledged first, on their own.
    #[inline]
    pub fn owes_other_echo(&self, packet: &Packet) -> bool {
        self.each_mark && self.unacknowledged > 0 && packet.has(flags::CE) != self.echo_congestion
    }

    /// Returns the packet counter if the next acknowledgement carries no other feedback.
    #[inline]
    pub fn echo_packets_alone(&mut self, now: Time) -> Option<Ace> {
        if !self.out_of_order.is_empty() || self.has_more_feedback {
            return None;
        }
        let round_trip = self.round_trip();
        self.counted.as_mut()?.echo_packets_alone(round_trip, now)
    }

    /// Returns the feedback of the next acknowledgement: counter, option, and the SACK blocks beside it.
    pub fn echo_marks(
        &mut self,
        blocks: Option<SackBlocks>,
        now: Time,
    ) -> (Ace, Option<Fitted>, SackBlocks) {
        let mut blocks = blocks.unwrap_or_default();
        let round_trip = self.round_trip();
        let (timestamps, sack) = (self.timestamps, self.sack);
        let Some(counted) = &mut self.counted else { return (Ace::NONE, None, blocks) };
        if let Some(segment) = counted.twice().filter(|_| sack) {
            blocks.rotate_right(1);
            blocks[0] = (segment, segment + 1);
        }
        let used = blocks.iter().filter(|(start, end)| start < end).count();
        let fitted = counted.on_ack(OptionRoom { timestamps, blocks: used }, round_trip, now);
        let kept = fitted.map_or(used, |fitted| fitted.blocks);
        blocks[kept..].fill((0, 0));
        (counted.ace(), fitted, blocks)
    }

    /// Returns the number of marked packets, and their bytes, if marks are counted.
    #[cfg(test)]
    pub fn marked(&self) -> (u64, u64) {
        self.counted.as_ref().map_or((0, 0), |counted| counted.marked())
    }

    /// Sets which acknowledgements carry the AccECN option, on a path that may drop it.
    pub fn send_options(&mut self, when: OptionPlan) {
        if let Some(counted) = &mut self.counted {
            counted.do_as_linux();
            counted.set_option(when);
        }
    }
}
