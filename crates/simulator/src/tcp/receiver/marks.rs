//! How a receiver reports congestion marks: by the echo of RFC 3168, one by one (RFC 8257), or by counters (RFC 9768).

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::OptionPlan;

use super::Receiver;
use crate::packet::{Packet, ReceivedBytes, SackBlocks, flags};
use crate::tcp::accecn::handshake::Mode;
use crate::tcp::accecn::{Ace, Codepoint, Fitted, HandshakeOutcome, OptionRoom};

impl Receiver {
    /// The connection request is answered: with these flags, and counters if there are any. Until a segment arrives in
    /// order its timestamp is echoed (RFC 7323, section 4.3).
    pub fn on_request(&mut self, request: &Packet) -> (u32, Option<ReceivedBytes>) {
        self.note_request(request);
        let capable = request.flags & flags::ECT;
        let Some(counted) = &mut self.counted else {
            // The sender may have fallen back.
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

    /// A request that comes again after data is an old one, and changes nothing.
    fn note_request(&mut self, request: &Packet) {
        if self.next > 0 || !self.out_of_order.is_empty() {
            return;
        }
        self.echo = request.stamp;
        if let Some(delaying) = &mut self.delaying {
            delaying.answered.get_or_insert_default().note(request.at);
        }
    }

    /// Its host has requested the connection, and that was answered by whoever sends the data, at `answered`: the
    /// answer's timestamp is echoed until a segment arrives in order, likewise.
    pub fn on_answer(&mut self, answered: Time) {
        if self.echo == Time::ZERO {
            self.echo = answered;
        }
    }

    /// How the handshake has ended for whoever sends data the other path.
    pub fn outcome(&self) -> HandshakeOutcome {
        let mode = if self.ecn { Mode::Classic } else { Mode::None };
        let counted = self.counted.as_ref();
        counted.map_or(HandshakeOutcome::plain(mode), |counted| counted.server().outcome())
    }

    /// Whether marks are counted.
    #[inline]
    pub fn counts_marks(&self) -> bool {
        self.counted.is_some()
    }

    /// The flag of ECN-capable packets, if acknowledgements are.
    #[inline]
    pub fn capable(&self) -> u32 {
        if self.capable { flags::ECT } else { 0 }
    }

    /// RFC 3168, section 6.1.3, or RFC 8257, section 3.2. Returns whether the sender has to know at
    /// once.
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

    /// A packet without data arrives with this ECN field.
    pub fn note_control(&mut self, ecn: Codepoint) {
        if let Some(counted) = &mut self.counted {
            counted.note(ecn, 0);
        }
    }

    /// Where marks are counted the next acknowledgement says which segment has come twice.
    #[inline(never)]
    pub(super) fn note_whether_twice(&mut self, segment: u64) {
        let twice = segment < self.next || self.out_of_order.contains(segment);
        if let Some(counted) = self.counted.as_mut().filter(|_| twice) {
            counted.note_twice(segment);
        }
    }

    /// Whether segments wait for their acknowledgement that were marked and the one that arrives is
    /// not, or the other direction: they have to be acknowledged first, by themselves.
    #[inline]
    pub fn owes_other_echo(&self, packet: &Packet) -> bool {
        self.each_mark && self.unacknowledged > 0 && packet.has(flags::CE) != self.echo_congestion
    }

    /// What the next acknowledgement says of marks where it says nothing else: the counter of packets.
    #[inline]
    pub fn echo_packets_alone(&mut self, now: Time) -> Option<Ace> {
        if !self.out_of_order.is_empty() || self.has_more_feedback {
            return None;
        }
        let round_trip = self.round_trip();
        self.counted.as_mut()?.echo_packets_alone(round_trip, now)
    }

    /// What the next acknowledgement says of marks: the counter, the option, and the SACK blocks that go along.
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

    /// Marked packets that have arrived, and their bytes, where marks are counted.
    #[cfg(test)]
    pub fn marked(&self) -> (u64, u64) {
        self.counted.as_ref().map_or((0, 0), |counted| counted.marked())
    }

    /// With which acknowledgements the option of accurate feedback goes, on a path that may not let it pass.
    pub fn send_options(&mut self, when: OptionPlan) {
        if let Some(counted) = &mut self.counted {
            counted.do_as_linux();
            counted.set_option(when);
        }
    }
}
