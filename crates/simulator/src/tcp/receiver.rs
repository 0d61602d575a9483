//! The receiving end of a connection: in-order point, out-of-order blocks, acknowledgements.
//!
//! Acknowledges every second segment (RFC 5681, section 4.2), or each if delaying is off; at once
//! when a segment is out of order, fills a hole or comes again, and for
//! the first segments of a connection (Linux's quick ACKs, which help the sender's slow start; it
//! grants them anew after a silence of a retransmission time-out and after a segment that came
//! twice, both signs that the sender is in slow start again).
//!
//! Congestion marks are echoed until the sender says that it has answered (RFC 3168) or
//! one by one, by counters ([`accecn`](super::accecn)) or apart: an ACK says whether the segments that it acknowledges were marked, and none
//! acknowledges marked and unmarked ones (RFC 8257, section 3.2).

use std::collections::VecDeque;

use tidegate_mechanisms::price::{Encoding, Gathered};
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{DelayedAckPlan, FeedbackPlan, OptionPlan, TcpPlan};

use super::Sizes;
use super::accecn::handshake::Mode;
use super::accecn::{Ace, Codepoint, Fitted, OptionRoom, Outcome, Received};
use super::ack_delay::AckDelay;
use super::ack_timer::AckTimer;
use super::receive_window::ReceiveWindow;
use super::round_trip::RoundTrip;
use super::short_segments::ShortSegments;
use crate::memory::prefetch;
use crate::packet::{MAX_SACK_BLOCKS, Packet, ReceivedBytes, SackBlocks, flags};

/// Segments that make a delayed acknowledgement due (RFC 1122).
const SEGMENTS_PER_ACK: u32 = 2;

/// What to do after a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Acknowledge now.
    Now,
    /// Acknowledge when the delay is over, unless something else causes it before.
    Later(Span),
    /// The timer is running already.
    Wait,
}

/// State of one receiver.
pub struct Receiver {
    /// Next segment expected.
    pub next: u64,
    /// What the segments in order lack for full ones, bytes.
    missing_bytes: u64,
    /// Payload of a full segment, and its size.
    mss: u64,
    full: u16,
    /// Segments from `next` on that have arrived and are not full.
    short: ShortSegments,
    /// Blocks above it, ascending and disjoint.
    blocks: VecDeque<(u64, u64)>,
    /// A segment of each of the blocks that changed last, most recent first.
    recent: [u64; MAX_SACK_BLOCKS],
    sack: bool,
    ecn: bool,
    /// Marks are echoed one by one.
    each_mark: bool,
    /// Acknowledgements are ECN-capable, as all packets of scalable connections, and of those with accurate
    /// feedback.
    capable: bool,
    /// Marks are counted, where the connection has accurate feedback.
    counted: Option<Box<Received>>,
    echo_congestion: bool,
    /// An ECN-capable segment has arrived.
    capable_seen: bool,
    delaying: Option<Box<Delaying>>,
    quick: u32,
    timestamps: bool,
    unacknowledged: u32,
    /// Acknowledged up to here.
    last_ack: u64,
    /// Timestamp to echo (RFC 7323, section 4.3).
    echo: Time,
    /// When the segment that had it arrived, and whether acknowledgements say so.
    echoed_at: Time,
    tells_arrival: bool,
    /// What segments have carried of prices since the last acknowledgement, for a sender that reads them.
    prices: Option<Box<Gathered>>,
    /// Acknowledgements have more to say than what they acknowledge, whatever has arrived.
    tells_more: bool,
}

/// What a receiver has that delays acknowledgements.
struct Delaying {
    plan: DelayedAckPlan,
    timer: AckTimer,
    /// The delay, where it adapts.
    adapted: Option<AckDelay>,
    /// The window it offers, where it is tuned.
    window: Option<ReceiveWindow>,
    /// The receiver's own retransmission time-out, for the silence after which it acknowledges
    /// quickly; its only round-trip sample is that of the handshake, which takes timestamps.
    silence: RoundTrip,
    /// When the connection request was answered, until the first segment arrives.
    answered: Option<Time>,
    /// When the last segment in order arrived.
    last_arrival: Time,
}

impl Delaying {
    fn new(plan: DelayedAckPlan, tcp: &TcpPlan, mss: u64) -> Self {
        Delaying {
            plan,
            timer: AckTimer::new(),
            adapted: plan.adaptive.then(|| AckDelay::new(plan.timeout)),
            window: plan.autotuning.then(|| ReceiveWindow::new(mss)),
            silence: RoundTrip::new(tcp.rto()),
            answered: None,
            last_arrival: Time::ZERO,
        }
    }
}

impl Receiver {
    /// A receiver before the first segment.
    pub fn new(plan: &TcpPlan, sack: bool, sizes: Sizes) -> Self {
        let told_by = plan.marks_told_by();
        Receiver {
            next: 0,
            missing_bytes: 0,
            mss: sizes.mss(),
            full: sizes.full,
            short: ShortSegments::default(),
            blocks: VecDeque::new(),
            recent: [0; MAX_SACK_BLOCKS],
            sack,
            ecn: plan.ecn,
            each_mark: told_by == Some(FeedbackPlan::Dctcp),
            capable: plan.is_scalable() || told_by == Some(FeedbackPlan::Accurate),
            counted: (told_by == Some(FeedbackPlan::Accurate))
                .then(|| Box::new(Received::new(plan.accurate_option))),
            echo_congestion: false,
            capable_seen: false,
            delaying: plan
                .delayed_acks()
                .map(|delay| Box::new(Delaying::new(delay, plan, sizes.mss()))),
            quick: plan.delayed_acks().map_or(0, |delay| delay.quick_acks),
            timestamps: plan.timestamps,
            unacknowledged: 0,
            last_ack: 0,
            echo: Time::ZERO,
            echoed_at: Time::ZERO,
            tells_arrival: plan.congestion_control.reads_one_way_delay(),
            prices: None,
            tells_more: plan.congestion_control.reads_one_way_delay(),
        }
    }

    /// Asks for what it keeps elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        if let Some(delaying) = self.delaying.as_deref() {
            prefetch(delaying);
        }
        if let Some(block) = self.blocks.front() {
            prefetch(block);
        }
    }

    /// Payload in order, bytes.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.next * self.mss - self.missing_bytes
    }

    /// The sender reads prices, which travel so.
    pub fn gather_prices(&mut self, encoding: Encoding) {
        if encoding.is_in_word() {
            self.prices = Some(Box::new(Gathered::new(encoding)));
            self.tells_more = true;
        }
    }

    /// Whether acknowledgements have options even where nothing is amiss.
    #[inline]
    pub fn tells_more(&self) -> bool {
        self.tells_more
    }

    /// What the next acknowledgement says beside blocks and counters: when the segment arrived whose timestamp is
    /// echoed, if the sender wants to know, and what segments carried of prices.
    #[inline]
    pub fn tell_more(&mut self) -> (Option<Time>, u32) {
        let prices = self.prices.as_mut().map_or(0, |gathered| gathered.take());
        (self.tells_arrival.then_some(self.echoed_at), prices)
    }

    /// The connection request is answered: with these flags, and counters if there are any.
    pub fn on_request(&mut self, request: &Packet) -> (u32, Option<ReceivedBytes>) {
        if let Some(delaying) = &mut self.delaying {
            delaying.answered = Some(request.at);
        }
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

    /// How the handshake has ended for whoever sends data the other way.
    pub fn outcome(&self) -> Outcome {
        let mode = if self.ecn { Mode::Classic } else { Mode::None };
        let counted = self.counted.as_ref();
        counted.map_or(Outcome::plain(mode), |counted| counted.server().outcome())
    }

    /// Whether marks are counted.
    #[inline]
    pub fn counts_marks(&self) -> bool {
        self.counted.is_some()
    }

    /// What the next acknowledgement says of marks where it says nothing else: the counter of packets.
    #[inline]
    pub fn tell_packets_alone(&mut self, now: Time) -> Option<Ace> {
        if !self.blocks.is_empty() || self.tells_more {
            return None;
        }
        let round_trip = self.round_trip();
        self.counted.as_mut()?.tell_packets_alone(round_trip, now)
    }

    /// The receiver's own, where it has one.
    #[inline]
    fn round_trip(&self) -> Span {
        let delaying = self.delaying.as_ref();
        delaying.and_then(|own| own.silence.srtt()).unwrap_or(Span::ZERO)
    }

    /// What the next acknowledgement says of marks: the counter, the option, and the SACK blocks that go along.
    pub fn tell_of_marks(
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

    /// A packet without data arrives with this ECN field.
    pub fn note_control(&mut self, ecn: Codepoint) {
        if let Some(counted) = &mut self.counted {
            counted.note(ecn, 0);
        }
    }

    /// Marked packets that have arrived, and their bytes, where marks are counted.
    #[cfg(test)]
    pub fn marked(&self) -> (u64, u64) {
        self.counted.as_ref().map_or((0, 0), |counted| counted.marked())
    }

    /// With which acknowledgements the option of accurate feedback goes, on a way that may not let it pass.
    pub fn send_options(&mut self, when: OptionPlan) {
        if let Some(counted) = &mut self.counted {
            counted.do_as_linux();
            counted.set_option(when);
        }
    }

    /// The flag of ECN-capable packets, if acknowledgements are.
    #[inline]
    pub fn capable(&self) -> u32 {
        if self.capable { flags::ECT } else { 0 }
    }

    /// Grants quick ACKs anew where Linux does (`tcp_event_data_recv`, `tcp_enter_quickack_mode`).
    #[inline]
    fn renew_quick_acks(&mut self, packet: &Packet) {
        let tells_of_loss = self.tells_of_loss(packet);
        let Some(delaying) = self.delaying.as_deref_mut() else { return };
        let Delaying { plan: delay, adapted, window, silence, answered, last_arrival, .. } =
            delaying;
        if let Some(answered) = answered.take() {
            if self.timestamps {
                silence.sample(packet.at.since(answered), packet.at);
            }
            if let Some(window) = window {
                window.begin(answered, packet.at, packet.stamp);
            }
        } else {
            let in_order = packet.number == self.next;
            let gap = packet.at.since(*last_arrival);
            let again =
                packet.number < self.next || (delay.quick_acks_out_of_order && tells_of_loss);
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
        if packet.number == self.next {
            *last_arrival = packet.at;
        }
        let latched = self.ecn && !self.each_mark && self.counted.is_none();
        if latched && delay.quick_acks_again && !delay.quick_acks_out_of_order {
            self.note_mark_or_repair(packet, delay.quick_acks);
        }
    }

    /// Linux since 4.18: two quick ACKs for the first of the marks that the sender has not answered, whose
    /// window may be very small, and for a segment that is not ECN-capable where others were, a retransmission.
    fn note_mark_or_repair(&mut self, packet: &Packet, most: u32) {
        let capable = packet.has(flags::ECT) || packet.has(flags::CE);
        let news = if capable {
            packet.has(flags::CE) && !self.echo_congestion
        } else {
            self.capable_seen
        };
        if news {
            self.quick = self.quick.max(SEGMENTS_PER_ACK.min(most));
        }
        self.capable_seen |= capable;
    }

    /// Out of order or, with ECN, not ECN-capable and thus retransmitted (Linux before 4.18:
    /// `tcp_data_queue`, `TCP_ECN_check_ce`).
    fn tells_of_loss(&self, packet: &Packet) -> bool {
        packet.number > self.next || (self.ecn && !packet.has(flags::ECT) && !packet.has(flags::CE))
    }

    /// A data segment arrives.
    #[inline]
    pub fn on_segment(&mut self, packet: &Packet) -> Reply {
        let segment = packet.number;
        if let Some(Delaying { plan: delay, .. }) = self.delaying.as_deref()
            && (delay.quick_acks_again || delay.adaptive || delay.autotuning)
        {
            self.renew_quick_acks(packet);
        }
        if segment <= self.last_ack {
            self.echo = packet.stamp;
            self.echoed_at = packet.at;
        }
        let mut at_once = self.ecn && self.note_congestion(packet);
        if (segment != self.next || !self.blocks.is_empty()) && self.counts_marks() {
            self.note_whether_twice(segment);
        }
        if packet.len != self.full && segment >= self.next {
            self.short.note(segment, self.full - packet.len);
        }
        if segment == self.next {
            self.next += 1;
            if !self.blocks.is_empty() {
                at_once = true;
                self.absorb_first_block();
            }
            if !self.short.is_empty() {
                self.missing_bytes += self.short.release(self.next);
            }
            // Linux: a window that grows grants a quick ACK, if none is left over.
            let received_bytes = self.received_bytes();
            if let Some(delaying) = self.delaying.as_deref_mut()
                && let Some(window) = &mut delaying.window
                && window.on_segment(packet.at, packet.stamp, received_bytes)
            {
                self.quick |= 1;
            }
        } else {
            at_once = true;
            if segment > self.next {
                self.insert(segment);
            }
        }
        let Some(delaying) = self.delaying.as_deref() else { return Reply::Now };
        let Delaying { plan: delay, adapted, silence, .. } = delaying;
        self.unacknowledged += 1;
        at_once |= delay.quick_push && packet.has(flags::PSH);
        if at_once || self.quick > 0 || self.unacknowledged >= SEGMENTS_PER_ACK {
            Reply::Now
        } else if self.unacknowledged == 1 {
            let adapted = adapted.map(|delay| delay.delay(silence));
            Reply::Later(adapted.unwrap_or(delay.timeout))
        } else {
            Reply::Wait
        }
    }

    /// Where marks are counted the next acknowledgement says which segment has come twice.
    #[inline(never)]
    fn note_whether_twice(&mut self, segment: u64) {
        let twice = segment < self.next || self.block_of(segment).is_some();
        if let Some(counted) = self.counted.as_mut().filter(|_| twice) {
            counted.note_twice(segment);
        }
    }

    /// RFC 3168, section 6.1.3, or RFC 8257, section 3.2. Returns whether the sender has to know at
    /// once.
    fn note_congestion(&mut self, packet: &Packet) -> bool {
        if let Some(gathered) = &mut self.prices {
            gathered.add(packet.word);
        }
        if let Some(counted) = &mut self.counted {
            let missing = u32::from(self.full - packet.len);
            return counted.note(Codepoint::of(packet), self.mss as u32 - missing);
        }
        let marked = packet.has(flags::CE);
        if self.each_mark {
            return core::mem::replace(&mut self.echo_congestion, marked) != marked;
        }
        self.echo_congestion = marked || (self.echo_congestion && !packet.has(flags::CWR));
        false
    }

    /// Whether segments wait for their acknowledgement that were marked and the one that arrives is
    /// not, or the other way round: they have to be acknowledged first, by themselves.
    #[inline]
    pub fn owes_other_echo(&self, packet: &Packet) -> bool {
        self.each_mark && self.unacknowledged > 0 && packet.has(flags::CE) != self.echo_congestion
    }

    fn absorb_first_block(&mut self) {
        if let Some(&(start, end)) = self.blocks.front()
            && start == self.next
        {
            self.next = end;
            self.blocks.pop_front();
        }
    }

    /// Adds an out-of-order segment to its block.
    fn insert(&mut self, segment: u64) {
        // Mostly it extends the last block.
        let after = match self.blocks.back() {
            Some(&(start, _)) if segment >= start => self.blocks.len(),
            _ => self.blocks.partition_point(|&(start, _)| start <= segment),
        };
        let joins_before = after > 0 && self.blocks[after - 1].1 >= segment;
        let joins_after = after < self.blocks.len() && self.blocks[after].0 == segment + 1;
        match (joins_before, joins_after) {
            (true, true) => {
                self.blocks[after - 1].1 = self.blocks[after].1;
                self.blocks.remove(after);
            }
            (true, false) => {
                let end = &mut self.blocks[after - 1].1;
                *end = (*end).max(segment + 1);
            }
            (false, true) => self.blocks[after].0 = segment,
            (false, false) => self.blocks.insert(after, (segment, segment + 1)),
        }
        let same_block = self.blocks.len() == 1
            || self.block_of(self.recent[0]).is_some_and(|(s, e)| (s..e).contains(&segment));
        if !same_block {
            self.recent.rotate_right(1);
        }
        self.recent[0] = segment;
    }

    fn block_of(&self, segment: u64) -> Option<(u64, u64)> {
        let after = self.blocks.partition_point(|&(start, _)| start <= segment);
        let block = *self.blocks.get(after.checked_sub(1)?)?;
        (block.1 > segment).then_some(block)
    }

    /// The blocks to report, most recent first; `None` when all is in order.
    #[inline(always)]
    pub fn sack_blocks(&self) -> Option<SackBlocks> {
        if self.blocks.is_empty() || !self.sack {
            return None;
        }
        let mut report = SackBlocks::default();
        if self.blocks.len() == 1 {
            report[0] = self.blocks[0];
            return Some(report);
        }
        let mut used = 0;
        for &segment in &self.recent {
            if let Some(block) = self.block_of(segment)
                && !report[..used].contains(&block)
            {
                report[used] = block;
                used += 1;
            }
        }
        Some(report)
    }

    /// The timer of delayed acknowledgements, where they are delayed.
    #[inline]
    pub fn ack_timer(&mut self) -> Option<&mut AckTimer> {
        self.delaying.as_deref_mut().map(|delaying| &mut delaying.timer)
    }

    /// An acknowledgement waited for a second segment in vain.
    pub fn on_delay_missed(&mut self) {
        if let Some(Delaying { adapted: Some(delay), silence, .. }) = self.delaying.as_deref_mut() {
            delay.on_missed(silence.rto());
        }
    }

    /// An acknowledgement leaves: what it echoes, and whether it echoes congestion.
    pub fn on_ack_sent(&mut self) -> (Time, bool) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0
                && let Some(Delaying { adapted: Some(delay), .. }) = self.delaying.as_deref_mut()
            {
                delay.deflate();
            }
        }
        if let Some(delaying) = self.delaying.as_deref_mut() {
            delaying.timer.clear();
        }
        self.unacknowledged = 0;
        self.last_ack = self.next;
        (self.echo, self.echo_congestion)
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
