//! A TCP connection: data flows from the sender to the receiver, acknowledgements back.
//!
//! Sequence space is counted in segments, as in Linux's congestion control: segment `n` stands for
//! the bytes from `ISN + 1 + n · MSS`. The connection opens with a three-way handshake; it is not
//! torn down.

mod ack_delay;
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

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::TcpPlan;

use crate::event_queue::{Timers, Wake};
use crate::network::{Network, Ways};
use crate::packet::{Options, Packet, flags};

/// IPv4 and TCP headers without options.
pub const HEADER_BYTES: u16 = 40;
/// Timestamps, padded (RFC 7323, appendix A).
pub const TIMESTAMP_BYTES: u16 = 12;
/// A SYN's options: MSS, SACK permitted, timestamps, window scale.
const SYN_OPTION_BYTES: u16 = 20;

/// The narrow door between an end host and the network: packets out, next wake-up.
pub struct Door<'a> {
    /// The network.
    pub network: &'a mut Network,
    /// Wake-ups.
    pub timers: &'a mut Timers,
    /// The present.
    pub now: Time,
    /// The flow whose ends use it.
    pub flow: u32,
    /// Where the flow's packets enter.
    pub ways: Ways,
}

impl Door<'_> {
    /// Sends towards the receiver.
    #[inline]
    pub fn send_data(&mut self, number: u64, len: u16, flags: u32) {
        let packet = self.packet(self.ways.forward, number, self.now, len, flags);
        self.network.send_from_host(packet, self.now);
    }

    /// Sends back to the sender.
    #[inline]
    pub fn send_ack(&mut self, number: u64, echo: Time, len: u16, flags: u32, ticket: u32) {
        let mut packet =
            self.packet(self.ways.reverse, number, echo, len, flags | flags::ACK | flags::BACK);
        packet.word = ticket;
        self.network.send(packet, self.now);
    }

    fn packet(&self, hop: u32, number: u64, stamp: Time, len: u16, flags: u32) -> Packet {
        let (at, flow) = (self.now, self.flow);
        Packet { at, number, stamp, flow, hop, len, flags, ..Packet::default() }
    }

    /// Asks to be woken; there is no cancelling.
    pub fn wake(&mut self, at: Time, wake: Wake) {
        self.timers.push(at, wake);
    }
}

/// Sizes on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// A full segment.
    pub full: u16,
    /// Headers of a segment or an acknowledgement.
    pub header: u16,
    /// A connection request and its answer.
    pub syn: u16,
}

impl Sizes {
    /// Sizes for full packets of `packet_size` bytes.
    pub fn new(packet_size: u16, timestamps: bool) -> Self {
        let header = HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 };
        Sizes { full: packet_size, header, syn: HEADER_BYTES + SYN_OPTION_BYTES }
    }

    /// Largest payload of a segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.full - self.header)
    }

    /// Size of a SACK option with `blocks` blocks, padded.
    pub fn sack_option(blocks: usize) -> u16 {
        if blocks == 0 { 0 } else { 4 + 8 * blocks as u16 }
    }
}

/// Both ends of a connection.
pub struct Connection {
    /// The sending end.
    pub sender: sender::Sender,
    /// The receiving end.
    pub receiver: receiver::Receiver,
    /// Sizes on the wire.
    pub sizes: Sizes,
    /// Which of a flow's connections it is: the flag [`flags::EVEN`], or none.
    parity: u32,
}

impl Connection {
    /// A closed connection. What it carries is written to its sender ([`sender::Sender::write`]).
    pub fn new(plan: &TcpPlan, packet_size: u16) -> Self {
        let sizes = Sizes::new(packet_size, plan.timestamps);
        let sender = sender::Sender::new(plan, sizes);
        let receiver = receiver::Receiver::new(plan, sender.uses_sack(), sizes);
        Connection { sender, receiver, sizes, parity: 0 }
    }

    /// With all that it will carry: so many bytes, one at least, or no end of them.
    pub fn carrying(mut self, size_bytes: Option<u64>) -> Self {
        self.sender.write(size_bytes.map_or(u64::MAX, |bytes| bytes.max(1)));
        if size_bytes.is_some() {
            self.sender.end();
        }
        self
    }

    /// This closed connection as the one that follows `previous`.
    pub fn after(mut self, previous: &Connection) -> Self {
        self.parity = previous.parity ^ flags::EVEN;
        self.sender.parity = self.parity;
        self
    }

    /// Payload that the receiver has in order.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Whether a packet is one of this connection's, not a late one of the connection before.
    #[inline]
    pub fn owns(&self, packet: &Packet) -> bool {
        packet.flags & flags::EVEN == self.parity
    }

    /// A data packet (or the connection request) arrives at the receiver.
    #[inline]
    pub fn on_data(&mut self, packet: &Packet, door: &mut Door) {
        if packet.has(flags::SYN) {
            self.receiver.on_request(packet);
            let flags = flags::SYN | self.receiver.capable() | self.parity;
            return door.send_ack(0, packet.stamp, self.sizes.syn, flags, 0);
        }
        if self.receiver.owes_other_echo(packet) {
            self.acknowledge(door);
        }
        match self.receiver.on_segment(packet) {
            receiver::Reply::Now => self.acknowledge(door),
            receiver::Reply::Later(delay) => self.delay_ack(delay, door),
            receiver::Reply::Wait => {}
        }
    }

    #[inline]
    fn acknowledge(&mut self, door: &mut Door) {
        let (echo, congestion) = self.receiver.on_ack_sent();
        let mut flags = self.parity | self.receiver.capable();
        flags |= if congestion { flags::ECE } else { 0 };
        let (mut len, mut ticket) = (self.sizes.header, 0);
        if let Some(blocks) = self.receiver.sack_blocks() {
            let used = blocks.iter().filter(|(start, end)| start < end).count();
            len += Sizes::sack_option(used);
            flags |= flags::SACK | flags::OPTIONS;
            ticket = door.network.options.put(Options { sack: blocks, ..Options::default() });
        }
        door.send_ack(self.receiver.next, echo, len, flags, ticket);
    }

    fn delay_ack(&mut self, delay: Span, door: &mut Door) {
        self.receiver.due = door.now + delay;
        if self.receiver.timer_at == Time::NEVER {
            self.receiver.timer_at = self.receiver.due;
            door.wake(self.receiver.due, Wake::DelayedAck(door.flow));
        }
    }

    /// The timer of delayed acknowledgements fires.
    pub fn on_delayed_ack_timer(&mut self, door: &mut Door) {
        let receiver = &mut self.receiver;
        receiver.timer_at = Time::NEVER;
        if receiver.due <= door.now {
            receiver.on_delay_missed();
            self.acknowledge(door);
        } else if receiver.due < Time::NEVER {
            receiver.timer_at = receiver.due;
            door.wake(receiver.due, Wake::DelayedAck(door.flow));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tidegate_scenario::Scenario;
    use tidegate_scenario::plan::TcpPlan;

    /// ns-2's sender, more or less: SACK, no timestamps, no delayed acknowledgements.
    pub(crate) fn classic() -> TcpPlan {
        classic_with("initial_rto = \"1 s\", max_rto = \"60 s\"")
    }

    /// The same, with options as in a scenario.
    pub(crate) fn classic_with(options: &str) -> TcpPlan {
        let text = format!(
            "version = 1\nprofile = \"classic\"\ntcp = {{ {options} }}\n\
             bottleneck = {{ rate = \"1 Mb/s\" }}\nusers.a = {{}}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("valid").plan();
        plan.flows[0].tcp.as_deref().expect("greedy").clone()
    }
}
