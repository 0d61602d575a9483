//! TCP: data from a sender to a receiver, acknowledgements back. A connection has one such half for each direction in
//! which its applications send.
//!
//! Sequence space is counted in segments, as in Linux's congestion control: segment `n` stands for
//! the bytes from `ISN + 1 + n · MSS`. The connection opens with a three-way handshake; it is not
//! torn down.

pub mod accecn;
mod ack_delay;
mod ack_timer;
mod context;
mod packed_option;
mod receive_window;
pub mod receiver;
pub mod reduction;
pub mod round_trip;
pub mod scoreboard;
mod send_times;
pub mod sender;
mod short_segments;
#[cfg(test)]
mod timelines;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::TcpPlan;

pub use context::{Address, HostContext, SimContext};

use crate::packet::{Options, PackedPacket, flags};

/// Length of the IPv4 and TCP headers without options.
pub const HEADER_BYTES: u16 = 40;
/// Length of the timestamps option, padded (RFC 7323, appendix A).
pub const TIMESTAMP_BYTES: u16 = 12;
/// Length of a SYN's options: MSS, SACK permitted, timestamps, window scale.
const SYN_OPTION_BYTES: u16 = 20;

/// Sizes on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Length of a full segment.
    pub full: u16,
    /// Length of the headers of a segment or an acknowledgement.
    pub header: u16,
}

impl Sizes {
    /// Length of a SYN or SYN/ACK.
    pub const SYN: u16 = HEADER_BYTES + SYN_OPTION_BYTES;

    /// Returns the sizes for full packets of `packet_size` bytes.
    pub fn new(packet_size: u16, timestamps: bool) -> Self {
        let header = HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 };
        Sizes { full: packet_size, header }
    }

    /// Returns the largest payload of a segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.full - self.header)
    }

    /// Returns the length of a SACK option with `blocks` blocks, padded.
    pub fn sack_option(blocks: usize) -> u16 {
        if blocks == 0 { 0 } else { 4 + 8 * blocks as u16 }
    }
}

/// One half of a connection: data in one direction and its acknowledgements, with both ends. What a segment needs precedes
/// the sender.
#[repr(C)]
pub struct Half {
    /// Flow, connection and routes.
    pub address: Address,
    /// Length of the headers of a segment or an acknowledgement, bytes.
    pub header: u16,
    /// Whether the receiver's application acts on arriving data.
    pub listened: bool,
    /// The receiving end.
    pub receiver: receiver::Receiver,
    /// How the SYN was answered, if it came in this direction.
    answered: Answered,
    /// The sending end.
    pub sender: sender::TcpSender,
}

/// Time of the last SYN/ACK in nanoseconds; the highest bit is set if there was more than one. Which of several the
/// client has received is unknown, so that they give no round-trip sample (Karn's algorithm; RFC 6298, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answered(u64);

impl Answered {
    const AGAIN: u64 = 1 << 63;

    /// Returns the state after a single SYN/ACK at this time.
    #[cfg(test)]
    pub fn once(at: Time) -> Self {
        Answered(at.as_nanos())
    }

    /// Records a SYN/ACK in response to a SYN.
    pub fn note(&mut self, now: Time) {
        self.0 = now.as_nanos() | if self.0 > 0 { Self::AGAIN } else { 0 };
    }

    /// Returns the time of the last SYN/ACK.
    pub fn at(self) -> Time {
        Time::from_nanos(self.0 & !Self::AGAIN)
    }

    /// Returns the round trip from the SYN/ACK to an arrival now, if there was only one.
    pub fn round_trip(self, now: Time) -> Option<Span> {
        (self.0 & Self::AGAIN == 0).then(|| now.since(self.at()))
    }
}

impl Half {
    /// Returns a half whose connection is not requested yet. Data are written to its sender
    /// ([`sender::TcpSender::write`]).
    pub fn new(plan: &TcpPlan, packet_size: u16, address: Address) -> Self {
        let sizes = Sizes::new(packet_size, plan.timestamps);
        let sender = sender::TcpSender::new(plan, sizes);
        let receiver = receiver::Receiver::new(plan, sender.uses_sack(), sizes);
        let Sizes { header, .. } = sizes;
        Half { address, header, listened: false, receiver, answered: Answered::default(), sender }
    }

    /// Lets the sender read prices in this encoding.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.sender.read_prices(encoding);
        self.receiver.gather_prices(encoding);
    }

    /// Returns the payload delivered in order at the receiver, bytes.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Returns how the SYN was answered for the sender of the opposite half, once later data has arrived and shows that
    /// the SYN/ACK was received.
    pub fn accepted(&self) -> Option<Answered> {
        (self.received_bytes() > 0).then_some(self.answered)
    }

    /// Handles a data packet or SYN at the receiver.
    #[inline]
    pub fn on_data(&mut self, packed: &PackedPacket, ctx: &mut HostContext) {
        if packed.has(flags::SYN) {
            return self.answer(packed, ctx);
        }
        let packet = &packed.packet(ctx.now);
        let sent_at = self.ack_sent_at();
        if self.receiver.ack_timer().is_some_and(|timer| timer.is_sent_before(packet.at)) {
            self.acknowledge_late(sent_at, ctx);
        }
        if self.receiver.owes_other_echo(packet) {
            self.acknowledge(ctx);
        }
        match self.receiver.on_segment(packet) {
            receiver::Reply::Now => self.acknowledge(ctx),
            receiver::Reply::Later(delay) => self.delay_ack(delay, ctx),
            receiver::Reply::Wait => {}
        }
    }

    #[cold]
    fn answer(&mut self, request: &PackedPacket, ctx: &mut HostContext) {
        let request = request.packet(ctx.now);
        self.answered.note(ctx.now);
        let (flags, received_bytes) = self.receiver.on_request(&request);
        let mut flags = flags::SYN | flags;
        let (mut len, mut ticket) = (Sizes::SYN, 0);
        if received_bytes.is_some() {
            len += accecn::ANSWERED_OPTION_BYTES;
            flags |= flags::OPTIONS;
            ticket = ctx.network.options.put(Options { received_bytes, ..Options::default() });
        }
        ctx.send_ack(0, request.stamp, len, flags, ticket);
    }

    #[inline]
    fn acknowledge(&mut self, ctx: &mut HostContext) {
        if self.receiver.ack_timer().is_some() {
            ctx.clear_ack_timer();
        }
        if self.receiver.counts_marks() {
            return self.acknowledge_accurately(ctx);
        }
        let (echo, congestion) = self.receiver.on_ack_sent();
        let mut flags = self.receiver.capable();
        flags |= if congestion { flags::ECE } else { 0 };
        let blocks = self.receiver.sack_blocks();
        let (mut len, mut payload) = (self.header, 0);
        if blocks.is_some() || self.receiver.has_more_feedback() {
            let (received_at, prices) = self.receiver.more_feedback();
            payload = prices;
            if blocks.is_some() || received_at.is_some() {
                flags |= flags::OPTIONS | if blocks.is_some() { flags::SACK } else { 0 };
                let sack = blocks.unwrap_or_default();
                let used = sack.iter().filter(|(start, end)| start < end).count();
                len += Sizes::sack_option(used);
                let options = Options { payload, sack, received_at, ..Options::default() };
                payload = ctx.network.options.put(options);
            }
        }
        ctx.send_ack(self.receiver.next, echo, len, flags, payload);
    }

    /// Sends an acknowledgement with AccECN counters.
    #[inline(never)]
    fn acknowledge_accurately(&mut self, ctx: &mut HostContext) {
        if let Some(ace) = self.receiver.echo_packets_alone(ctx.now) {
            let (echo, _) = self.receiver.on_ack_sent();
            let flags = self.receiver.capable() | ace.flags();
            return ctx.send_ack(self.receiver.next, echo, self.header, flags, 0);
        }
        let blocks = self.receiver.sack_blocks();
        let (ace, fitted, sack) = self.receiver.echo_marks(blocks, ctx.now);
        let (echo, _) = self.receiver.on_ack_sent();
        let mut flags = self.receiver.capable() | ace.flags();
        let used = sack.iter().filter(|(start, end)| start < end).count();
        let size = fitted.map_or(0, |fitted| fitted.size);
        let len = self.header + Sizes::sack_option(used) + size;
        let received_bytes = fitted.map(|fitted| fitted.bytes);
        let mut ticket = 0;
        let has_more_feedback = self.receiver.has_more_feedback();
        if used > 0 || received_bytes.is_some() || has_more_feedback {
            flags |= flags::OPTIONS | if used > 0 { flags::SACK } else { 0 };
            let (received_at, payload) = self.receiver.more_feedback();
            let options = Options { payload, sack, received_bytes, received_at, tunnel: None };
            ticket = ctx.network.options.put(options);
        }
        ctx.send_ack(self.receiver.next, echo, len, flags, ticket);
    }

    fn delay_ack(&mut self, delay: Span, ctx: &mut HostContext) {
        if let Some(timer) = self.receiver.ack_timer() {
            ctx.set_ack_timer(timer.set(ctx.now + delay));
        }
    }

    /// Returns the time at which the delayed acknowledgement is sent; [`Time::NEVER`] if there is none.
    #[inline]
    fn ack_sent_at(&mut self) -> Time {
        self.receiver.ack_timer().map_or(Time::NEVER, |timer| timer.sent_at())
    }

    /// Handles a wake-up of the receiver, which may be left over from an earlier connection at this place.
    pub fn on_wake_of_receiver(&mut self, ctx: &mut HostContext) {
        match self.ack_sent_at() {
            Time::NEVER => {}
            later if later > ctx.now => ctx.set_ack_timer(later),
            at => self.acknowledge_late(at, ctx),
        }
    }

    /// Sends the delayed acknowledgement at `at`, before which no second segment has arrived. Segments served ahead of
    /// time may arrive only later.
    #[inline(never)]
    fn acknowledge_late(&mut self, at: Time, ctx: &mut HostContext) {
        if let Some(timer) = self.receiver.ack_timer() {
            timer.run_out();
        }
        self.receiver.on_delay_missed();
        let HostContext { address, prompt, ref mut network, ref mut timers, .. } = *ctx;
        self.acknowledge(&mut HostContext { now: at, network, timers, address, prompt });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tidegate_scenario::Scenario;
    use tidegate_scenario::plan::TcpPlan;

    /// Rules of ns-2: without them the profile `classic` follows the RFCs.
    pub(crate) const RULES_OF_NS2: [&str; 14] = [
        "deflate_below_threshold",
        "ecn_after_timeout",
        "ecn_backoff",
        "ecn_on_retransmits",
        "grow_at_end",
        "limited_transmit_by_count",
        "loss_to_one",
        "lost_in_flight",
        "lower_at_each_timeout",
        "lower_for_request",
        "recovery_within_mark",
        "rtt_through_recovery",
        "scoreboard_per_recovery",
        "whole_threshold",
    ];

    /// Returns a sender by the RFCs: SACK, no timestamps, no delayed acknowledgements.
    pub(crate) fn classic() -> TcpPlan {
        classic_with("initial_rto = \"1 s\", max_rto = \"60 s\"")
    }

    /// Returns [`classic`] with options as in a scenario.
    pub(crate) fn classic_with(options: &str) -> TcpPlan {
        let by_rfc = RULES_OF_NS2.iter().filter(|rule| !options.contains(*rule));
        let mut by_rfc: String = by_rfc.map(|rule| format!("quirks.{rule} = false, ")).collect();
        by_rfc += "quirks.rtt_tick = \"off\", ";
        let text = format!(
            "version = 1\nprofile = \"classic\"\ntcp = {{ {by_rfc}{options} }}\n\
             bottleneck = {{ rate = \"1 Mb/s\" }}\nusers.a = {{}}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("valid").plan();
        plan.flows[0].tcp.as_deref().expect("greedy").clone()
    }
}
