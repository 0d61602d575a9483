//! The receiving end of a connection: in-order point, out-of-order blocks, acknowledgements.
//!
//! Acknowledges every second segment (RFC 5681, section 4.2), or each if delaying is off. Acknowledges at once if a
//! segment is out of order, fills a hole or is a duplicate, and for the first segments of a connection (Linux's quick
//! ACKs, which help the sender's slow start). Quick ACKs are granted again after an idle time of a retransmission
//! timeout and after a duplicate, both signs that the sender is in slow start again.
//!
//! Congestion marks are echoed until the sender sets CWR (RFC 3168), counted ([`accecn`](super::accecn)), or echoed one
//! by one: an ACK then says whether the segments that it acknowledges were marked, and none covers both marked and
//! unmarked ones (RFC 8257, section 3.2).

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

/// Number of segments after which a delayed acknowledgement is sent (RFC 1122).
const SEGMENTS_PER_ACK: u32 = 2;

/// Action after a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Acknowledge now.
    Now,
    /// Acknowledge after this delay, unless another packet does so before.
    Later(Span),
    /// The timer is already running.
    Wait,
}

/// State of one receiver.
pub struct Receiver {
    /// Next segment expected.
    pub next: u64,
    /// Bytes by which the segments in order fall short of full ones.
    missing_bytes: u64,
    /// Payload of a full segment, bytes.
    mss: u16,
    /// Length of a full segment on the wire, bytes.
    full: u16,
    /// Partial segments that have arrived from `next` on.
    short: ShortSegments,
    out_of_order: OutOfOrder,
    sack: bool,
    ecn: bool,
    /// Whether each mark is echoed on its own (RFC 8257).
    each_mark: bool,
    /// Whether acknowledgements are ECN-capable, as are all packets of scalable senders and of AccECN.
    capable: bool,
    /// AccECN counters, if the connection uses AccECN.
    counted: Option<Box<MarkCounters>>,
    echo_congestion: bool,
    /// Whether an ECN-capable segment has arrived.
    capable_seen: bool,
    delaying: Option<Box<Delaying>>,
    quick: u32,
    timestamps: bool,
    unacknowledged: u32,
    /// Highest segment acknowledged so far.
    last_ack: u64,
    /// Timestamp to echo (RFC 7323, section 4.3).
    echo: Time,
    /// Arrival time of the segment whose timestamp is echoed.
    echoed_at: Time,
    /// Whether acknowledgements report that arrival time.
    echoes_arrival: bool,
    /// Prices in segments since the last acknowledgement, for a sender that reads them.
    prices: Option<Box<Gathered>>,
    /// Whether acknowledgements carry feedback besides the acknowledgement number, regardless of arrivals.
    has_more_feedback: bool,
}

/// State of a receiver that delays acknowledgements.
struct Delaying {
    plan: DelayedAckPlan,
    timer: AckTimer,
    /// Delay estimator, if the delay adapts.
    adapted: Option<AckDelay>,
    /// Receive window, if it is tuned dynamically.
    window: Option<ReceiveWindow>,
    /// The receiver's own retransmission timeout, the idle time after which it grants quick ACKs; its only round-trip
    /// sample is that of the handshake, which requires timestamps.
    silence: RoundTrip,
    /// Time of the SYN/ACK, until the first segment arrives.
    answered: Option<Answered>,
    /// Arrival time of the last segment in order.
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
    /// Returns a receiver before the first segment.
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

    /// Prefetches state kept elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        if let Some(delaying) = self.delaying.as_deref() {
            prefetch(delaying);
        }
        self.out_of_order.prefetch();
    }

    /// Returns the payload delivered in order, bytes.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.next * u64::from(self.mss) - self.missing_bytes
    }

    /// Gathers prices in this encoding, for a sender that reads them.
    pub fn gather_prices(&mut self, encoding: Encoding) {
        if encoding.is_in_payload() {
            self.prices = Some(Box::new(Gathered::new(encoding)));
            self.has_more_feedback = true;
        }
    }

    /// Whether acknowledgements have options even without loss or reordering.
    #[inline]
    pub fn has_more_feedback(&self) -> bool {
        self.has_more_feedback
    }

    /// Returns the feedback of the next acknowledgement besides SACK blocks and ECN counters: the arrival time of the
    /// segment whose timestamp is echoed, if the sender needs it, and the prices of segments.
    #[inline]
    pub fn more_feedback(&mut self) -> (Option<Time>, u32) {
        let prices = self.prices.as_mut().map_or(0, |gathered| gathered.take());
        (self.echoes_arrival.then_some(self.echoed_at), prices)
    }

    /// Returns the receiver's own round trip, if it has one.
    #[inline]
    fn round_trip(&self) -> Span {
        let delaying = self.delaying.as_ref();
        delaying.and_then(|own| own.silence.srtt()).unwrap_or(Span::ZERO)
    }

    /// Handles a data segment.
    #[inline]
    pub fn on_segment(&mut self, packet: &Packet) -> Reply {
        let segment = packet.number;
        if let Some(Delaying { plan: delay, .. }) = self.delaying.as_deref()
            && (delay.quick_acks_again || delay.adaptive || delay.autotuning)
        {
            self.renew_quick_acks(packet);
        }
        // Whether it is the first since the last acknowledgement is unpredictable.
        let first = segment <= self.last_ack;
        self.echo = select_unpredictable(first, packet.stamp, self.echo);
        self.echoed_at = select_unpredictable(first, packet.at, self.echoed_at);
        let mut at_once = self.ecn && (self.note_congestion(packet) | self.answers_cwr(packet));
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
            // Linux: a growing window grants a quick ACK, if none is left.
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
                self.out_of_order.insert(segment, self.next);
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

    /// Returns the blocks to report, most recent first; `None` when all is in order.
    #[inline(always)]
    pub fn sack_blocks(&self) -> Option<SackBlocks> {
        if self.sack { self.out_of_order.report(self.next) } else { None }
    }

    /// Returns the delayed-acknowledgement timer, if acknowledgements are delayed.
    #[inline]
    pub fn ack_timer(&mut self) -> Option<&mut AckTimer> {
        self.delaying.as_deref_mut().map(|delaying| &mut delaying.timer)
    }

    /// Handles the expiry of the delay before a second segment arrived.
    pub fn on_delay_missed(&mut self) {
        if let Some(Delaying { adapted: Some(delay), silence, .. }) = self.delaying.as_deref_mut() {
            delay.on_missed(silence.rto());
        }
    }

    /// Handles the sending of an acknowledgement. Returns its timestamp echo, and whether it sets ECE.
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
