//! The receiving end of a connection: in-order point, out-of-order blocks, acknowledgements.
//!
//! Acknowledges every second segment (RFC 5681, section 4.2), or each if delaying is off; at once
//! when a segment is out of order, fills a hole or comes again, and for
//! the first segments of a connection (Linux's quick ACKs, which help the sender's slow start; it
//! grants them again after a silence of a retransmission timeout and after a segment that came
//! twice, both signs that the sender is in slow start again).
//!
//! Congestion marks are echoed until the sender says that it has answered (RFC 3168) or
//! one by one, by counters ([`accecn`](super::accecn)) or apart: an ACK says whether the segments that it
//! acknowledges were marked, and none acknowledges marked and unmarked ones (RFC 8257, section 3.2).

mod marks;
mod out_of_order;
mod quick_acks;

use core::hint::select_unpredictable;

use tidegate_mechanisms::price::{Encoding, Gathered};
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{DelayedAckPlan, FeedbackPlan, TcpPlan};

use super::accecn::MarkCounters;
use super::ack_delay::AckDelay;
use super::ack_timer::AckTimer;
use super::receive_window::ReceiveWindow;
use super::round_trip::RoundTrip;
use super::short_segments::ShortSegments;
use super::{Answered, Sizes};
use crate::memory::prefetch;
use crate::packet::{Packet, SackBlocks, flags};
use out_of_order::OutOfOrder;

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
    mss: u16,
    full: u16,
    /// Segments from `next` on that have arrived and are not full.
    short: ShortSegments,
    out_of_order: OutOfOrder,
    sack: bool,
    ecn: bool,
    /// Marks are echoed one by one.
    each_mark: bool,
    /// Acknowledgements are ECN-capable, as all packets of scalable connections, and of those with accurate
    /// feedback.
    capable: bool,
    /// Marks are counted, where the connection has accurate feedback.
    counted: Option<Box<MarkCounters>>,
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
    echoes_arrival: bool,
    /// What segments have carried of prices since the last acknowledgement, for a sender that reads them.
    prices: Option<Box<Gathered>>,
    /// Acknowledgements have more to say than what they acknowledge, whatever has arrived.
    has_more_feedback: bool,
}

/// What a receiver has that delays acknowledgements.
struct Delaying {
    plan: DelayedAckPlan,
    timer: AckTimer,
    /// The delay, where it adapts.
    adapted: Option<AckDelay>,
    /// The window it offers, where it is tuned.
    window: Option<ReceiveWindow>,
    /// The receiver's own retransmission timeout, for the silence after which it acknowledges
    /// quickly; its only round-trip sample is that of the handshake, which takes timestamps.
    silence: RoundTrip,
    /// How the connection request was answered, until the first segment arrives.
    answered: Option<Answered>,
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
        let mark_feedback = plan.mark_feedback();
        Receiver {
            next: 0,
            missing_bytes: 0,
            mss: sizes.mss() as u16,
            full: sizes.full,
            short: ShortSegments::default(),
            out_of_order: OutOfOrder::default(),
            sack,
            ecn: plan.ecn,
            each_mark: mark_feedback == Some(FeedbackPlan::Dctcp),
            capable: plan.is_scalable() || mark_feedback == Some(FeedbackPlan::Accurate),
            counted: (mark_feedback == Some(FeedbackPlan::Accurate))
                .then(|| Box::new(MarkCounters::new(plan.accurate_option))),
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
            echoes_arrival: plan.congestion_control.reads_one_way_delay(),
            prices: None,
            has_more_feedback: plan.congestion_control.reads_one_way_delay(),
        }
    }

    /// Asks for what it keeps elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        if let Some(delaying) = self.delaying.as_deref() {
            prefetch(delaying);
        }
        self.out_of_order.prefetch();
    }

    /// Payload in order, bytes.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.next * u64::from(self.mss) - self.missing_bytes
    }

    /// The sender reads prices, which travel so.
    pub fn gather_prices(&mut self, encoding: Encoding) {
        if encoding.is_in_payload() {
            self.prices = Some(Box::new(Gathered::new(encoding)));
            self.has_more_feedback = true;
        }
    }

    /// Whether acknowledgements have options even where nothing is amiss.
    #[inline]
    pub fn has_more_feedback(&self) -> bool {
        self.has_more_feedback
    }

    /// What the next acknowledgement says beside blocks and counters: when the segment arrived whose timestamp is
    /// echoed, if the sender wants to know, and what segments carried of prices.
    #[inline]
    pub fn more_feedback(&mut self) -> (Option<Time>, u32) {
        let prices = self.prices.as_mut().map_or(0, |gathered| gathered.take());
        (self.echoes_arrival.then_some(self.echoed_at), prices)
    }

    /// The receiver's own, where it has one.
    #[inline]
    fn round_trip(&self) -> Span {
        let delaying = self.delaying.as_ref();
        delaying.and_then(|own| own.silence.srtt()).unwrap_or(Span::ZERO)
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
        // Whether it is the first since the last acknowledgement cannot be guessed.
        let first = segment <= self.last_ack;
        self.echo = select_unpredictable(first, packet.stamp, self.echo);
        self.echoed_at = select_unpredictable(first, packet.at, self.echoed_at);
        let mut at_once = self.ecn && self.note_congestion(packet);
        if (segment != self.next || !self.out_of_order.is_empty()) && self.counts_marks() {
            self.note_whether_twice(segment);
        }
        if packet.len != self.full && segment >= self.next {
            self.short.note(segment, self.full - packet.len);
        }
        if segment == self.next {
            self.next += 1;
            if !self.out_of_order.is_empty() {
                at_once = true;
                self.next = self.out_of_order.take_from(self.next).unwrap_or(self.next);
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
                self.out_of_order.insert(segment);
            }
        }
        let Some(delaying) = self.delaying.as_deref() else { return Reply::Now };
        let Delaying { plan: delay, adapted, silence, .. } = delaying;
        self.unacknowledged += 1;
        at_once |= delay.quick_push && packet.has(flags::PSH);
        if at_once | (self.quick > 0) | (self.unacknowledged >= SEGMENTS_PER_ACK) {
            Reply::Now
        } else if self.unacknowledged == 1 {
            let adapted = adapted.map(|delay| delay.delay(silence));
            Reply::Later(adapted.unwrap_or(delay.timeout))
        } else {
            Reply::Wait
        }
    }

    /// The blocks to report, most recent first; `None` when all is in order.
    #[inline(always)]
    pub fn sack_blocks(&self) -> Option<SackBlocks> {
        if self.sack { self.out_of_order.report() } else { None }
    }

    /// The timer of delayed acknowledgements, where they are delayed.
    #[inline]
    pub fn ack_timer(&mut self) -> Option<&mut AckTimer> {
        self.delaying.as_deref_mut().map(|delaying| &mut delaying.timer)
    }

    /// An acknowledgement waited for a second segment spuriously.
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
mod tests;
